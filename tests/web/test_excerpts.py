"""Which lines of a file are shown, and what in them is marked."""

import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import groupby
from operator import itemgetter

import pytest
from pygments.lexers import get_lexer_for_filename
from pygments.scanner import EndOfText
from pygments.util import ClassNotFound

from tosloc.code.languages import OTHER_SUFFIXES, SOURCE_SUFFIXES
from tosloc.core.answers import Function
from tosloc.rank.explain.excerpts import LINES, choose_excerpts
from tosloc.web import excerpts as web_excerpts
from tosloc.web.excerpts import (
    MAX_COLOURED_CHARACTERS,
    MAX_LINE_CHARACTERS,
    file_excerpts,
    mark_words,
    token_kinds,
)

FILLER = [f"x{number} = {number}" for number in range(40)]
TERMS = {"cooki": 2.0, "header": 1.0}
FOUR_COOKIES = ["cookie", *FILLER, "cookie", *FILLER, "cookie", *FILLER, "cookie"]


def test_the_lines_chosen_for_the_answer_are_shown():
    code = [f"cookie = {number}" for number in range(1, 101)]
    excerpts = file_excerpts(code, {"cooki": 1.0}, chosen=[80, 95])
    numbers = {line.number for excerpt in excerpts for line in excerpt}
    assert {80, 95} <= numbers


def test_lines_of_the_first_function_come_first():
    code = ["cookie", *FILLER, "cookie", "header"]
    first, second = file_excerpts(code, TERMS, [Function("second", 40, 43, 1.0)], chosen=[1, 42])
    assert first[-1].number == 43
    assert second[0].number == 1


def test_a_word_is_marked_if_the_report_has_one_of_its_terms():
    assert mark_words("read_cookies(Header)!", TERMS) == [
        ("read_cookies", "word"),
        ("(", ""),
        ("Header", "word"),
        (")!", ""),
    ]


def test_an_empty_text_has_no_pieces():
    assert mark_words("", TERMS) == []


@pytest.mark.parametrize(
    ("lines", "rest", "numbers"),
    [
        pytest.param(
            [*FILLER, "header", *FILLER, "cookie", "header", *FILLER],
            (),
            range(81, 90),
            id="most words",
        ),
        pytest.param(["cookie", *FILLER, "cookie"], (), range(1, 10), id="a repeated word"),
        pytest.param(FILLER, (), (), id="no word"),
        pytest.param([""], (), (), id="an empty file"),
        pytest.param(
            FILLER, ([Function("f", 5, 7, 1.0)],), range(5, 8), id="a function without words"
        ),
        pytest.param(
            FOUR_COOKIES,
            ([Function("f", 124, 124, 1.0)],),
            (123, 124),
            id="a word in a listed function",
        ),
        pytest.param(
            FOUR_COOKIES, ([], [], [(124, 124)]), (123, 124), id="a word in the lines of a reason"
        ),
        pytest.param(FILLER, ([], [10]), range(7, 14), id="a line of a frame"),
        pytest.param(FILLER, ([], [4_000, 0]), (), id="a frame outside the file"),
    ],
)
def test_the_last_excerpt_has_the_lines_that_say_most(lines, rest, numbers):
    excerpts = file_excerpts(lines, TERMS, *rest)
    last_excerpts = excerpts[-1:]
    assert [line.number for excerpt in last_excerpts for line in excerpt] == [*numbers]
    assert all(len(excerpt) <= LINES for excerpt in excerpts)


def test_a_line_of_a_frame_takes_the_place_of_an_excerpt():
    lines = [*FILLER, "cookie", *FILLER]
    runs = choose_excerpts(lines, TERMS, [], [10, 20], excerpts=1, length=6)
    assert list(runs) == [[6, 7, 8, 9, 10, 11]]


def test_only_the_line_of_a_frame_is_in_a_frame():
    excerpt = file_excerpts(FILLER, TERMS, [], [10])[0]
    assert [line.number for line in excerpt if line.in_frame] == [10]


def test_unmarked_characters_have_token_kinds_and_long_lines_are_cut():
    lines = ["", "def cookie(x):", "    return 'é', 1  # the cookie", "x" * 10_000, "cookie", ""]
    [excerpt] = file_excerpts(lines, TERMS, path="src/a.py")
    assert excerpt[0].pieces == [("def", "keyword"), (" ", ""), ("cookie", "word"), ("(x):", "")]
    assert [piece for piece in excerpt[1].pieces if piece.mark] == [
        ("return", "keyword"),
        ("'é'", "string"),
        ("1", "number"),
        ("# the ", "comment"),
        ("cookie", "word"),
    ]
    assert sum(len(piece.text) for piece in excerpt[2].pieces) == MAX_LINE_CHARACTERS


@pytest.mark.parametrize(
    ("path", "line", "first_kinds"),
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
    ids=["Java", "C", "Rust", "unknown language"],
)
def test_each_character_has_its_token_kind(path, line, first_kinds):
    [empty_line, kinds] = token_kinds(["", line], path)
    tokens = []
    for kind, run in groupby(zip(kinds, line, strict=True), itemgetter(0)):
        text = "".join(letter for _, letter in run)
        if kind:
            tokens.append(f"{text} {kind}")
    assert ", ".join(tokens).startswith(first_kinds)
    assert empty_line == []


def distinct_kinds(lines, path):
    kinds = set()
    for line in token_kinds(lines, path):
        kinds.update(line)
    return kinds


@pytest.mark.parametrize(
    ("path", "lines"),
    [
        ("a.c", ["a", *[240 * " "] * 400]),
        ("a.aj", ["`", *[""] * 50_000]),
        ("a.cr", ["enum ", *["<<A"] * 30_000]),
    ],
    ids=["C", "AspectJ", "Crystal"],
)
def test_a_text_that_takes_a_lexer_too_long_is_plain(path, lines, monkeypatch):
    monkeypatch.setattr(web_excerpts, "CPU_SECONDS", 0.2)
    handler = signal.getsignal(signal.SIGVTALRM)
    kinds = token_kinds(lines, path)
    assert [len(line) for line in kinds] == [len(line) for line in lines]
    assert {kind for line in kinds for kind in line} <= {""}
    assert signal.getsignal(signal.SIGVTALRM) is handler


def test_a_text_on_which_a_lexer_raises_is_plain(monkeypatch):
    text = "procedure crash"  # Pygments reads beyond the end.
    with pytest.raises(EndOfText):
        list(get_lexer_for_filename("a.dpr").get_tokens_unprocessed(text))
    monkeypatch.setattr(web_excerpts, "MAX_COLOURED_CHARACTERS", len(text))
    assert distinct_kinds([text], "a.dpr") == {""}


def test_a_thread_gets_plain_text():
    with ThreadPoolExecutor(1) as threads:
        kinds = threads.submit(distinct_kinds, ["def f(): pass"], "a.py").result()
    assert kinds == {""}


def is_coloured(lines_before, lines_after):
    """Return whether a keyword has its colour that stands between so many lines."""
    code = ["x = 1"] * lines_before + ["def cookie(): pass"] + ["x = 1"] * lines_after
    [excerpt] = file_excerpts(code, TERMS, path="a.py")
    return any(("def", "keyword") in line.pieces for line in excerpt)


def test_a_line_near_the_beginning_of_a_long_file_is_coloured():
    assert is_coloured(10_000, 20_000)


def test_a_line_far_from_the_beginning_of_a_long_file_is_plain():
    assert not is_coloured(20_000, 0)


def adversarial_texts():
    """Yield texts that are known to take lexers of some language long."""
    for unit in (" ", "(", "<a ", "<<A\n", "\n", "a::", "#"):
        yield "a" + unit * (MAX_COLOURED_CHARACTERS // len(unit))
    for first in ("`", "enum ", "/*"):
        yield first + "\n" * MAX_COLOURED_CHARACTERS


PATH_BY_LEXER = {}
for suffix in sorted(SOURCE_SUFFIXES | OTHER_SUFFIXES):
    with suppress(ClassNotFound):
        PATH_BY_LEXER.setdefault(type(get_lexer_for_filename(f"a{suffix}")), f"a{suffix}")


@pytest.mark.slow
@pytest.mark.parametrize("path", PATH_BY_LEXER.values())
def test_no_lexer_goes_on_after_the_time_limit_on_adversarial_texts(path, monkeypatch):
    limits = []

    class CountedLimit(web_excerpts._LimitReached):
        def __init__(self):
            limits.append(self)

    monkeypatch.setattr(web_excerpts, "_LimitReached", CountedLimit)
    monkeypatch.setattr(web_excerpts, "CPU_SECONDS", 0.05)
    for text in adversarial_texts():
        limits.clear()
        kinds = distinct_kinds(text.split("\n"), path)
        assert not limits or kinds <= {""}, text[:20]
