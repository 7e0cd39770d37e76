"""Functions and classes of source texts: names, lines and terms, in each language and in what is no program."""

from pathlib import Path

import pytest

from tosloc.code.functions import KINDS, MAX_FUNCTIONS, functions_of
from tosloc.code.languages import LANGUAGES as SUFFIXES
from tosloc.code.languages import has_grammar, language_of


def outline(text, suffix):
    """Name, first letter of the kind, first and last line of each definition."""
    facts = functions_of(text, suffix)
    rows = zip(facts.names, facts.kinds, facts.starts, facts.ends, strict=True)
    return [f"{name} {KINDS[kind][0]}{start}-{end}" for name, kind, start, end in rows]


def counts(text, suffix, name):
    """term -> (in code, in comments) of the first definition of a name."""
    facts = functions_of(text, suffix)
    pairs = slice(*facts.offsets[facts.names.index(name) :][:2].tolist())
    columns = (facts.places[pairs], facts.code[pairs], facts.comments[pairs])
    return {facts.terms[place]: (int(code), int(comments)) for place, code, comments in zip(*columns, strict=True)}


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
    assert language_of(suffix) == language
    assert outline(text, suffix) == expected
    broken = text + "\n}}} def ( class {{{ '\n"  # what is whole is kept
    assert len({*outline(broken, suffix)} & {*expected}) >= len({*expected}) // 2
    assert functions_of(text[: len(text) // 2], suffix) is not None


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
    text = "/* far */\n\n/* near */\n// nearer\nint f() { return a; }\n\nint unrelated;\n/* last */\n"
    terms = counts(text, ".c", "f")
    assert terms["near"] == terms["nearer"] == (0, 1)
    assert not {"far", "unrel", "last"} & set(terms)
    assert counts("def f():\n" + "    call()\n" * 300, ".py", "f")["call"] == (255, 0)


def test_functions_are_bounded_in_number_and_in_depth():
    assert len(functions_of("def f(): pass\n" * (MAX_FUNCTIONS + 1), ".py")) == MAX_FUNCTIONS
    depth = 300
    nested = "".join("    " * level + f"def level{level}():\n" for level in range(depth))
    nested += "    " * depth + "deepest()\n"
    facts = functions_of(nested, ".py")
    assert len(facts) == 8
    assert "deepest" in counts(nested, ".py", facts.names[-1])
    assert len(functions_of("function f() {" * 3_000 + "}" * 3_000, ".js")) <= 8
