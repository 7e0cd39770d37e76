"""The answer to one report, as users and programs get it; see docs/formats.md."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import tosloc
from tosloc.core.answers import Background, EarlierChange, Hit, Reason, RoutineNote, SuspectChange
from tosloc.core.errors import pluralize
from tosloc.core.reports import BugReport

SCHEMA: Final = "tosloc.answer/1"
FAILURE_SCHEMA: Final = "tosloc.error/1"
"""Name and version of the format of ``Answer.as_dict``; answer.schema.json is its JSON Schema."""
MAX_LIKELY_FILES: Final = 3
"""Largest number of files that count as likely to contain the bug."""
MIN_SHARE_OF_FIRST: Final = 0.2
"""Smallest confidence of a likely file, as a share of the first file's confidence."""
MAX_CHANGED_FILES: Final = 3
"""Largest number of changed files that the text of an earlier change names."""
Day: TypeAlias = date
"""The type of fields that are themselves called ``date``."""


def schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of an answer."""
    text = Path(__file__).with_name("answer.schema.json").read_text(encoding="utf-8")
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def percent(confidence: float) -> str:
    """Return a confidence in percent: "<1%" for a small one, "-" for 0, which means none.

    >>> percent(0.714), percent(0.005), percent(0.0)
    ('71%', '<1%', '-')
    """
    if confidence > 0.005:
        return f"{confidence:.0%}"
    return "<1%" if confidence else "-"


def is_before_first_commit(commit: str) -> bool:
    """Return whether an answer's commit is the id of zeros, which stands for no commit at all.

    >>> is_before_first_commit("0" * 40), is_before_first_commit("00b1" * 10)
    (True, False)
    """
    return not commit.strip("0")


def _earlier_change(change: EarlierChange) -> Reason:
    """Return a sentence about an earlier change that is similar to the report."""
    text = f"Similar past change: {change.commit[:10]}"
    if change.issue and change.issue not in change.subject:
        text += f" of {change.issue}"
    text += f" ({change.committed.date()})"
    if change.subject:  # the subject is unknown without the repository
        subject = " ".join(change.subject.split()).rstrip(".")
        text += f" {subject}"
    if change.files:
        files = ", ".join(change.files[:MAX_CHANGED_FILES])
        if len(change.files) > MAX_CHANGED_FILES:
            files += f" and {len(change.files) - MAX_CHANGED_FILES} more"
        text += f", in {files}"
    return Reason("earlier", text, change.commit, change.issue, url=change.url)


@dataclass(frozen=True, slots=True)
class SearchScope:
    """The files that an answer was chosen from."""

    files: int
    """Number of source files of the version that could be listed."""
    hidden_tests: int = 0
    """Number of test files that could not be listed."""
    uncommitted: int = 0
    """Number of files on disk that differ from the commit: changed, new or deleted."""
    hidden_files: int = 0
    """Number of generated, minified, translated and vendored files that could not be listed."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights that ranked the files. Unknown facts about their training are None."""

    kind: Literal["shipped", "trained"]
    """Whether the weights are those of the package, or come from the project's own training."""
    date: Day | None = None
    """Day of the training, even if training kept the shipped weights."""
    reports: int | None = None
    """Number of reports that the training used."""
    weak: bool | None = None
    """Whether most training reports were commit messages, which are easier than user reports."""

    @property
    def sentence(self) -> str:
        """A sentence about the weights, for a note.

        >>> Weights("shipped").sentence, Weights("trained").sentence
        ('ranked with the shipped weights', 'ranked with trained weights')
        >>> Weights("trained", date(2026, 11, 26), 1269, weak=True).sentence
        'ranked with weights trained on 2026-11-26 from 1,269 commit messages'
        >>> Weights("shipped", date(2026, 11, 26), 1, weak=False).sentence
        'ranked with the shipped weights, which the training of 2026-11-26 from 1 bug report kept'
        """
        what = {True: "commit message", False: "bug report", None: "report"}[self.weak]
        learned_from = "" if self.reports is None else f" from {pluralize(self.reports, what)}"
        if self.kind == "trained":
            day_and_reports = (
                learned_from if self.date is None else f" on {self.date}{learned_from}"
            )
            if not day_and_reports:
                return "ranked with trained weights"
            return f"ranked with weights trained{day_and_reports}"
        if not learned_from:
            return "ranked with the shipped weights"
        day = "" if self.date is None else f" of {self.date}"
        return f"ranked with the shipped weights, which the training{day}{learned_from} kept"

    def as_dict(self) -> dict[str, Any]:
        """Return JSON values; unknown facts are left out."""
        day = None if self.date is None else self.date.isoformat()
        values = {"kind": self.kind, "date": day, "reports": self.reports, "weak": self.weak}
        return {key: value for key, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Answer:
    """The first files of a version for one report, with functions and reasons; users get this."""

    repository: str | None
    """Path of the repository; None for the version of a checkpoint."""
    commit: str
    """Full id of the searched version."""
    committed: datetime
    """Committer time of that version."""
    report: BugReport
    """The report that was asked about."""
    searched: SearchScope
    """Numbers of files that the answer was chosen from."""
    hits: tuple[Hit, ...]
    """The requested files, most suspicious first."""
    others: tuple[Hit, ...] = ()
    """Files other than source code: those that the report names, then those that share words."""
    background: Background | None = None
    """Similar past changes, and tests and people of the first file; None if not requested."""
    suspects: tuple[SuspectChange, ...] = ()
    """Past changes that may have introduced the bug, the most suspect first."""
    notes: tuple[str, ...] = ()
    """Sentences about the input, for the user."""
    seconds: float = 0.0
    """Time for the answer, in seconds."""
    weights: Weights = Weights("shipped")
    """The weights that ranked the files."""
    statements: tuple[str, ...] = ()
    """What the report states: commits that it blames, and versions that work or fail.

    The range between the good and bad commits of the question is also included.
    """
    leads_with_suspects: bool = False
    """Whether the suspect changes come before the files.

    They do if the report blames a commit, or if the range of possible commits is narrow.
    """
    fixed_by: EarlierChange | None = None
    """Commit in the searched version that probably fixed the bug after the report was opened."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Those notes that a reader should act on, or that change what the answer means."""
        return tuple(note for note in self.notes if not isinstance(note, RoutineNote))

    @property
    def likely_hits(self) -> tuple[Hit, ...]:
        """The first files whose confidence is not far below that of the very first file."""
        if not self.hits:
            return ()
        least = MIN_SHARE_OF_FIRST * self.hits[0].confidence
        return tuple(hit for hit in self.hits[:MAX_LIKELY_FILES] if hit.confidence >= least)

    @property
    def fixed_line(self) -> Reason | None:
        """A sentence on the commit that has probably fixed the report already; None without one."""
        fix = self.fixed_by
        if fix is None:
            return None
        text = f"Probably fixed already by {fix.commit[:10]} ({fix.committed.date()})"
        if fix.subject:
            text += f": {fix.subject}"
        return Reason("fix", text, fix.commit, fix.issue, url=fix.url)

    @property
    def background_lines(self) -> list[Reason]:
        """Sentences about the background.

        First come similar reports, then the tests of the first file, the people who know it, and
        earlier changes.
        """
        background = self.background
        if background is None:
            return []
        reasons = list(background.similar)
        if background.tests:
            reasons.append(Reason("tests", f"Related tests: {', '.join(background.tests)}"))
        who = []
        if background.people:
            people = [f"{person.name} ({person.committed.date()})" for person in background.people]
            who.append(f"last changed by {' and '.join(people)}")
        if background.owners:
            who.append(f"owned by {' '.join(background.owners)}")
        if who:
            reasons.append(Reason("people", f"{self.hits[0].path}: {', '.join(who)}"))
        reasons += [_earlier_change(change) for change in background.earlier]
        return reasons

    def as_dict(self) -> dict[str, Any]:
        """Return JSON values that follow ``schema()``."""
        values: dict[str, Any] = {
            "schema": SCHEMA,
            "tosloc": tosloc.__version__,
            "repository": self.repository,
        }
        values |= asdict(self, dict_factory=_json_values)
        values["report"] = _report_values(self.report)
        others = values["others"]
        values["others"] = [{"path": hit["path"], "reasons": hit["reasons"]} for hit in others]
        values["weights"] = self.weights.as_dict()
        values["seconds"] = round(self.seconds, 3)
        return values


def failure_values(report: BugReport, sentence: str) -> dict[str, Any]:
    """Return JSON values for a report that has no answer; ``sentence`` says why."""
    return {
        "schema": FAILURE_SCHEMA,
        "tosloc": tosloc.__version__,
        "report": _report_values(report),
        "error": sentence,
    }


def _report_values(report: BugReport) -> dict[str, Any]:
    """Return the JSON values that identify a report."""
    return {"id": report.id, "summary": report.summary, "opened": _format_time(report.opened)}


def _json_values(items: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return the fields of a dataclass as JSON values; fields that are None are left out."""
    values: dict[str, Any] = {}
    for key, value in items:
        if isinstance(value, tuple):
            values[key] = list(value)
        elif isinstance(value, datetime):
            values[key] = _format_time(value)
        elif value is not None:
            values[key] = value
    return values


def _format_time(time: datetime | None) -> str | None:
    """Return a time in UTC, to the second, in the form of RFC 3339: 2014-01-15T07:30:17Z."""
    if time is None:
        return None
    return time.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
