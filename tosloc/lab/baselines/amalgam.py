"""AmaLgam: structured text, similar bugs and version history, Wang and Lo, ICPC 2014 (docs/method.md, section B.6).

S is BugLocator's SimiScore, R BLUiR's score, H the commit score of the last k days. Whether the paper brings S and R to
one scale is not established; here they are, by min-max over the files, as sums of BLUiR would drown the rest. The
upstream profile imitates the version that Bench4BL ships (B.6.4), but for dates moved by a day, files told apart by
five folders only, and commits that add files left out. Shapes: F files of a version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import NonNegativeFloat, PositiveFloat

from tosloc.config import Share
from tosloc.index.bm25 import min_max
from tosloc.lab.baselines.bluir import BLUiR, BLUiRSettings
from tosloc.lab.baselines.buglocator import SimilarReports, report_stems
from tosloc.lab.baselines.context import Baseline, BaselineContext, BaselineQuery, Cutoff, Settings
from tosloc.lab.baselines.history import FixCommits, FixWords
from tosloc.records import FloatArray


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


def amalgam_score(similar: FloatArray, structured: FloatArray, history: FloatArray, a: float, b: float) -> FloatArray:
    """(F,) AmaLgam from S, R and H.

    >>> amalgam_score(np.array([0.5, 0.0]), np.array([1.0, 0.0]), np.array([0.1, 2.0]), 0.2, 0.3).round(6).tolist()
    [0.66, 0.0]
    """
    text = a * similar + (1 - a) * structured
    return np.where(text > 0, (1 - b) * text + b * history, 0.0)


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
        fix_history = context.fix_history
        self.commits = FixCommits(fix_history.history, fix_history.touched.shape[1], settings.fix_words)

    def scores(self, query: BaselineQuery) -> FloatArray:
        """(F,) scores, 0 or more."""
        settings = self.settings
        structured, history = self.bluir.scores(query), self.history(query)
        if settings.fusion == "weighted":
            words = self.bluir.query_length(query.report)
            weighted: FloatArray = settings.text_weight * structured / max(words, 1) + settings.history_weight * history
            return weighted
        similar = self.similar_reports.simi_scores(query)
        return amalgam_score(min_max(similar), min_max(structured), history, settings.a, settings.b)

    def left_out(self, query: BaselineQuery) -> int:
        """Files with a score of 0, which the public code does not write."""
        return int((self.scores(query) <= 0).sum()) if self.settings.only_positive else 0

    def history(self, query: BaselineQuery) -> FloatArray:
        """(F,) H."""
        scores = self.commits.scores_at_fix if self.settings.ages == "fix" else self.commits.scores
        return scores(query, self.settings.days)
