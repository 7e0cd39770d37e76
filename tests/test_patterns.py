"""Every pattern that reads texts of strangers takes time linear in their length."""

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from io import StringIO

import pytest

from tests.patterns import (
    LOOKS,
    called_methods,
    find_slow_text,
    literal_calls,
    module_patterns,
    used_methods,
)
from tosloc.core.reports import BugReport
from tosloc.git.fixes import bug_ids, change_names, first_issue, is_fix_message
from tosloc.mine.links import _FILLER
from tosloc.paths.classify import which_are_tests
from tosloc.reports import traces
from tosloc.reports.issues import read_report
from tosloc.reports.mentions import find_mentions
from tosloc.reports.text.markup import without_addresses
from tosloc.reports.text.named_changes import find_named_changes
from tosloc.reports.text.named_releases import find_release_claims
from tosloc.reports.text.names import find_names
from tosloc.reports.text.parts import split_report_text
from tosloc.reports.text.stated_dates import find_dated_statements
from tosloc.reports.text.version_pairs import read_version_pairs
from tosloc.retrieval.query import Query

PARTS = 8
"""Tests among which the thorough search is divided, so that processes can share it."""
FOLDED_TRACE = "at org.x.Door.open(Door.java:12) "


@pytest.fixture(scope="module")
def patterns():
    """Return the package's patterns by name, each with the methods that are called on it."""
    methods = used_methods()
    patterns = {}
    for name, pattern in module_patterns().items():
        patterns[name] = (pattern, called_methods(name, methods))
    return patterns


def find_slow(patterns, **options):
    """Return the names of patterns that are slow on some text, with a description of the text."""
    slow = {}
    for name, (pattern, methods) in patterns.items():
        text = find_slow_text(pattern, methods, **options)
        if text is not None:
            slow[name] = text
    return slow


def test_every_pattern_is_used_in_a_known_way(patterns):
    assert [name for name, (_, methods) in patterns.items() if not methods] == []


@pytest.mark.parametrize(
    "module",
    ["tosloc.reports.text.builds", "tosloc.mine.links", "tosloc.code.parse", "tosloc.git.fixes"],
)
def test_modules_are_searched_for_patterns(patterns, module):
    assert module in {name.rpartition(".")[0] for name in patterns}


def test_every_pattern_takes_linear_time(patterns):
    assert find_slow(patterns) == {}


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_every_pattern_takes_linear_time_on_all_texts(patterns, part):
    names = sorted(patterns)[part::PARTS]
    assert find_slow({name: patterns[name] for name in names}, thorough=True) == {}


def test_every_pattern_written_in_a_call_takes_linear_time():
    calls = {location: (pattern, [method]) for location, method, pattern in literal_calls()}
    assert find_slow(calls) == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"a:\s*(?:[^\n]*[^\s(])?\s*\Z", "match"),
        (r"\b[\w./-]+\.[a-z]\b", "sub"),
        (r"\s+$", "search"),
        (r"<!--.*?-->", "sub"),
        (r"(?<!\w)(\w+)\s*+(?:\[[^\]]*+\]\s*+)?,?\s*+\)$", "search"),
    ],
    ids=["blanks after a key", "path", "blanks at the end", "comment", "word before a bracket"],
)
def test_patterns_that_are_not_linear_are_found(pattern, method):
    slow_pattern = re.compile(pattern, re.DOTALL)
    assert find_slow_text(slow_pattern, [method], thorough=True) is not None


# Texts that once took too long, read by every reader of texts


def make_query(description):
    """Return the parts of a query, which are computed when they are asked for."""
    query = Query(BugReport("1", "Crash", description, datetime(2020, 1, 1, tzinfo=UTC)))
    names = (query.names.mentions, query.names.commands)
    return query.weights, query.text.prose, query.places.locations, names


READERS: dict[str, Callable[[str], object]] = {
    "parts": split_report_text,
    "names": find_names,
    "addresses": without_addresses,
    "report": lambda said: read_report(StringIO(f"Crash\n\nIt crashes.\n{said}")),
    "summary": lambda said: read_report(StringIO(f"Crash {said}\n\nIt crashes.")),
    "query": make_query,
    "frames": traces.frames,
    "locations": traces.locations,
    "is_fix_message": is_fix_message,
    "bug_ids": bug_ids,
    "first_issue": first_issue,
    "mentions": lambda said: find_mentions(said, {"1"}, set()),
    "filler": lambda said: _FILLER.sub("", said),
    "change_names": change_names,
    "named_changes": find_named_changes,
    "named_releases": find_release_claims,
    "stated_dates": find_dated_statements,
    "version_pairs": read_version_pairs,
    "tests": lambda said: which_are_tests([f"a/{said}/b.java", f"{said}.py"]),
}
TEXTS = {
    "blanks within a line": ("User name", " ", "42"),
    "bare numbers": ("Worked in 1.2 ", "1.2.3 1234567 #12 0a1b2c3 ", "broken in 1.3"),
    "a trace in one line": ("It overflows ", FOLDED_TRACE, "help"),
    "blanks after a key": ("a:", " ", "("),
    "comments": ("", "<!-- a -->\n", "<!--"),
    "a path without end": ("fix ", "a/", ""),
    "tests in a path": ("", ".tests", "\n"),
    "brackets": ("", "[", ""),
    "quotes": ("", "> ", ""),
    "places in one line": ("", "a.go:1 b.rs:2 c.cpp:3 ", ""),
    "closing words": ("", "fix ", ""),
    "a long address": ("https://a", "/b", ""),
    "a long word": ("", "a", "/"),
    "a long list": ("", "#1,", ""),
    "pairs of versions": ("", "Before: 1.2\nAfter: 1.3\n", ""),
    "pairs of versions in a line": ("", "before: 1.2, after: 1.3, ", ""),
    "first versions of pairs": ("", "| from | 1.2 ", ""),
    "arrows between versions": ("", "1.2 -> ", "1.3"),
    "dates": ("", "it worked 3 days ago ", "and on 2024-01-01"),
    "escaped frames": ("", "\\n\\tat a.B.c(B.java:1)", ""),
}
"""Name -> beginning of a text, the piece that is repeated, and its end."""


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", TEXTS)
def test_reading_takes_linear_time(reader, name):
    start, piece, end = TEXTS[name]
    read = READERS[reader]

    def measure(size):
        """Return the CPU time of reading a text of this size."""
        content = start + piece * (size // len(piece)) + end
        started = time.process_time()
        read(content)
        return time.process_time() - started

    measure(100)  # The first call also loads modules and fills caches.

    def takes_linear_time():
        # Quadratic time would be 100 times as long for ten times the text. 25 leaves room for
        # noise.
        return measure(20_000) < 25 * max(measure(2_000), 0.005)

    # Other work on the machine may slow a reading, but not all of them.
    assert any(takes_linear_time() for _ in range(LOOKS))
