"""The commit score of AmaLgam and BLIA: files that recent bug fixes changed (docs/method.md, section B.6.2).

H(f) = sum over the bug-fix commits c of the last k days that changed f of 1 / (1 + exp(12 (1 - (k - d_c) / k)))

d_c is the age of the commit in days when the report was opened; a commit says by its message that it fixes a bug.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final, Literal, TypeAlias

import numpy as np
from scipy import sparse

from tosloc.git.history import History
from tosloc.lab.baselines.context import BaselineQuery
from tosloc.records import BoolArray, FloatArray

FixWords: TypeAlias = Literal["contains", "subject"]
"""How a message says that it fixes a bug. ``contains``: "bug" or "fix" anywhere, in "prefix" too; ``subject``: anywhere
in the first line, in lower case only, as public code has it."""

_DAY: Final = 86_400.0
_PATTERNS: Final = {"contains": re.compile(r"bug|fix", re.I), "subject": re.compile(r"\A[^\n]*(?:bug|fix)")}


def commit_recency(age: FloatArray, days: float) -> FloatArray:
    """What a commit of this age in days counts in a window of so many days.

    >>> commit_recency(np.array([0.0, 1.0, 3.0, 7.5, 15.0]), 15).round(6).tolist()
    [0.5, 0.310026, 0.083173, 0.002473, 6e-06]
    """
    return 1.0 / (1.0 + np.exp(12.0 * (1.0 - (days - age) / days)))


class FixCommits:
    """The commits of a history whose messages say that they fix a bug, and what they changed."""

    def __init__(self, history: History, paths: int, words: FixWords = "contains") -> None:
        pattern = _PATTERNS[words]
        changing = np.diff(history.touched_starts) > 0
        self.history = history
        self.numbers = np.array(
            [number for number in np.flatnonzero(changing).tolist() if pattern.search(history.messages[number])],
            dtype=np.int64,
        )
        """(X,) numbers of commits; merges change nothing themselves."""
        self.times: FloatArray = history.times[self.numbers].astype(np.float64)
        """(X,) seconds since 1970."""
        shape = (len(history), paths)
        touched = sparse.csr_array((np.ones(len(history.touched)), history.touched, history.touched_starts), shape)
        self.touched = touched[self.numbers]
        """(X, N) 1 where a commit changed a path."""

    @cached_property
    def _touched_by_path(self) -> sparse.csr_array:
        return sparse.csr_array(self.touched.T)

    def scores(self, query: BaselineQuery, days: float) -> FloatArray:
        """(F,) H of the version's files at the opening; a commit exactly at the opening does not count."""
        age, usable = self._ages(query.history.commits, query.history.time)
        chosen = np.flatnonzero(usable & (age <= days))
        return query.version.from_paths(
            np.asarray(self.touched[chosen].T @ commit_recency(age[chosen], days), dtype=np.float64)
        )

    def scores_at_fix(self, query: BaselineQuery, days: float) -> FloatArray:
        """(F,) H as AmaLgam's public code has it, a leak: ages from the fix; of a file its first fix ever."""
        fix_history = query.history.fix_history
        row = fix_history.row_of_report.get(query.report.id)
        time = query.history.time if row is None else float(fix_history.fixed_at[row])
        known = self.history.ancestors(query.version.snapshot.commit) & (self.history.times < time)
        age, usable = self._ages(known, time)
        fixed_before: FloatArray = self._touched_by_path @ (usable & (age > days)).astype(np.float64)
        score = np.zeros(self.touched.shape[1])
        chosen = np.flatnonzero(usable & (age <= days))
        for commit in chosen[np.argsort(age[chosen], kind="stable")].tolist():  # the oldest is written last
            paths = self.touched.indices[self.touched.indptr[commit] : self.touched.indptr[commit + 1]]
            score[paths] = commit_recency(age[commit], days)
        return query.version.from_paths(np.where(fixed_before > 0, 0.0, score))

    def _ages(self, known: BoolArray, time: float) -> tuple[FloatArray, BoolArray]:
        """(X,) ages in days, and which commits are ``known`` (C,) and were made before ``time``."""
        age: FloatArray = (time - self.times) / _DAY
        return age, known[self.numbers] & (age > 0)
