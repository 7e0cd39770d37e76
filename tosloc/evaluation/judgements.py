"""What is true: the fixed files of every report, on disk as ``qrels.jsonl``."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tosloc.errors import RunError
from tosloc.evaluation.lines import json_lines
from tosloc.files import written_whole
from tosloc.records import Case


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

    def __post_init__(self) -> None:
        if len(set(self.fixed)) < len(self.fixed) or len(set(self.listed)) < len(self.listed):
            raise ValueError(f"report {self.report}: a file is listed twice")
        if not set(self.fixed) <= set(self.listed):
            raise ValueError(f"report {self.report}: fixed files that are not listed")

    @property
    def dropped(self) -> int:
        """How many listed files the searched version lacks."""
        return len(self.listed) - len(self.fixed)

    @classmethod
    def of(cls, case: Case, searched: int | None = None) -> Self:
        """Judgement of a labelled bug whose version holds ``searched`` source files."""
        return cls(case.report.id, case.fixed, case.listed, searched)


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
            }
            file.write((json.dumps(values, separators=(",", ":")) + "\n").encode())


def read_judgements(path: str | Path) -> tuple[Judgement, ...]:
    """Judgements of a file, in file order.

    Raises RunError naming the line for a report that comes twice and for a line that is no judgement.
    """
    judgements: dict[str, Judgement] = {}
    try:
        file = Path(path).open("rb")
    except OSError as error:
        raise RunError(f"{path}: cannot read the judgements: {error.strerror or error}") from None
    with file:
        for number, value in json_lines(file, str(path)):
            try:
                fixed, listed = tuple(value["fixed"]), tuple(value["listed"])
                one = Judgement(str(value["report"]), fixed, listed, value.get("searched"))
            except KeyError as missing:
                raise RunError(f"{path} line {number}: a judgement without {missing}") from None
            except (TypeError, ValueError) as error:
                raise RunError(f"{path} line {number}: {error}") from None
            if one.report in judgements:
                raise RunError(f"{path} line {number}: report {one.report} is judged twice")
            judgements[one.report] = one
    return tuple(judgements.values())
