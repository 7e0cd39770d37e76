"""One score from many features: a weighted sum, its weights fitted in one of two ways.

Nothing here asks the linear algebra library for a product: it splits sums by its number of threads, and rounding would
follow. ``einsum`` adds in one order.

Shapes: R reports, n rows over all reports, K features.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Final

import numpy as np

from tosloc.config import EvolutionSettings
from tosloc.index.postings import summed
from tosloc.rank.feature_tables import RankingLists
from tosloc.records import Float32Array, FloatArray, Progress, silent

L2: Final = 1e-3
"""Pull of the weights toward zero in the listwise fit; chosen on the validation reports of four projects."""
TOLERANCE: Final = 1e7 * float(np.finfo(np.float64).eps)
"""Of the listwise fit; SciPy's own for L-BFGS."""
_BLOCK: Final = 4096
"""Rows that are added in single precision before their sum is added in double."""


def weighted_sums(rows: Float32Array, weights: FloatArray) -> FloatArray:
    """(n,) weighted sums of rows (n, K), each in single precision and in the order of the features."""
    return np.asarray(np.einsum("nk,k->n", rows, weights.astype(np.float32)).astype(np.float64))


def listwise_loss(
    weights: FloatArray, lists: RankingLists, l2: float, centre: FloatArray, pull: float
) -> tuple[float, FloatArray]:
    """Mean over reports of the mean over fixed files of -log p(file | file + all files not fixed), and its gradient.

    Reports count as ``report_weights`` says. ``l2`` draws the weights to 0, ``pull`` to ``centre``. Convex in the
    weights.
    """
    rows, fixed, starts, reports = lists.rows, lists.fixed, lists.starts[:-1], len(lists)
    report_of = np.repeat(np.arange(reports), lists.sizes)
    scores = weighted_sums(rows, weights)
    mass = np.exp(scores - np.maximum.reduceat(scores, starts)[report_of]) * lists.weights
    others = np.add.reduceat(np.where(fixed, 0.0, mass), starts)
    hit = np.flatnonzero(fixed)
    number = np.add.reduceat(fixed.astype(np.float64), starts)
    own, rest = mass[hit], others[report_of[hit]]
    share = lists.report_weights[report_of[hit]] / (number[report_of[hit]] * float(lists.report_weights.sum()))
    loss = float((-np.log(own / (own + rest)) * share).sum())
    # d(-log p)/d score of the fixed file is p - 1, of each other file its own share of the mass
    slope = np.zeros(len(scores))
    slope[hit] = (own / (own + rest) - 1.0) * share
    spread = summed(report_of[hit], share / (own + rest), reports)
    slope += np.where(fixed, 0.0, mass * spread[report_of])
    gradient, slopes = np.zeros(rows.shape[1]), slope.astype(np.float32)
    for start in range(0, len(rows), _BLOCK):
        some = slice(start, start + _BLOCK)
        gradient += np.einsum("n,nk->k", slopes[some], rows[some])
    away = weights - centre
    loss += l2 * float(weights @ weights) + pull * float(away @ away)
    return loss, gradient + 2 * l2 * weights + 2 * pull * away


def fit_listwise(
    lists: RankingLists,
    *,
    l2: float = L2,
    centre: FloatArray | None = None,
    pull: float = 0.0,
    tolerance: float = TOLERANCE,
) -> FloatArray:
    """(K,) weights that minimise ``listwise_loss`` (L-BFGS from the centre); signed.

    ``tolerance`` is the relative decrease of the loss in one step below which the fit ends.
    """
    from scipy import optimize  # here, as below: what was learned is used without it

    start = np.zeros(lists.rows.shape[1]) if centre is None else centre
    found = optimize.minimize(
        listwise_loss,
        start,
        (lists, l2, start, pull),
        "L-BFGS-B",
        jac=True,
        options={"maxiter": 300, "ftol": tolerance},
    )
    return np.asarray(found.x)


def list_quality(lists: RankingLists) -> Callable[[FloatArray], float]:
    """Weights (K,) -> MRR + MAP of the weighted sums over the lists, in which every row stands for one file.

    A fixed file stands behind every wrong file with the same score, so that constant scores earn nothing.
    """
    counts = np.add.reduceat(lists.fixed.astype(np.int64), lists.starts[:-1])
    fixed_rows, wrong_rows = lists.rows[lists.fixed], lists.rows[~lists.fixed]
    fixed_ends, wrong_ends = np.cumsum(counts).tolist(), np.cumsum(lists.sizes - counts).tolist()

    def quality(weights: FloatArray) -> float:
        fixed, wrong = weighted_sums(fixed_rows, weights), weighted_sums(wrong_rows, weights)
        total, start, first = 0.0, 0, 0
        for end, last in zip(wrong_ends, fixed_ends, strict=True):
            own = np.sort(fixed[first:last])[::-1]
            nth = np.arange(1, len(own) + 1)
            rank = np.count_nonzero(wrong[start:end] >= own[:, None], axis=1).astype(np.float64) + nth
            total += float((nth / rank).mean()) + 1.0 / float(rank[0])
            start, first = end, last
        return total / len(fixed_ends)

    return quality


def fit_evolution(
    features: int,
    objective: Callable[[FloatArray], float],
    settings: EvolutionSettings,
    seed: int = 7,
    progress: Progress = silent,
) -> FloatArray:
    """(K,) weights from 0 to 1 that maximise the objective, by differential evolution (Storn and Price 1997).

    Not polished: MAP and MRR are step functions, a gradient step would only move along a stair.
    """
    from scipy import optimize

    generation = count(1)

    def step(intermediate_result: optimize.OptimizeResult) -> None:  # SciPy wants this name
        progress("differential evolution", next(generation), settings.generations)

    def cost(weights: FloatArray) -> float:
        return -objective(weights)

    found = optimize.differential_evolution(
        cost,
        optimize.Bounds(np.zeros(features), np.ones(features)),
        maxiter=settings.generations,
        popsize=settings.population,
        tol=0.01,  # SciPy's own
        rng=np.random.default_rng(seed),
        polish=False,
        callback=step,
    )
    return np.asarray(found.x)
