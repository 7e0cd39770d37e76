"""Runs and judgements in TREC's form, the one that evaluation tools share; plain, or read from gzip as well.

A line of a run is ``report Q0 path rank score tag``, one of judgements ``report 0 path relevance``, its columns parted
by white space. Report ids and paths are percent-encoded when written and decoded when read: whatever is no printable
ASCII, and ``%`` itself. The path ``-`` means that there is none: it keeps a report that would have no line.
"""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote_to_bytes

import numpy as np

from tosloc.core.errors import RunError
from tosloc.core.io import atomic_write, escape_unprintable
from tosloc.core.records import StringTable
from tosloc.evaluate.jsonl import numbered_lines
from tosloc.evaluate.judgements import Judgement, Qrels, to_qrels
from tosloc.evaluate.runs import Order, Run

NO_PATH: Final = "-"
_SAFE: Final = "!\"#$&'()*+,/:;<=>?@[\\]^`{|}"  # beside letters, digits and what is always safe


def read_trec_run(path: str | Path) -> Run:
    """Run of a file whose lines may stand in any order; its header holds the ``tag`` of the last. Files are ordered by
    score descending, then by path in git's order, by bytes; the column of ranks is not read. Raises RunError naming the
    line or the report for a line of another form, a score that is no finite number, and a file that a report ranks
    twice.
    """
    return _read(Path(path), "report Q0 path rank score tag, the score a number", math.isfinite)


def write_trec_run(path: str | Path, run: Run, tag: str = "tosloc") -> None:
    """Write a run, by report id. The file appears only when it is whole. Scores are whole numbers that count down to 1,
    so that every tool ranks alike, whatever it does with equal scores and in single precision, too; a run's own scores
    are not kept. Raises RunError for a run of known ranks only.
    """
    cell, label, rankings = cache(encoded), encoded(tag), run.rankings()
    with (
        atomic_write(Path(path)) as temporary,
        temporary.open("w", encoding="utf-8", newline="\n") as file,
    ):
        for one in rankings:
            start, ranked = encoded(one.report), list(map(cell, one.paths)) or [NO_PATH]
            file.writelines(
                f"{start} Q0 {name} {rank} {len(ranked) - rank + 1} {label}\n"
                for rank, name in enumerate(ranked, 1)
            )


def read_trec_qrels(path: str | Path) -> Qrels:
    """Judgements of a file whose lines may stand in any order. Relevance is 1, or less for a file that is not fixed, as
    all are that have no line. Raises RunError naming the line or the report for a line of another form, for another
    relevance, and for a file that is judged twice.
    """
    form = "report 0 path relevance, the relevance 1 (fixed) or 0"
    run = _read(Path(path), form, lambda value: value <= 1 and value.is_integer())
    fixed = {
        report: run.paths(report, int((order.scores == 1).sum()))
        for report, order in run.orders.items()
    }
    return to_qrels(Judgement(report, paths, paths) for report, paths in fixed.items())


def write_trec_qrels(path: str | Path, qrels: Qrels, others: Run | None = None) -> None:
    """Write judgements, by report id and path. The file appears only when it is whole. With ``others``, a run that
    ranks every searched file, all that are not fixed get the relevance 0, so that bpref is the same in every tool. A
    report without any file gets the path ``-`` with relevance 0, so that no tool forgets it in a mean.
    """
    cell = cache(encoded)
    with (
        atomic_write(Path(path)) as temporary,
        temporary.open("w", encoding="utf-8", newline="\n") as file,
    ):
        for report, one in sorted(qrels.items()):
            paths = {*one.fixed, *(() if others is None else others.paths(report))}
            judged = [(cell(name), int(name in one.fixed)) for name in sorted(paths, key=_bytes)]
            start = encoded(report)
            file.writelines(
                f"{start} 0 {name} {value}\n" for name, value in judged or [(NO_PATH, 0)]
            )


def _read(path: Path, form: str, valid: Callable[[float], bool]) -> Run:
    """Lines of this form, whose scores or relevance are ``valid``: each report's files by that, then by path."""
    columns = form.partition(",")[0].split()
    of_value = 4 if len(columns) > 4 else 3
    names, cells, no_path = StringTable(), list[bytes](), NO_PATH.encode()
    lists: defaultdict[str, tuple[array[int], array[float]]] = defaultdict(
        lambda: (array("i"), array("d"))
    )
    number_of, lists_of = (
        cache(lambda cell: names.id(decoded(cell))),
        cache(lambda cell: lists[decoded(cell)]),
    )
    for number, line in numbered_lines(path):
        if not line.strip():
            continue
        cells = line.split()
        try:
            value = float(cells[of_value])
        except (IndexError, ValueError):
            value = math.nan
        if len(cells) != len(columns) or not valid(value):
            said = escape_unprintable(line[:60].decode(errors="replace").strip())
            raise RunError(f"{path} line {number}: {said!r} is not {form}, a blank in a name %20")
        files, values = lists_of(cells[0])
        if cells[2] != no_path:
            files.append(number_of(cells[2]))
            values.append(value)
    if not lists:
        raise RunError(f"{path}: empty")
    in_order = sorted(range(len(names)), key=lambda number: _bytes(names.names[number]))
    places, orders = np.argsort(in_order), {}
    for report, (numbers, of_each) in lists.items():
        ids, scores = np.asarray(numbers, dtype=np.int32), np.asarray(of_each)
        if len(np.unique(ids)) < len(ids):
            raise RunError(f"{path}: report {report}: a file stands there twice")
        best = np.lexsort((places[ids], -scores))
        orders[report] = Order(ids[best], scores[best])
    return Run({"form": "TREC run", "tag": decoded(cells[-1])}, names.names, orders, str(path))


def _bytes(name: str) -> bytes:
    """Key of git's order."""
    return name.encode("utf-8", "surrogateescape")


def encoded(text: str) -> str:
    r"""Text without white space, from which ``decoded`` makes the same again. Raises RunError for what is no file name.

    >>> encoded("Eclipse SWT/100%/caf\udce9.java"), encoded("é\u3000"), encoded("-")
    ('Eclipse%20SWT/100%25/caf%E9.java', '%C3%A9%E3%80%80', '%2D')
    """
    try:
        cell = "%2D" if text == NO_PATH else quote(text, safe=_SAFE, errors="surrogateescape")
    except UnicodeEncodeError:  # half a character
        cell = ""
    if not cell:
        raise RunError(f"{text!r} cannot be written in TREC's form; it is no name")
    return cell


def decoded(cell: bytes) -> str:
    r"""Text of a cell; a ``%`` without two hexadecimal digits is itself, and bytes that are no UTF-8 are escaped.

    >>> decoded(b"Eclipse%20SWT/100%25/caf%E9.java"), decoded(b"100%.java")
    ('Eclipse SWT/100%/caf\udce9.java', '100%.java')
    """
    return unquote_to_bytes(cell).decode("utf-8", "surrogateescape")
