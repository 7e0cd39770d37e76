"""A finished run over fewer files: what its rankings and their truth are in a part of the search space."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tosloc.errors import RunError
from tosloc.evaluate.judgements import Qrels
from tosloc.evaluate.run_paths import ScoredRun
from tosloc.evaluate.runs import Order, Run
from tosloc.records import BoolArray

# N paths

Keeps = Callable[[Sequence[str]], BoolArray]
"""Which of some paths are kept, (N,)."""


def only_some_files(scored: ScoredRun, keeps: Keeps, search_space: str) -> ScoredRun:
    """The same rankings and truth without the files that are not kept; its header calls what is left ``search_space``.

    A report whose fixed files are all left out stays, with none. Raises RunError where only some ranks are known.
    """
    run, qrels = scored.run, scored.qrels
    if run.partial:
        raise RunError(f"{run.where}: only the ranks of some files are known; files can be left out of whole rankings")
    inside = keeps(run.names)
    orders = {report: _kept(order, inside[order.files]) for report, order in run.orders.items()}
    lists = qrels.file_lists
    if lists is not None:
        named = np.asarray(keeps(lists.names.names), dtype=np.bool_)
        lists = replace(lists, versions={version: files[named[files]] for version, files in lists.versions.items()})
    judgements = {}
    for report, one in qrels.judgements.items():
        searched = None  # a ranking that held every searched file holds all that are left of them
        if report in orders and one.searched in (None, len(run.orders[report].files)):
            searched = len(orders[report].files)
        if lists is not None and one.version is not None:
            searched = lists.count(one.version)
        fixed, listed = _only(one.fixed, keeps), _only(one.listed, keeps)
        nonrelevant = None if one.nonrelevant is None else _only(one.nonrelevant, keeps)
        judgements[report] = replace(one, fixed=fixed, listed=listed, searched=searched, nonrelevant=nonrelevant)
    header = {**run.header, "search space": search_space}
    return ScoredRun(scored.name, Run(header, run.names, orders, run.where), Qrels(judgements, lists, qrels.where))


def _kept(order: Order, inside: BoolArray) -> Order:
    lines = None if order.lines is None else order.lines[inside]
    return replace(order, files=order.files[inside], scores=order.scores[inside], lines=lines)


def _only(paths: Sequence[str], keeps: Keeps) -> tuple[str, ...]:
    return tuple(path for path, kept in zip(paths, keeps(paths).tolist(), strict=True) if kept)
