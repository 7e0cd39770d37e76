"""Runs and judgements in TREC's form, the one that evaluation tools share; plain, or read from gzip as well.

A line of a run is ``report Q0 path rank score tag``, one of judgements ``report 0 path relevance``, its columns parted
by white space. Report ids and paths are percent-encoded when written and decoded when read: blanks, other characters
that do not print, ``%`` itself and bytes that are no UTF-8 become ``%`` and two hexadecimal digits. The path ``-``
means that there is none: it keeps a report that would have no line.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import unquote_to_bytes

import numpy as np

from tosloc.errors import RunError
from tosloc.evaluate.jsonl import numbered_lines
from tosloc.evaluate.judgements import Judgement, Qrels
from tosloc.evaluate.runs import Order, Run
from tosloc.io import printable, written_whole
from tosloc.records import FloatArray, IntArray, LongArray, Names

# L files of a report, P different paths

RUN_COLUMNS: Final = ("report", "Q0", "path", "rank", "score", "tag")
QRELS_COLUMNS: Final = ("report", "0", "path", "relevance")
NO_PATH: Final = "-"


def read_trec_run(path: str | Path) -> Run:
    """Run of a file whose lines may stand in any order; its header holds the ``tag``.

    Files are ordered by score descending, then by path in git's order, by bytes; the column of ranks is not read.
    Raises RunError naming line and report for a line of another form, a score that is no finite number, and a file
    that a report ranks twice.
    """
    table = _read(Path(path), RUN_COLUMNS, 4, math.isfinite, "the score {} is no number", "ranks")
    orders = {}
    for report, (first, files, scores, lines) in table.reports.items():
        best = np.lexsort((table.places[files], -scores))
        where = str(path) if len(files) else f"{path} line {first}"
        orders[report] = Order(files[best], scores[best], where=where, lines=lines[best])
    return Run({"form": "TREC run", "tag": table.tags}, table.names, orders, str(path))


def write_trec_run(path: str | Path, run: Run, tag: str = "tosloc") -> None:
    """Write a run, by report id. The file appears only when it is whole.

    Scores are whole numbers that count down to 1, so that every tool ranks alike, whatever it does with equal scores
    and in single precision, too; a run's own scores are not kept. Raises RunError for a run of known ranks only.
    """
    names, label = _Once(lambda number: encoded(run.names[number])), encoded(tag)
    with written_whole(Path(path)) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for report in sorted(run.orders):
            order = run.orders[report]
            if order.known_ranks is not None:
                raise RunError(
                    f"{order.where}: of report {report} only {len(order.files)} ranks are known; TREC's form holds"
                    " whole rankings"
                )
            start, size = encoded(report), max(1, len(order.files))
            ranked = list(map(names.__getitem__, order.files.tolist())) or [NO_PATH]
            file.writelines(
                f"{start} Q0 {name} {rank} {size - rank + 1} {label}\n" for rank, name in enumerate(ranked, start=1)
            )


def read_trec_qrels(path: str | Path) -> Qrels:
    """Judgements of a file whose lines may stand in any order.

    Relevance is 1 or, for a file judged as not fixed, 0; less means not judged. Where no file at all is judged as not
    fixed, these are all others. Raises RunError naming line and report for a line of another form, for another
    relevance, and for a file that is judged twice.
    """

    def is_relevance(value: float) -> bool:
        return value <= 1 and value.is_integer()

    table = _read(Path(path), QRELS_COLUMNS, 3, is_relevance, "the relevance {} is not 1 (fixed) or 0", "judges")
    explicit = any((values == 0).any() for _, _, values, _ in table.reports.values())
    judgements = []
    for report, (first, files, values, _) in table.reports.items():
        in_order = np.argsort(table.places[files])
        files, values = files[in_order], values[in_order]
        fixed, others = (tuple(table.names[number] for number in files[values == value].tolist()) for value in (1, 0))
        where = f"{path} line {first}"
        judgements.append(Judgement(report, fixed, fixed, nonrelevant=others if explicit else None, where=where))
    return Qrels.of(judgements, where=str(path))


def write_trec_qrels(path: str | Path, qrels: Qrels, *, others: bool = False) -> None:
    """Write judgements, by report id and path. The file appears only when it is whole.

    With ``others`` every other file of the searched version gets the relevance 0, so that bpref is the same in every
    tool; raises RunError when these are not known. Files that are explicitly judged as not fixed are always written.
    A report without any file gets the path ``-`` with relevance 0, so that no tool forgets it in a mean.
    """
    with written_whole(Path(path)) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for report in sorted(qrels.judgements):
            judgement = qrels.judgements[report]
            relevance = dict.fromkeys(judgement.fixed, 1)
            for name in judgement.nonrelevant or (_others(qrels, judgement) if others else ()):
                relevance.setdefault(name, 0)
            start = encoded(report)
            judged = [(encoded(name), relevance[name]) for name in sorted(relevance, key=_bytes)] or [(NO_PATH, 0)]
            file.writelines(f"{start} 0 {name} {value}\n" for name, value in judged)


def _others(qrels: Qrels, judgement: Judgement) -> Iterable[str]:
    if qrels.file_lists is None or judgement.version is None:
        raise RunError(f"{qrels.where}: which files were searched for report {judgement.report} is not known")
    return qrels.file_lists.files(judgement.version)


class _Table(NamedTuple):
    """All lines of a file."""

    reports: dict[str, tuple[int, IntArray, FloatArray, IntArray]]
    """By report: the number of its first line; (L,) numbers of paths, scores or relevance, and numbers of lines."""
    names: Sequence[str]
    """P paths."""
    places: LongArray
    """(P,) place of each path in git's order."""
    tags: str


class _Once(dict[Any, Any]):
    """What a function makes of a cell or a number, made once for each."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self._make = make

    def __missing__(self, key: Any) -> Any:
        value = self[key] = self._make(key)
        return value


def _read(
    path: Path, columns: Sequence[str], of_value: int, valid: Callable[[float], bool], wrong: str, does: str
) -> _Table:
    """The lines of a file with these columns, whose values in column ``of_value`` are ``valid``."""
    names = Names()
    number_of = _Once(lambda cell: names.id(decoded(cell)))
    lists_of = _Once(lambda report: (array("i"), array("d"), array("i")))  # files, values, lines
    of_cell = _Once(lambda cell: lists_of[decoded(cell)])
    firsts, tags = dict[str, int](), set[bytes]()
    no_path = NO_PATH.encode()
    for number, line in numbered_lines(path):
        cells = line.split()
        if not cells:
            continue
        if len(cells) != len(columns):
            raise RunError(
                f"{path} line {number}: report {_shown(cells[0])} has {len(cells)} columns, not the {len(columns)} of"
                f" {' '.join(columns)}; a blank in a path is written %20"
            )
        try:
            value = float(cells[of_value])
        except ValueError:
            value = math.nan
        if not valid(value):
            raise RunError(f"{path} line {number}: report {_shown(cells[0])}: {wrong.format(_shown(cells[of_value]))}")
        if cells[0] not in of_cell:
            firsts.setdefault(decoded(cells[0]), number)
        files, values, lines = of_cell[cells[0]]
        if cells[2] != no_path:
            files.append(number_of[cells[2]])
            values.append(value)
            lines.append(number)
        tags.add(cells[-1])
    if not firsts:
        raise RunError(f"{path}: empty")
    reports = {}
    for report in firsts:
        files, values, lines = lists_of.pop(report)
        reports[report] = firsts[report], np.array(files), np.array(values), np.array(lines)
        _, seen = np.unique(np.array(files), return_index=True)
        again = np.setdiff1d(np.arange(len(files)), seen)
        if len(again):
            twice = names.names[files[int(again[0])]]
            raise RunError(f"{path} line {lines[int(again[0])]}: report {report} {does} {twice} a second time")
    places = np.empty(len(names), dtype=np.int64)
    by_bytes = list(map(_bytes, names.names))
    places[sorted(range(len(names)), key=by_bytes.__getitem__)] = np.arange(len(names))
    return _Table(reports, names.names, places, ", ".join(sorted(map(decoded, tags))))


def _bytes(name: str) -> bytes:
    """Key of git's order."""
    return name.encode("utf-8", "surrogateescape")


def _shown(cell: bytes) -> str:
    return printable(decoded(cell)[:60])


def encoded(text: str) -> str:
    r"""Text without white space, from which ``decoded`` makes the same again. Raises RunError for what is no file name.

    >>> encoded("Eclipse SWT/100%/caf\udce9.java"), encoded("é\u3000"), encoded("-")
    ('Eclipse%20SWT/100%25/caf%E9.java', 'é%E3%80%80', '%2D')
    """
    if text == "-":
        return "%2D"
    if text.isascii() and text.isprintable() and " " not in text and "%" not in text and text:
        return text
    try:
        cell = "".join(
            char
            if char.isprintable() and char not in " %"
            else "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogateescape"))
            for char in text
        )
    except UnicodeEncodeError:
        raise RunError(f"{text!r} holds half a character; it cannot be written in TREC's form") from None
    if not cell:
        raise RunError("an empty name cannot be written in TREC's form")
    return cell


def decoded(cell: bytes) -> str:
    r"""Text of a cell; a ``%`` without two hexadecimal digits is itself, and bytes that are no UTF-8 are escaped.

    >>> decoded(b"Eclipse%20SWT/100%25/caf%E9.java"), decoded(b"100%.java")
    ('Eclipse SWT/100%/caf\udce9.java', '100%.java')
    """
    return unquote_to_bytes(cell).decode("utf-8", "surrogateescape")
