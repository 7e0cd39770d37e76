"""Which lines of a file are shown, and what in them is marked."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter

import pytest

from tosloc.rank.lines import LINES, telling_lines
from tosloc.records import Function
from tosloc.web.excerpts import LONGEST_LINE, Piece, marked, stretches, syntax

FILLER = [f"x{number} = {number}" for number in range(40)]
TERMS = {"cooki": 2.0, "header": 1.0}


def numbers(lines: list[str], *rest: object) -> list[tuple[int, int]]:
    """First and last line of each stretch."""
    return [(one.lines[0].number, one.lines[-1].number) for one in stretches(lines, TERMS, *rest)]  # type: ignore[arg-type]


def test_words_are_marked_whole_where_one_of_their_terms_is_the_reports() -> None:
    words = Piece("read_cookies", "word"), Piece("("), Piece("Header", "word"), Piece(")!")
    assert marked("read_cookies(Header)!", TERMS) == words
    assert marked("", TERMS) == ()


def test_the_stretch_that_says_most_is_shown_and_what_says_nothing_is_not() -> None:
    [first, last] = numbers([*FILLER, "header", *FILLER, "cookie", "header", *FILLER])[-1]
    assert first <= 82 <= last
    assert last - first < LINES
    assert numbers(FILLER) == numbers([""]) == []
    assert len(numbers(["cookie", *FILLER, "cookie"])) == 1  # what has been shown says less
    assert numbers(FILLER, [Function("f", 5, 7, 1.0)]) == [(5, 7)]  # without any word


def test_lines_within_named_functions_and_reasons_come_first() -> None:
    lines = ["cookie", *FILLER, "cookie", *FILLER, "cookie", *FILLER, "cookie"]
    assert numbers(lines, [Function("f", 124, 124, 1.0)])[-1][-1] == 124
    assert numbers(lines, [], [], [(124, 124)])[-1][-1] == 124


def test_a_line_of_a_frame_is_shown_with_what_stands_around_it() -> None:
    [one] = stretches(FILLER, TERMS, [], [10])
    assert [(line.number, line.framed) for line in one.lines] == [(number, number == 10) for number in range(7, 14)]
    assert stretches(FILLER, TERMS, [], [4_000, 0]) == ()  # the file does not have them
    lines = [*FILLER, "cookie", *FILLER]
    assert list(telling_lines(lines, TERMS, [], [10, 20], stretches=1, length=6)) == [[6, 7, 8, 9, 10, 11]]


def test_what_is_not_marked_has_the_colours_of_its_syntax_and_long_lines_are_cut() -> None:
    lines = ["", "def cookie(x):", "    return 'é', 1  # the cookie", "x" * 10_000, "cookie", ""]
    [one] = stretches(lines, TERMS, path="src/a.py")
    assert one.lines[0].pieces == (Piece("def", "keyword"), Piece(" "), Piece("cookie", "word"), Piece("(x):"))
    assert one.lines[1].pieces == (
        *(Piece("    "), Piece("return", "keyword"), Piece(" "), Piece("'é'", "string"), Piece(", ")),
        *(Piece("1", "number"), Piece("  "), Piece("# the ", "comment"), Piece("cookie", "word")),
    )
    assert sum(len(piece.text) for piece in one.lines[2].pieces) == LONGEST_LINE + 1


@pytest.mark.parametrize(
    ("path", "line", "wanted"),
    [
        (
            "a.java",
            "class Foo { int run() { return 1; } }",
            "class keyword, Foo name, int keyword, run name, return keyword",
        ),
        ("a.c", "static int *f(struct s *p) { g(); }", "static keyword, int keyword, f name, struct keyword, s name"),
        ("a.vue", "<p>1</p><script>let x = `a${this.y}`</script>", "let keyword, `a string, this keyword, ` string"),
        ("a.ts", "function f(x: string): T {}", "function keyword, f name, string keyword, T name"),
        ("a.rs", "/// doc", "/// doc comment"),
        ("a.unheard-of", "class A", ""),
    ],
)
def test_syntax_is_told_by_the_kinds_of_nodes(path: str, line: str, wanted: str) -> None:
    kinds = syntax(["", line], path, [1]).get(1, [""] * len(line))
    runs = groupby(zip(kinds, line, strict=True), itemgetter(0))
    told = [f"{''.join(letter for _, letter in run)} {kind}" for kind, run in runs if kind]
    assert told[: wanted.count(",") + 1] == (wanted.split(", ") if wanted else [])
