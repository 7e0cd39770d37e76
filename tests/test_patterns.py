"""Every pattern that meets texts of strangers takes time linear in their length."""

import re
import time
from datetime import UTC, datetime
from io import StringIO

import pytest

from tests.patterns import literal_calls, methods_of, module_patterns, slow_text, used_methods
from tosloc.core.records import BugReport
from tosloc.git.fixes import bug_ids, first_issue, is_fix_message
from tosloc.mine.links import _FILLER
from tosloc.mine.mentions import find_mentions
from tosloc.paths.classify import which_are_tests
from tosloc.reports import text, traces
from tosloc.reports.issues import read_report
from tosloc.retrieval.query import Query

FOLDED_TRACE = "at org.x.Door.open(Door.java:12) "


@pytest.fixture(scope="module")
def compiled():
    """Return the package's patterns by name, each with the methods that are called on it."""
    methods = used_methods()
    return {
        name: (pattern, methods_of(name, methods)) for name, pattern in module_patterns().items()
    }


def test_every_pattern_is_used_in_a_way_that_is_known(compiled):
    assert [name for name, (_, methods) in compiled.items() if not methods] == []


def test_all_modules_are_searched_for_patterns(compiled):
    modules = {name.rpartition(".")[0] for name in compiled}
    assert {
        "tosloc.reports.text",
        "tosloc.mine.links",
        "tosloc.code.parse",
        "tosloc.git.fixes",
    } <= modules


def test_every_pattern_takes_linear_time(compiled):
    slow = {name: slow_text(*found) for name, found in compiled.items()}
    assert {name: text for name, text in slow.items() if text} == {}


@pytest.mark.slow
def test_every_pattern_takes_linear_time_on_all_texts(compiled):
    slow = {name: slow_text(*found, thorough=True) for name, found in compiled.items()}
    assert {name: text for name, text in slow.items() if text} == {}


def test_every_pattern_written_in_a_call_takes_linear_time():
    slow = {where: slow_text(pattern, [method]) for where, method, pattern in literal_calls()}
    assert {where: text for where, text in slow.items() if text} == {}


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"a:\s*(?:[^\n]*[^\s(])?\s*\Z", "match"),
        (r"\b[\w./-]+\.[a-z]\b", "sub"),
        (r"\s+$", "search"),
        (r"<!--.*?-->", "sub"),
        (r"(?<!\w)(\w+)\s*+(?:\[[^\]]*+\]\s*+)?,?\s*+\)$", "search"),
    ],
)
def test_patterns_that_are_not_linear_are_found(pattern, method):
    assert slow_text(re.compile(pattern, re.DOTALL), [method], thorough=True) is not None


# The texts that showed it, from beginning to end


def query_of(description):
    query = Query(BugReport("1", "Crash", description, datetime(2020, 1, 1, tzinfo=UTC)))
    return query.weights, query.frames, query.locations, query.mentions, query.prose


READERS = {
    "parts": text.parts,
    "names": text.names,
    "addresses": text.without_addresses,
    "report": lambda said: read_report(StringIO(f"Crash\n\nIt crashes.\n{said}")),
    "summary": lambda said: read_report(StringIO(f"Crash {said}\n\nIt crashes.")),
    "query": query_of,
    "frames": traces.frames,
    "locations": traces.locations,
    "is_fix_message": is_fix_message,
    "bug_ids": bug_ids,
    "first_issue": first_issue,
    "mentions": lambda said: find_mentions(said, {"1"}, set()),
    "filler": lambda said: _FILLER.sub("", said),
    "tests": lambda said: which_are_tests([f"a/{said}/b.java", f"{said}.py"]),
}
TEXTS = {
    "blanks within a line": ("User name", " ", "42"),
    "a trace in one line": ("It overflows ", FOLDED_TRACE, "help"),
    "blanks after a key": ("a:", " ", "("),
    "comments": ("", "<!-- a -->\n", "<!--"),
    "a path without end": ("fix ", "a/", ""),
    "tests in a path": ("", ".tests", "\n"),
    "brackets": ("", "[", ""),
    "quotes": ("", "> ", ""),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", TEXTS)
def test_reading_takes_linear_time(reader, name):
    start, piece, end = TEXTS[name]
    read = READERS[reader]

    def seconds(size):
        said = start + piece * (size // len(piece)) + end
        started = time.process_time()
        read(said)
        return time.process_time() - started

    seconds(100)  # what is loaded or computed once
    # Ten times the text may take 25 times as long, so that noise fails nothing; squared it would be 100 times.
    assert seconds(20_000) < 25 * max(seconds(2_000), 0.005)
