"""Which measure notices what: stage one on one project, degraded step by step, against itself.

    tosloc train configs/tomcat.toml --repo ... --reports ... --out runs/tomcat --keep-features --no-stage-two
    tosloc lab study runs/tomcat --repo ... --reports ... --store ... --work runs/study --figure docs/figures/x

The original pair is one BM25 feature alone (baseline) and the linear stage one with all features (advanced), ranking
the test reports. Each constellation (Breuer et al. 2020, section 4) takes five steps away from it:

  least, most  terms of a report that fewer, or more, of the version's files hold are not asked for
  tolerance    the fit of the weights ends sooner
  noise        the weights are multiplied by log-normal noise, one draw that grows
  rounding     the weights are rounded to multiples of a growing step

Without --repo the first two, which need the features anew, are left out. They keep the learned weights and change both
runs of the pair, the others the advanced run alone. Feature tables are kept in --work: a second call goes on.
"""

from __future__ import annotations

import argparse
import math
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

import numpy as np
from scipy.stats import kendalltau

from tosloc.arrays import load_arrays
from tosloc.cli.guard import guarded
from tosloc.cli.printing import markdown_table
from tosloc.data.git import Repository
from tosloc.errors import ToslocError
from tosloc.evaluation import FILE_LISTS_FILE, JUDGEMENTS_FILE, RUN_FILE, Run, ScoredRun, read_judgements, write_run
from tosloc.evaluation.measures import AP, Measure
from tosloc.experiment import ExperimentContext
from tosloc.index.history_index import HistoryIndex
from tosloc.index.term_bounds import TermBounds
from tosloc.lab.agreement.effect_figure import EffectPoint, effect_figure
from tosloc.lab.agreement.level_tables import number, p_cell
from tosloc.lab.agreement.levels import DEFAULT_MEASURES, Closeness, Pair, Reproduction, Scored, reproduction
from tosloc.learning.linear import fit_listwise
from tosloc.learning.ranking_lists import RankingLists
from tosloc.localizer import Localizer
from tosloc.plots.drawing import save
from tosloc.records import FloatArray, Ranking
from tosloc.retrieval.extraction import tasks_of
from tosloc.retrieval.feature_tables import FeatureTable
from tosloc.retrieval.stage_one import StageOne
from tosloc.retrieval.stored_tables import StoredFeatureTables

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


@dataclass(frozen=True)
class Step:
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


def steps_of_weights(original: Step, train: RankingLists, l2: float) -> Iterator[Step]:
    """The steps that change the weights alone."""
    weights = original.weights
    for place, tolerance in enumerate(TOLERANCES, start=1):
        fitted = fit_listwise(train, l2=l2, tolerance=tolerance)
        yield replace(original, constellation="tolerance", number=place, setting=f"{tolerance:g}", weights=fitted)
    draw = np.random.default_rng(SEED).standard_normal(len(weights))
    for place, noise in enumerate(NOISES, start=1):
        moved = weights * np.exp(noise * draw)
        yield replace(original, constellation="noise", number=place, setting=f"sigma {noise:g}", weights=moved)
    for place, step in enumerate(ROUNDINGS, start=1):
        rounded = np.round(weights / step) * step
        yield replace(original, constellation="rounding", number=place, setting=f"to {step:g}", weights=rounded)


def steps_of_vocabulary(original: Step, options: argparse.Namespace, names: Sequence[str]) -> Iterator[Step]:
    """The steps that change which terms of a report count."""
    config = Localizer.load(options.folder).config
    with Repository(options.repo) as repo:
        experiment = ExperimentContext.set_up(config, repo, options.reports, options.store)
        extraction = experiment.extraction(options.work or options.folder / "study", names)
        tasks = tasks_of(experiment.part("test"), experiment.history, 0)
        for constellation, vocabularies in VOCABULARIES.items():
            for place, vocabulary in enumerate(vocabularies, start=1):
                extraction.term_bounds = vocabulary
                tables = list(extraction.tables(extraction.run(tasks, jobs=config.run.jobs)))
                setting = f"{vocabulary.least} files" if constellation == "least" else f"{vocabulary.most:.0%}"
                yield Step(constellation, place, setting, tables, repo.path_names.names, original.weights)
        experiment.indexed.close()


def pair_of(step: Step, features: tuple[str, ...], judgements: Path, keep: Path | None) -> Pair:
    """Baseline and advanced run of a step, judged; kept as folders below ``keep``."""
    alone = np.array([float(feature == BASELINE) for feature in features])
    scored = []
    for part, weights in (("baseline", alone), ("advanced", step.weights)):
        name, stage = f"{step.name}-{part}", StageOne(features, weights)
        rankings = [
            Ranking.from_scores(one.report, [step.paths[i] for i in one.path_ids.tolist()], stage.scores(one.rows))
            for one in step.tables
        ]
        header = {"study": name, "setting": step.setting}
        scored.append(Scored.of(ScoredRun(name, Run.of(header, rankings, name), read_judgements(judgements))))
        if keep is not None:
            write_run(keep / name / RUN_FILE, header, rankings)
            for file in (FILE_LISTS_FILE, JUDGEMENTS_FILE):
                if judgements.with_name(file).is_file():
                    shutil.copyfile(judgements.with_name(file), keep / name / file)
    return Pair(*scored)


def table_of_runs(levels: Mapping[str, tuple[str, Reproduction]]) -> str:
    """Every run, and the effect of its pair in AP: the advanced runs, then the baselines that change."""
    heads = ["run", "setting", *map(repr, DEFAULT_MEASURES), "tau", "RBO", "RMSE", "p", "ER", "DeltaRI", "region"]
    rows = []
    for name, (setting, one) in levels.items():
        effect = one.effects[AP]
        cells = [number(effect.ratio), number(effect.delta_ri, sign=True), str(effect.region)]
        rows.append([name, setting, *_cells(one.advanced), *cells])
    for name, (setting, one) in levels.items():
        if name.partition("_")[0] in (ORIGINAL, *VOCABULARIES):
            rows.append([f"{name}, baseline", setting, *_cells(one.baseline), "", "", ""])
    return markdown_table(heads, rows)


def _cells(one: Closeness) -> list[str]:
    assert one.order is not None
    assert one.rmse is not None
    means = [number(one.means[measure][1]) for measure in DEFAULT_MEASURES]
    return [*means, number(one.order.tau), number(one.order.rbo), number(one.rmse[AP]), p_cell(one.p[AP])]


def distances(one: Reproduction, measure: Measure) -> dict[str, float]:
    """How far the advanced run, or the pair, is from the original on each level: lower is better on all of them."""
    run, effect = one.advanced, one.effects[measure]
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


def table_of_correlations(levels: Mapping[str, tuple[str, Reproduction]]) -> str:
    """Kendall's tau between the measures over all steps: above the diagonal with AP, below it with nDCG@10."""
    above, below = ([distances(one, measure) for _, one in levels.values()] for measure in (AP, DEFAULT_MEASURES[2]))
    names = list(above[0])
    rows = []
    for row, first in enumerate(names):
        cells = [first]
        for column, second in enumerate(names):
            chosen = above if column > row else below
            pair = ([one[first] for one in chosen], [one[second] for one in chosen])
            cells.append("" if row == column else number(correlation(*pair)))
        rows.append(cells)
    return markdown_table(["above AP, below nDCG@10", *names], rows)


def table_of_trends(levels: Mapping[str, tuple[str, Reproduction]]) -> str:
    """Kendall's tau between the number of the step and each measure of AP: 1 where every step is noticed as worse."""
    constellations = list(dict.fromkeys(name.partition("_")[0] for name in levels))
    rows = []
    for constellation in constellations:
        steps = [distances(one, AP) for name, (_, one) in levels.items() if name.partition("_")[0] == constellation]
        order = [float(place) for place in range(len(steps))]
        rows.append([constellation, *(number(correlation(order, [one[name] for one in steps])) for name in steps[0])])
    return markdown_table(["step against, AP", *distances(next(iter(levels.values()))[1], AP)], rows)


def correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Kendall's tau-b; None where one of them has the same value throughout, or an unknown one."""
    if len({*first}) < 2 or len({*second}) < 2 or not all(map(math.isfinite, (*first, *second))):
        return None
    return float(kendalltau(first, second).statistic)


def study(options: argparse.Namespace) -> None:
    """Print the tables and draw the figure."""
    kept = StoredFeatureTables.read(options.folder)
    if BASELINE not in kept.features:
        raise ToslocError(
            f"{options.folder} has no feature {BASELINE!r}, which is the baseline; train with all features"
        )
    judgements = options.folder / "test" / JUDGEMENTS_FILE
    train, l2 = kept.train(), Localizer.load(options.folder).config.stage_one.l2
    paths = HistoryIndex.from_arrays(load_arrays(kept.work / "evidence.npz"))[1]
    original = Step(ORIGINAL, 0, "", list(kept.tables("test")), paths, fit_listwise(train, l2=l2))
    reference = pair_of(original, kept.features, judgements, options.keep)
    if options.pair_only:
        return
    levels = {ORIGINAL: ("", reproduction(reference, reference))}
    steps = steps_of_weights(original, train, l2)
    if options.repo is not None:
        steps = chain(steps_of_vocabulary(original, options, kept.features), steps)
    for step in steps:
        pair = pair_of(step, kept.features, judgements, options.keep)
        levels[step.name] = (step.setting, reproduction(reference, pair))
        print(f"study: {step.name}, {step.setting}", file=sys.stderr, flush=True)
    print(table_of_runs(levels))
    taken = {name: one for name, one in levels.items() if name != ORIGINAL}
    print(f"{table_of_trends(taken)}\n{table_of_correlations(taken)}", end="")
    if options.figure is not None:
        panels: dict[str, dict[str, list[EffectPoint]]] = {}
        for name, (_, one) in taken.items():
            constellation, _, place = name.partition("_")
            series = panels.setdefault(constellation if constellation in VOCABULARIES else "weights", {})
            effect = one.effects[AP]
            series.setdefault(constellation, []).append(EffectPoint(place, effect.ratio, effect.delta_ri))
        save(effect_figure(*panels.values()), options.figure)


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit code."""
    parser = argparse.ArgumentParser(description="Which measure of reproduction notices what.")
    parser.add_argument("folder", type=Path, help="training folder, made with --keep-features")
    parser.add_argument("--repo", type=Path, help="its repository, for the steps of the vocabulary")
    parser.add_argument("--reports", type=Path, help="its labelled reports")
    parser.add_argument("--store", type=Path, help="its file of facts")
    parser.add_argument("--work", type=Path, help="folder for feature tables; FOLDER/study by default")
    parser.add_argument("--keep", type=Path, help="write every run below this folder")
    parser.add_argument("--figure", type=Path, help="draw ER against DeltaRI of AP, as PATH.svg and PATH.png")
    parser.add_argument("--pair-only", action="store_true", help="write the original pair alone, for --keep")
    options = parser.parse_args(arguments)
    if options.pair_only and options.keep is None:
        raise ToslocError("--pair-only writes the original pair below a folder; name it with --keep")
    if (options.repo is None) != (options.reports is None):
        raise ToslocError("the vocabulary needs both --repo and --reports")
    study(options)
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
