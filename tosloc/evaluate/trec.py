"""Runs and judgements in TREC's form, the one that evaluation tools share; plain, or read from gzip as well.

A line of a run is ``report Q0 path rank score tag``, one of judgements ``report 0 path relevance``, its columns parted
by white space. Report ids and paths are percent-encoded when written and decoded when read: blanks, other characters
that do not print, ``%`` itself and bytes that are no UTF-8 become ``%`` and two hexadecimal digits. The path ``-``
means that there is none: it keeps a report that would have no line.
"""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple
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
    Raises RunError naming the line or the report for a line of another form, a score that is no finite number, and a
    file that a report ranks twice.
    """
    table = _read(Path(path), RUN_COLUMNS, 4, math.isfinite, "the score {} is no number")
    orders = {}
    for report, (files, scores) in table.reports.items():
        best = np.lexsort((table.places[files], -scores))
        orders[report] = Order(files[best], scores[best])
    return Run({"form": "TREC run", "tag": table.tags}, table.names, orders, str(path))


def write_trec_run(path: str | Path, run: Run, tag: str = "tosloc") -> None:
    """Write a run, by report id. The file appears only when it is whole.

    Scores are whole numbers that count down to 1, so that every tool ranks alike, whatever it does with equal scores
    and in single precision, too; a run's own scores are not kept. Raises RunError for a run of known ranks only.
    """
    if run.partial:
        raise RunError(f"{run.where}: only the ranks of some files are known; TREC's form holds whole rankings")
    cell, label = cache(encoded), encoded(tag)
    with written_whole(Path(path)) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for report in sorted(run.orders):
            start, ranked = encoded(report), list(map(cell, run.paths(report))) or [NO_PATH]
            file.writelines(
                f"{start} Q0 {name} {rank} {len(ranked) - rank + 1} {label}\n" for rank, name in enumerate(ranked, 1)
            )


def read_trec_qrels(path: str | Path) -> Qrels:
    """Judgements of a file whose lines may stand in any order.

    Relevance is 1 or, for a file judged as not fixed, 0; less means not judged. Where no file at all is judged as not
    fixed, these are all others. Raises RunError naming the line or the report for a line of another form, for another
    relevance, and for a file that is judged twice.
    """

    def is_relevance(value: float) -> bool:
        return value <= 1 and value.is_integer()

    table = _read(Path(path), QRELS_COLUMNS, 3, is_relevance, "the relevance {} is not 1 (fixed) or 0")
    explicit = any((values == 0).any() for _, values in table.reports.values())
    judgements = []
    for report, (files, values) in table.reports.items():
        order = np.argsort(table.places[files])
        files, values = files[order], values[order]
        fixed, others = (tuple(table.names[number] for number in files[values == value].tolist()) for value in (1, 0))
        judgements.append(Judgement(report, fixed, fixed, nonrelevant=others if explicit else None))
    return Qrels.of(judgements, where=str(path))


def write_trec_qrels(path: str | Path, qrels: Qrels, *, others: bool = False) -> None:
    """Write judgements, by report id and path. The file appears only when it is whole.

    With ``others`` every other file of the searched version gets the relevance 0, so that bpref is the same in every
    tool; raises RunError when these are not known. Files that are explicitly judged as not fixed are always written.
    A report without any file gets the path ``-`` with relevance 0, so that no tool forgets it in a mean.
    """
    cell = cache(encoded)
    with written_whole(Path(path)) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for report, one in sorted(qrels.judgements.items()):
            unfixed = set(one.nonrelevant or ())
            if others and one.nonrelevant is None:
                if qrels.file_lists is None or one.version is None:
                    raise RunError(f"{qrels.where}: which files were searched for report {report} is not known")
                unfixed = {*qrels.file_lists.files(one.version)} - {*one.fixed}
            judged = [(cell(name), int(name in one.fixed)) for name in sorted({*one.fixed, *unfixed}, key=_bytes)]
            start = encoded(report)
            file.writelines(f"{start} 0 {name} {value}\n" for name, value in judged or [(NO_PATH, 0)])


class _Table(NamedTuple):
    """All lines of a file."""

    reports: dict[str, tuple[IntArray, FloatArray]]
    """By report: (L,) numbers of paths, and scores or relevance."""
    names: Sequence[str]
    """P paths."""
    places: LongArray
    """(P,) place of each path in git's order."""
    tags: str


def _read(path: Path, columns: Sequence[str], of_value: int, valid: Callable[[float], bool], wrong: str) -> _Table:
    """The lines of a file with these columns, whose values in column ``of_value`` are ``valid``."""
    names, tags = Names(), set[bytes]()
    lists: defaultdict[str, tuple[array[int], array[float]]] = defaultdict(lambda: (array("i"), array("d")))
    number_of, lists_of = cache(lambda cell: names.id(decoded(cell))), cache(lambda cell: lists[decoded(cell)])
    no_path = NO_PATH.encode()
    for number, line in numbered_lines(path):
        cells = line.split()
        if not cells:
            continue
        says, value = "", math.nan
        if len(cells) != len(columns):
            says = f" has {len(cells)} columns, not the {len(columns)} of {' '.join(columns)}; a blank is written %20"
        else:
            with suppress(ValueError):
                value = float(cells[of_value])
            if not valid(value):
                says = f": {wrong.format(_shown(cells[of_value]))}"
        if says:
            raise RunError(f"{path} line {number}: report {_shown(cells[0])}{says}")
        files, values = lists_of(cells[0])
        if cells[2] != no_path:
            files.append(number_of(cells[2]))
            values.append(value)
        tags.add(cells[-1])
    if not lists:
        raise RunError(f"{path}: empty")
    reports = {report: (np.asarray(files), np.asarray(values)) for report, (files, values) in lists.items()}
    for report, (numbers, _) in reports.items():
        found, counts = np.unique(numbers, return_counts=True)
        if len(found) < len(numbers):
            raise RunError(f"{path}: report {report}: {names.names[found[counts > 1][0]]} stands there twice")
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
    if text == NO_PATH:
        return "%2D"
    try:
        cell = "".join(
            char if char.isprintable() and char not in " %" else "".join(f"%{byte:02X}" for byte in _bytes(char))
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
