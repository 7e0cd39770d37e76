"""Which lines of a file are shown, and what in them is marked."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter

import pytest

from tosloc.rank.lines import LINES, telling_lines
from tosloc.records import Function
from tosloc.web.excerpts import LONGEST_LINE, Piece, marked, stretches
from tosloc.web.syntax import syntax

FILLER = "\n".join(f"x{number} = {number}" for number in range(40))
TERMS = {"cooki": 2.0, "header": 1.0}


def numbers(text: str, *rest: object) -> list[tuple[int, int]]:
    """First and last line of each stretch."""
    return [(one.lines[0].number, one.lines[-1].number) for one in stretches(text, TERMS, *rest)]  # type: ignore[arg-type]


def test_words_are_marked_whole_where_one_of_their_terms_is_the_reports() -> None:
    assert marked("read_cookies(Header)!", TERMS) == (
        Piece("read_cookies", "word"),
        Piece("("),
        Piece("Header", "word"),
        Piece(")!"),
    )
    assert marked("", TERMS) == ()


def test_the_stretch_that_says_most_is_shown_and_what_says_nothing_is_not() -> None:
    text = f"{FILLER}\nheader\n{FILLER}\ncookie\nheader\n{FILLER}\n"
    [first, last] = numbers(text)[-1]
    assert first <= 82 <= last
    assert last - first < LINES
    assert numbers(FILLER) == []


def test_lines_within_named_functions_come_first() -> None:
    text = f"cookie\n{FILLER}\ncookie\n{FILLER}\ncookie\n{FILLER}\ncookie\n"
    function = Function("f", 124, 124, 1.0)
    assert numbers(text, [function])[-1][-1] == 124
    assert [one.function for one in stretches(text, TERMS, [function])][-1] in ("", "f")
    told = numbers(text, [], [], [(124, 124)])
    assert told[-1][-1] == 124


def test_a_line_of_a_frame_is_shown_with_what_stands_around_it() -> None:
    [one] = stretches(FILLER, TERMS, [], [10])
    assert [line.number for line in one.lines] == [7, 8, 9, 10, 11, 12, 13]
    assert [line.number for line in one.lines if line.framed] == [10]
    assert stretches(FILLER, TERMS, [], [4_000, 0]) == ()  # the file does not have them
    assert numbers(FILLER, [Function("f", 5, 7, 1.0)]) == [(5, 7)]  # without any word


def test_of_one_short_stretch_a_frame_is_what_is_shown() -> None:
    lines = f"{FILLER}\ncookie\n{FILLER}".split("\n")
    assert list(telling_lines(lines, TERMS, [], [10, 20], stretches=1, length=6)) == [[6, 7, 8, 9, 10, 11]]
    [found] = telling_lines(lines, TERMS, [], [4_000], stretches=1, length=6)
    assert 40 in found
    assert len(found) == 6


def test_what_is_not_marked_has_the_colours_of_its_syntax() -> None:
    [one] = stretches("def cookie(x):\r\n\treturn 'é', x, 1  # the cookie\r\n", TERMS, path="src/a.py")
    assert one.lines[0].pieces == (
        Piece("def", "keyword"),
        Piece(" "),
        Piece("cookie", "word"),
        Piece("(x):"),
    )
    assert one.lines[1].pieces == (
        Piece("    "),
        Piece("return", "keyword"),
        Piece(" "),
        Piece("'é'", "string"),
        Piece(", x, "),
        Piece("1", "number"),
        Piece("  "),
        Piece("# the ", "comment"),
        Piece("cookie", "word"),
    )


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
    kinds = syntax(f"\n{line}\n", path, [1]).get(1, [""] * len(line))
    runs = [
        (kind, "".join(letter for _, letter in run))
        for kind, run in groupby(zip(kinds, line, strict=True), itemgetter(0))
    ]
    assert [f"{text} {kind}" for kind, text in runs if kind][: wanted.count(",") + 1] == (
        wanted.split(", ") if wanted else []
    )


def test_overlong_lines_are_cut_blank_ends_left_out_and_line_ends_of_windows_gone() -> None:
    [one] = stretches("\n\ncookie " + "x" * 10_000 + "\n\n\n", TERMS)
    [line] = one.lines
    assert sum(len(piece.text) for piece in line.pieces) == LONGEST_LINE + 1
    assert stretches("", TERMS) == ()
    [one] = stretches("cookie\r\nheader\r\n", TERMS)
    assert [line.pieces for line in one.lines] == [(Piece("cookie", "word"),), (Piece("header", "word"),)]
