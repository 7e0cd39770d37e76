"""Which lines of a file are shown, and what in them is marked."""

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import groupby
from operator import itemgetter

import pytest
from pygments.lexers import get_lexer_for_filename
from pygments.scanner import EndOfText
from pygments.util import ClassNotFound

from tosloc.code.languages import OTHER_SUFFIXES, SOURCE_SUFFIXES
from tosloc.core.records import Function
from tosloc.rank.excerpts import LINES, choose_excerpts
from tosloc.web import excerpts as web_excerpts
from tosloc.web.excerpts import LONGEST_LINE, MOST_COLOURED, excerpts, marked, syntax

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
    assert list(choose_excerpts(lines, TERMS, [], [10, 20], excerpts=1, length=6)) == [
        [6, 7, 8, 9, 10, 11]
    ]
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
        (
            "a.java",
            "class Foo { int run() { return 1; } }",
            "class keyword, Foo name, int keyword, run name",
        ),
        (
            "a.c",
            "static int f(struct s *p) { g(); }",
            "static keyword, int keyword, f name, struct keyword",
        ),
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


def marks_of(lines, path):
    return {mark for line in syntax(lines, path) for mark in line}


@pytest.mark.parametrize(
    ("path", "lines"),
    [
        ("a.c", ["a", *[240 * " "] * 400]),
        ("a.aj", ["`", *[""] * 50_000]),
        ("a.cr", ["enum ", *["<<A"] * 30_000]),
    ],
)
def test_a_text_that_a_lexer_takes_too_long_for_is_plain(path, lines, monkeypatch):
    monkeypatch.setattr(web_excerpts, "CPU_SECONDS", 0.2)
    before = signal.getsignal(signal.SIGVTALRM)
    began = time.process_time()
    kinds = syntax(lines, path)
    assert time.process_time() - began < 1
    assert [len(line) for line in kinds] == [len(line) for line in lines]
    assert {mark for line in kinds for mark in line} <= {""}
    assert signal.getsignal(signal.SIGVTALRM) is before


def test_a_text_that_a_lexer_fails_on_is_plain(monkeypatch):
    said = "procedure crash"  # Pygments looks behind the end
    with pytest.raises(EndOfText):
        list(get_lexer_for_filename("a.dpr").get_tokens_unprocessed(said))
    monkeypatch.setattr(web_excerpts, "MOST_COLOURED", len(said))
    assert marks_of([said], "a.dpr") == {""}


def test_a_thread_gets_plain_text():
    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(marks_of, ["def f(): pass"], "a.py").result() == {""}


def coloured(lines_before, lines_after):
    """Whether a keyword after so many lines has its colour."""
    [one] = excerpts(
        [*["x = 1"] * lines_before, "def cookie(): pass", *["x = 1"] * lines_after],
        TERMS,
        path="a.py",
    )
    return ("def", "keyword") in [piece for line in one for piece in line.pieces]


def test_what_lies_far_in_a_long_file_is_plain():
    assert coloured(10_000, 20_000)
    assert not coloured(20_000, 0)


def adversarial():
    """Texts on which lexers are known to take long, for one of any language."""
    for unit in (" ", "(", "<a ", "<<A\n", "\n", "a::", "#"):
        yield "a" + unit * (MOST_COLOURED // len(unit))
    for first in ("`", "enum ", "/*"):
        yield first + "\n" * MOST_COLOURED


PATHS = {}
for suffix in sorted(SOURCE_SUFFIXES | OTHER_SUFFIXES):
    with suppress(ClassNotFound):
        PATHS.setdefault(type(get_lexer_for_filename(f"a{suffix}")), f"a{suffix}")


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS.values())
def test_no_lexer_takes_long_on_any_text(path, monkeypatch):
    monkeypatch.setattr(web_excerpts, "CPU_SECONDS", 0.05)
    for text in adversarial():
        began = time.process_time()
        syntax(text.split("\n"), path)
        assert time.process_time() - began < 1, text[:20]
