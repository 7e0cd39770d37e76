"""Relevance judgements: the fixed files of every report (``qrels.jsonl``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, field
from pathlib import Path
from typing import Annotated, Self, TypeAlias

from pydantic import Field
from pydantic.dataclasses import dataclass

from tosloc.core.errors import RunError
from tosloc.core.io import atomic_write
from tosloc.core.reports import Case, ReportAttributes
from tosloc.evaluate.runs.jsonl import LINE_CONFIG, json_line, json_lines, validate


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
            attributes = judgement.attributes
            values = {
                "report": judgement.report,
                "fixed": judgement.fixed,
                "dropped": judgement.dropped,
                "listed": judgement.listed,
                "searched": judgement.searched,
                "version": judgement.before_commit,
                "traits": None if attributes is None else asdict(attributes),
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
