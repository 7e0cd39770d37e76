"""The answer to one report, as people, programs and agents get it: ``tosloc.answer/1``, see docs/formats.md."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import tosloc
from tosloc.core.errors import pluralize
from tosloc.core.records import Background, BugReport, Hit, Reason, RoutineNote

SCHEMA: Final = "tosloc.answer/1"
"""Name and version of what ``Answer.as_dict`` gives; ``tosloc/localize/answer.schema.json`` is its JSON Schema."""
SHOWN_FILES: Final = 3
"""Of an earlier change, in words."""
Day: TypeAlias = date
"""The type of a field that is itself called ``date``."""


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of an answer."""
    described: dict[str, Any] = json.loads(
        Path(__file__).with_name("answer.schema.json").read_text(encoding="utf-8")
    )
    return described


def percent(share: float) -> str:
    """A share in percent; what is less than one of them is not called none, and 0 says that there is no share.

    >>> percent(0.714), percent(0.005), percent(0.0)
    ('71%', '<1%', '-')
    """
    return f"{share:.0%}" if share > 0.005 else "<1%" if share else "-"


def is_before_first_commit(commit: str) -> bool:
    """Return whether an answer's commit is the id of zeros, which stands for no commit at all.

    >>> is_before_first_commit("0" * 40), is_before_first_commit("00b1" * 10)
    (True, False)
    """
    return not commit.strip("0")


def background_lines(answer: Answer) -> list[Reason]:
    """An answer's background in words: the tests of its first file and who knows it, then earlier changes."""
    about = answer.background or Background()
    reasons = [Reason("tests", f"tests of it: {', '.join(about.tests)}")] if about.tests else []
    people = [f"{one.name} ({one.date})" for one in about.people]
    who = [f"last changed by {' and '.join(people)}"] if people else []
    who += [f"owned by {' '.join(about.owners)}"] if about.owners else []
    if who:
        reasons.append(Reason("people", f"{answer.hits[0].path}: {', '.join(who)}"))
    for one in about.earlier:
        number = f" of {one.issue}" if one.issue and one.issue not in one.title else ""
        more = f" and {len(one.files) - SHOWN_FILES} more" if len(one.files) > SHOWN_FILES else ""
        changed = f" ({', '.join(one.files[:SHOWN_FILES])}{more})" if one.files else ""
        title = f": {one.title}" if one.title else ""  # which is not known without the repository
        said = f"like this: {one.commit[:10]}{number}, {one.date}{title}{changed}"
        reasons.append(Reason("earlier", said, one.commit, one.issue, url=one.url))
    return reasons


@dataclass(frozen=True, slots=True)
class Searched:
    """What an answer was chosen from."""

    files: int
    """Source files of the version that could be named."""
    hidden_tests: int = 0
    """Test files beside them, which were not to be named."""
    uncommitted: int = 0
    """Files of the work tree, of any of these, that the commit has otherwise: changed, new, or gone."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights that ranked the files. What is not known of their training is None."""

    kind: Literal["shipped", "trained"]
    date: Day | None = None
    """Day of the training, also of one that kept the shipped weights."""
    reports: int | None = None
    """Number of reports that training learned from."""
    weak: bool | None = None
    """Whether most of these were commit messages, which are easier than users' reports."""

    @property
    def sentence(self) -> str:
        """Return the weights in words, for a note.

        >>> Weights("shipped").sentence, Weights("trained").sentence
        ('weights: shipped', 'weights: trained')
        >>> Weights("trained", date(2026, 11, 26), 1269, weak=True).sentence
        'weights: trained 2026-11-26 on 1,269 commit messages'
        >>> Weights("shipped", date(2026, 11, 26), 1, weak=False).sentence
        'weights: shipped, as kept by the training of 2026-11-26 on 1 bug report'
        """
        what = {True: "commit message", False: "bug report", None: "report"}[self.weak]
        learned_from = "" if self.reports is None else f" on {pluralize(self.reports, what)}"
        if self.kind == "trained":
            day = "" if self.date is None else f" {self.date}"
            return f"weights: trained{day}{learned_from}"
        if not learned_from:
            return "weights: shipped"
        day = "" if self.date is None else f" of {self.date}"
        return f"weights: shipped, as kept by the training{day}{learned_from}"

    def as_dict(self) -> dict[str, Any]:
        """Return plain values of JSON, without what is not known."""
        day = None if self.date is None else self.date.isoformat()
        values = {"kind": self.kind, "date": day, "reports": self.reports, "weak": self.weak}
        return {key: value for key, value in values.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Answer:
    """The first files of a version for one report, with functions and reasons."""

    repository: str | None
    """Its path; None for a version that a checkpoint carries."""
    commit: str
    """Full id of the searched version."""
    committed: datetime
    report: BugReport
    searched: Searched
    hits: tuple[Hit, ...]
    """As many as were asked for, most suspicious first."""
    others: tuple[Hit, ...] = ()
    """Files that are no sources: those that the report names, then templates, styles and configuration by words."""
    background: Background | None = None
    """What the project's past says beside it; None where that was not wanted."""
    notes: tuple[str, ...] = ()
    """Sentences about the input."""
    seconds: float = 0.0
    """How long it took."""
    weights: Weights = Weights("shipped")

    @property
    def warnings(self) -> tuple[str, ...]:
        """The notes that a reader should act on, or that change what the answer means."""
        return tuple(note for note in self.notes if not isinstance(note, RoutineNote))

    def top(self, number: int) -> list[Hit]:
        """The first of the hits."""
        return list(self.hits[:number])

    def as_dict(self) -> dict[str, Any]:
        """Plain values of JSON, as the schema describes them."""
        begins = {"schema": SCHEMA, "tosloc": tosloc.__version__, "repository": self.repository}
        values = asdict(self, dict_factory=_plain)
        report = {
            "id": self.report.id,
            "summary": self.report.summary,
            "opened": _time(self.report.opened),
        }
        others = [{"path": hit["path"], "why": hit["why"]} for hit in values["others"]]
        changed = {"report": report, "others": others, "committed": _time(self.committed)}
        changed["weights"] = self.weights.as_dict()
        return begins | values | changed | {"seconds": round(self.seconds, 3)}


def _plain(values: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Values of JSON; what a reason lacks is left out."""
    return {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in values
        if value is not None
    }


def _time(time: datetime | None) -> str | None:
    """In UTC, to the second, as RFC 3339 has it: 2014-01-15T07:30:17Z."""
    return (
        None
        if time is None
        else time.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    )
