"""The function level of runs: how often the functions that a fix changed come first, beside BM25 over functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from tosloc.errors import RunError, counted
from tosloc.evaluate.measures import AP, RR, Measure
from tosloc.evaluate.run_paths import BM25_LEVEL, FUNCTION_LEVEL, JUDGEMENTS_FILE, RUN_FILE, ScoredRun, read_scored
from tosloc.evaluate.tables import Results, pair

FUNCTION_MEASURES: Final = (*(Measure("Acc", k) for k in (1, 5, 10)), *(Measure("Hit", k) for k in (1, 5, 10)), RR, AP)
BM25_NAME: Final = "BM25 over functions"


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
    ours, bm25 = (read_scored(parts[0] / level) for level in (FUNCTION_LEVEL, BM25_LEVEL))
    return replace(ours, name=place.name or place.absolute().name), replace(bm25, name=BM25_NAME)


def unjudged(run: ScoredRun) -> int:
    """Reports left out, because the version has none of the functions that their fix changed."""
    without = run.run.header.get("reports without a changed function", 0)
    return without if isinstance(without, int) else 0


def unjudged_note(runs: Sequence[ScoredRun]) -> list[str]:
    """A sentence if reports were left out."""
    number = sum(map(unjudged, runs))
    said = f"{counted(number, 'report')} {'is' if number == 1 else 'are'} not judged"
    return [f"{said}: their version has none of the functions that the fix changed"] if number else []


def function_values(results: Results) -> dict[str, Any]:
    """Results of functions as plain values for JSON."""
    means = {key: {"mean": mean.value, "interval": pair(mean.interval)} for key, mean in results.measures.items()}
    return {
        "run": results.name,
        "reports": results.summary["reports"],
        "unjudged": unjudged(results.scored),
        "relevant": results.summary["relevant"],
        "measures": means,
    }
