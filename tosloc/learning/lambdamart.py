"""A learned ranker for the head of the list: LambdaMART over the same features (Burges 2010), by LightGBM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from tosloc.errors import CheckpointError, ToslocError
from tosloc.learning.ranking_lists import RankingLists
from tosloc.learning.tree_text import read_trees
from tosloc.learning.trees import Trees
from tosloc.records import Float32Array, FloatArray

if TYPE_CHECKING:
    from tosloc.config import RankerSettings


def head_rows(rows: Float32Array, scores: FloatArray) -> Float32Array:
    """(k, K+2) features of the head, linear score below the leader's, and ln(1 + rank); rows stand in rank order."""
    rank = np.arange(1, len(rows) + 1, dtype=np.float32)
    below = (scores - scores[0]).astype(np.float32) if len(scores) else np.zeros(0, dtype=np.float32)
    return np.column_stack([rows, below, np.log1p(rank)]).astype(np.float32)


SHIPPED_DEPTH: Final = 150
"""Files that the shipped ranker orders: as many as ``[stage_one.ranker] depth`` says by default."""


class HeadRanker:
    """LambdaMART on the first ``depth`` files; learned from heads, without knowledge of paths.

    Without ``settings`` it is the shipped one, whose settings, which take long to load, are needed to learn alone.
    """

    def __init__(self, settings: RankerSettings | None, seed: int = 7, weight: float = 1.0) -> None:
        self._settings, self.seed = settings, seed
        self.depth = SHIPPED_DEPTH if settings is None else settings.depth
        self.weight_ = weight
        """What the trees' score is multiplied by before it is added to the linear score; chosen on validation."""
        self.text_: str = ""
        """The trees as LightGBM's text format."""
        self.trees_: Trees | None = None

    @property
    def settings(self) -> RankerSettings:
        """How it learns."""
        if self._settings is None:
            from tosloc.config import RankerSettings

            self._settings = RankerSettings()
        return self._settings

    def fit(self, heads: RankingLists) -> HeadRanker:
        """Learn; a second fit forgets the first. Deterministic for a seed.

        A report's pairs count as much as the report does.
        """
        import lightgbm

        alike = bool((heads.report_weights == 1).all())
        data = lightgbm.Dataset(
            heads.rows,
            label=heads.fixed.astype(np.int32),
            weight=None if alike else np.repeat(heads.report_weights, heads.sizes),
            group=heads.sizes.tolist(),
            free_raw_data=True,
        )
        booster = lightgbm.train(
            {
                "objective": "lambdarank",
                "num_leaves": self.settings.leaves,
                "learning_rate": self.settings.learning_rate,
                "min_data_in_leaf": self.settings.min_leaf,
                "lambda_l2": self.settings.l2,
                "feature_fraction": self.settings.feature_fraction,
                "lambdarank_truncation_level": self.settings.truncation,
                "seed": self.seed,
                "deterministic": True,
                "force_row_wise": True,
                "num_threads": 1,
                "verbosity": -1,
            },
            data,
            num_boost_round=self.settings.rounds,
        )
        self.text_ = str(booster.model_to_string())
        self.trees_ = read_trees(self.text_)
        return self

    def weighted(self, weight: float) -> HeadRanker:
        """The same trees with another weight."""
        other = HeadRanker(self._settings, self.seed, weight)
        other.text_, other.trees_ = self.text_, self.trees_
        return other

    @property
    def trees(self) -> Trees:
        """What was learned. Raises ToslocError before ``fit``."""
        if self.trees_ is None:
            raise ToslocError("this ranker has learned nothing yet; fit it, or read it from its text")
        return self.trees_

    @property
    def features(self) -> int:
        """How many features the trees read."""
        return self.trees.features

    def scores(self, rows: Float32Array) -> FloatArray:
        """(k,) the trees' scores of the rows of ``head_rows``. Raises CheckpointError when they read other features."""
        if rows.shape[1] != self.features:
            raise CheckpointError(
                f"the learned ranker reads {self.features} features, but there are {rows.shape[1]}; train again"
            )
        return self.trees.scores(rows)

    def shap(self, rows: Float32Array) -> FloatArray:
        """(k, K+2) what each column of the rows of ``head_rows`` adds to their scores: SHAP values of the trees."""
        import lightgbm

        parts = lightgbm.Booster(model_str=self.text_).predict(rows, pred_contrib=True, num_threads=1)
        return np.asarray(parts, dtype=np.float64)[:, :-1]

    def text(self) -> str:
        """The trees as LightGBM's text format."""
        return self.text_

    @classmethod
    def from_text(cls, text: str, settings: RankerSettings | None, weight: float) -> HeadRanker:
        """Ranker from its text. Raises CheckpointError when it is not one that LightGBM wrote."""
        ranker = cls(settings, weight=weight)
        try:
            ranker.text_, ranker.trees_ = text, read_trees(text)
        except ValueError as error:
            raise CheckpointError(
                f"the learned ranker is damaged or no ranker ({error}); train again, or copy the whole folder"
            ) from error
        return ranker


def reorder_head(scores: FloatArray, order: np.ndarray, learned: FloatArray, weight: float) -> FloatArray:
    """(F,) scores: the files ``order`` by their linear and weighted ``learned`` scores (k,), above all the rest."""
    return raised(scores, order, (scores[order] + weight * learned) / (1 + weight))


def raised(scores: FloatArray, order: np.ndarray, head: FloatArray) -> FloatArray:
    """(F,) scores in which the files ``order`` have the scores ``head``, raised above all the rest if need be."""
    rest = np.delete(scores, order)
    floor = float(rest.max()) if len(rest) else 0.0
    lowest = float(head.min()) if len(head) else 0.0
    new = scores.copy()
    new[order] = head if lowest > floor else head - lowest + np.nextafter(floor, np.inf) + 1e-6
    return new
