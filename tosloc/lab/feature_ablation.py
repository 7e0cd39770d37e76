"""What each feature is worth on projects that the weights never saw: a pool's tables, each left out in turn.

Linear weights, without the learned ranker, so that a feature's worth does not hang on trees that find another way to
it. Shapes: R reports, V variants (all features, then without each), P projects.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import joblib
import numpy as np

from tosloc.errors import ConfigError
from tosloc.evaluate.judgements import read_judgements
from tosloc.evaluate.run_paths import JUDGEMENTS_FILE
from tosloc.evaluate.statistics import paired
from tosloc.lab.pool import Pool, Tables, each, folds_of, joined
from tosloc.lab.project_means import NO_LANGUAGE, language_of_report
from tosloc.lab.projects import Project
from tosloc.metrics import fixed_ranks, rr_and_ap
from tosloc.rank.fitting import fit_listwise
from tosloc.rank.stage_one import weighted_sums
from tosloc.records import FloatArray, Progress, silent
from tosloc.training import feature_names

WHOLE: Final = "all"
FEW_OF_A_LANGUAGE: Final = 50  # reports of a language below which it is not told by itself


def feature_ablation(
    pool: Pool, projects: Sequence[Project], folds: int, features: Sequence[str] = (), progress: Progress = silent
) -> tuple[list[dict[str, Any]], Mapping[str, str]]:
    """A row of plain values with all features, and for each of the ``features`` (of all) one without it; and why some
    projects have no tables. Changes are over projects, which count the same. Raises ConfigError.
    """
    names = feature_names(pool.config)
    if unknown := [name for name in features if name not in names]:
        raise ConfigError(f"no feature of the tables is called {unknown[0]!r}; they are {', '.join(names)}")
    tables, failed = pool.tables(projects, progress)
    wanted = list(features or names)
    calls = [joblib.delayed(_fold)(tables, part, wanted) for part in folds_of(tables, folds)]
    found: dict[str, FloatArray] = {}
    for values in each(calls, pool.config.run.jobs, "parts left out", progress):
        found |= values
    languages = {}
    for one in tables:
        judged = read_judgements(one.folder / JUDGEMENTS_FILE)
        languages[one.project.name] = [language_of_report(judged[table.report].listed) for table in one.tables()]
    counts = Counter(language for of_project in languages.values() for language in sorted(of_project))
    told = [name for name, count in counts.most_common() if count >= FEW_OF_A_LANGUAGE and name != NO_LANGUAGE]
    means = {}
    for name in ("", *told):
        chosen = {project: [name in ("", one) for one in languages[project]] for project in found}
        some = [found[project][reports].mean(axis=0) for project, reports in chosen.items() if any(reports)]
        means[name] = np.array(some)  # (P, V, 2)
    rows: list[dict[str, Any]] = []
    for place, left_out in enumerate((WHOLE, *wanted)):
        of = {
            name: dict(zip(("mrr", "map"), one[:, place].mean(axis=0).tolist(), strict=True))
            for name, one in means.items()
        }
        row: dict[str, Any] = {"left out": left_out, **of.pop(""), "languages": of}
        for column, measure in enumerate(("mrr", "map") if place else ()):
            whole, without = (np.ascontiguousarray(means[""][:, variant, column]) for variant in (0, place))
            change = paired(whole, without)
            row[f"{measure} change"] = {"mean": change.difference, "interval": change.interval, "p": change.p_bootstrap}
        rows.append(row)
    return rows, failed


def _fold(tables: Sequence[Tables], left_out: Sequence[Tables], features: Sequence[str]) -> dict[str, FloatArray]:
    """(R, V, 2) RR and AP of the reports of each project that is left out."""
    lists = joined(one.lists() for one in tables if one not in left_out)
    names = tables[0].features
    weights = [fit_listwise(lists)]
    for feature in features:
        kept = [place for place, name in enumerate(names) if name != feature]
        without = np.zeros(len(names))
        # from where the whole fit ended, and without pull: the same minimum, sooner
        fewer = replace(lists, rows=np.ascontiguousarray(lists.rows[:, kept]))
        without[kept] = fit_listwise(fewer, centre=weights[0][kept])
        weights.append(without)
    found = {}
    for one in left_out:
        ranks = [
            [fixed_ranks(weighted_sums(table.rows, variant), table.fixed).tolist() for variant in weights]
            for table in one.tables()
        ]
        found[one.project.name] = np.array([[rr_and_ap(some) for some in row] for row in ranks])
    return found
