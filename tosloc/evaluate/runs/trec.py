"""Runs and judgements in TREC's format, which evaluation tools share; gzip is read as well.

A line of a run is ``report Q0 path rank score tag``, a line of judgements ``report 0 path
relevance``, with columns separated by white space. Report ids and paths are percent-encoded when
written and decoded when read: ``%`` itself, and every character that is not printable ASCII. The
path ``-`` means that the report has no file; without it the report would have no line.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from io import BytesIO
from itertools import compress, groupby
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import quote, unquote_to_bytes

import numpy as np

from tosloc.core.arrays import BoolArray, FloatArray, IntArray, LongArray, sorted_unique
from tosloc.core.errors import RunError
from tosloc.core.io import atomic_write, escape_unprintable
from tosloc.core.versions import StringTable
from tosloc.evaluate.runs.jsonl import numbered_blocks
from tosloc.evaluate.runs.judgements import Judgement, Qrels, to_qrels
from tosloc.evaluate.runs.run import Order, Run, header_counts

NO_PATH: Final = "-"
_NO_FILE: Final = -1
"""Number in place of a file's in a line with ``NO_PATH``."""
_LINE_END: Final = b"\0"
"""Cell that marks the end of a line; names of files cannot contain it."""
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
    are_valid: Callable[[FloatArray], BoolArray]
    """Function that returns for numbers (n,) whether the value column may contain them."""


_PATH_COLUMN: Final = 2
_RANK_COLUMN: Final = 3
_RUN: Final = _Format(
    "'report Q0 path rank score tag' with a number as score",
    6,
    value_column=4,
    are_valid=np.isfinite,
)
_QRELS: Final = _Format(
    "'report 0 path relevance' with a relevance of 1 (fixed) or 0",
    4,
    value_column=3,
    are_valid=lambda values: np.isfinite(values) & (values <= 1) & (values == np.floor(values)),
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

    def drop_missing(self) -> None:
        """Drop the entries of lines with ``NO_PATH``."""
        is_file = np.asarray(self.numbers) != _NO_FILE
        if not is_file.all():
            self.numbers = array("i", compress(self.numbers, is_file))
            self.values = array("d", compress(self.values, is_file))
            self.ranks = array("d", compress(self.ranks, is_file))


class _PathNumbers(dict[bytes, int]):
    """Cell with a path -> number of the path, which a path gets when it is first looked up.

    Raises ValueError under the conditions of ``_decode_path``.
    """

    def __init__(self) -> None:
        super().__init__({NO_PATH.encode(): _NO_FILE})
        self.names = StringTable()

    def __missing__(self, cell: bytes) -> int:
        self[cell] = self.names.id(_decode_path(cell))
        return self[cell]


@dataclass(frozen=True)
class _Block:
    """Some lines of a file, by column, without blank lines."""

    reports: Sequence[bytes]
    paths: Sequence[bytes]
    last_cells: Sequence[bytes]
    values: FloatArray
    ranks: FloatArray
    """Ranks in a run; empty for judgements."""

    @classmethod
    def from_lines(cls, lines: bytes, form: _Format) -> Self:
        """Return the columns of whole lines. Raises ValueError if a line is malformed."""
        columns = _split_columns(lines, form.columns)
        values = _numbers(columns[form.value_column])
        if not form.are_valid(values).all():
            raise ValueError("a value is out of range")
        ranks = _ranks(columns[_RANK_COLUMN] if form is _RUN else [])
        return cls(columns[0], columns[_PATH_COLUMN], columns[-1], values, ranks)


def _read(path: Path, form: _Format) -> Run:
    """Read the files of each report, ordered by value, descending, then by path.

    Statements that are executed for every line would take most of the time, so that blocks of lines
    are read by column.
    """
    numbers_by_path = _PathNumbers()
    files_by_report: dict[str, _ValuedFiles] = {}
    last_cell = b""

    @cache
    def files_of_report(cell: bytes) -> _ValuedFiles:
        return files_by_report.setdefault(percent_decode(cell), _ValuedFiles())

    for first_number, lines in numbered_blocks(path):
        try:
            block = _Block.from_lines(lines, form)
            numbers = array("i", map(numbers_by_path.__getitem__, block.paths))
        except ValueError:
            errors = (
                _line_error(line, form, f"{path} line {number}")
                for number, line in enumerate(BytesIO(lines), start=first_number)
            )
            raise next(filter(None, errors)) from None
        start = 0
        for cell, group in groupby(block.reports):
            end = start + len(list(group))
            files = files_of_report(cell)
            files.numbers.extend(numbers[start:end])
            files.values.frombytes(block.values[start:end].tobytes())
            files.ranks.frombytes(block.ranks[start:end].tobytes())
            start = end
        last_cell = block.last_cells[-1] if start else last_cell
    if not files_by_report:
        raise RunError(f"{path}: the file is empty")
    for files in files_by_report.values():
        files.drop_missing()
    names = numbers_by_path.names.names
    positions = _positions_in_git_order(names)
    orders = {}
    for report, files in files_by_report.items():
        orders[report] = _rank_files(files, positions, f"{path}: report {report}")
    header: dict[str, Any] = {"form": "TREC run", "tag": percent_decode(last_cell)}
    if form is _RUN:
        contradicted = sum(files.is_contradicted for files in files_by_report.values())
        header |= header_counts(contradicted=contradicted or None)
    return Run(header, names, orders, str(path))


def _split_columns(lines: bytes, n_columns: int) -> list[list[bytes]]:
    """Return the cells of whole lines, by column, without blank lines.

    Raises ValueError if a line has another number of cells.
    """
    # Splitting all lines at once takes a third of the time. A cell at the end of each line shows
    # whether every line has the same number of cells.
    if _LINE_END not in lines:
        cells = lines.replace(b"\n", b" %b " % _LINE_END).split()
        ends = cells[n_columns :: n_columns + 1]
        if ends == [_LINE_END] * lines.count(b"\n"):
            return [cells[column :: n_columns + 1] for column in range(n_columns)]
    rows = [row for line in lines.split(b"\n") if (row := line.split())]
    if any(len(row) != n_columns for row in rows):
        raise ValueError("a line has another number of columns")
    return [[row[column] for row in rows] for column in range(n_columns)]


def _numbers(cells: Sequence[bytes]) -> FloatArray:
    """Return the numbers in cells. Raises ValueError for a cell that contains none."""
    return np.fromiter(map(float, cells), np.float64, len(cells))


def _ranks(cells: Sequence[bytes]) -> FloatArray:
    """Return the numbers in cells; NaN for a cell that contains none."""
    try:
        return _numbers(cells)
    except ValueError:
        return np.fromiter(map(_number, cells), np.float64, len(cells))


def _number(cell: bytes) -> float:
    """Return the number in a cell; NaN if it contains none."""
    try:
        return float(cell)
    except ValueError:
        return math.nan


def _decode_path(cell: bytes) -> str:
    """Return the path in a cell. Raises ValueError if it does not begin at the root."""
    name = percent_decode(cell)
    if name.startswith(("/", "./")):
        raise ValueError("the path does not begin at the root of the repository")
    return name


def _line_error(line: bytes, form: _Format, where: str) -> RunError | None:
    """Return the error of a malformed line; None for a line that is blank or well-formed."""
    try:
        paths = _Block.from_lines(line, form).paths
    except ValueError:
        excerpt = escape_unprintable(line[:60].decode(errors="replace").strip())
        return RunError(
            f"{where}: {excerpt!r} is not of the form {form.description}"
            " (write a space in a name as %20)"
        )
    try:
        for cell in paths:
            _decode_path(cell)
    except ValueError:
        return RunError(
            f"{where}: {escape_unprintable(percent_decode(cell))} must be a path from the root of"
            " the repository, without / or ./ before it"
        )
    return None


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
    if (np.diff(values) < 0).all():  # as most tools write them
        return Order(numbers, values)
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
