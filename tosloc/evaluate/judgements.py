"""What is true: the fixed files of every report (``qrels.jsonl``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, field
from pathlib import Path
from typing import Annotated, Self, TypeAlias

from pydantic import Field
from pydantic.dataclasses import dataclass

from tosloc.core.errors import RunError
from tosloc.core.io import atomic_write
from tosloc.core.records import Case, ReportAttributes
from tosloc.evaluate.jsonl import LINE, checked, json_line, json_lines


@dataclass(frozen=True, slots=True, config=LINE)
class Judgement:
    """The fixed files of one report, and a line of the file. Identity is the full path in the repository."""

    report: str
    fixed: tuple[str, ...]  # listed files that exist in the searched version: the ground truth
    listed: tuple[str, ...]
    searched: int | None = (
        None  # number of files of the searched version, if known: a ranking holds as many
    )
    version: str | None = None
    attributes: Annotated[ReportAttributes | None, Field(alias="traits")] = None
    summary: str | None = field(
        default=None, compare=False
    )  # what the report is called, for people; no judgement

    def __post_init__(self) -> None:
        listed, number = {*self.listed}, len(self.fixed)
        sound = len(listed) == len(self.listed) and len(listed & {*self.fixed}) == number
        if not sound or (self.searched is not None and self.searched < number):
            raise ValueError(
                f"report {self.report}: fixed files are listed ones, each once, of those searched"
            )

    @property
    def dropped(self) -> int:
        return len(self.listed) - len(self.fixed)

    @classmethod
    def from_case(
        cls, case: Case, searched: int | None = None, attributes: ReportAttributes | None = None
    ) -> Self:
        """Judgement of a labelled bug whose version holds ``searched`` source files."""
        summary = case.report.summary or None
        return cls(
            case.report.id, case.fixed, case.listed, searched, case.version, attributes, summary
        )


Qrels: TypeAlias = Mapping[str, Judgement]
"""All judgements of an experiment, by report."""


def to_qrels(judgements: Iterable[Judgement]) -> Qrels:
    """Judgements by report."""
    return {one.report: one for one in judgements}


def write_judgements(path: str | Path, judgements: Iterable[Judgement]) -> None:
    """Write one JSON line a report. The file appears only when it is whole."""
    with atomic_write(Path(path)) as temporary, temporary.open("wb") as file:
        for one in judgements:
            values = {
                "report": one.report,
                "fixed": one.fixed,
                "dropped": one.dropped,
                "listed": one.listed,
                "searched": one.searched,
                "version": one.version,
                "traits": one.attributes and asdict(one.attributes),
                "summary": one.summary,
            }
            file.write(json_line(values))


def read_judgements(path: str | Path) -> Qrels:
    """Judgements of a file, whose lines may stand in any order. Raises RunError naming the line for a report that comes
    twice and for a line that is no judgement.
    """
    judgements: dict[str, Judgement] = {}
    for where, value in json_lines(path):
        one = checked(Judgement, value, where)
        if one.report in judgements:
            raise RunError(f"{where}: report {one.report} is judged twice")
        judgements[one.report] = one
    return judgements
