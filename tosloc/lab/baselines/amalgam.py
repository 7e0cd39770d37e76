"""AmaLgam: structured text, similar bugs and version history, Wang and Lo, ICPC 2014 (docs/method.md, section B.6).

S is BugLocator's SimiScore, R BLUiR's score, H the commit score of the last k days. Whether the paper brings S and R to
one scale is not established; here they are, by min-max over the files, as sums of BLUiR would drown the rest. Shapes:
F files of a version, X fixing commits.

H(f) = sum over the bug-fix commits c of the last k days that changed f of 1 / (1 + exp(12 (1 - (k - d_c) / k))), where
d_c is the age of the commit in days when the report was opened. BLIA uses it, too.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import ClassVar, Final

import numpy as np
from scipy import sparse

from tosloc.core.records import FloatArray
from tosloc.lab.baselines.bluir import BLUiR
from tosloc.lab.baselines.buglocator import SimilarReports
from tosloc.lab.baselines.context import Baseline, BaselineContext, BaselineQuery, FixHistory
from tosloc.retrieval.bm25 import min_max

A: Final = 0.2  # share of similar bugs: paper, section B.6.3
B: Final = 0.3  # share of history: paper, section B.6.3
DAYS: Final = 15.0  # k, days of history that count: paper and public code, section B.6.2; in BLIA Bench4BL's, B.7.5
_FIX = re.compile(r"bug|fix", re.I)  # anywhere in a message, in "prefix" too: paper
_DAY: Final = 86_400.0


def commit_recency(age: FloatArray) -> FloatArray:
    """What a commit of this age in days counts.

    >>> commit_recency(np.array([0.0, 1.0, 3.0, 7.5, 15.0])).round(6).tolist()
    [0.5, 0.310026, 0.083173, 0.002473, 6e-06]
    """
    return 1.0 / (1.0 + np.exp(12.0 * (1.0 - (DAYS - age) / DAYS)))


class FixCommits:
    """The commits of a history whose messages say that they fix a bug, and what they changed."""

    def __init__(self, fix_history: FixHistory) -> None:
        history = fix_history.history
        # merges change nothing themselves
        fixes = [
            n
            for n, files in enumerate(history.touched)
            if files and _FIX.search(history.messages[n])
        ]
        self.numbers = np.array(fixes, dtype=np.int64)  # (X,) numbers of commits
        self.times: FloatArray = history.times[self.numbers].astype(
            np.float64
        )  # (X,) seconds since 1970
        files = [history.touched[number] for number in fixes]
        columns, starts = [*chain.from_iterable(files)], np.cumsum([0, *map(len, files)])
        shape = (len(files), fix_history.touched.shape[1])
        self.touched = sparse.csr_array(
            (np.ones(len(columns)), columns, starts), shape
        )  # 1 where one changed a path

    def scores(self, query: BaselineQuery) -> FloatArray:
        """(F,) H of the version's files at the opening; a commit exactly at the opening does not count."""
        age: FloatArray = (query.report.opened_seconds - self.times) / _DAY
        chosen = np.flatnonzero(query.commits[self.numbers] & (age <= DAYS))
        recent = np.asarray(self.touched[chosen].T @ commit_recency(age[chosen]), dtype=np.float64)
        return query.version.from_paths(recent)


class AmaLgam(Baseline):
    """AmaLgam (ICPC 2014)."""

    name: ClassVar[str] = "amalgam"

    def __init__(self, context: BaselineContext, seed: int = 7) -> None:
        super().__init__(context, seed)
        self.bluir = BLUiR(context, seed)
        self.similar_reports = SimilarReports(context.fix_history)
        self.commits = FixCommits(context.fix_history)

    def scores(self, query: BaselineQuery) -> FloatArray:
        """(F,) (1 - b) (a mm(S) + (1 - a) mm(R)) + b H; 0 where neither S nor R is above it."""
        similar, structured = self.similar_reports.simi_scores(query), self.bluir.scores(query)
        text = A * min_max(similar) + (1 - A) * min_max(structured)
        return np.where(text > 0, (1 - B) * text + B * self.commits.scores(query), 0.0)
