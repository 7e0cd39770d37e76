"""Relevance judgements: the fixed files of every report (``qrels.jsonl``)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, field
from pathlib import Path
from typing import Annotated, Final, Self, TypeAlias

from pydantic import Field
from pydantic.dataclasses import dataclass

from tosloc.core.errors import RunError, pluralize
from tosloc.core.io import atomic_write
from tosloc.core.reports import Case, ReportAttributes
from tosloc.evaluate.runs.jsonl import LINE_CONFIG, json_line, json_lines, validate

MANY_FILES: Final = 6
"""Number of fixed files from which a fix is likely to contain other changes, too."""
MIN_BROAD_SHARE: Final = 0.1
"""Smallest share of reports with so many fixed files that results have a note on it."""


@dataclass(frozen=True, slots=True, config=LINE_CONFIG)
class Judgement:
    """The fixed files of one report: a line of the file. Files are full paths in the repository.

    ``fixed`` are those ``listed`` files that exist in the searched version: the ground truth.
    Raises ValueError if a file is listed twice, or if more than ``searched`` files are fixed.
    """

    report: str
    fixed: tuple[str, ...]
    listed: tuple[str, ...]
    searched: int | None = None
    """Number of files of the searched version, which a complete ranking contains; None if unknown.
    """
    before_commit: Annotated[str | None, Field(alias="version")] = None
    attributes: Annotated[ReportAttributes | None, Field(alias="traits")] = None
    summary: str | None = field(default=None, compare=False)
    """Title of the report, for people; not part of the judgement."""

    def __post_init__(self) -> None:
        listed = set(self.listed)
        listed_once = len(listed) == len(self.listed)
        fixed_once = len(listed & set(self.fixed)) == len(self.fixed)
        enough_searched = self.searched is None or self.searched >= len(self.fixed)
        if not (listed_once and fixed_once and enough_searched):
            raise ValueError(
                f"report {self.report}: the fixed files must be among the listed and the searched"
                " files, each once"
            )

    @property
    def is_weak(self) -> bool:
        """Whether a commit message takes the place of the report."""
        return self.attributes is not None and self.attributes.weak

    @staticmethod
    def notes_on_truth(judgements: Collection[Judgement]) -> list[str]:
        """Return sentences on what makes the reports or their fixed files a weak truth."""
        number = pluralize(len(judgements), "report")
        weak = 0
        broad = 0
        for judgement in judgements:
            weak += judgement.is_weak
            # Runs of functions name them path::name.
            broad += len({name.partition("::")[0] for name in judgement.fixed}) >= MANY_FILES
        notes = []
        if weak:
            notes.append(
                f"{weak:,} of {number} are commit messages; their authors knew the fix, so the"
                " numbers are higher than for reports that users write"
            )
        if broad >= MIN_BROAD_SHARE * len(judgements) and broad:
            notes.append(
                f"the fixes of {broad:,} of {number} changed {MANY_FILES} files or more; such"
                " commits often contain other changes, so not all of these files belong to the bug"
            )
        return notes

    @property
    def dropped(self) -> int:
        """Number of listed files that the searched version does not contain."""
        return len(self.listed) - len(self.fixed)

    @classmethod
    def from_case(
        cls, case: Case, searched: int | None = None, attributes: ReportAttributes | None = None
    ) -> Self:
        """Return the judgement of a case whose version contains ``searched`` source files."""
        return cls(
            report=case.report.id,
            fixed=case.fixed,
            listed=case.listed,
            searched=searched,
            before_commit=case.before_commit,
            attributes=attributes,
            summary=case.report.summary or None,
        )


Qrels: TypeAlias = Mapping[str, Judgement]
"""Report id -> judgement, for all reports of an experiment."""


def to_qrels(judgements: Iterable[Judgement]) -> Qrels:
    """Return report id -> judgement."""
    return {judgement.report: judgement for judgement in judgements}


def write_judgements(path: str | Path, judgements: Iterable[Judgement]) -> None:
    """Write one JSON line for each judgement, atomically: readers never see an unfinished file."""
    with atomic_write(Path(path)) as temporary, temporary.open("wb") as file:
        for judgement in judgements:
            traits = None
            if judgement.attributes is not None:
                traits = asdict(judgement.attributes)
                if not judgement.is_weak:
                    del traits["weak"]
            values = {
                "report": judgement.report,
                "fixed": judgement.fixed,
                "dropped": judgement.dropped,
                "listed": judgement.listed,
                "searched": judgement.searched,
                "version": judgement.before_commit,
                "traits": traits,
                "summary": judgement.summary,
            }
            file.write(json_line(values))


def read_judgements(path: str | Path) -> Qrels:
    """Read the judgements of a file, whose lines may be in any order.

    Raises RunError with the line's number if a report is judged twice or a line is not a judgement.
    """
    judgements: dict[str, Judgement] = {}
    for where, value in json_lines(path):
        judgement = validate(Judgement, value, where)
        if judgement.report in judgements:
            raise RunError(f"{where}: report {judgement.report} is judged twice")
        judgements[judgement.report] = judgement
    return judgements
