"""Try out a feature: add it to stage one's scores, and see how far fixed files lead.

The feature counts the words of the report's title that the path of a file contains. To keep a
feature that helps, follow the row "feature" of the table in docs/architecture.md.

python examples/add_feature.py [REPOSITORY [REPORTS]]

REPORTS is a file of labelled reports, such as `tosloc mine --out REPORTS` writes. Each report is
asked about the version before its fix.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from tosloc import Localizer, Question
from tosloc.code.languages import SOURCE_SUFFIXES
from tosloc.code.text import terms
from tosloc.core.arrays import BoolArray, FloatArray
from tosloc.rank.features import QueryContext, scale_by_largest
from tosloc.reports.labelled import Dataset

REPOSITORY = sys.argv[1] if len(sys.argv) > 1 else ".venv/flask.git"
REPORTS = sys.argv[2] if len(sys.argv) > 2 else Path(__file__).with_name("reports.jsonl")
WEIGHT = 0.5


def title_words_in_path(context: QueryContext) -> FloatArray:
    """Return (F,) the number of words of the report's title in the path of each file."""
    title_words = set(context.query.summary_counts)
    paths = context.version.snapshot.paths
    counts = [len(title_words & set(terms(path))) for path in paths]
    return np.array(counts, dtype=np.float64)


def check(values: FloatArray, context: QueryContext) -> FloatArray:
    """Return the values of a feature, or end the script if they are not one number a file."""
    report = context.query.report.id
    if np.shape(values) != (context.files,):
        sys.exit(f"report {report}: {np.shape(values)} values for {context.files} files")
    if not np.isfinite(values).all():
        path = context.version.snapshot.paths[int(np.isfinite(values).argmin())]
        sys.exit(f"report {report}: the value of {path} is not a finite number")
    return values


def lead(scores: FloatArray, is_fixed: BoolArray) -> float:
    """Return the best score of a fixed file minus that of any other file; above 0 it is first."""
    return float(scores[is_fixed].max() - scores[~is_fixed].max())


with Localizer.open(REPOSITORY) as localizer:
    assert localizer.repository is not None
    dataset = Dataset.load(localizer.repository, REPORTS, suffixes=SOURCE_SUFFIXES)
    print("score of the fixed file minus the best other score, without -> with the feature:")
    rose = fell = 0
    for case in dataset.cases:
        scores = localizer.rank(Question(case.report, commit=case.before_commit))
        context = scores.stage_one.context
        values = check(title_words_in_path(context), context)
        new_scores = scores.values + WEIGHT * scale_by_largest(values)

        paths = scores.version.snapshot.paths
        is_fixed = np.array([path in case.fixed for path in paths])
        if not is_fixed.any() or is_fixed.all():
            print(f"no fixed file, or no other one  {case.report.id}")
            continue
        before = lead(scores.values, is_fixed)
        after = lead(new_scores, is_fixed)
        rose += after > before
        fell += after < before
        print(f"{before:+.2f} -> {after:+.2f}  {case.report.id}")
    print(f"the lead rose for {rose} reports and fell for {fell}")
