"""Bug reports, and labelled reports with their fixes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Final

from tosloc.core.errors import ReportError

VALID_TIMES: Final = range(-62_135_596_800, 253_402_214_400)
"""Seconds since 1970 for which there is a date, of the years 1 to 9999."""


@dataclass(frozen=True, slots=True)
class BugReport:
    """All that is known of a bug when it is reported; nothing of its fix.

    Raises ReportError if ``opened`` has no time zone.
    """

    TEXT_ID: ClassVar[str] = "report"
    """Id of a text that comes from no file and names no id."""

    id: str
    """Number or name of the report in its tracker."""
    summary: str
    """The title, one line."""
    description: str
    """The text below the title; may be empty."""
    opened: datetime | None
    """Time of opening; None if it is not known, and the caller chooses a time."""
    notes: tuple[str, ...] = ()
    """Sentences for the user about how the report was read; no ranker sees them."""

    def __post_init__(self) -> None:
        if self.opened is not None and self.opened.tzinfo is None:
            raise ReportError(
                f"report {self.id}: the opening time needs a time zone, such as tzinfo=UTC"
            )

    @property
    def opened_seconds(self) -> float:
        """Time of opening in seconds since 1970, UTC. Raises ValueError if it is not known."""
        if self.opened is None:
            raise ValueError(f"report {self.id}: its opening time is unknown; add one")
        return self.opened.timestamp()


@dataclass(frozen=True, slots=True)
class Case:
    """A labelled bug report, with the commit that fixed it and the files that the fix changed.

    Only training, evaluation and the laboratory use cases.
    """

    report: BugReport
    """The report, which is all that a ranker sees of the case."""
    fix_commit: str
    """Full id of the fixing commit; "" if the data names only the commit before the fix."""
    before_commit: str
    """Full id of the commit before the fix, whose files are ranked.

    It is the first parent of the fix, unless the data names another commit.
    """
    fixed_at: int
    """Committer time of the fix, in seconds since 1970.

    If the fix is not known, it is the time of ``before_commit``.
    """
    listed: tuple[str, ...]
    """Source files that the data lists as fixed, sorted."""
    fixed: tuple[str, ...]
    """The listed files that exist at ``before_commit``: the ground truth."""

    def fix_order(self) -> tuple[int, str, str]:
        """Return the sorting key: committer time of the fix, fix id, report id."""
        return self.fixed_at, self.fix_commit, self.report.id


@dataclass(frozen=True, slots=True)
class ReportAttributes:
    """Properties of a report that results are broken down by. A ranker never sees them."""

    description: bool
    stack_trace: bool
    named: int
    """Number of fixed files whose class the text mentions.

    If it is not 0, the report is "already localized" (Kochhar et al. 2014).
    """
    weak: bool = False
    """Whether a commit message takes the place of the report."""
