"""Parsed small sources: which words stand where, which names are declared, what is imported."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tosloc.lab.baselines.texts import parse_source

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


def test_names_in_order():
    shop = parse_source(SHOP, complexity=True)
    assert shop.types == tuple("PageShop Visitor Colour Till Coin Mark Helper".split())
    assert shop.outer == ("PageShop", "Helper")
    assert shop.methods == tuple("PageShop getURLFor getURLFor visit Coin value".split())
    assert shop.variables == tuple(
        "MAX_SIZE other open name c page count in failure visited value".split()
    )
    assert shop.package == "org.example.shop"
    assert shop.imports == ("java.util.List", "org.example.Limits", "org.example.pages.*")
    assert shop.complexity > 5 > parse_source(SHOP).complexity == 0


def test_pieces_by_kind():
    shop = parse_source(SHOP)
    heads = ["/*\n * Licensed to nobody in particular.\n */", "// shop", "// between imports"]
    assert [text for kind, text in shop.pieces if kind == "head"] == heads
    assert shop.text("javadoc") == "/** Sells pages. */"
    assert shop.text("comment") == "// the limit\n/* a flag */"
    assert shop.text("string") == '"very"\n"no\\tValue"\n\'x\''
    code = shop.text("code")
    gone = "Licensed Sells limit noValue import java.util package very".split()
    assert [word for word in ("getURLFor", *gone) if word in code] == ["getURLFor"]


def test_a_javadoc_after_the_imports_is_no_licence_but_one_before_is():
    made = parse_source("/** Licence. */ package a; /** Doc. */ class A { }")
    assert [kind for kind, _ in made.pieces] == ["head", "javadoc", "code"]


def test_java_without_any_declaration_is_read_by_regular_expressions():
    made = parse_source(
        'package a.b;\nimport x.Y;\n/** Doc. */ }}} )( "text" // tail\n class lost in space'
    )
    assert (made.package, made.imports, made.types, made.outer) == (
        "a.b",
        ("x.Y",),
        ("lost",),
        ("lost",),
    )
    assert [made.text(kind) for kind in ("string", "javadoc", "comment")] == [
        '"text"',
        "/** Doc. */",
        "// tail",
    ]


@pytest.mark.parametrize(
    ("language", "text", "note"),
    [
        ("python", "# note\nclass Shop:\n    def sell(self): return 'page'\n", "# note"),
        ("groovy", "// note\nclass Shop { fun sell() { } }\n", "// note"),
    ],
)
def test_other_languages(language, text, note):
    made = parse_source(text, language)
    assert (made.types, made.outer, made.methods, made.text("comment")) == (
        ("Shop",),
        ("Shop",),
        ("sell",),
        note,
    )
    assert "sell" in made.text("code")


@given(st.text(alphabet="ab{}();\"'/*. \n@", max_size=60))
def test_no_text_breaks_it_and_no_letter_is_lost(text):
    assert [letter for letter in parse_source(text).text() if letter in "ab"] == [
        one for one in text if one in "ab"
    ]
