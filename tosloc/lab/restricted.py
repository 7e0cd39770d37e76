"""A finished run over fewer files: the search space of studies that look only at files which were ever fixed.

Such a space is chosen with knowledge of every report of the data set, the future ones too, so what it gives is
flattered; it is here to stand, labelled, beside numbers that were made so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from tosloc.errors import RunError
from tosloc.evaluation.file_lists import FILE_LISTS_FILE, FileLists, write_file_lists
from tosloc.evaluation.judgements import Qrels, write_judgements
from tosloc.evaluation.run_paths import JUDGEMENTS_FILE, RUN_FILE, ScoredRun
from tosloc.evaluation.runs import Order, Run, write_run

RESTRICTED: Final = "only files that some report of the data set fixed (flattering: chosen with the answers known)"


def read_paths(path: Path) -> frozenset[str]:
    """Paths of a file, one a line. Raises RunError when it cannot be read or names none."""
    try:
        found = frozenset(
            line for line in path.read_text(encoding="utf-8", errors="surrogateescape").splitlines() if line
        )
    except OSError as error:
        raise RunError(f"{path}: cannot read it: {error.strerror or error}") from None
    if not found:
        raise RunError(f"{path}: names no file; write one with: tosloc data --ever-fixed")
    return found


def restricted(judged: ScoredRun, kept: frozenset[str]) -> ScoredRun:
    """The same rankings without the files that are not ``kept``, judged in that space.

    Raises RunError for a run of which only some ranks are known, and when a fixed file would be left out.
    """
    run, qrels = judged.run, judged.qrels
    if run.partial:
        raise RunError(f"{run.where}: only the ranks of some files are known; a whole ranking can be restricted")
    inside = np.array([name in kept for name in run.names], dtype=np.bool_)
    orders = {
        report: Order(order.files[inside[order.files]], order.scores[inside[order.files]], where=order.where)
        for report, order in run.orders.items()
    }
    searched = None if qrels.file_lists is None else _smaller(qrels.file_lists, kept)
    judgements = {}
    for report, one in qrels.judgements.items():
        lost = [path for path in one.fixed if path not in kept]
        if lost:
            raise RunError(
                f"report {report}: {lost[0]} is fixed but not among the files to keep; is the list of this project?"
            )
        number = len(orders[report].files) if report in orders else None
        judgements[report] = replace(one, searched=number, attributes=one.attributes)
    header = {**run.header, "search space": RESTRICTED}
    return ScoredRun(judged.name, Run(header, run.names, orders, run.where), Qrels(judgements, searched, qrels.where))


def write_restricted(folder: Path, judged: ScoredRun) -> None:
    """Write a run with its judgements and versions."""
    write_run(folder / RUN_FILE, judged.run.header, judged.run.rankings())
    if judged.qrels.file_lists is not None:
        write_file_lists(folder / FILE_LISTS_FILE, _versions(judged.qrels.file_lists))
    write_judgements(folder / JUDGEMENTS_FILE, judged.qrels.judgements.values())


def _smaller(searched: FileLists, kept: frozenset[str]) -> FileLists:
    inside = np.array([name in kept for name in searched.names.names], dtype=np.bool_)
    versions = {version: files[inside[files]] for version, files in searched.versions.items()}
    return FileLists(searched.names, versions, searched.where)


def _versions(searched: FileLists) -> Iterator[tuple[str, list[str]]]:
    return ((version, sorted(searched.files(version))) for version in searched.versions)
