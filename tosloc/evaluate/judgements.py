"""What is true: the fixed files of every report (``qrels.jsonl``), and the files of versions (``searched.jsonl.gz``).

A line of the latter is ``{"version", "like", "with", "without"}``: the files of version ``like``, which an earlier line
tells (of none if it is null), without some and with others. Consecutive versions differ by little, so thousands of them
are small.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final, Self

import numpy as np
from pydantic import Field

from tosloc.errors import RunError
from tosloc.evaluate.jsonl import Line, json_line, json_lines, packed_file
from tosloc.io import written_whole
from tosloc.records import Case, IntArray, Names, ReportAttributes

FILE_LISTS_FILE: Final = "searched.jsonl.gz"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The fixed files of one report. Identity is the full path in the repository."""

    report: str
    fixed: tuple[str, ...]  # listed files that exist in the searched version: the ground truth
    listed: tuple[str, ...]
    searched: int | None = None  # number of files of the searched version, if known: a ranking holds as many
    version: str | None = None
    attributes: ReportAttributes | None = None
    summary: str | None = field(default=None, compare=False)  # what the report is called, for people; no judgement

    def __post_init__(self) -> None:
        if len(set(self.fixed)) < len(self.fixed) or len(set(self.listed)) < len(self.listed):
            raise ValueError(f"report {self.report}: a file is listed twice")
        if not set(self.fixed) <= set(self.listed):
            raise ValueError(f"report {self.report}: fixed files that are not listed")
        if self.searched is not None and self.searched < len(self.fixed):
            raise ValueError(f"report {self.report}: {len(self.fixed)} fixed of {self.searched} files searched")

    @property
    def dropped(self) -> int:
        return len(self.listed) - len(self.fixed)

    @classmethod
    def of(cls, case: Case, searched: int | None = None, attributes: ReportAttributes | None = None) -> Self:
        """Judgement of a labelled bug whose version holds ``searched`` source files."""
        summary = case.report.summary or None
        return cls(case.report.id, case.fixed, case.listed, searched, case.version, attributes, summary=summary)


@dataclass(frozen=True, eq=False)
class FileLists:
    """The files of versions, as numbers into one table of names."""

    names: Names
    versions: Mapping[str, IntArray]  # version -> numbers of its files, ascending
    where: str = "file lists"

    def of(self, version: str) -> IntArray:
        """Numbers of a version's files. Raises RunError for a version that is not here."""
        if version not in self.versions:
            raise RunError(f"{self.where}: no list of the files of version {version}")
        return self.versions[version]

    def files(self, version: str) -> frozenset[str]:
        """Paths of a version's files. Raises RunError for a version that is not here."""
        return frozenset(self.names.names[number] for number in self.of(version).tolist())

    def numbers_of(self, paths: Sequence[str]) -> IntArray:
        """(N,) number of each path, one past the last for a path that no version has."""
        return np.array([self.names.ids.get(path, len(self.names)) for path in paths], dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Qrels:
    """All judgements of an experiment, and the files of the versions that it searched, if they are known."""

    judgements: Mapping[str, Judgement]
    file_lists: FileLists | None = None

    @classmethod
    def of(cls, judgements: Iterable[Judgement], file_lists: FileLists | None = None) -> Self:
        return cls({one.report: one for one in judgements}, file_lists)


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
                **({} if one.summary is None else {"summary": one.summary}),
            }
            file.write(json_line(values))


class _Traits(Line):
    description: bool
    stack_trace: bool
    named: int


class _Judgement(Line):
    report: str | int
    fixed: list[str]
    listed: list[str]
    searched: int | None = None
    version: str | None = None
    traits: _Traits | None = None
    summary: str | None = None


def read_judgements(path: str | Path) -> Qrels:
    """Judgements of a file, whose lines may stand in any order, with the files of their versions if those stand beside.
    Raises RunError naming the line for a report that comes twice and for a line that is no judgement.
    """
    judgements: dict[str, Judgement] = {}
    for where, value in json_lines(path):
        line = _Judgement.of(value, where)
        report = str(line.report)
        kind = None if line.traits is None else ReportAttributes(**line.traits.model_dump())
        of_version = tuple(line.fixed), tuple(line.listed), line.searched, line.version
        if report in judgements:
            raise RunError(f"{where}: report {report} is judged twice")
        try:
            judgements[report] = Judgement(report, *of_version, kind, line.summary)
        except ValueError as error:
            raise RunError(f"{where}: {error}") from None
    beside = Path(path).parent / FILE_LISTS_FILE
    return Qrels(judgements, read_file_lists(beside) if beside.is_file() else None)


def write_file_lists(path: str | Path, versions: Iterable[tuple[str, Sequence[str]]]) -> None:
    """Write the files of versions; one that comes again is skipped. The file appears only when it is whole."""
    like, before, seen = None, frozenset[str](), set[str]()
    with packed_file(Path(path)) as file:
        for version, paths in versions:
            if version not in seen:
                now = frozenset(paths)
                line = {"version": version, "like": like, "with": sorted(now - before), "without": sorted(before - now)}
                file.write(json_line(line))
                seen.add(version)
                like, before = version, now


class _Version(Line):
    version: str
    like: str | None
    new: list[str] = Field(alias="with")
    without: list[str]


def read_file_lists(path: str | Path) -> FileLists:
    """Versions of a file. Raises RunError for a damaged one, and for a version like one that no line before tells."""
    names, versions = Names(), dict[str, IntArray]()
    for where, value in json_lines(path):
        line = _Version.of(value, where)
        if line.version in versions:
            raise RunError(f"{where}: version {line.version} comes twice")
        if line.like is not None and line.like not in versions:
            raise RunError(f"{where}: version {line.version} is like {line.like}, of which no line before tells")
        gone, new = ([names.id(name) for name in some] for some in (line.without, line.new))
        before = np.array([], dtype=np.int32) if line.like is None else versions[line.like]
        versions[line.version] = np.union1d(np.setdiff1d(before, gone), new).astype(np.int32)
    return FileLists(names, versions, str(path))
