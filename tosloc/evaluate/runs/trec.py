"""Runs and judgements in TREC's format, which evaluation tools share; gzip is read as well.

A line of a run is ``report Q0 path rank score tag``, a line of judgements ``report 0 path
relevance``, with columns separated by white space. Report ids and paths are percent-encoded when
written and decoded when read: ``%`` itself, and every character that is not printable ASCII. The
path ``-`` means that the report has no file; without it the report would have no line.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote_to_bytes

import numpy as np

from tosloc.core.arrays import IntArray, LongArray, sorted_unique
from tosloc.core.errors import RunError
from tosloc.core.io import atomic_write, escape_unprintable
from tosloc.core.versions import StringTable
from tosloc.evaluate.runs.jsonl import numbered_lines
from tosloc.evaluate.runs.judgements import Judgement, Qrels, to_qrels
from tosloc.evaluate.runs.run import Order, Run, header_counts

NO_PATH: Final = "-"
_SAFE_CHARACTERS: Final = "!\"#$&'()*+,/:;<=>?@[\\]^`{|}"
"""Characters that ``percent_encode`` keeps, besides those that ``quote`` never encodes."""


@dataclass(frozen=True)
class _Format:
    """Number of columns in the lines of a run or of judgements, and the column of the value.

    The value is a score or a relevance.
    """

    description: str
    columns: int
    value_column: int
    is_valid: Callable[[float], bool]
    """Function that returns whether the value column may contain this number."""


_PATH_COLUMN: Final = 2
_RANK_COLUMN: Final = 3
_RUN: Final = _Format(
    "'report Q0 path rank score tag' with a number as score",
    6,
    value_column=4,
    is_valid=math.isfinite,
)
_QRELS: Final = _Format(
    "'report 0 path relevance' with a relevance of 1 (fixed) or 0",
    4,
    value_column=3,
    is_valid=lambda value: value <= 1 and value.is_integer(),
)


def read_trec_run(path: str | Path) -> Run:
    """Read the run of a file, whose lines may be in any order.

    Files are ordered by score, descending, and files with equal scores by the bytes of their paths.
    The column of ranks has no effect. The header contains the ``tag`` of the last line, and the
    number of reports whose ranks contradict their scores. Raises RunError, which names the line or
    the report, for a line of another format, a score that is not a finite number, a path that does
    not begin at the root of the repository, and a file that a report ranks twice.
    """
    return _read(Path(path), _RUN)


def write_trec_run(path: str | Path, run: Run, tag: str = "tosloc") -> None:
    """Write a run to a file, by report id.

    The file is written atomically: readers never see an unfinished file. Its scores are whole
    numbers that count down to 1, instead of the run's own scores. Every tool then ranks alike,
    however it treats equal scores, and even in single precision. Raises RunError for a run of which
    only some ranks are known.
    """
    rankings = run.rankings()
    encode_cached = cache(percent_encode)
    encoded_tag = percent_encode(tag)
    with (
        atomic_write(Path(path)) as temporary,
        temporary.open("w", encoding="utf-8", newline="\n") as file,
    ):
        for ranking in rankings:
            report = percent_encode(ranking.report)
            paths = list(map(encode_cached, ranking.paths)) or [NO_PATH]
            file.writelines(
                f"{report} Q0 {name} {rank} {len(paths) - rank + 1} {encoded_tag}\n"
                for rank, name in enumerate(paths, start=1)
            )


def read_trec_qrels(path: str | Path) -> Qrels:
    """Read the judgements of a file, whose lines may be in any order.

    Relevance is 1 for a fixed file, and 0 or less for a file that is not fixed. Files without a
    line are not fixed. Raises RunError, which names the line or the report, for a line of another
    format, for another relevance, and for a file that is judged twice.
    """
    run = _read(Path(path), _QRELS)
    judgements = []
    for report, order in run.orders.items():
        # files are ordered by relevance, so that the fixed ones come first
        fixed = run.paths(report, int((order.scores == 1).sum()))
        judgements.append(Judgement(report, fixed, fixed))
    return to_qrels(judgements)


def write_trec_qrels(path: str | Path, qrels: Qrels, others: Run | None = None) -> None:
    """Write judgements to a file, by report id and path.

    The file is written atomically: readers never see an unfinished file. ``others`` is a run that
    ranks every searched file: its files that are not fixed get the relevance 0, so that bpref is
    the same in every tool. A report without any file gets the path ``-`` with relevance 0, so that
    no tool leaves the report out of a mean.
    """
    encode_cached = cache(percent_encode)
    with (
        atomic_write(Path(path)) as temporary,
        temporary.open("w", encoding="utf-8", newline="\n") as file,
    ):
        for report, judgement in sorted(qrels.items()):
            cell = percent_encode(report)
            fixed = set(judgement.fixed)
            paths = fixed if others is None else fixed | set(others.paths(report))
            if not paths:
                file.write(f"{cell} 0 {NO_PATH} 0\n")
            file.writelines(
                f"{cell} 0 {encode_cached(name)} {int(name in fixed)}\n"
                for name in sorted(paths, key=_path_bytes)
            )


@dataclass(slots=True)
class _ValuedFiles:
    """Numbers of one report's files, and the score or relevance of each file."""

    numbers: array[int] = field(default_factory=lambda: array("i"))
    values: array[float] = field(default_factory=lambda: array("d"))
    ranks: array[float] = field(default_factory=lambda: array("d"))
    """Ranks in a run, which have no effect; NaN for a rank that is no number."""

    @property
    def is_contradicted(self) -> bool:
        """Whether a file with a higher score than another one has a later rank."""
        ranks = np.asarray(self.ranks)
        by_score = np.lexsort((ranks, -np.asarray(self.values)))
        return bool((np.diff(ranks[by_score]) < 0).any())


def _read(path: Path, form: _Format) -> Run:
    """Read the files of each report, ordered by value, descending, then by path."""
    names = StringTable()
    files_by_report: dict[str, _ValuedFiles] = {}
    no_path = NO_PATH.encode()
    last_cell = b""

    @cache
    def number(cell: bytes) -> int:
        name = percent_decode(cell)
        if name.startswith(("/", "./")):
            raise RunError(
                f"{path} line {line_number}: {escape_unprintable(name)} must be a path from the"
                " root of the repository, without / or ./ before it"
            )
        return names.id(name)

    @cache
    def files_of_report(cell: bytes) -> _ValuedFiles:
        return files_by_report.setdefault(percent_decode(cell), _ValuedFiles())

    for line_number, line in numbered_lines(path):
        cells = line.split()
        if not cells:
            continue
        value = _value(cells, form)
        if value is None:
            excerpt = escape_unprintable(line[:60].decode(errors="replace").strip())
            raise RunError(
                f"{path} line {line_number}: {excerpt!r} is not of the form {form.description}"
                " (write a space in a name as %20)"
            )
        files = files_of_report(cells[0])
        if cells[_PATH_COLUMN] != no_path:
            files.numbers.append(number(cells[_PATH_COLUMN]))
            files.values.append(value)
            if form is _RUN:
                files.ranks.append(_number(cells[_RANK_COLUMN]))
        last_cell = cells[-1]
    if not files_by_report:
        raise RunError(f"{path}: the file is empty")
    positions = _positions_in_git_order(names.names)
    orders = {}
    for report, files in files_by_report.items():
        orders[report] = _rank_files(files, positions, f"{path}: report {report}")
    header: dict[str, Any] = {"form": "TREC run", "tag": percent_decode(last_cell)}
    if form is _RUN:
        contradicted = sum(files.is_contradicted for files in files_by_report.values())
        header |= header_counts(contradicted=contradicted or None)
    return Run(header, names.names, orders, str(path))


def _number(cell: bytes) -> float:
    """Return the number in a cell; NaN if it contains none."""
    try:
        return float(cell)
    except ValueError:
        return math.nan


def _value(cells: list[bytes], form: _Format) -> float | None:
    """Return the score or relevance in the cells of a line; None if the line has another format."""
    if len(cells) != form.columns:
        return None
    try:
        value = float(cells[form.value_column])
    except ValueError:
        return None
    return value if form.is_valid(value) else None


def _positions_in_git_order(names: list[str]) -> LongArray:
    """Return for each path its position when the paths are sorted as git does."""
    in_order = sorted(range(len(names)), key=lambda number: _path_bytes(names[number]))
    return np.argsort(in_order)


def _rank_files(files: _ValuedFiles, positions: LongArray, where: str) -> Order:
    """Return the files by value, descending, then by path.

    Raises RunError if a file is repeated.
    """
    numbers: IntArray = np.asarray(files.numbers, dtype=np.int32)
    values = np.asarray(files.values)
    if len(sorted_unique(numbers)) < len(numbers):
        raise RunError(f"{where}: a file is listed twice")
    best_first = np.lexsort((positions[numbers], -values))
    return Order(numbers[best_first], values[best_first])


def _path_bytes(name: str) -> bytes:
    """Return a path's bytes, by which git orders paths."""
    return name.encode("utf-8", "surrogateescape")


def percent_encode(text: str) -> str:
    r"""Return text without white space, which ``percent_decode`` turns back into ``text``.

    Raises RunError for text that is empty or cannot be a file's name.

    >>> percent_encode("Eclipse SWT/100%/caf\udce9.java"), percent_encode("é\u3000")
    ('Eclipse%20SWT/100%25/caf%E9.java', '%C3%A9%E3%80%80')
    >>> percent_encode("-")
    '%2D'
    """
    if text == NO_PATH:
        return "%2D"
    try:
        cell = quote(text, safe=_SAFE_CHARACTERS, errors="surrogateescape")
    except UnicodeEncodeError:  # half a character
        cell = ""
    if not cell:
        raise RunError(f"{text!r} cannot be written in TREC format, because it is not a valid name")
    return cell


def percent_decode(cell: bytes) -> str:
    r"""Return the text of a percent-encoded cell.

    A ``%`` without two hexadecimal digits stays as it is; bytes that are not UTF-8 become
    surrogates.

    >>> percent_decode(b"Eclipse%20SWT/100%25/caf%E9.java"), percent_decode(b"100%.java")
    ('Eclipse SWT/100%/caf\udce9.java', '100%.java')
    """
    return unquote_to_bytes(cell).decode("utf-8", "surrogateescape")
