"""Every reader of texts takes linear time: hostile texts grow sixteen-fold."""

import itertools
import time
from datetime import UTC, datetime
from functools import partial
from io import StringIO
from operator import attrgetter

import pytest

from tosloc.code import parse as syntax
from tosloc.code.facts import analyse
from tosloc.code.functions import find_functions
from tosloc.code.languages import LANGUAGE_BY_SUFFIX, SOURCE_SUFFIXES, get_language
from tosloc.code.trees import find_captures, syntax_tree
from tosloc.core.reports import BugReport
from tosloc.git import fixes
from tosloc.reports import formats, traces
from tosloc.reports.issues import read_report
from tosloc.reports.labelled import attributes_of
from tosloc.retrieval.history.history_index import report_terms, strip_trailers
from tosloc.retrieval.query import Query

DEEPEST = {
    "elixir": ["a ", "use a", "private ", "import ", "using "],
    "haskell": ["\\\n", "f() {\n"],
}
"""Language -> pieces whose repetition makes a tree as deep as the text is long.

The grammar, or the query for all captures, takes quadratic time for it; the limit of processor time
of the process that parses ends that, and the lexer reads the text.
"""
SMALL, FACTOR = 1_000, 16
MAX_RATIO = 64.0
"""Half way, as factors, between linear (16) and quadratic (256) growth.

On a busy machine a linear reader was measured at 43.
"""
FAST_ENOUGH = 0.05
"""Processor seconds of the large text that are fine whatever the ratio, which is noisy then."""

UNITS = tuple(
    (
        '\\"|\\\'|\\`|<%|/[|/*|/* |<!--|-->|"|\'|`|"""|'
        '\\"""|"#{|R"(|[=[| |\t|\n|\n | \n|\r|\f|a|A|1|_|$|'
        "a.|a |a,|é|\0|\\|\\\n|(|)|()|[|{|}|<|>|<>|<a |A<|"
        "A<B<|<?|?|a?b:|;|=|:|@|#|%|f(|f(){|f() {\n|class A{|"
        "class A:\n|if(a){|else if(a)|if a:\n|do{|begin\n|"
        "def f\n|int a;|private |import |import a;\n|using |"
        "use a|case a:|lambda:|a=b;|&&|*a|- |<? extends |"
        "template<|#if a\n|#define A \\\n|// \n|--[[|{-|\n=begin|"
        "<<<a\n|%q(|function f(){"
    ).split("|")
)
"""Repeated pieces.

Each is of a family for which a pattern, parser or state machine once took quadratic time.
"""
BEGINNINGS = ("", "using ", "use a", "x = f(", "at a.b(")
MESSAGES = tuple(
    (
        "\n| \n|- \n|* | |fix |fixed\n|summary:|"
        "summary :\n|bug |bug 1234 |bug 1234,|pr |#|a.|a-|a/|a.b/c.d#|"
        "http://|/issues/|merge |A1-|A-1|12 and |\t|fix for |change-id:"
    ).split("|")
)
REPORTS = tuple(
    (
        "\n| |at |at a.b(C.java|at a.b(C.java:1)\n|"
        "at a(C.java:1)\n|at a.b( |at a.b(1 2 3 |caused by |a.|a.b.C |"
        "a.b.CException|a.b.CException |INFO |INFO - |"
        '12:00:00 |a.b() line: |File "|File "a", line |at async |'
        "at a.js?|at a.b() in |at a.b() in a:|# |## #|---\n|"
        "---\na: b\n|===\n|$a|a$|Aa|1:a |12 |a.java|.jav|a\t|{|"
        "[|[{|\ufeff|\u2028|é"
    ).split("|")
)


def superlinear(consumer, units, beginnings):
    """Return the texts that take a reader too long, by the best of three times each."""
    slow = []
    for beginning, unit in itertools.product(beginnings, units):
        for _ in range(3):
            seconds = []
            for size in (SMALL, SMALL * FACTOR):
                begin = time.thread_time()
                consumer(beginning + unit * (size // len(unit)))
                seconds.append(time.thread_time() - begin)
            if seconds[1] < FAST_ENOUGH or seconds[1] < MAX_RATIO * seconds[0]:
                break
        else:
            slow.append(f"{beginning!r} {unit!r}: {seconds}")
    return slow


def message_reader(text):
    fixes.is_fix_message(f"x\n{text}fix")
    fixes.bug_ids(text)
    strip_trailers(text)


def report_reader(text):
    report = BugReport("1", text, text, datetime(2020, 1, 1, tzinfo=UTC))
    query = Query(report)
    for name in QUERIED.split():
        attrgetter(name)(query)
    traces.frames(f"at a.b(C.java:1) {text}")
    attributes_of(report, ["a/C.java"])
    report_terms(report)
    formats.split_paths(text, SOURCE_SUFFIXES)
    formats.split_ranks(f"1:{text}x")
    for begin in ("x", "# ", "---\na: b\n"):
        read_report(StringIO(f"{begin}{text}x"))


QUERIED = (
    "names.commands names.changes names.release_claims weights places.qualified_names lead_weights"
    " plain_weights text.message_lines names.compounds names.mentions names.identifiers"
    " places.locations"
)


class ParserInThisProcess:
    captures = staticmethod(find_captures)


def source_reader(suffix, text):
    analyse(text, suffix)
    find_functions(text, suffix)


def lexed(text):
    for style in syntax.STYLES:
        syntax.lex(text.encode(), style)


@pytest.mark.parametrize(
    ("reader", "units", "beginnings"),
    [
        # A tree as deep as the text is long, in each of whose nodes a query waits for an operand.
        (partial(source_reader, ".c"), ["*a"], ("",)),
        *(
            pytest.param(*reader, marks=pytest.mark.slow)
            for reader in (
                (lexed, UNITS, ("",)),
                (message_reader, MESSAGES, BEGINNINGS),
                (report_reader, REPORTS, BEGINNINGS),
                *(
                    (
                        partial(source_reader, get_language(name).suffixes[0]),
                        [unit for unit in UNITS if unit not in DEEPEST.get(name, ())],
                        ("",),
                    )
                    for name in sorted(set(LANGUAGE_BY_SUFFIX.values()))
                ),
            )
        ),
    ],
)
def test_readers_are_linear(reader, units, beginnings, monkeypatch):
    # The time of another process would not be measured.
    monkeypatch.setattr(syntax, "_PARSER", ParserInThisProcess)
    assert superlinear(reader, units, beginnings) == []


@pytest.mark.parametrize(
    ("language", "unit"),
    [
        ("java", b"<!--"),
        ("javascript", b"/["),
        ("python", b"-->"),
        ("swift", b"#" * 40),
        ("scala", b"`" * 40),
    ],
)
def test_parser_gives_up_and_reads_the_next_text(language, unit):
    assert syntax_tree(unit * 2000, get_language(language).grammar) is None
    root = syntax_tree(b"a = 1;", get_language(language).grammar)
    assert root is not None
    assert not root.has_error or language == "java"


@pytest.mark.parametrize("language", ["c", "kotlin", "php"])
@pytest.mark.parametrize(("depth", "is_parsed"), [(100, True), (15_000, False)])
def test_text_that_is_nested_too_deeply_is_not_parsed(language, depth, is_parsed):
    # In each node a query looks at everything that the nodes around it wait for.
    begin = "<?php " if language == "php" else "fun f(){"
    text = begin + "if(a){" * depth + "}" * (depth + 1)
    root = syntax_tree(text.encode(), get_language(language).grammar)
    assert (root is not None) is is_parsed


def test_long_text_is_parsed():
    lines = [f"        self.b{number} = (1)\n" for number in range(2000)]
    assert analyse("class A:\n    def f(self):\n" + "".join(lines), ".py").parsed


@pytest.mark.parametrize(("too_large_by", "functions"), [(0, 100), (1, 0)])
def test_text_that_is_too_large_is_not_parsed(monkeypatch, too_large_by, functions):
    text = "class A { void b() {} }\n" * 50
    monkeypatch.setattr(syntax, "MAX_PARSED_BYTES", len(text) - too_large_by)
    assert analyse(text, ".java").parsed is (functions > 0)
    assert len(find_functions(text, ".java")) == functions


@pytest.mark.parametrize("source", [b"var g\n@", b"var g\n@a(1"])
def test_annotation_without_a_line_end_is_parsed(source):
    # Kotlin's scanner looks for the end of the annotation's line.
    assert syntax_tree(source, get_language("kotlin").grammar) is not None
