"""AmaLgam: structured text, similar bugs and version history, Wang and Lo, ICPC 2014 (docs/method.md, section B.6).

S is BugLocator's SimiScore, R BLUiR's score, H the commit score of the last k days. Whether the paper brings S and R to
one scale is not established; here they are, by min-max over the files, as sums of BLUiR would drown the rest. The
upstream profile imitates the version that Bench4BL ships (B.6.4), but for dates moved by a day, files told apart by
five folders only, and commits that add files left out. Shapes: F files of a version.

H(f) = sum over the bug-fix commits c of the last k days that changed f of 1 / (1 + exp(12 (1 - (k - d_c) / k))), where
d_c is the age of the commit in days when the report was opened. BLIA uses it, too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain
from typing import Any, ClassVar, Final, Literal, TypeAlias

import numpy as np
from pydantic import NonNegativeFloat, PositiveFloat
from scipy import sparse

from tosloc.config import Share
from tosloc.index.bm25 import min_max
from tosloc.lab.baselines.bluir import BLUiR, BLUiRSettings
from tosloc.lab.baselines.buglocator import SimilarReports, report_stems
from tosloc.lab.baselines.context import Baseline, BaselineContext, BaselineQuery, Cutoff, FixHistory, Settings
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

    def __init__(self, fix_history: FixHistory, words: FixWords = "contains") -> None:
        history, pattern = fix_history.history, _PATTERNS[words]
        self.history = history
        fixes = [n for n, files in enumerate(history.touched) if files and pattern.search(history.messages[n])]
        self.numbers = np.array(fixes, dtype=np.int64)
        """(X,) numbers of commits; merges change nothing themselves."""
        self.times: FloatArray = history.times[self.numbers].astype(np.float64)
        """(X,) seconds since 1970."""
        files = [history.touched[number] for number in fixes]
        columns, starts = [*chain.from_iterable(files)], np.cumsum([0, *map(len, files)])
        shape = (len(files), fix_history.touched.shape[1])
        self.touched = sparse.csr_array((np.ones(len(columns)), columns, starts), shape)
        """(X, N) 1 where a commit changed a path."""

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
        fixed_before: FloatArray = self.touched.T @ (usable & (age > days)).astype(np.float64)
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


class AmaLgamSettings(Settings):
    """Settings of AmaLgam; its BLUiR has that technique's defaults of the same profile."""

    UPSTREAM: ClassVar[Mapping[str, Any]] = {
        "fusion": "weighted",
        "fix_words": "subject",
        "ages": "fix",
        "only_positive": True,
    }

    fusion: Literal["published", "weighted"] = "published"
    """``weighted``: text_weight x R / words of the query + history_weight x H, without similar bugs."""
    a: Share = 0.2
    b: Share = 0.3
    days: PositiveFloat = 15.0
    fix_words: FixWords = "contains"
    ages: Literal["opening", "fix"] = "opening"
    """Whence ages of commits are counted; ``fix`` also keeps one commit a file only."""
    text_weight: NonNegativeFloat = 0.5
    history_weight: NonNegativeFloat = 0.2
    only_positive: bool = False


class AmaLgam(Baseline):
    """AmaLgam (ICPC 2014)."""

    name: ClassVar[str] = "amalgam"
    Settings: ClassVar = AmaLgamSettings
    # the public code has no similar bugs; its commits come from the fix, not from this cutoff
    upstream_cutoff: ClassVar[Cutoff] = "fix_before_open"

    def __init__(self, settings: AmaLgamSettings, context: BaselineContext, seed: int = 7) -> None:
        super().__init__(settings, context, seed)
        self.bluir = BLUiR(BLUiRSettings.model_validate({"profile": settings.profile}), context, seed)
        self.similar_reports = SimilarReports(context.fix_history, report_stems)
        self.commits = FixCommits(context.fix_history, settings.fix_words)

    def scores(self, query: BaselineQuery) -> FloatArray:
        """(F,) scores, 0 or more."""
        settings = self.settings
        structured, history = self.bluir.scores(query), self.history(query)
        if settings.fusion == "weighted":
            words = self.bluir.query_length(query.report)
            weighted: FloatArray = settings.text_weight * structured / max(words, 1) + settings.history_weight * history
            return weighted
        similar = self.similar_reports.simi_scores(query)
        text = settings.a * min_max(similar) + (1 - settings.a) * min_max(structured)
        return np.where(text > 0, (1 - settings.b) * text + settings.b * history, 0.0)

    def left_out(self, scores: FloatArray) -> int:
        """Files with a score of 0, which the public code does not write."""
        return int((scores <= 0).sum()) if self.settings.only_positive else 0

    def history(self, query: BaselineQuery) -> FloatArray:
        """(F,) H."""
        scores = self.commits.scores_at_fix if self.settings.ages == "fix" else self.commits.scores
        return scores(query, self.settings.days)
