"""Learn stage one: weights and rankers are fitted on train, choices are made on validation.

Test reports are never used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Final, TypeAlias

import numpy as np

from tosloc.core.arrays import FloatArray
from tosloc.core.config import EvolutionSettings, StageOneSettings
from tosloc.core.metrics import fixed_ranks, rr_and_ap
from tosloc.core.progress import Progress, ignore_progress
from tosloc.rank.features.tables import FeatureTable
from tosloc.rank.model.ranking_lists import RankingLists
from tosloc.rank.model.stage_one import HeadRanker, StageOne, Trees, weighted_sums
from tosloc.retrieval.texts import group_sum

Quality: TypeAlias = tuple[float, float]
"""MRR and MAP of a candidate."""

L2: Final = 1e-3
"""Strength of the penalty on the weights in the listwise fit.

Chosen on the validation reports of four projects.
"""
SHRINK: Final = 0.03
"""Strength of the penalty on distances from the shipped weights, for up to 50 training reports.

With more reports it is divided by (reports / 50). Chosen on the validation reports of four
projects.
"""
RANKER_WEIGHTS: Final = (0.5, 2.0, 8.0, 32.0)
"""Weights of the learned ranker's score among which validation chooses; the linear score has 1."""
MIN_LEAD: Final = 0.002
"""Smallest lead in MRR + MAP with which a candidate is chosen over a simpler one."""
AS_SHIPPED: Final = "shipped weights and ranker as they are"
"""Name of the candidate that every learned candidate must beat to be chosen."""
MIN_REPORTS_OWN_RANKER: Final = 750
"""Number of training reports from which a project gets a ranker of its own, if validation agrees.

On 50 to 700 reports of six projects the candidates that validation chose were .008 worse than the
unchanged shipped weights (docs/results.md).
"""
MIN_REPORTS: Final = 20
"""Number of training reports from which anything is learned if there is a shipped ranker.

On 4 and 8 reports of three projects the candidates that cross-validation chose were .001 better
than the shipped weights; on single reports they were .02 worse.
"""
FOLDS: Final = 4
"""Number of folds of the cross-validation."""
_SUM_ROWS: Final = 4096
"""Number of rows whose gradients are summed in single precision; such sums are added in double."""
_OWN_WEIGHTS: Final = "own weights"
"""Name of the candidate with the trained weights."""
_SHIPPED_WEIGHTS: Final = "shipped weights"
"""Name of the candidate with the shipped weights and no ranker."""


def listwise_loss(
    weights: FloatArray, lists: RankingLists, l2: float, centre: FloatArray, pull: float
) -> tuple[float, FloatArray]:
    """Return the listwise loss of some weights (K,), and its gradient (K,).

    The loss is the mean over reports of the mean over fixed files of -log p(file | this file and
    all files that were not fixed), where p is a softmax of scores. Reports are weighted by
    ``lists.report_weights``. Two penalties are added: ``l2`` times the squared distance of the
    weights from 0, and ``pull`` times their squared distance from ``centre``. The loss is convex.
    """
    rows = lists.rows
    fixed = lists.fixed
    starts = lists.starts[:-1]
    reports = len(lists)
    report_ids = np.repeat(np.arange(reports), lists.sizes)
    scores = weighted_sums(rows, weights)
    highest = np.maximum.reduceat(scores, starts)[report_ids]
    mass = np.exp(scores - highest) * lists.weights
    wrong_mass = np.add.reduceat(np.where(fixed, 0.0, mass), starts)
    fixed_rows = np.flatnonzero(fixed)
    fixed_reports = report_ids[fixed_rows]
    fixed_mass = mass[fixed_rows]
    total = fixed_mass + wrong_mass[fixed_reports]
    fixed_counts = np.add.reduceat(fixed.astype(np.float64), starts)
    report_weights = lists.report_weights
    share = report_weights[fixed_reports] / (
        fixed_counts[fixed_reports] * float(report_weights.sum())
    )
    loss = float((-np.log(fixed_mass / total) * share).sum())
    # The slope of -log p is p - 1 for the score of the fixed file, and for the score of each other
    # file its share of the mass.
    slope = mass * group_sum(fixed_reports, share / total, reports)[report_ids]
    slope[fixed_rows] = (fixed_mass / total - 1.0) * share
    gradient = np.zeros(rows.shape[1])
    for start in range(0, len(rows), _SUM_ROWS):
        block = slice(start, start + _SUM_ROWS)
        gradient += np.einsum("n,nk->k", slope[block].astype(np.float32), rows[block])
    away = weights - centre
    loss += l2 * float(weights @ weights) + pull * float(away @ away)
    return loss, gradient + 2 * l2 * weights + 2 * pull * away


def fit_listwise(
    lists: RankingLists, *, centre: FloatArray | None = None, pull: float = 0.0
) -> FloatArray:
    """Return the weights (K,) that minimise ``listwise_loss``.

    L-BFGS starts at ``centre`` and stops by SciPy's default tolerance. Weights may be negative.
    """
    from scipy import optimize  # Imported here because stage one is used without it.

    start = np.zeros(lists.rows.shape[1]) if centre is None else centre
    result = optimize.minimize(
        listwise_loss,
        start,
        (lists, L2, start, pull),
        "L-BFGS-B",
        jac=True,
        options={"maxiter": 300},
    )
    return np.asarray(result.x)


def list_quality(weights: FloatArray, lists: RankingLists) -> float:
    """Return MRR + MAP of the ranking by weighted sums; every row must stand for one file.

    A fixed file ranks behind all wrong files with the same score, so that constant scores gain
    nothing.
    """
    scores = weighted_sums(lists.rows, weights)
    total = 0.0
    for start, end in pairwise(lists.starts.tolist()):
        list_scores = scores[start:end]
        fixed = lists.fixed[start:end]
        right = np.sort(list_scores[fixed])[::-1]
        wrong_before = np.count_nonzero(list_scores[~fixed] >= right[:, None], axis=1)
        total += sum(rr_and_ap(wrong_before + np.arange(1, len(right) + 1)))
    return total / len(lists)


def fit_evolution(
    features: int,
    objective: Callable[[FloatArray], float],
    settings: EvolutionSettings,
    seed: int,
    progress: Progress,
) -> FloatArray:
    """Return the weights (K,) from 0 to 1 that maximise an objective, by differential evolution.

    Source: Storn and Price 1997. No gradient steps follow, because MAP and MRR are step functions.
    """
    from scipy import optimize

    # SciPy passes a result object only to a parameter of this name.
    def report_progress(intermediate_result: optimize.OptimizeResult) -> None:
        progress(
            "fitting weights by differential evolution",
            intermediate_result.nit,
            settings.generations,
        )

    def cost(weights: FloatArray) -> float:
        return -objective(weights)

    result = optimize.differential_evolution(
        cost,
        optimize.Bounds(np.zeros(features), 1),
        maxiter=settings.generations,
        popsize=settings.population,
        rng=seed,
        polish=False,
        callback=report_progress,
    )
    return np.asarray(result.x)


@dataclass(frozen=True, slots=True)
class Choice:
    """The candidates for stage one, in order of preference, and the chosen one."""

    taken: str
    """Name of the chosen candidate."""
    tried: Mapping[str, Quality]
    """MRR and MAP of each candidate by name."""
    by: str
    """What decided: validation, cross-validation, or the reason why there was no choice."""

    @property
    def sentence(self) -> str:
        """Sentence about the choice of trained or shipped weights; "" if there was no choice."""
        shipped = AS_SHIPPED if AS_SHIPPED in self.tried else _SHIPPED_WEIGHTS
        if shipped not in self.tried:
            return ""
        if self.taken != shipped:
            trained = f"your trained weights ({self._quality_text(self.taken)} in {self.by})"
            return f"Using {trained} instead of the shipped ones ({self._quality_text(shipped)})."
        learned = [name for name in self.tried if name != shipped]
        if not learned:
            return f"Keeping the shipped weights: {self.by}."
        best = max(learned, key=lambda name: sum(self.tried[name]))
        kept = f"the shipped weights ({self._quality_text(shipped)} in {self.by})"
        return f"Keeping {kept} instead of trained ones ({self._quality_text(best)})."

    def _quality_text(self, name: str) -> str:
        """Return MRR and MAP of a candidate as text."""
        mrr, mean_ap = self.tried[name]
        return f"MRR {mrr:.3f}, MAP {mean_ap:.3f}"


def judge(candidates: Mapping[str, StageOne], tables: Iterable[FeatureTable]) -> dict[str, Quality]:
    """Return candidate's name -> its MRR and MAP over feature tables, which are read once.

    A report without a fixed file counts as 0.
    """
    by_report = []
    for table in tables:
        qualities = []
        for stage in candidates.values():
            ranks = fixed_ranks(stage.scores(table.rows, table.asserted), table.fixed)
            qualities.append(rr_and_ap(ranks.tolist()))
        by_report.append(qualities)
    if not by_report:
        return dict.fromkeys(candidates, (0.0, 0.0))
    means = np.mean(by_report, axis=0).tolist()
    return {name: (mrr, mean_ap) for name, (mrr, mean_ap) in zip(candidates, means, strict=True)}


def choose_candidate(tried: Mapping[str, Quality]) -> str:
    """Return the first name that no later name exceeds in MRR + MAP by more than ``MIN_LEAD``.

    Names are in order of preference, the simplest first.
    """
    best, *others = tried
    for name in others:
        if sum(tried[name]) > sum(tried[best]) + MIN_LEAD:
            best = name
    return best


def fit_stage_one(
    settings: StageOneSettings,
    names: tuple[str, ...],
    train: Iterable[FeatureTable],
    validation: Callable[[], Iterable[FeatureTable]],
    default: StageOne | None,
    seed: int = 7,
    progress: Progress = ignore_progress,
) -> tuple[StageOne, Choice]:
    """Return the stage one that was learned on ``train``, and how it was chosen.

    ``validation`` reads full feature tables at each call. They decide between own, shipped and
    averaged weights, and between rankers. If there is a shipped ranker, fewer than
    ``MIN_REPORTS_OWN_RANKER`` reports train no ranker of their own, and cross-validation decides;
    fewer than ``MIN_REPORTS`` train nothing. ``default`` is the shipped stage one with its ranker.
    It is returned unless a learned candidate is better.

    Features of ``names`` that are missing in ``default`` have the weight 0 there. If ``default``
    has a feature that is not among ``names``, ``default`` is ignored.
    """
    if default is not None:
        default = default.align(names)
    tables = [table for table in train if table.fixed.any()]
    if default is not None and _shipped_rankers(settings, default) and len(tables) < MIN_REPORTS:
        needed = f"training needs {MIN_REPORTS} reports with a fixed file to learn from"
        too_few = f"{needed}, but there are only {len(tables)}"
        return default, Choice(AS_SHIPPED, judge({AS_SHIPPED: default}, tables), too_few)
    if _is_cross_validated(settings, len(tables), default):
        assert default is not None
        candidates = _candidates_of_few_reports(settings, names, tables, default)
        tried = _cross_validate(settings, names, tables, default)
        decided_by = f"cross-validation of {len(tables)} training reports"
    else:
        candidates, tried = _validate(settings, names, tables, validation, default, seed, progress)
        decided_by = "validation"
    taken = _choose_beside_shipped(tried)
    return candidates[taken], Choice(taken, tried, decided_by)


def learns_ranker(settings: StageOneSettings, reports: int, default: StageOne | None) -> bool:
    """Return whether ``fit_stage_one`` would train a ranker, with LightGBM, on so many reports."""
    return settings.ranker and not _is_cross_validated(settings, reports, default)


def _is_cross_validated(settings: StageOneSettings, reports: int, default: StageOne | None) -> bool:
    """Return whether cross-validation decides, because there are too few reports for a ranker."""
    is_listwise = settings.fit == "listwise"
    is_few = reports < MIN_REPORTS_OWN_RANKER
    return is_listwise and is_few and bool(_shipped_rankers(settings, default))


def _shipped_rankers(settings: StageOneSettings, default: StageOne | None) -> dict[str, HeadRanker]:
    """Return the shipped ranker by its name; empty if there is none or no ranker is wanted."""
    if settings.ranker and default is not None and default.ranker is not None:
        return {"shipped ranker": default.ranker}
    return {}


def _candidates_of_few_reports(
    settings: StageOneSettings,
    names: tuple[str, ...],
    tables: Sequence[FeatureTable],
    default: StageOne,
) -> dict[str, StageOne]:
    """Return name -> candidate with the shipped ranker, followed by the shipped stage one."""
    weights = _fit_near_default(RankingLists.of_tables(tables), default)
    linear = _linear_candidates(names, weights, default)
    ranked = _ranked_candidates(linear, _shipped_rankers(settings, default))
    return {**ranked, AS_SHIPPED: default}


def _cross_validate(
    settings: StageOneSettings,
    names: tuple[str, ...],
    tables: Sequence[FeatureTable],
    default: StageOne,
) -> dict[str, Quality]:
    """Return candidate's name -> mean quality over the folds, trained on the other folds."""
    by_fold = []
    for fold in np.array_split(np.arange(len(tables)), FOLDS):
        others = [table for number, table in enumerate(tables) if number not in fold]
        candidates = _candidates_of_few_reports(settings, names, others, default)
        by_fold.append(judge(candidates, [tables[number] for number in fold]))
    means: dict[str, Quality] = {}
    for name in by_fold[0]:
        mrr, mean_ap = np.mean([qualities[name] for qualities in by_fold], axis=0).tolist()
        means[name] = (mrr, mean_ap)
    return means


def _validate(
    settings: StageOneSettings,
    names: tuple[str, ...],
    tables: Sequence[FeatureTable],
    validation: Callable[[], Iterable[FeatureTable]],
    default: StageOne | None,
    seed: int,
    progress: Progress,
) -> tuple[dict[str, StageOne], dict[str, Quality]]:
    """Return name -> candidate, and name -> quality of the candidate on validation.

    If rankers are wanted, the best weights without a ranker are combined with two rankers: one
    trained on these reports and the shipped one, each with several weights. The shipped stage one
    is also a candidate.
    """
    lists = RankingLists.of_tables(tables)
    if settings.fit == "differential_evolution":
        quality = partial(list_quality, lists=lists)
        weights = fit_evolution(len(names), quality, settings.evolution, seed, progress)
    else:
        weights = _fit_near_default(lists, default)
    candidates = _linear_candidates(names, weights, default)
    tried = judge(candidates, validation())
    if not settings.ranker:
        return candidates, tried
    progress("training the ranker", 0, 1)
    best = choose_candidate(tried)
    rankers = {}
    heads = candidates[best].head_lists(lists)
    if len(heads):
        rankers["own ranker"] = HeadRanker(names, Trees.fit(heads, seed), 1.0)
    shipped_rankers = _shipped_rankers(settings, default)
    rankers |= shipped_rankers
    progress("training the ranker", 1, 1)
    ranked = _ranked_candidates({best: candidates[best]}, rankers)
    if default is not None and shipped_rankers:
        ranked[AS_SHIPPED] = default
    return candidates | ranked, tried | judge(ranked, validation())


def _choose_beside_shipped(tried: Mapping[str, Quality]) -> str:
    """Return the name of the chosen candidate; the shipped stage one is preferred to equal ones.

    If there are no reports to judge by, all qualities are 0 and the shipped stage one is not
    preferred.
    """
    best = choose_candidate({name: tried[name] for name in tried if name != AS_SHIPPED})
    shipped = sum(tried.get(AS_SHIPPED, ()))
    return AS_SHIPPED if shipped > 0 and shipped >= sum(tried[best]) else best


def _fit_near_default(lists: RankingLists, default: StageOne | None) -> FloatArray:
    """Return weights (K,) of a listwise fit, pulled towards the shipped ones if reports are few."""
    if default is None:
        return fit_listwise(lists)
    return fit_listwise(lists, centre=default.weights, pull=SHRINK * 50.0 / max(len(lists), 50))


def _linear_candidates(
    names: tuple[str, ...], weights: FloatArray, default: StageOne | None
) -> dict[str, StageOne]:
    """Return name -> stage one with own weights, and with shipped and averaged weights if any."""
    stages = {_OWN_WEIGHTS: StageOne(names, weights)}
    if default is not None:
        stages[_SHIPPED_WEIGHTS] = StageOne(names, default.weights)
        stages["mean of both"] = StageOne(names, (weights + default.weights) / 2)
    return stages


def _ranked_candidates(
    stages: Mapping[str, StageOne], rankers: Mapping[str, HeadRanker]
) -> dict[str, StageOne]:
    """Return name -> stage one with a ranker, for all combinations and all ``RANKER_WEIGHTS``."""
    candidates = {}
    for stage_name, stage in stages.items():
        for ranker_name, ranker in rankers.items():
            for weight in RANKER_WEIGHTS:
                name = f"{stage_name}, {ranker_name} x {weight:g}"
                candidates[name] = replace(stage, ranker=replace(ranker, weight=weight))
    return candidates
