"""The mean gain over several projects, each project counting alike: bootstrap over the reports within each project.

python scripts/gain.py runs/swt-two/stage_one:runs/swt-two runs/jdt-two/stage_one:runs/jdt-two
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from tosloc.cli.guard import guarded
from tosloc.errors import RunError
from tosloc.evaluation.run_paths import read_scored
from tosloc.records import FloatArray

DRAWS = 10_000


def differences(pair: str, split: str) -> FloatArray:
    """(R, 2) later minus earlier RR and AP of each report of a pair of runs "A:B". Raises RunError."""
    first, found, second = pair.partition(":")
    if not found:
        raise RunError(f"{pair}: name two runs with a colon between them")
    values = []
    for place in (first, second):
        scores = read_scored(place, split).evaluation().per_report
        values.append({one.report: (one.reciprocal_rank, one.average_precision) for one in scores})
    if values[0].keys() != values[1].keys():
        raise RunError(f"{pair}: the two runs are not of the same reports")
    return np.array([np.subtract(values[1][report], values[0][report]) for report in values[0]], dtype=np.float64)


def mean_gain(projects: list[FloatArray], seed: int = 7) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(2,) mean gain in MRR and MAP, (2, 2) its 95 % interval, (2,) two-sided p of no gain."""
    mean: FloatArray = np.mean([one.mean(axis=0) for one in projects], axis=0)
    rng = np.random.default_rng(seed)
    drawn = np.array(
        [
            np.mean([one[rng.integers(0, len(one), len(one))].mean(axis=0) for one in projects], axis=0)
            for _ in range(DRAWS)
        ]
    )
    below = np.minimum((drawn <= 0).mean(axis=0), (drawn >= 0).mean(axis=0))
    return mean, np.percentile(drawn, [2.5, 97.5], axis=0).T, np.minimum(2 * below, 1.0)


def main() -> int:
    """Run the command; the exit code."""
    parser = argparse.ArgumentParser(description="Mean gain over several projects.")
    parser.add_argument("pairs", nargs="+", metavar="A:B", help="two runs of one project, the earlier one first")
    parser.add_argument("--split", default="test")
    options = parser.parse_args()
    mean, interval, p = mean_gain([differences(pair, options.split) for pair in options.pairs])
    for place, name in enumerate(("MRR", "MAP")):
        low, high = interval[place]
        print(f"{name} {mean[place]:+.4f} [{low:+.4f}, {high:+.4f}], p {p[place]:.4f}")
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
