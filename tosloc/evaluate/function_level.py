"""The function level of runs: how often the functions that a fix changed come first, beside BM25 over functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from tosloc.errors import RunError
from tosloc.evaluate.evaluate import Evaluation, ReportScores
from tosloc.evaluate.measures import AP, RR, Measure
from tosloc.evaluate.run_paths import BM25_LEVEL, FUNCTION_LEVEL, JUDGEMENTS_FILE, RUN_FILE, ScoredRun, read_scored
from tosloc.evaluate.statistics import Interval, mean_interval, percentile_interval, resampled_sums
from tosloc.evaluate.tables import Mean, pair
from tosloc.records import FloatArray

FUNCTION_MEASURES: Final = (*(Measure("Acc", k) for k in (1, 5, 10)), *(Measure("Hit", k) for k in (1, 5, 10)), RR, AP)
BM25_NAME: Final = "BM25 over functions"


@dataclass(frozen=True)
class FunctionResults:
    """How good one ranker of functions is on some reports."""

    name: str
    evaluation: Evaluation
    unjudged: int
    """Reports left out, because the version has none of the functions that their fix changed."""
    means: dict[str, Mean]
    """By the name of the measure."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "run": self.name,
            "reports": len(self.evaluation.per_report),
            "unjudged": self.unjudged,
            "relevant": self.evaluation.relevant,
            "measures": {
                name: {"mean": mean.value, "interval": pair(mean.interval)} for name, mean in self.means.items()
            },
        }


def read_function_runs(path: str | Path, split: str = "test") -> tuple[ScoredRun, ScoredRun]:
    """Runs of functions of the folder that ``rank --functions`` wrote (its ``split``), or of a split's folder: ours and
    BM25's. Raises RunError when it has none.
    """
    place = Path(path)
    parts = [part for part in (place, place / split) if (part / FUNCTION_LEVEL / JUDGEMENTS_FILE).is_file()]
    if not parts:
        made = [one.parent.parent.name for one in place.glob(f"*/{FUNCTION_LEVEL}/{RUN_FILE}")]
        known = f"it has them for {', '.join(sorted(made))}" if made else "make them with: tosloc rank --functions"
        raise RunError(f"{path}: no run of functions of the split {split!r}; {known}")
    name = place.name or place.absolute().name
    ours = read_scored(parts[0] / FUNCTION_LEVEL)
    bm25 = read_scored(parts[0] / BM25_LEVEL)
    return ScoredRun(name, ours.run, ours.qrels), ScoredRun(BM25_NAME, bm25.run, bm25.qrels)


def function_results(name: str, runs: Sequence[ScoredRun], measures: Sequence[Measure] = ()) -> FunctionResults:
    """The results of a ranker of functions on the reports of all ``runs`` together. Raises RunError."""
    per_report: list[ReportScores] = []
    unjudged = 0
    for run in runs:
        per_report += run.evaluation().per_report
        without = run.run.header.get("reports without a changed function", 0)
        unjudged += without if isinstance(without, int) else 0
    asked = list(dict.fromkeys((*FUNCTION_MEASURES, *measures)))
    evaluation = Evaluation(tuple(per_report))
    means = [evaluation.mean(measure) for measure in asked]
    intervals: list[Interval | None] = [None] * len(asked)
    if len(per_report) > 1:
        values: FloatArray = np.column_stack([evaluation.values(measure) for measure in asked])
        sums = resampled_sums(values) / len(per_report)
        intervals = list(map(percentile_interval, sums.T))
    made = [Mean(mean, interval) for mean, interval in zip(means, intervals, strict=True)]
    return FunctionResults(name, evaluation, unjudged, {repr(one): mean for one, mean in zip(asked, made, strict=True)})


def macro_results(name: str, projects: Sequence[FunctionResults]) -> FunctionResults:
    """The mean of the projects' means, each project counting the same; intervals resample projects."""
    per_report = tuple(report for one in projects for report in one.evaluation.per_report)
    means = {}
    for measure in projects[0].means:
        values = np.array([one.means[measure].value for one in projects], dtype=np.float64)
        means[measure] = Mean(float(values.mean()), mean_interval(values))
    return FunctionResults(name, Evaluation(per_report), sum(one.unjudged for one in projects), means)
