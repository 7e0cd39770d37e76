"""Which measure notices what: stage one on one project, degraded step by step, against itself.

The original pair is one BM25 feature alone (baseline) and the linear stage one with all features (advanced), ranking
the test reports. Each constellation (Breuer et al. 2020, section 4) takes five steps away from it:

  least, most  terms of a report that fewer, or more, of the version's files hold are not asked for
  tolerance    the fit of the weights ends sooner
  noise        the weights are multiplied by log-normal noise, one draw that grows
  rounding     the weights are rounded to multiples of a growing step

The first two need the features anew; they keep the learned weights and change both runs of the pair, the others the
advanced run alone.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau

from tosloc.errors import ToslocError
from tosloc.evaluate import FILE_LISTS_FILE, JUDGEMENTS_FILE, RUN_FILE, Run, ScoredRun, read_judgements, write_run
from tosloc.evaluate.measures import AP, Measure
from tosloc.experiment import ExperimentContext
from tosloc.git.repository import Repository
from tosloc.lab.agreement.effect_figure import EffectPoint
from tosloc.lab.agreement.level_tables import number, p_cell
from tosloc.lab.agreement.levels import DEFAULT_MEASURES, Closeness, Pair, Reproduction, ScoredReports, reproduction
from tosloc.lab.agreement.term_bounds import TermBounds
from tosloc.localizer import Localizer
from tosloc.rank.extract import tasks_of
from tosloc.rank.feature_tables import FeatureTable, StoredFeatureTables
from tosloc.rank.fitting import fit_listwise
from tosloc.rank.stage_one import StageOne
from tosloc.records import FloatArray, Progress, Ranking, silent

ORIGINAL = "original"
SEED = 7
BASELINE = "bm25f"
"""The one feature of the baseline: the best alone on validation."""
VOCABULARIES = {
    "least": [TermBounds(least=files) for files in (2, 5, 10, 20, 50)],
    "most": [TermBounds(most=share) for share in (0.5, 0.2, 0.1, 0.05, 0.02)],
}
TOLERANCES = (1e-4, 1e-3, 3e-3, 1e-2, 1e-1)
NOISES = (0.25, 0.5, 1.0, 1.5, 2.0)
ROUNDINGS = (0.1, 0.5, 1.0, 1.5, 2.0)

Table = tuple[list[str], list[list[str]]]
"""Heads and rows."""


@dataclass(frozen=True)
class Source:
    """Where the project's reports and files are, for the steps that need its features anew."""

    repository: Path
    reports: Path
    store: Path | None
    work: Path
    """Folder that keeps the feature tables."""


@dataclass(frozen=True)
class DegradationStep:
    """One step of a constellation: what it ranks from."""

    constellation: str
    number: int
    setting: str
    tables: Sequence[FeatureTable]
    paths: Sequence[str]
    """What the tables' numbers mean."""
    weights: FloatArray
    """(K,) of the advanced run."""

    @property
    def name(self) -> str:
        """Constellation and number."""
        return f"{self.constellation}_{self.number}" if self.number else self.constellation


@dataclass(frozen=True)
class Compared:
    """A step against the original pair."""

    step: DegradationStep
    levels: Reproduction

    @property
    def changes_baseline(self) -> bool:
        """Whether the step's baseline is another one than the original's."""
        return self.step.constellation in VOCABULARIES


class Study:
    """A training folder that keeps its features, and the steps away from what it learned.

    Runs are written below ``keep``, if it is given. Raises ToslocError when the folder lacks tables or the baseline's
    feature.
    """

    def __init__(self, folder: Path, keep: Path | None = None) -> None:
        self.stored = StoredFeatureTables.read(folder)
        if BASELINE not in self.stored.features:
            raise ToslocError(f"{folder} has no feature {BASELINE!r}, which is the baseline; train with all features")
        self.keep = keep
        self.config = Localizer.load(folder).config
        self.judgements = folder / "test" / JUDGEMENTS_FILE
        self.train = self.stored.train()
        weights = fit_listwise(self.train)
        paths = self.stored.history()[1]
        self.original = DegradationStep(ORIGINAL, 0, "", list(self.stored.tables("test")), paths, weights)

    def run(self, source: Source | None, progress: Progress = silent) -> list[Compared]:
        """The original against itself, then every step against it; the steps of the vocabulary need a ``source``."""
        reference = self.pair(self.original)
        compared = [Compared(replace(self.original, tables=()), reproduction(reference, reference))]
        constellations = [*(VOCABULARIES.values() if source else ()), TOLERANCES, NOISES, ROUNDINGS]
        total = sum(map(len, constellations))
        for step in self.steps(source):
            progress("steps", len(compared) - 1, total)
            compared.append(Compared(replace(step, tables=()), reproduction(reference, self.pair(step))))
        progress("steps", total, total)
        return compared

    def steps(self, source: Source | None) -> Iterator[DegradationStep]:
        """All steps, one after the other."""
        if source is not None:
            yield from self._vocabulary_steps(source)
        yield from self._weight_steps()

    def pair(self, step: DegradationStep) -> Pair:
        """Baseline and advanced run of a step, scored."""
        alone = np.array([float(feature == BASELINE) for feature in self.stored.features])
        return Pair(self._scored(step, "baseline", alone), self._scored(step, "advanced", step.weights))

    def _weight_steps(self) -> Iterator[DegradationStep]:
        """The steps that change the weights alone."""
        weights = self.original.weights
        for step, tolerance in enumerate(TOLERANCES, start=1):
            fitted = fit_listwise(self.train, tolerance=tolerance)
            yield self._with_weights("tolerance", step, f"{tolerance:g}", fitted)
        draw = np.random.default_rng(SEED).standard_normal(len(weights))
        for step, noise in enumerate(NOISES, start=1):
            yield self._with_weights("noise", step, f"sigma {noise:g}", weights * np.exp(noise * draw))
        for step, size in enumerate(ROUNDINGS, start=1):
            yield self._with_weights("rounding", step, f"to {size:g}", np.round(weights / size) * size)

    def _with_weights(self, constellation: str, step: int, setting: str, weights: FloatArray) -> DegradationStep:
        return replace(self.original, constellation=constellation, number=step, setting=setting, weights=weights)

    def _vocabulary_steps(self, source: Source) -> Iterator[DegradationStep]:
        """The steps that change which terms of a report count."""
        with Repository(source.repository) as repo:
            context = ExperimentContext.set_up(self.config, repo, source.reports, source.store)
            extraction = context.extraction(source.work, self.stored.features)
            tasks = tasks_of(context.part("test"), context.history, 0)
            for constellation, vocabularies in VOCABULARIES.items():
                for step, vocabulary in enumerate(vocabularies, start=1):
                    extraction.term_bounds = vocabulary
                    tables = list(extraction.tables(extraction.run(tasks, jobs=self.config.run.jobs)))
                    setting = f"{vocabulary.least} files" if constellation == "least" else f"{vocabulary.most:.0%}"
                    yield DegradationStep(
                        constellation, step, setting, tables, repo.path_names.names, self.original.weights
                    )
            context.indexed.close()

    def _scored(self, step: DegradationStep, part: str, weights: FloatArray) -> ScoredReports:
        name, stage = f"{step.name}-{part}", StageOne(self.stored.features, weights)
        rankings = [
            Ranking.from_scores(one.report, [step.paths[i] for i in one.path_ids.tolist()], stage.scores(one.rows))
            for one in step.tables
        ]
        header = {"study": name, "setting": step.setting}
        if self.keep is not None:
            write_run(self.keep / name / RUN_FILE, header, rankings)
            for file in (FILE_LISTS_FILE, JUDGEMENTS_FILE):
                if self.judgements.with_name(file).is_file():
                    shutil.copyfile(self.judgements.with_name(file), self.keep / name / file)
        return ScoredReports.of(ScoredRun(name, Run.of(header, rankings, name), read_judgements(self.judgements)))


def run_table(compared: Sequence[Compared]) -> Table:
    """Every run, and the effect of its pair in AP: the advanced runs, then the baselines that change."""
    heads = ["run", "setting", *map(repr, DEFAULT_MEASURES), "tau", "RBO", "RMSE", "p", "ER", "DeltaRI", "region"]
    rows = []
    for one in compared:
        effect = one.levels.effects[AP]
        cells = [number(effect.ratio), number(effect.delta_ri, sign=True), str(effect.region)]
        rows.append([one.step.name, one.step.setting, *_cells(one.levels.advanced), *cells])
    for one in compared:
        if one.changes_baseline or one.step.name == ORIGINAL:
            rows.append([f"{one.step.name}, baseline", one.step.setting, *_cells(one.levels.baseline), "", "", ""])
    return heads, rows


def trend_table(compared: Sequence[Compared]) -> Table:
    """Kendall's tau between the number of the step and each measure of AP: 1 where every step is noticed as worse."""
    rows = []
    for constellation, steps in _by_constellation(compared).items():
        found = [distances(one.levels, AP) for one in steps]
        order = [float(step) for step in range(len(found))]
        rows.append([constellation, *(number(correlation(order, [one[name] for one in found])) for name in found[0])])
    return ["step against, AP", *distances(compared[0].levels, AP)], rows


def correlation_table(compared: Sequence[Compared]) -> Table:
    """Kendall's tau between the measures over all steps: above the diagonal with AP, below it with nDCG@10."""
    steps = [one for one in compared if one.step.name != ORIGINAL]
    above, below = ([distances(one.levels, measure) for one in steps] for measure in (AP, DEFAULT_MEASURES[2]))
    names = list(above[0])
    rows = []
    for row, first in enumerate(names):
        cells = [first]
        for column, second in enumerate(names):
            chosen = above if column > row else below
            tau = correlation([one[first] for one in chosen], [one[second] for one in chosen])
            cells.append("" if row == column else number(tau))
        rows.append(cells)
    return ["above AP, below nDCG@10", *names], rows


def effect_panels(compared: Sequence[Compared]) -> list[dict[str, list[EffectPoint]]]:
    """Points of ``effect_figure``: a panel for each constellation of the vocabulary, one for those of the weights."""
    panels: dict[str, dict[str, list[EffectPoint]]] = {}
    for constellation, steps in _by_constellation(compared).items():
        effects = [(str(one.step.number), one.levels.effects[AP]) for one in steps]
        points = [EffectPoint(label, effect.ratio, effect.delta_ri) for label, effect in effects]
        panels.setdefault(constellation if constellation in VOCABULARIES else "weights", {})[constellation] = points
    return list(panels.values())


def distances(levels: Reproduction, measure: Measure) -> dict[str, float]:
    """How far the advanced run, or the pair, is from the original on each level: lower is better on all of them."""
    run, effect = levels.advanced, levels.effects[measure]
    assert run.order is not None
    assert run.rmse is not None
    p = run.p[measure]
    return {
        "delta ARP": abs(run.delta(measure)),
        "tau": -run.order.tau,
        "RBO": -run.order.rbo,
        "RMSE": run.rmse[measure],
        "p": math.nan if p is None else -p,
        "ER": abs(1 - effect.ratio),
        "DeltaRI": abs(effect.delta_ri),
    }


def correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Kendall's tau-b; None where one of them has the same value throughout, or an unknown one."""
    if len({*first}) < 2 or len({*second}) < 2 or not all(map(math.isfinite, (*first, *second))):
        return None
    return float(kendalltau(first, second).statistic)


def _by_constellation(compared: Sequence[Compared]) -> Mapping[str, list[Compared]]:
    found: dict[str, list[Compared]] = {}
    for one in compared:
        if one.step.name != ORIGINAL:
            found.setdefault(one.step.constellation, []).append(one)
    return found


def _cells(one: Closeness) -> list[str]:
    assert one.order is not None
    assert one.rmse is not None
    means = [number(one.means[measure][1]) for measure in DEFAULT_MEASURES]
    return [*means, number(one.order.tau), number(one.order.rbo), number(one.rmse[AP]), p_cell(one.p[AP])]
