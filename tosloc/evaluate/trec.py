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
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import unquote_to_bytes

import numpy as np

from tosloc.errors import RunError
from tosloc.evaluate.jsonl import numbered_lines
from tosloc.evaluate.judgements import Judgement, Qrels
from tosloc.evaluate.runs import Order, Run
from tosloc.io import printable, written_whole
from tosloc.records import Names

RUN_COLUMNS: Final = ("report", "Q0", "path", "rank", "score", "tag")
QRELS_COLUMNS: Final = ("report", "0", "path", "relevance")
NO_PATH: Final = "-"


def read_trec_run(path: str | Path) -> Run:
    """Run of a file whose lines may stand in any order; its header holds the ``tag``. Files are ordered by score
    descending, then by path in git's order, by bytes; the column of ranks is not read. Raises RunError naming the line
    or the report for a line of another form, a score that is no finite number, and a file that a report ranks twice.
    """
    return _read(Path(path), RUN_COLUMNS, math.isfinite, "the score {} is no number")


def write_trec_run(path: str | Path, run: Run, tag: str = "tosloc") -> None:
    """Write a run, by report id. The file appears only when it is whole. Scores are whole numbers that count down to 1,
    so that every tool ranks alike, whatever it does with equal scores and in single precision, too; a run's own scores
    are not kept. Raises RunError for a run of known ranks only.
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
    """Judgements of a file whose lines may stand in any order. Relevance is 1, or less for a file that is not fixed, as
    all are that have no line. Raises RunError naming the line or the report for a line of another form, for another
    relevance, and for a file that is judged twice.
    """

    def is_relevance(value: float) -> bool:
        return value <= 1 and value.is_integer()

    run = _read(Path(path), QRELS_COLUMNS, is_relevance, "the relevance {} is not 1 (fixed) or 0")
    judgements = []
    for report, order in run.orders.items():
        fixed = run.paths(report, int((order.scores == 1).sum()))
        judgements.append(Judgement(report, fixed, fixed))
    return Qrels.of(judgements)


def write_trec_qrels(path: str | Path, qrels: Qrels, *, others: bool = False) -> None:
    """Write judgements, by report id and path. The file appears only when it is whole. With ``others`` every other file
    of the searched version gets the relevance 0, so that bpref is the same in every tool; raises RunError when these
    are not known. A report without any file gets the path ``-`` with relevance 0, so that no tool forgets it in a mean.
    """
    cell = cache(encoded)
    with written_whole(Path(path)) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for report, one in sorted(qrels.judgements.items()):
            paths = frozenset(one.fixed)
            if others:
                if qrels.file_lists is None or one.version is None:
                    raise RunError(f"which files were searched for report {report} is not known; leave out --others")
                paths |= qrels.file_lists.files(one.version)
            judged = [(cell(name), int(name in one.fixed)) for name in sorted(paths, key=_bytes)]
            start = encoded(report)
            file.writelines(f"{start} 0 {name} {value}\n" for name, value in judged or [(NO_PATH, 0)])


def _read(path: Path, columns: Sequence[str], valid: Callable[[float], bool], wrong: str) -> Run:
    """Lines of these columns, whose scores or relevance are ``valid``: each report's files by that, then by path."""
    of_value = columns.index("score" if "score" in columns else "relevance")
    names, tags, no_path = Names(), set[bytes](), NO_PATH.encode()
    lists: defaultdict[str, tuple[array[int], array[float]]] = defaultdict(lambda: (array("i"), array("d")))
    number_of, lists_of = cache(lambda cell: names.id(decoded(cell))), cache(lambda cell: lists[decoded(cell)])
    for number, line in numbered_lines(path):
        cells = line.split()
        if not cells:
            continue
        if len(cells) != len(columns):
            says = f" has {len(cells)} columns, not the {len(columns)} of {' '.join(columns)}; a blank is written %20"
            raise RunError(f"{path} line {number}: report {_shown(cells[0])}{says}")
        try:
            value = float(cells[of_value])
        except ValueError:
            value = math.nan
        if not valid(value):
            says = wrong.format(_shown(cells[of_value]))
            raise RunError(f"{path} line {number}: report {_shown(cells[0])}: {says}")
        files, values = lists_of(cells[0])
        if cells[2] != no_path:
            files.append(number_of(cells[2]))
            values.append(value)
        tags.add(cells[-1])
    if not lists:
        raise RunError(f"{path}: empty")
    by_bytes, places, orders = list(map(_bytes, names.names)), np.empty(len(names), dtype=np.int64), {}
    places[sorted(range(len(names)), key=by_bytes.__getitem__)] = np.arange(len(names))
    for report, (numbers, of_each) in lists.items():
        found, counts = np.unique(numbers, return_counts=True)
        if len(found) < len(numbers):
            raise RunError(f"{path}: report {report}: {names.names[found[counts > 1][0]]} stands there twice")
        ids, scores = np.asarray(numbers, dtype=np.int32), np.asarray(of_each)
        best = np.lexsort((places[ids], -scores))
        orders[report] = Order(ids[best], scores[best])
    return Run({"form": "TREC run", "tag": ", ".join(sorted(map(decoded, tags)))}, names.names, orders, str(path))


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
