"""AmaLgam: structured text, similar bugs and version history, Wang and Lo, ICPC 2014.

Docs/method.md, section B.6. S is BugLocator's SimiScore, R is BLUiR's score, and H is the commit
score of the last k days:

    H(f) = sum over the bug-fix commits c of the last k days that changed f of
           1 / (1 + exp(12 (1 - (k - d_c) / k)))

where d_c is the age of the commit in days when the report was opened. BLIA also uses H. It is not
known whether the paper brings S and R to the same scale. Here min-max over the files does, because
otherwise BLUiR's sums would be much larger than S.

Shapes: F files of a version, N paths of the repository, X fixing commits.
"""

from __future__ import annotations

import re
from typing import ClassVar, Final

import numpy as np
from scipy import sparse

from tosloc.core.arrays import FloatArray
from tosloc.lab.baselines.bluir import BLUiR
from tosloc.lab.baselines.buglocator import SimilarReports
from tosloc.lab.baselines.context import Baseline, BaselineContext, BaselineQuery, FixHistory
from tosloc.retrieval.texts import min_max

SIMILAR_SHARE: Final = 0.2
"""Share of similar bugs in the score of the text, a: paper, section B.6.3."""
HISTORY_SHARE: Final = 0.3
"""Share of the history in the score, b: paper, section B.6.3."""
HISTORY_DAYS: Final = 15.0
"""Age of the oldest commits that count, k: paper and public code, section B.6.2; for BLIA
Bench4BL's value, section B.7.5."""
_FIX_WORD = re.compile(r"bug|fix", re.I)
"""Words in the message of a fixing commit: paper. They match inside words, as in "prefix"."""
_DAY_SECONDS: Final = 86_400.0


def commit_recency(age: FloatArray) -> FloatArray:
    """Return the summand of H for fixing commits, from their ages in days.

    >>> commit_recency(np.array([0.0, 1.0, 3.0, 7.5, 15.0])).round(6).tolist()
    [0.5, 0.310026, 0.083173, 0.002473, 6e-06]
    """
    return 1.0 / (1.0 + np.exp(12.0 * (1.0 - (HISTORY_DAYS - age) / HISTORY_DAYS)))


class FixCommits:
    """The commits of a history whose messages mention a fix, and the paths that they changed."""

    def __init__(self, fix_history: FixHistory) -> None:
        history = fix_history.history
        fix_numbers: list[int] = []
        changed_paths: list[int] = []
        starts = [0]
        for number, paths in enumerate(history.touched):
            # Merge commits have no changes of their own, and are left out with the empty ones.
            if paths and _FIX_WORD.search(history.messages[number]):
                fix_numbers.append(number)
                changed_paths += paths
                starts.append(len(changed_paths))
        self.numbers = np.array(fix_numbers, dtype=np.int64)
        """(X,) numbers of the commits in the history."""
        self.times: FloatArray = history.times[self.numbers].astype(np.float64)
        """(X,) seconds since 1970."""
        self.touched = sparse.csr_array(
            (np.ones(len(changed_paths)), changed_paths, starts),
            shape=(len(fix_numbers), fix_history.touched.shape[1]),
        )
        """(X, N) 1 where a commit changed a path."""

    def scores(self, query: BaselineQuery) -> FloatArray:
        """Return (F,) H of the version's files.

        A commit at the same time as the opening counts with age 0.
        """
        age: FloatArray = (query.report.opened_seconds - self.times) / _DAY_SECONDS
        recent = np.flatnonzero(query.known_commits[self.numbers] & (age <= HISTORY_DAYS))
        path_scores = self.touched[recent].T @ commit_recency(age[recent])
        return query.version.from_paths(np.asarray(path_scores, dtype=np.float64))


class AmaLgam(Baseline):
    """AmaLgam (ICPC 2014)."""

    name: ClassVar[str] = "amalgam"

    def __init__(self, context: BaselineContext, seed: int = 7) -> None:
        super().__init__(context, seed)
        self.bluir = BLUiR(context, seed)
        self.similar_reports = SimilarReports(context.fix_history)
        self.commits = FixCommits(context.fix_history)

    def scores(self, query: BaselineQuery) -> FloatArray:
        """Return (F,) (1 - b) (a min-max(S) + (1 - a) min-max(R)) + b H; 0 if S and R are both 0.

        The module explains the letters.
        """
        similar = min_max(self.similar_reports.simi_scores(query))
        structured = min_max(self.bluir.scores(query))
        text = SIMILAR_SHARE * similar + (1 - SIMILAR_SHARE) * structured
        score = (1 - HISTORY_SHARE) * text + HISTORY_SHARE * self.commits.scores(query)
        return np.where(text > 0, score, 0.0)
