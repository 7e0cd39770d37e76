"""A finished run over fewer files: the search space of studies that look only at files which were ever fixed.

Such a space is chosen with knowledge of every report of the data set, the future ones too, so what it gives is
flattered; it is here to stand, labelled, beside numbers that were made so.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from tosloc.errors import RunError
from tosloc.evaluation.file_lists import FILE_LISTS_FILE, FileLists, write_file_lists
from tosloc.evaluation.judgements import Qrels, write_judgements
from tosloc.evaluation.run_paths import JUDGEMENTS_FILE, RUN_FILE, ScoredRun
from tosloc.evaluation.runs import Order, Run, write_run
from tosloc.files import read_plain

_LARGEST: Final = 100_000_000
"""Bytes of a list of files."""
RESTRICTED: Final = "only files that some report of the data set fixed (flattering: chosen with the answers known)"


def read_paths(path: Path) -> frozenset[str]:
    """Paths of a file, one a line. Raises RunError when it cannot be read or names none."""
    try:
        text = read_plain(path, _LARGEST).decode("utf-8", "surrogateescape")
        found = frozenset(line for line in text.splitlines() if line)
    except OSError as error:
        raise RunError(f"{path}: cannot read it: {error.strerror or error}") from None
    if not found:
        raise RunError(f"{path}: names no file; write one with: tosloc data --ever-fixed")
    return found


def restricted(scored: ScoredRun, kept: frozenset[str]) -> ScoredRun:
    """The same rankings without the files that are not ``kept``, scored in that space.

    Raises RunError for a run of which only some ranks are known, and when a fixed file would be left out.
    """
    run, qrels = scored.run, scored.qrels
    if run.partial:
        raise RunError(f"{run.where}: only the ranks of some files are known; a whole ranking can be restricted")
    inside = np.array([name in kept for name in run.names], dtype=np.bool_)
    orders = {
        report: Order(order.files[inside[order.files]], order.scores[inside[order.files]], where=order.where)
        for report, order in run.orders.items()
    }
    file_lists = None if qrels.file_lists is None else _restricted_lists(qrels.file_lists, kept)
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
    return ScoredRun(scored.name, Run(header, run.names, orders, run.where), Qrels(judgements, file_lists, qrels.where))


def write_restricted(folder: Path, scored: ScoredRun) -> None:
    """Write a run with its judgements and versions."""
    write_run(folder / RUN_FILE, scored.run.header, scored.run.rankings())
    lists = scored.qrels.file_lists
    if lists is not None:
        write_file_lists(
            folder / FILE_LISTS_FILE, ((version, sorted(lists.files(version))) for version in lists.versions)
        )
    write_judgements(folder / JUDGEMENTS_FILE, scored.qrels.judgements.values())


def _restricted_lists(lists: FileLists, kept: frozenset[str]) -> FileLists:
    inside = np.array([name in kept for name in lists.names.names], dtype=np.bool_)
    versions = {version: files[inside[files]] for version, files in lists.versions.items()}
    return FileLists(lists.names, versions, lists.where)
