"""Find the good and bad ends of a bisection in a report, with the words that state them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from math import inf
from typing import Final, NamedTuple

from tosloc.core.io import truncate_text
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.reports import BugReport
from tosloc.localize.localizer import Localizer
from tosloc.localize.question import Question
from tosloc.reports.text import (
    ReleaseClaim,
    find_claims,
    find_named_changes,
)
from tosloc.retrieval.history import End, Releases

MAX_SENTENCES: Final = 2_000
"""Largest number of sentences of a report, from the first, that are searched for statements."""
MAX_LINE_CHARACTERS: Final = 2_000
"""Largest number of characters of a line that are read."""
MAX_QUOTE_CHARACTERS: Final = 100
"""Largest number of characters of quoted words."""
_SENTENCE_END: Final = re.compile(r"(?<=[.!?;])\s")
_ID: Final = re.compile(r"(?<![0-9a-z])[0-9a-f]{7,64}(?![0-9a-z])")
_VERSION: Final = re.compile(r"\d{1,5}(?:\.\d{1,8}){1,4}(?:[-.]?[a-z]{1,5}[-.]?\d{1,4})?")


class StatedEnd(NamedTuple):
    """A good or bad end of a range that a report states."""

    name: str
    """A tag, or the beginning of a commit's id."""
    commit: str
    """Full id."""
    origin: str
    """A sentence for the user that says where the end comes from, with the words of the report."""


class StatedEnds(NamedTuple):
    """The ends of a bisection that a report states."""

    good: tuple[StatedEnd, ...]
    bad: StatedEnd | None
    blamed: str
    """Full id of the commit that the report blames; "" if it blames no commit or several."""
    without_tag: tuple[str, ...]
    """Numbers of releases that work according to the report, but have no tag."""
    before_bad: str
    """Tag of the release before the bad end; "" if the bad end is no release or the first one."""
    worked_at: float | None
    """Last time at which something worked, in seconds since 1970; None if no date is stated."""


def find_stated_ends(
    localizer: Localizer, report: BugReport, commit: str, progress: Progress = ignore_progress
) -> StatedEnds:
    """Return the good and bad ends that a report states, for a bisection.

    ``commit`` is the searched version. If the report states no good end, the release before the
    first failing release is used. If the report states no bad end, the version that the reporter
    ran is used. Raises the errors of ``Localizer.localize``.
    """
    question = Question(report, commit=commit)
    context = localizer.rank(question, progress=progress).stage_one.context
    history = context.named_history
    bounds = history.bounds
    releases = context.history.releases
    quote = partial(_quote, report, releases)
    good = []
    for end in bounds.good:
        good.append(StatedEnd(end.name, end.commit, _by_report(quote(end, ("works",)))))
    if not good and bounds.implied is not None:
        end = bounds.implied
        [first, *_] = bounds.bad
        words = quote(first, ("begins",))
        origin = f"the release before {first.name}, {_by_report(words)}; it may fail already"
        good.append(StatedEnd(end.name, end.commit, origin))
    bad = None
    if bounds.bad:
        # Of several builds of the reporter the last one is the newest that is known to fail.
        stated = [end for end in bounds.bad if not end.is_own]
        end = stated[0] if stated else bounds.bad[-1]
        states = ("used",) if end.is_own else ("fails", "begins")
        bad = StatedEnd(end.name, end.commit, _by_report(quote(end, states)))
    blamed = history.blamed[0].commit if len(history.blamed) == 1 else ""
    without_tag = [claim.number for claim in history.missing_releases if claim.state == "works"]
    before = None if bad is None else releases.before(bad.name, context.history.opened)
    before_bad = "" if before is None else before.name
    worked_at = context.query.names.working_time(context.history.opened)
    return StatedEnds(tuple(good), bad, blamed, tuple(without_tag), before_bad, worked_at)


def _by_report(words: str) -> str:
    """Return a phrase that the report states something, with its words if they were found."""
    return f'by the report: "{words}"' if words else "by the report"


def _quote(report: BugReport, releases: Releases, end: End, states: Sequence[str]) -> str:
    """Return the words of a report that state an end; "" if there are none.

    Sentences that themselves state that the end is good or bad are preferred to sentences that only
    name it. A value below a heading is quoted with the heading.
    """
    naming = ""
    previous = ""
    for text in islice(_sentences(report), MAX_SENTENCES):
        place = _find_name(text, releases, end)
        if place is not None:
            if _states(text, releases, end, states):
                return _cut_around(text, place)
            if _states(f"### {previous}\n{text}", releases, end, states):
                return _cut_around(f"{previous} {text}", len(previous) + 1 + place)
            naming = naming or _cut_around(text, place)
        previous = text
    return naming


def _cut_around(text: str, place: int) -> str:
    """Return the part of a text of at most MAX_QUOTE_CHARACTERS around a position.

    Dots stand for what is cut.

    >>> text = "It fails in 1.1" + ", on my machine" * 7 + ", and it works in 1.0 on all of them."
    >>> _cut_around(text, text.index("1.0"))
    '...on my machine, on my machine, on my machine, and it works in 1.0 on all of them.'
    """
    if len(text) > MAX_QUOTE_CHARACTERS and place > MAX_QUOTE_CHARACTERS // 2:
        first = min(place - MAX_QUOTE_CHARACTERS // 2, len(text) - MAX_QUOTE_CHARACTERS)
        word = text.find(" ", first, place) + 1
        text = f"...{text[word or first :]}"
    return truncate_text(text, MAX_QUOTE_CHARACTERS)


def _sentences(report: BugReport) -> Iterator[str]:
    """Yield the sentences of a report without marks of headings, quotations and bold type."""
    for line in (report.summary, *report.description.splitlines()):
        for sentence in _SENTENCE_END.split(line[:MAX_LINE_CHARACTERS]):
            text = " ".join(sentence.split()).strip("#*_`> ")
            if text:
                yield text


def _find_name(text: str, releases: Releases, end: End) -> int | None:
    """Return where a text names an end, by its commit or its version; None if it does not."""
    for match in _ID.finditer(text):
        if end.commit.startswith(match[0]):
            return match.start()
    for match in _VERSION.finditer(text):
        if end.name in _tags([ReleaseClaim(match[0], "works")], releases):
            return match.start()
    return None


def _states(text: str, releases: Releases, end: End, states: Sequence[str]) -> bool:
    """Return whether a text by itself states one of the ``states`` of an end."""
    claims = find_claims(text)
    if end.name in _tags([claim for claim in claims if claim.state in states], releases):
        return True
    names = [change.commit for change in find_named_changes(text) if change.role.name != "NAMED"]
    return any(name and end.commit.startswith(name) for name in names)


def _tags(claims: Sequence[ReleaseClaim], releases: Releases) -> Iterator[str]:
    """Yield the tags of the releases that the claims of a report mean."""
    found = releases.find(claims, inf)
    for release in (*found.good, *found.bad, *found.used):
        yield release.name
