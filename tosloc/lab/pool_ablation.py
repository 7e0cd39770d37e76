"""What each feature is worth on projects that the weights never saw: a pool's tables, each feature left out in turn.

Linear weights, without the learned ranker, so that a feature's worth does not hang on trees that find another way to
it. Shapes: R reports, P projects.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import joblib
import numpy as np

from tosloc.errors import ConfigError
from tosloc.evaluate.judgements import read_judgements
from tosloc.evaluate.run_paths import JUDGEMENTS_FILE
from tosloc.evaluate.statistics import Paired, paired
from tosloc.lab.many_projects import Outcome
from tosloc.lab.pool import Pool, Tables, folds_of, joined, of_projects, one_by_one
from tosloc.lab.project_means import language_of_report
from tosloc.lab.projects import Project
from tosloc.metrics import fixed_ranks, rr_and_ap
from tosloc.rank.fitting import fit_listwise
from tosloc.rank.stage_one import weighted_sums
from tosloc.records import FloatArray, Progress, silent
from tosloc.training import feature_names

WHOLE = "all"


@dataclass(frozen=True)
class Ablation:
    """RR and AP of every report of every project, with all features and without each."""

    values: Mapping[str, Mapping[str, FloatArray]]
    """Feature left out (``WHOLE``: none) -> project -> (R, 2)."""
    languages: Mapping[str, Sequence[str]]
    """Project -> language of each report."""
    outcomes: tuple[Outcome, ...]

    def means(self, left_out: str, language: str = "") -> FloatArray:
        """(P, 2) MRR and MAP of each project; on its reports of a ``language`` alone, projects without any left out."""
        rows = []
        for project, values in self.values[left_out].items():
            chosen = np.array([language in ("", one) for one in self.languages[project]], dtype=np.bool_)
            if chosen.any():
                rows.append(values[chosen].mean(axis=0))
        return np.array(rows)

    def change(self, left_out: str, language: str = "") -> tuple[Paired, Paired]:
        """What leaving a feature out changes in MRR and in MAP: over projects that count the same."""
        whole, without = self.means(WHOLE, language), self.means(left_out, language)
        mrr, map_ = (paired(whole[:, column].copy(), without[:, column].copy()) for column in (0, 1))
        return mrr, map_

    def reports_of(self, language: str) -> int:
        """How many reports are of a language."""
        return sum(one == language for of_project in self.languages.values() for one in of_project)


def ablation(
    pool: Pool,
    projects: Sequence[Project],
    folds: int,
    features: Sequence[str] = (),
    progress: Progress = silent,
) -> Ablation:
    """Each of the ``features`` (of all) left out in turn, on projects that are left out too. Raises ConfigError."""
    names = feature_names(pool.config)
    unknown = [name for name in features if name not in names]
    if unknown:
        raise ConfigError(f"no feature of the tables is called {unknown[0]!r}; they are {', '.join(names)}")
    tables, outcomes = of_projects(pool, projects, progress)
    wanted = list(features or names)
    calls = [joblib.delayed(_fold)(pool, tables, left_out, wanted) for left_out in folds_of(tables, folds)]
    found: dict[str, dict[str, FloatArray]] = {}
    for values in one_by_one(calls, pool.config.run.jobs, "parts left out", progress):
        found |= values
    languages = {}
    for one in tables:
        judged = read_judgements(one.folder / JUDGEMENTS_FILE).judgements
        languages[one.project.name] = [language_of_report(judged[table.report].listed) for table in one.tables()]
    by_variant = {
        variant: {one.project.name: found[one.project.name][variant] for one in tables} for variant in (WHOLE, *wanted)
    }
    return Ablation(by_variant, languages, tuple(outcomes))


def _fold(
    pool: Pool, tables: Sequence[Tables], left_out: Sequence[Tables], features: Sequence[str]
) -> dict[str, dict[str, FloatArray]]:
    lists = joined(one.lists() for one in tables if one not in left_out)
    names = list(tables[0].names)
    weights = {WHOLE: fit_listwise(lists)}
    for feature in features:
        kept = [place for place, name in enumerate(names) if name != feature]
        without = np.zeros(len(names))
        # from where the whole fit ended, and without pull: the same minimum, sooner
        without[kept] = fit_listwise(lists.columns(kept), centre=weights[WHOLE][kept])
        weights[feature] = without
    found = {}
    for one in left_out:
        values: dict[str, list[tuple[float, float]]] = {variant: [] for variant in weights}
        for table in one.tables():
            for variant, each in weights.items():
                ranks = fixed_ranks(weighted_sums(table.rows, each), table.fixed).tolist()
                values[variant].append(rr_and_ap(ranks) if ranks else (0.0, 0.0))
        found[one.project.name] = {variant: np.array(rows) for variant, rows in values.items()}
    return found
