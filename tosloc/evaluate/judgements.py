"""What is true: the fixed files of every report, on disk as ``qrels.jsonl``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

from tosloc.errors import RunError
from tosloc.evaluate.file_lists import FILE_LISTS_FILE, FileLists, read_file_lists
from tosloc.evaluate.jsonl import Line, json_line, json_lines
from tosloc.io import written_whole
from tosloc.records import Case, ReportAttributes


@dataclass(frozen=True, slots=True)
class Judgement:
    """The fixed files of one report. Identity is the full path in the repository."""

    report: str
    fixed: tuple[str, ...]
    """Listed files that exist in the searched version: the ground truth."""
    listed: tuple[str, ...]
    """Files that the data lists."""
    searched: int | None = None
    """Number of files of the searched version, if known: a ranking holds as many."""
    version: str | None = None
    """Full id of the searched version, if known."""
    attributes: ReportAttributes | None = None
    """What kind of report it is, if known."""
    nonrelevant: tuple[str, ...] | None = None
    """Files judged as not fixed; None where those are all other files of the version."""
    summary: str | None = field(default=None, compare=False)
    """What the report is called, for people; no judgement."""
    where: str = field(default="", compare=False)
    """File and line, for messages."""

    def __post_init__(self) -> None:
        if len(set(self.fixed)) < len(self.fixed) or len(set(self.listed)) < len(self.listed):
            raise ValueError(f"report {self.report}: a file is listed twice")
        if not set(self.fixed) <= set(self.listed):
            raise ValueError(f"report {self.report}: fixed files that are not listed")
        if self.searched is not None and self.searched < len(self.fixed):
            raise ValueError(f"report {self.report}: {len(self.fixed)} fixed of {self.searched} files searched")
        if self.nonrelevant is not None and not set(self.fixed).isdisjoint(self.nonrelevant):
            raise ValueError(f"report {self.report}: a file is judged both as fixed and as not fixed")

    @property
    def dropped(self) -> int:
        """How many listed files the searched version lacks."""
        return len(self.listed) - len(self.fixed)

    @classmethod
    def of(cls, case: Case, searched: int | None = None, attributes: ReportAttributes | None = None) -> Self:
        """Judgement of a labelled bug whose version holds ``searched`` source files."""
        summary = case.report.summary or None
        return cls(case.report.id, case.fixed, case.listed, searched, case.version, attributes, summary=summary)


@dataclass(frozen=True, eq=False)
class Qrels:
    """All judgements of an experiment, and the files of the versions that it searched, if they are known."""

    judgements: Mapping[str, Judgement]
    """Report id -> what is true of it."""
    file_lists: FileLists | None = None
    where: str = "qrels"
    """The file, for messages."""

    @classmethod
    def of(cls, judgements: Iterable[Judgement], file_lists: FileLists | None = None, where: str = "qrels") -> Self:
        """The judgements by report. Raises ValueError for a report that is judged twice."""
        by_report: dict[str, Judgement] = {}
        for one in judgements:
            if one.report in by_report:
                raise ValueError(f"report {one.report} is judged twice")
            by_report[one.report] = one
        return cls(by_report, file_lists, where)

    def __len__(self) -> int:
        return len(self.judgements)


def write_judgements(path: str | Path, judgements: Iterable[Judgement]) -> None:
    """Write one JSON line a report. The file appears only when it is whole."""
    with written_whole(Path(path)) as temporary, temporary.open("wb") as file:
        for one in judgements:
            values = {
                "report": one.report,
                "fixed": one.fixed,
                "dropped": one.dropped,
                "listed": one.listed,
                "searched": one.searched,
                "version": one.version,
                "traits": None if one.attributes is None else asdict(one.attributes),
                **({} if one.nonrelevant is None else {"nonrelevant": one.nonrelevant}),
                **({} if one.summary is None else {"summary": one.summary}),
            }
            file.write(json_line(values))


def read_judgements(path: str | Path, file_lists: str | Path | None = None) -> Qrels:
    """Judgements of a file, whose lines may stand in any order, with the files of their versions.

    Without ``file_lists``, a file searched.jsonl.gz beside the judgements is taken if there is one.

    Raises RunError naming the line for a report that comes twice and for a line that is no judgement.
    """
    judgements: dict[str, Judgement] = {}
    for where, value in json_lines(path):
        line = _Line.of(value, where)
        traits = None if line.traits is None else ReportAttributes(**line.traits.model_dump())
        others = None if line.nonrelevant is None else tuple(line.nonrelevant)
        of_version = tuple(line.fixed), tuple(line.listed), line.searched, line.version
        try:
            one = Judgement(str(line.report), *of_version, traits, others, line.summary, where)
        except ValueError as error:
            raise RunError(f"{where}: {error}") from None
        if one.report in judgements:
            raise RunError(f"{where}: report {one.report} is judged twice")
        judgements[one.report] = one
    beside = Path(path).parent / FILE_LISTS_FILE
    if file_lists is None and beside.is_file():
        file_lists = beside
    return Qrels(judgements, None if file_lists is None else read_file_lists(file_lists), str(path))


class _Traits(Line):
    description: bool
    stack_trace: bool
    named: int


class _Line(Line):
    report: str | int
    fixed: list[str]
    listed: list[str]
    searched: int | None = None
    version: str | None = None
    traits: _Traits | None = None
    nonrelevant: list[str] | None = None
    summary: str | None = None
