"""Functions and classes of source texts in each language; complexity; terms."""

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
    """Return name, first letter of the kind, first and last line of each definition."""
    facts = find_functions(text, suffix)
    rows = zip(facts.names, facts.kinds, facts.starts, facts.ends, strict=True)
    return [f"{name} {FUNCTION_KINDS[kind][0]}{start}-{end}" for name, kind, start, end in rows]


def counts(text, suffix, name):
    """Return each term's counts in code and comments of the first definition with a name."""
    facts = find_functions(text, suffix)
    pairs = slice(*facts.offsets[facts.names.index(name) :][:2].tolist())
    columns = (facts.places[pairs], facts.code[pairs], facts.comments[pairs])
    result = {}
    for place, code, comments in zip(*columns, strict=True):
        result[facts.terms[place]] = (int(code), int(comments))
    return result


def samples():
    """Return suffix, definitions and text of each language's sample.

    A definition is its name, the first letter of its kind, and its lines.
    """
    result = {}
    for part in Path(__file__).with_name("samples.txt").read_text("utf-8").split("==== ")[1:]:
        head, _, text = part.partition("\n----\n")
        first_line, _, expected = head.partition("\n")
        name, suffix = first_line.split()
        result[name] = (suffix, " ".join(expected.split()).split("; "), text)
    return result


LANGUAGES = samples()


@pytest.mark.parametrize("language", LANGUAGES)
def test_definitions_of_each_language_have_their_lines(language):
    suffix, expected, text = LANGUAGES[language]
    assert language_name(suffix) == language
    assert outline(text, suffix) == expected


@pytest.mark.parametrize("language", LANGUAGES)
def test_definitions_before_a_syntax_error_are_kept(language):
    suffix, expected, text = LANGUAGES[language]
    broken = text + "\n}}} def ( class {{{ '\n"
    kept = set(outline(broken, suffix)) & set(expected)
    assert len(kept) >= len(set(expected)) // 2


@pytest.mark.parametrize("language", LANGUAGES)
def test_half_of_a_text_raises_nothing(language):
    suffix, _, text = LANGUAGES[language]
    assert find_functions(text[: len(text) // 2], suffix) is not None


def test_every_grammar_has_a_query_of_definitions():
    parsed = {language for language in SUFFIXES.values() if has_grammar(language)}
    assert parsed == LANGUAGES.keys() | {"jsx", "tsx"}


@pytest.mark.parametrize("suffix", [".tsx", ".jsx"])
def test_components_of_react_are_functions(suffix):
    component = "export const App = () => <div onClick={() => 1}/>;\n"
    assert outline(component, suffix) == ["App f1-1"]


def test_reserved_words_are_no_names():
    assert outline("class A { if (x) { return 1; } draw() {} }\n", ".js") == [
        "A c1-1",
        "A.draw m1-1",
    ]


def test_functions_in_properties_of_kotlin_have_the_name_of_the_property():
    text = "class A {\n  private val onClick: (Int) -> Unit = {}\n  companion object Named {}\n}\n"
    assert outline(text, ".kt") == ["A c1-4", "A.onClick m2-2", "A.Named c3-3"]


@pytest.mark.parametrize(
    "line",
    ["fun s() { open = true }", "context(log: Logger)", "val x: Int\n    field = 3", "set = 3"],
)
def test_functions_below_a_line_that_a_grammar_does_not_know_are_listed(line):
    text = f"class A {{\n  fun before() {{}}\n  {line}\n  fun after() {{}}\n}}\nfun last() {{}}\n"
    names = [definition.split()[0] for definition in outline(text, ".kt")]
    assert {"A", "A.before", "A.after", "last"} <= set(names)


def test_tests_of_rust_inside_a_source_file_are_no_functions():
    inner = "mod tests {\n    #[test]\n    fn grows() { grow() }\n    fn size() {}\n}\n"
    text = f"fn grow() {{}}\n#[cfg(test)]\n{inner}"
    assert outline(text, ".rs") == ["grow f1-1"]


def test_functions_of_a_rust_file_of_tests_are_listed():
    text = (
        "use oak::grow;\n#[test]\nfn grows() { grow() }\n#[test]\nfn falls() {}\nfn helper() {}\n"
    )
    assert outline(text, ".rs") == ["grows f2-3", "falls f4-5", "helper f6-6"]


def test_getters_and_initializers_of_kotlin_are_functions():
    text = (
        "class A {\n  val size: Int get() = 1\n  var width: Int\n    get() = 2\n    set(x) {}\n"
        "  init { grow() }\n}\nval String.last: Char\n  get() = this[0]\n"
    )
    assert outline(text, ".kt") == [
        "A c1-7",
        "A.size m2-2",
        "A.width m3-5",
        "A.init m6-6",
        "last f8-9",
    ]


def test_constructor_of_kotlin_may_be_on_the_line_below_its_class():
    text = (
        "class A<T>\n@Inject\ninternal constructor(\n  val x: Int,\n) : B {\n  fun grow() {}\n}\n"
    )
    assert outline(text, ".kt") == ["A c1-7", "A.grow m6-6"]


def test_names_keep_primes_and_operators():
    assert outline("foldl' = 1\n", ".hs") == ["foldl' f1-1"]
    assert outline("Base.:(==)(x, y) = 1\n", ".jl") == ["Base.== m1-1"]


def test_names_of_zig_may_be_quoted():
    text = 'fn @"zls env"() void {}\nvar place: struct { ?usize } = undefined;\n'
    assert outline(text, ".zig") == ["zls env f1-1", "place c2-2"]


def test_javascript_with_types_of_flow_has_functions():
    text = (
        "// @flow\nclass A<T: B> {\n  +size: ?number;\n"
        "  grow(x: Array<?T>): Promise<void> { if (x) { return; } }\n}\n"
        "export function make(options: {a: string, ...}): A<string> { return new A(); }\n"
    )
    names = [definition.split()[0] for definition in outline(text, ".js")]
    assert names == ["A", "A.grow", "make"]


def test_function_has_the_terms_of_its_comment_decorators_and_body():
    terms = counts(LANGUAGES["python"][2], ".py", "draw")
    assert terms["draw"] == (1, 2)
    assert terms["retri"] == (1, 0)
    assert terms["colour"] == (1, 0)
    assert "import" not in terms


def test_class_has_no_terms_of_its_methods():
    terms = counts(LANGUAGES["python"][2], ".py", "Shape")
    assert terms["figur"] == (0, 1)
    assert terms["side"] == (1, 0)
    assert not {"angl", "area", "corner"} & set(terms)


def test_only_the_comment_right_above_belongs_to_a_function():
    text = (
        "/* far */\n\n/* near */\n// nearer\nint f() { return a; }\n\nint unrelated;\n/* last */\n"
    )
    terms = counts(text, ".c", "f")
    assert terms["near"] == (0, 1)
    assert terms["nearer"] == (0, 1)
    assert not {"far", "unrel", "last"} & set(terms)


def test_counts_of_a_function_stop_at_255():
    assert counts("def f():\n" + "    call()\n" * 300, ".py", "f")["call"] == (255, 0)


def test_number_of_functions_is_bounded(monkeypatch):
    monkeypatch.setattr(functions, "MAX_FUNCTIONS", 50)
    assert len(find_functions("def f(): pass\n" * 51, ".py")) == 50


def test_definitions_that_are_too_deep_are_part_of_the_enclosing_one():
    depth = 300
    nested = "".join("    " * level + f"def level{level}():\n" for level in range(depth))
    nested += "    " * depth + "deepest()\n"
    facts = find_functions(nested, ".py")
    assert len(facts) == functions.MAX_DEPTH
    assert "deepest" in counts(nested, ".py", facts.names[-1])


JAVA = """
package a;
@interface Note { int value() default 1; }
public class Shop<T extends Comparable<? super T>> {
    private final int x = ~1 + ~ 2;
    // #lizard forgives
    int skipped(int a) { if (a > 0) { return 1; } return 2; }
    int open(int a, String b) throws E {
        for (int i = 0; i < a && b != null || i > 3; i++) { a = a > 1 ? 2 : 3; } return a; }
    void lambda() { run(() -> { if (x) { go(); } });
        new Thread() { public void run() { while (true) { } } }.start(); }
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
GO = (
    "func (a A) F() func(int) int { return func(b int) int {"
    " if b > 1 && b < 3 { return 1 }; return 2 } }\n"
)


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
    ids=["java", "nested python", "cpp", "go"],
)
def test_complexity_is_the_number_of_lizard(text, suffix):
    functions = lizard.analyze_file.analyze_source_code(f"x{suffix}", text).function_list
    expected = sum(function.cyclomatic_complexity for function in functions)
    assert lizard_complexity(text, suffix) == expected
    assert analyse(text, suffix, lizard=True).complexity == expected


@pytest.mark.parametrize(
    ("text", "suffix"),
    [
        (JAVA, ".java"),
        ("/* " * 100_000, ".rs"),
        ("<? extends A" + ", ? extends A" * 30 + " & B>", ".java"),
        ("{" * 20_000, ".ts"),
    ],
    ids=["no time", "comments", "wildcards", "braces"],
)
def test_keywords_are_counted_if_lizard_does_not_finish(monkeypatch, text, suffix):
    monkeypatch.setattr(module, "MAX_SECONDS", 0.1 if text is not JAVA else -1.0)
    assert lizard_complexity(text, suffix) == keyword_complexity(text)


def test_names_of_nested_functions_do_not_double_with_each_level():
    # Lizard itself did not finish 40 levels.
    nested = "".join(f"{' ' * depth}def f{depth}():\n" for depth in range(300))
    assert lizard_complexity(nested + " " * 300 + "pass\n", ".py") == 300


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
def test_terms_of_any_text_are_those_of_its_words(line):
    assert terms(line) == [term for word in words(line) for term in identifier_terms(word)]


@given(st.text())
def test_terms_of_any_text_contain_no_blank(line):
    for term in terms(line):
        assert term
        assert not any(map(str.isspace, term))


@given(st.text())
def test_compounds_of_any_text_are_those_of_its_words(line):
    expected = [compound for word in words(line) for compound in identifier_compounds(word)]
    assert compounds(line) == expected
