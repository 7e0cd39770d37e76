"""Functions and classes of source texts, in each language and in what is no program; complexity; terms."""

from pathlib import Path

import lizard
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tosloc.code import complexity as module
from tosloc.code import functions
from tosloc.code.complexity import keyword_complexity, lizard_complexity
from tosloc.code.facts import analyse
from tosloc.code.functions import FUNCTION_KINDS, find_functions
from tosloc.code.languages import LANGUAGE_BY_SUFFIX as SUFFIXES
from tosloc.code.languages import has_grammar, language_name
from tosloc.code.text import compounds, identifier_compounds, identifier_terms, terms, words


def outline(text, suffix):
    """Name, first letter of the kind, first and last line of each definition."""
    facts = find_functions(text, suffix)
    rows = zip(facts.names, facts.kinds, facts.starts, facts.ends, strict=True)
    return [f"{name} {FUNCTION_KINDS[kind][0]}{start}-{end}" for name, kind, start, end in rows]


def counts(text, suffix, name):
    """term -> (in code, in comments) of the first definition of a name."""
    facts = find_functions(text, suffix)
    pairs = slice(*facts.offsets[facts.names.index(name) :][:2].tolist())
    columns = (facts.places[pairs], facts.code[pairs], facts.comments[pairs])
    return {
        facts.terms[place]: (int(code), int(comments))
        for place, code, comments in zip(*columns, strict=True)
    }


def samples():
    """Language -> suffix, its definitions (names, the first letters of their kinds, their lines), text."""
    found = {}
    for part in Path(__file__).with_name("samples.txt").read_text("utf-8").split("==== ")[1:]:
        head, _, text = part.partition("\n----\n")
        (name, suffix), expected = head.partition("\n")[0].split(), head.partition("\n")[2]
        found[name] = suffix, " ".join(expected.split()).split("; "), text
    return found


LANGUAGES = samples()


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language_has_its_definitions_with_their_lines(language):
    suffix, expected, text = LANGUAGES[language]
    assert language_name(suffix) == language
    assert outline(text, suffix) == expected
    broken = text + "\n}}} def ( class {{{ '\n"  # what is whole is kept
    assert len({*outline(broken, suffix)} & {*expected}) >= len({*expected}) // 2
    assert find_functions(text[: len(text) // 2], suffix) is not None


def test_every_grammar_has_its_definitions():
    """A language with a grammar but without a query of definitions would have no functions."""
    parsed = {language for language in SUFFIXES.values() if has_grammar(language)}
    assert parsed == LANGUAGES.keys() | {"jsx", "tsx"}
    component = "export const App = () => <div onClick={() => 1}/>;\n"
    assert outline(component, ".tsx") == outline(component, ".jsx") == ["App f1-1"]


def test_the_terms_of_a_function_and_of_a_class():
    """A function's: its comment, its decorators, its body with nested ones. A class's: without its methods."""
    text = LANGUAGES["python"][2]
    terms = counts(text, ".py", "draw")
    assert (terms["draw"], terms["retri"], terms["colour"]) == ((1, 2), (1, 0), (1, 0))
    assert "import" not in terms
    terms = counts(text, ".py", "Shape")
    assert (terms["figur"], terms["side"]) == ((0, 1), (1, 0))
    assert not {"angl", "area", "corner"} & set(terms)
    text = (
        "/* far */\n\n/* near */\n// nearer\nint f() { return a; }\n\nint unrelated;\n/* last */\n"
    )
    terms = counts(text, ".c", "f")
    assert terms["near"] == terms["nearer"] == (0, 1)
    assert not {"far", "unrel", "last"} & set(terms)
    assert counts("def f():\n" + "    call()\n" * 300, ".py", "f")["call"] == (255, 0)


def test_functions_are_bounded_in_number_and_in_depth(monkeypatch):
    monkeypatch.setattr(functions, "MAX_FUNCTIONS", 50)
    assert len(find_functions("def f(): pass\n" * 51, ".py")) == 50
    depth = 300
    nested = "".join("    " * level + f"def level{level}():\n" for level in range(depth))
    nested += "    " * depth + "deepest()\n"
    facts = find_functions(nested, ".py")
    assert len(facts) == 8
    assert "deepest" in counts(nested, ".py", facts.names[-1])


# Where lizard is asked, complexity is its own, number for number


JAVA = """
package a;
@interface Note { int value() default 1; }
public class Shop<T extends Comparable<? super T>> {
    private final int x = ~1 + ~ 2;
    // #lizard forgives
    int skipped(int a) { if (a > 0) { return 1; } return 2; }
    int open(int a, String b) throws E {
        for (int i = 0; i < a && b != null || i > 3; i++) { a = a > 1 ? 2 : 3; } return a; }
    void lambda() { run(() -> { if (x) { go(); } }); new Thread() { public void run() { while (true) { } } }.start(); }
    enum Kind { A { int f() { return 1; } }, B;
        int f() { switch (this) { case A: return 1; case B: return 2; } return 0; } }
    record Pair(int a, String b) { Pair { if (a < 0) { throw new X(); } } int sum() { return a; } }
    String text() { return "if (a && b) {" + '"' + "\\" }"; }
    /* if (commented) { */
    void tail() { try { go(); } catch (E e) { } finally { } }
}
"""


NESTED = (
    "".join(f"{' ' * depth}def f{depth}(a, b=(1, 2)):\n" for depth in range(12))
    + " " * 12
    + "return a or b\n"
)
GO = "func (a A) F() func(int) int { return func(b int) int { if b > 1 && b < 3 { return 1 }; return 2 } }\n"


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        (JAVA, ".java"),
        (NESTED, ".py"),
        (
            "namespace a { struct B::C { int f(int a) { return a && 1; } int g(x) const; }; }",
            ".cpp",
        ),
        (GO, ".go"),
    ],
)
def test_same_number_as_all_of_lizard(text, suffix):
    functions = lizard.analyze_file.analyze_source_code(f"x{suffix}", text).function_list
    expected = sum(function.cyclomatic_complexity for function in functions)
    assert (
        lizard_complexity(text, suffix) == analyse(text, suffix, lizard=True).complexity == expected
    )


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        (JAVA, ".java"),
        ("/* " * 100_000, ".rs"),
        ("<? extends A" + ", ? extends A" * 30 + " & B>", ".java"),
        ("{" * 20_000, ".ts"),
    ],
)
def test_what_lizard_does_not_finish_is_counted_by_keywords(monkeypatch, text, suffix):
    monkeypatch.setattr(module, "MAX_SECONDS", 0.1 if text is not JAVA else -1.0)
    assert lizard_complexity(text, suffix) == keyword_complexity(text)


def test_names_of_functions_do_not_double_with_each_level():
    nested = "".join(
        f"{' ' * depth}def f{depth}():\n" for depth in range(300)
    )  # of 40 lizard never came back
    assert lizard_complexity(nested + " " * 300 + "pass\n", ".py") == 300


# Terms of text: splitting, stopping, stemming, compounds


@pytest.mark.parametrize(
    ("identifier", "expected"),
    [
        ("getURLFor", ("get", "url", "geturlfor")),  # "for" is a stop word, the compound keeps it
        ("HTMLParser_2", ("html", "parser", "htmlparser2")),
        ("MAX_VALUE", ("max", "valu", "maxvalue")),
        ("Outer$InnerType", ("outer", "inner", "type", "innertype")),
        ("__init__", ("init",)),
        ("inheritDoc", ()),
        ("0xCAFE", ()),
        ("getÜberÉcole", ("get", "über", "école", "getüberécole")),
        ("A" * 201, ()),
    ],
)
def test_terms_of_an_identifier(identifier, expected):
    assert identifier_terms(identifier) == expected


@given(st.text())
def test_terms_and_compounds_of_any_text_are_those_of_its_words(line):
    found = terms(line)
    assert found == [term for word in words(line) for term in identifier_terms(word)]
    assert all(term and not any(map(str.isspace, term)) for term in found)
    assert compounds(line) == [
        compound for word in words(line) for compound in identifier_compounds(word)
    ]
