"""Try out a feature: add it to stage one's scores, and see how far fixed files lead.

The feature counts the words of the report's title that the path of a file contains. To keep a
feature that helps, follow the row "feature" of the table in docs/architecture.md.

python examples/add_feature.py [REPOSITORY]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from tosloc import Localizer, Question, read_reports
from tosloc.code.text import terms
from tosloc.core.arrays import BoolArray, FloatArray
from tosloc.rank.features import QueryContext, scale_by_largest

REPOSITORY = sys.argv[1] if len(sys.argv) > 1 else ".venv/flask.git"
REPORTS = Path(__file__).with_name("reports.jsonl")
WEIGHT = 0.5


def title_words_in_path(context: QueryContext) -> FloatArray:
    """Return (F,) the number of words of the report's title in the path of each file."""
    title_words = set(context.query.summary_counts)
    paths = context.version.snapshot.paths
    counts = [len(title_words & set(terms(path))) for path in paths]
    return np.array(counts, dtype=np.float64)


def lead(scores: FloatArray, is_fixed: BoolArray) -> float:
    """Return the best score of a fixed file minus that of any other file; above 0 it is first."""
    return float(scores[is_fixed].max() - scores[~is_fixed].max())


with Localizer.open(REPOSITORY) as localizer:
    print("score of the fixed file minus the best other score, without -> with the feature:")
    for labelled in read_reports(REPORTS, suffixes=[".py"]):
        scores = localizer.rank(Question(labelled.report))
        values = title_words_in_path(scores.stage_one.context)
        new_scores = scores.values + WEIGHT * scale_by_largest(values)

        paths = scores.version.snapshot.paths
        is_fixed = np.array([path in labelled.listed for path in paths])
        before = lead(scores.values, is_fixed)
        after = lead(new_scores, is_fixed)
        print(f"{before:+.2f} -> {after:+.2f}  {labelled.report.id}")
