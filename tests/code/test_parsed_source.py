"""Parsed small sources: pieces of text, declared names and imports."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tosloc.code.parsed_source import parse_source

SHOP = """/*
 * Licensed to nobody in particular.
 */
package org.example.shop; // shop

import java.util.List;
// between imports
import static org . example
. Limits.MAX ;
import org.example.pages.*;

/** Sells pages. */
@Shiny("very")
public class PageShop extends Base {
    // the limit
    private static final int MAX_SIZE = 10, other;
    /* a flag */ boolean open;
    public PageShop(String name) throws IOException { super(name + "no\\tValue"); }
    List<Page> getURLFor(char c) {
        for (Page page : pages) { int count = 0; }
        try (Reader in = open()) { } catch (Failure failure) { }
        return c == 'x' ? other : MAX_SIZE;
    }
    List<Page> getURLFor() { return null; }
    interface Visitor { void visit(Page visited); }
    enum Colour { RED }
    static class Till { record Coin(int value) { Coin { } } }
    @interface Mark { String value(); }
}
class Helper { }
"""


def test_declared_names_are_in_file_order():
    shop = parse_source(SHOP)
    assert shop.types == tuple("PageShop Visitor Colour Till Coin Mark Helper".split())
    assert shop.outer_types == ("PageShop", "Helper")
    assert shop.methods == tuple("PageShop getURLFor getURLFor visit Coin value".split())
    variables = "MAX_SIZE other open name c page count in failure visited value"
    assert shop.variables == tuple(variables.split())


def test_package_and_imports_are_qualified_names():
    shop = parse_source(SHOP)
    assert shop.package == "org.example.shop"
    assert shop.imports == ("java.util.List", "org.example.Limits", "org.example.pages.*")


def test_complexity_is_computed_only_on_request():
    assert parse_source(SHOP, complexity=True).complexity > 5
    assert parse_source(SHOP).complexity == 0


def test_comments_before_the_last_import_are_heads():
    heads = ["/*\n * Licensed to nobody in particular.\n */", "// shop", "// between imports"]
    assert [text for kind, text in parse_source(SHOP).pieces if kind == "head"] == heads


def test_comments_and_strings_are_pieces_of_their_kinds():
    shop = parse_source(SHOP)
    assert shop.text("javadoc") == "/** Sells pages. */"
    assert shop.text("comment") == "// the limit\n/* a flag */"
    assert shop.text("string") == '"very"\n"no\\tValue"\n\'x\''


def test_code_contains_no_comment_string_or_import():
    code = parse_source(SHOP).text("code")
    other_words = "Licensed Sells limit noValue import java util package very".split()
    assert "getURLFor" in code
    assert [word for word in other_words if word in code] == []


def test_javadoc_before_the_package_is_a_head_and_one_after_is_not():
    source = parse_source("/** Licence. */ package a; /** Doc. */ class A { }")
    assert [kind for kind, _ in source.pieces] == ["head", "javadoc", "code"]


def test_java_without_a_declaration_is_read_by_regular_expressions():
    source = parse_source(
        'package a.b;\nimport x.Y;\n/** Doc. */ }}} )( "text" // tail\n class lost in space'
    )
    assert source.package == "a.b"
    assert source.imports == ("x.Y",)
    assert source.types == ("lost",)
    assert source.outer_types == ("lost",)
    assert source.text("string") == '"text"'
    assert source.text("javadoc") == "/** Doc. */"
    assert source.text("comment") == "// tail"


@pytest.mark.parametrize(
    ("language", "text", "comment"),
    [
        ("python", "# note\nclass Shop:\n    def sell(self): return 'page'\n", "# note"),
        ("groovy", "// note\nclass Shop { fun sell() { } }\n", "// note"),
    ],
    ids=["python", "groovy"],
)
def test_other_languages_are_read_by_the_outline(language, text, comment):
    source = parse_source(text, language)
    assert source.types == ("Shop",)
    assert source.outer_types == ("Shop",)
    assert source.methods == ("sell",)
    assert source.text("comment") == comment
    assert "sell" in source.text("code")


@given(st.text(alphabet="ab{}();\"'/*. \n@", max_size=60))
def test_parsing_loses_no_letter_of_any_text(text):
    parsed_letters = [letter for letter in parse_source(text).text() if letter in "ab"]
    assert parsed_letters == [letter for letter in text if letter in "ab"]
