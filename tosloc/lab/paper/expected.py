"""What a table should show: the paper's numbers, and ours as they were measured before, each under a key of words.

A file ``configs/expected/TABLE.toml`` holds both as nested tables: ``[ours."all files".MRR]`` with the line
``BugLocator = { tomcat = 0.42 }`` is the number of the key ("all files", "MRR", "BugLocator", "tomcat").
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from tosloc.config import read_toml
from tosloc.errors import ConfigError
from tosloc.io import write_text
from tosloc.lab.paper.toml import check_keys, text_list_of, text_of

Key: TypeAlias = tuple[str, ...]
Verdict: TypeAlias = Literal["same", "new", "near", "differs"]
"""Of a measured number against the stored one; ``new`` where none is stored."""

VERDICTS: Final[tuple[Verdict, ...]] = ("same", "new", "near", "differs")
"""From best to worst."""
MEASURED: Final = '# Measured; "tosloc lab reproduce TABLE --update" writes what follows.'
ROUNDING: Final = 1e-9
_KEYS: Final = (
    "title", "command", "source", "projects", "split", "space", "left_out", "second", "tolerance", "paper", "ours",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far a number may be off the stored one."""

    same: float = 0.0
    near: float = 0.0
    relative: bool = False
    """Whether both are shares of the stored number."""

    def verdict(self, expected: float | None, measured: float) -> Verdict:
        """What to say of a measured number.

        >>> [Tolerance(0.001, 0.01).verdict(0.5, value) for value in (0.501, 0.49, 0.489)]
        ['same', 'near', 'differs']
        >>> Tolerance(0.1, 0.2, relative=True).verdict(50, 56), Tolerance().verdict(None, 1.0)
        ('near', 'new')
        """
        if expected is None:
            return "new"
        unit = abs(expected) if self.relative else 1.0
        off = abs(measured - expected)
        if off <= self.same * unit + ROUNDING:
            return "same"
        return "near" if off <= self.near * unit + ROUNDING else "differs"


@dataclass(frozen=True, slots=True)
class RerankerExperiments:
    """``[second]``: what an experiment with the encoder reranker is made with."""

    config: Path | None = None
    """Its settings, for projects whose own name no encoder."""
    train_reports: int = 0
    """How many of the training reports, the newest, it learns from; 0 for all."""
    candidates: tuple[int, ...] = (10, 20, 50)
    """Numbers of files that are reranked, ascending, where they are varied."""


@dataclass(frozen=True)
class Expected:
    """The content of a file, under the name of its table."""

    path: Path
    title: str
    command: str
    source: str
    """Where the paper's numbers stand."""
    projects: tuple[str, ...]
    """Projects that the table needs, in the order of its columns."""
    split: str
    """Which reports."""
    space: str
    """Which files are searched."""
    left_out: tuple[str, ...]
    tolerance: Tolerance
    paper: Mapping[Key, float]
    ours: Mapping[Key, float]
    reranker: RerankerExperiments = field(default_factory=RerankerExperiments)

    def check(self, measured: Mapping[Key, float]) -> list[Check]:
        """Every measured number beside the paper's and the expected one."""
        return [
            Check(
                key, value, self.paper.get(key), self.ours.get(key), self.tolerance.verdict(self.ours.get(key), value)
            )
            for key, value in measured.items()
        ]

    def update(self, measured: Mapping[Key, float]) -> None:
        """Write the measured numbers into the file; of ours, those that were not measured now are kept."""
        head = []
        for line in self.path.read_text(encoding="utf-8").splitlines():
            if line == MEASURED or line.startswith("[ours"):
                break
            head.append(line)
        text = "\n".join(head).rstrip() + f"\n\n{MEASURED}\n" + "\n".join(_lines({**self.ours, **measured})) + "\n"
        write_text(self.path, text)


@dataclass(frozen=True, slots=True)
class Check:
    """One measured number."""

    key: Key
    measured: float
    paper: float | None
    expected: float | None
    verdict: Verdict


def read_expected(path: Path) -> Expected:
    """Expected numbers of a file. Raises ConfigError that names the file and the key."""
    values, where = read_toml(path, "expected numbers"), str(path)
    check_keys(values, _KEYS, where)
    return Expected(
        path,
        title=text_of(values, "title", where),
        command=text_of(values, "command", where),
        source=text_of(values, "source", where),
        projects=text_list_of(values, "projects", where),
        split=text_of(values, "split", where, ""),
        space=text_of(values, "space", where, ""),
        left_out=text_list_of(values, "left_out", where),
        tolerance=_tolerance(values.get("tolerance", {}), where),
        paper=dict(_numbers(values.get("paper", {}), (), f"{where} [paper]")),
        ours=dict(_numbers(values.get("ours", {}), (), f"{where} [ours]")),
        reranker=_reranker(values.get("second", {}), path),
    )


def worst(verdicts: Iterator[Verdict]) -> Verdict | None:
    """The worst of some verdicts; None of none.

    >>> worst(iter(["same", "near", "new"]))
    'near'
    """
    return max(verdicts, key=VERDICTS.index, default=None)


def _reranker(values: Any, path: Path) -> RerankerExperiments:
    where, default = f"{path} [second]", RerankerExperiments()
    if not isinstance(values, dict):
        raise ConfigError(f"{path}: second is a section, [second]")
    check_keys(values, ("config", "train_reports", "candidates"), where)
    config = text_of(values, "config", where, "")
    reports = values.get("train_reports", default.train_reports)
    candidates = values.get("candidates", list(default.candidates))
    if not _is_whole(reports, 0):
        raise ConfigError(f"{where}: train_reports should be a whole number, 0 for all, not {reports!r}")
    if not isinstance(candidates, list) or not candidates or not all(_is_whole(one, 1) for one in candidates):
        raise ConfigError(f"{where}: candidates should be a list of whole numbers, 1 or more, not {candidates!r}")
    file = path.absolute().parent / config if config else None
    return RerankerExperiments(file, reports, tuple(sorted(set(candidates))))


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _tolerance(values: Any, where: str) -> Tolerance:
    section = f"{where} [tolerance]"
    if not isinstance(values, dict):
        raise ConfigError(f"{where}: tolerance is a section, [tolerance]")
    check_keys(values, ("same", "near", "relative"), section)
    same, near, relative = values.get("same", 0.0), values.get("near", 0.0), values.get("relative", False)
    if not _is_number(same) or not _is_number(near) or not 0 <= same <= near:
        raise ConfigError(f"{section}: same and near are numbers, 0 or more, near not below same")
    if not isinstance(relative, bool):
        raise ConfigError(f"{section}: relative should be true or false, not {relative!r}")
    return Tolerance(float(same), float(near), relative)


def _numbers(values: Any, above: Key, where: str) -> Iterator[tuple[Key, float]]:
    if not isinstance(values, dict):
        if not _is_number(values):
            raise ConfigError(f"{where}: {'.'.join(above)} should be a number, not {values!r}")
        yield above, float(values)
        return
    for key, value in values.items():
        yield from _numbers(value, (*above, key), where)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value


def _lines(numbers: Mapping[Key, float]) -> Iterator[str]:
    """The numbers as TOML: a section for all of a key but the last two words, a line for each row."""
    sections: dict[Key, dict[str, dict[str, float]]] = {}
    for key, value in numbers.items():
        *section, row, column = key
        sections.setdefault(tuple(section), {}).setdefault(row, {})[column] = value
    for number, (name, rows) in enumerate(sections.items()):
        if number:
            yield ""
        yield f"[{'.'.join(map(_toml_key, ('ours', *name)))}]"
        for row, columns in rows.items():
            cells = ", ".join(f"{_toml_key(column)} = {_toml_number(value)}" for column, value in columns.items())
            yield f"{_toml_key(row)} = {{ {cells} }}"


def _toml_key(word: str) -> str:
    return word if re.fullmatch(r"[A-Za-z0-9_-]+", word) else json.dumps(word)


def _toml_number(value: float) -> str:
    return str(round(value)) if value == round(value) else f"{value:.6g}"
