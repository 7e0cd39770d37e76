"""Time by the length of a text, whatever it holds: hostile texts are grown sixteen-fold through all that reads them."""

import itertools
import time
from datetime import UTC, datetime
from functools import partial
from io import StringIO

import pytest

from tosloc.code import parse as syntax
from tosloc.code.facts import analyse
from tosloc.code.functions import find_functions
from tosloc.code.languages import LANGUAGE_BY_SUFFIX, SOURCE_SUFFIXES, get_language
from tosloc.code.trees import find_captures, syntax_tree
from tosloc.core.records import BugReport
from tosloc.git import fixes
from tosloc.reports import formats, traces
from tosloc.reports.issues import read_report
from tosloc.reports.labelled import attributes_of
from tosloc.retrieval.history_index import report_terms, strip_trailers
from tosloc.retrieval.query import Query

SMALL, FACTOR = 1_000, 16
MAX_RATIO = 40.0  # linear is 16; the square would be 256
FAST_ENOUGH = 0.05
"""Processor seconds of the large text that are no finding whatever the ratio: the small one may take no time at all."""

UNITS = tuple(
    (
        '\\"|\\\'|\\`|<%|/[|/*|/* |<!--|-->|"|\'|`|"""|\\"""|"#{|R"(|[=[| |\t|\n|\n | \n|\r|\f|a|A|1|_|$|'
        "a.|a |a,|é|\0|\\|\\\n|(|)|()|[|{|}|<|>|<>|<a |A<|A<B<|<?|?|a?b:|;|=|:|@|#|%|f(|f(){|f() {\n|class A{|"
        "class A:\n|if(a){|else if(a)|if a:\n|do{|begin\n|def f\n|int a;|private |import |import a;\n|using |"
        "use a|case a:|lambda:|a=b;|&&|*a|- |<? extends |template<|#if a\n|#define A \\\n|// \n|--[[|{-|\n=begin|"
        "<<<a\n|%q(|function f(){"
    ).split("|")
)
"""What is repeated. Each stands for a family that some pattern, parser or state machine once took the square for."""
BEGINNINGS = ("", "using ", "use a", "x = f(", "at a.b(")
MESSAGES = tuple(
    (
        "\n| \n|- \n|* | |fix |fixed\n|summary:|summary :\n|bug |bug 1234 |bug 1234,|pr |#|a.|a-|a/|a.b/c.d#|"
        "http://|/issues/|merge |A1-|A-1|12 and |\t|fix for |change-id:"
    ).split("|")
)
REPORTS = tuple(
    (
        "\n| |at |at a.b(C.java|at a.b(C.java:1)\n|at a(C.java:1)\n|at a.b( |at a.b(1 2 3 |caused by |a.|a.b.C |"
        'a.b.CException|a.b.CException |INFO |INFO - |12:00:00 |a.b() line: |File "|File "a", line |at async |'
        "at a.js?|at a.b() in |at a.b() in a:|# |## #|---\n|---\na: b\n|===\n|$a|a$|Aa|1:a |12 |a.java|.jav|a\t|{|"
        "[|[{|\ufeff|\u2028|é"
    ).split("|")
)


def superlinear(consumer, units, beginnings):
    """What takes a sixteen-fold text too long: the best of three, for other programs run on the machine, too."""
    found = []
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
            found.append(f"{beginning!r} {unit!r}: {seconds}")
    return found


def message_reader(text):
    fixes.is_fix_message(f"x\n{text}fix")
    fixes.bug_ids(text)
    strip_trailers(text)


def report_reader(text):
    report = BugReport("1", text, text, datetime(2020, 1, 1, tzinfo=UTC))
    query = Query(report)
    for name in QUERIED.split():
        getattr(query, name)
    traces.frames(f"at a.b(C.java:1) {text}")
    attributes_of(report, ["a/C.java"])
    report_terms(report)
    formats.split_paths(text, SOURCE_SUFFIXES)
    formats.split_ranks(f"1:{text}x")
    for begin in ("x", "# ", "---\na: b\n"):
        read_report(StringIO(f"{begin}{text}x"))


QUERIED = "weights qualified_names lead_weights plain_weights compounds mentions names locations"


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
        # a tree as deep as the text is long, where a query for operands and operator waits in each for the other
        (partial(source_reader, ".c"), ["*a"], ("",)),
        *(
            pytest.param(*reader, marks=pytest.mark.slow)
            for reader in (
                (lexed, UNITS, ("",)),
                (message_reader, MESSAGES, BEGINNINGS),
                (report_reader, REPORTS, BEGINNINGS),
                *(
                    (partial(source_reader, get_language(name).suffixes[0]), UNITS, ("",))
                    for name in sorted(set(LANGUAGE_BY_SUFFIX.values()))
                ),
            )
        ),
    ],
)
def test_readers_are_linear(reader, units, beginnings, monkeypatch):
    monkeypatch.setattr(syntax, "_PARSER", ParserInThisProcess)  # its time counts as this one's
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
def test_a_parser_gives_up_and_reads_the_next_text(language, unit):
    assert syntax_tree(unit * 2000, get_language(language).grammar) is None
    root = syntax_tree(b"a = 1;", get_language(language).grammar)
    assert root is not None
    assert not root.has_error or language == "java"


@pytest.mark.parametrize("language", ["c", "kotlin", "php"])
def test_what_is_nested_without_measure_is_not_parsed(language):
    """In each node a query looks at what all nodes around it wait for; beyond 65,535 of them it loses count."""
    begin = "<?php " if language == "php" else "fun f(){"
    nested = ((begin + "if(a){" * times + "}" * (times + 1)).encode() for times in (15_000, 100))
    assert [syntax_tree(text, get_language(language).grammar) is not None for text in nested] == [
        False,
        True,
    ]


def test_what_is_too_large_is_not_parsed_and_scanners_end(monkeypatch):
    names = "class A:\n    def f(self):\n" + "".join(
        f"        self.b{i} = (1)\n" for i in range(2000)
    )
    assert analyse(names, ".py").parsed
    text = "class A { void b() {} }\n" * 50
    for largest, found in ((len(text), 100), (len(text) - 1, 0)):
        monkeypatch.setattr(syntax, "MAX_PARSED_BYTES", largest)
        assert (analyse(text, ".java").parsed, len(find_functions(text, ".java"))) == (
            found > 0,
            found,
        )
    for source in (
        b"var g\n@",
        b"var g\n@a(1",
    ):  # Kotlin's looks for the end of the annotation's line
        assert syntax_tree(source, get_language("kotlin").grammar) is not None
