"""Which lines of a file are shown, and what in them is marked."""

from itertools import groupby
from operator import itemgetter

import pytest

from tosloc.rank.functions import LINES, telling_lines
from tosloc.records import Function
from tosloc.web.excerpts import LONGEST_LINE, excerpts, marked, syntax

FILLER = [f"x{number} = {number}" for number in range(40)]
TERMS = {"cooki": 2.0, "header": 1.0}
FAR = ["cookie", *FILLER, "cookie", *FILLER, "cookie", *FILLER, "cookie"]


def test_words_are_marked_whole_where_one_of_their_terms_is_the_reports():
    words = [("read_cookies", "word"), ("(", ""), ("Header", "word"), (")!", "")]
    assert marked("read_cookies(Header)!", TERMS) == words
    assert marked("", TERMS) == []


@pytest.mark.parametrize(
    ("lines", "rest", "shown"),
    [
        ([*FILLER, "header", *FILLER, "cookie", "header", *FILLER], (), range(81, 90)),
        (["cookie", *FILLER, "cookie"], (), range(1, 10)),  # what has been shown says less
        (FILLER, (), ()),
        ([""], (), ()),
        (FILLER, ([Function("f", 5, 7, 1.0)],), range(5, 8)),  # without any word
        (FAR, ([Function("f", 124, 124, 1.0)],), (123, 124)),
        (FAR, ([], [], [(124, 124)]), (123, 124)),  # a reason names it
        (FILLER, ([], [10]), range(7, 14)),  # a frame does
        (FILLER, ([], [4_000, 0]), ()),  # the file does not have them
    ],
)
def test_the_stretch_that_says_most_is_shown_and_what_says_nothing_is_not(lines, rest, shown):
    found = excerpts(lines, TERMS, *rest)
    assert [line.number for one in found[-1:] for line in one] == [*shown]
    assert all(len(one) <= LINES for one in found)


def test_a_line_of_a_frame_takes_an_excerpts_place_and_is_marked():
    lines = [*FILLER, "cookie", *FILLER]
    assert list(telling_lines(lines, TERMS, [], [10, 20], excerpts=1, length=6)) == [[6, 7, 8, 9, 10, 11]]
    assert [line.number for line in excerpts(FILLER, TERMS, [], [10])[0] if line.framed] == [10]


def test_what_is_not_marked_has_the_colours_of_its_syntax_and_long_lines_are_cut():
    lines = ["", "def cookie(x):", "    return 'é', 1  # the cookie", "x" * 10_000, "cookie", ""]
    [one] = excerpts(lines, TERMS, path="src/a.py")
    assert one[0].pieces == [("def", "keyword"), (" ", ""), ("cookie", "word"), ("(x):", "")]
    said = "return keyword, 'é' string, 1 number, # the  comment, cookie word"
    assert ", ".join(f"{text} {mark}" for text, mark in one[1].pieces if mark) == said
    assert sum(len(piece.text) for piece in one[2].pieces) == LONGEST_LINE


@pytest.mark.parametrize(
    ("path", "line", "wanted"),
    [
        ("a.java", "class Foo { int run() { return 1; } }", "class keyword, Foo name, int keyword, run name"),
        ("a.c", "static int f(struct s *p) { g(); }", "static keyword, int keyword, f name, struct keyword"),
        ("a.rs", "/// doc", "/// doc string"),
        ("a.unheard-of", "class A", ""),
    ],
)
def test_syntax_is_told_character_by_character(path, line, wanted):
    [before, kinds] = syntax(["", line], path)
    runs = groupby(zip(kinds, line, strict=True), itemgetter(0))
    told = [f"{''.join(letter for _, letter in run)} {kind}" for kind, run in runs if kind]
    assert ", ".join(told).startswith(wanted)
    assert before == []
