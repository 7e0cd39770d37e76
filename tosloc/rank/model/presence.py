"""Estimate whether a report is about the searched project: a second factor of the confidence.

Some file is always the best match, even if the report belongs to another project. The softmax over
the first files cannot show that, because it compares files with each other. The signals here
compare the report with the version and its history: how many of its words and names occur, which
existing things it names, and whether an earlier commit is similar. They depend on the report and
the version alone, not on the weights that rank, and no file is read for them.

The logistic model over these signals was fitted to reports that were answered from their own
repository and from another one (``tosloc lab presence``, docs/evaluation.md).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Final, Self

import numpy as np

from tosloc.core.arrays import BoolArray, FloatArray
from tosloc.core.io import write_text
from tosloc.rank.features.query_context import QueryContext
from tosloc.retrieval.query import Query
from tosloc.retrieval.texts import K1, idf

PRESENCE_FILE: Final = Path(__file__).parents[2] / "defaults" / "presence.json"
"""File of the fitted model in the package."""
_UNKNOWN_NAME: Final = 0.5
"""Value of the signal ``own_name`` if the project's name is not known."""
_PENALTY: Final = 1e-3
"""Strength of the L2 penalty on the weights of standardized signals."""


@dataclass(frozen=True)
class PresenceModel:
    """A logistic model of the probability that a report is about the searched project."""

    SIGNALS: ClassVar = (
        "known_words",
        "known_names",
        "best_score",
        "own_frames",
        "foreign_frames",
        "named_files",
        "own_name",
        "near_commit",
        "path_words",
        "terms",
    )
    """Names of the signals, in the order of their values; ``signals`` explains them."""

    intercept: float
    weights: Mapping[str, float]
    """Signal -> its weight."""

    @classmethod
    @cache
    def shipped(cls) -> Self:
        """Return the model that the package contains."""
        return cls(**json.loads(PRESENCE_FILE.read_text(encoding="utf-8")))

    @classmethod
    def fit(cls, signals: FloatArray, at_home: BoolArray, counts: FloatArray) -> Self:
        """Return the model that predicts best which reports are about the searched project.

        ``signals`` (R, K) has a row for each report, and ``at_home`` (R,) says whether the report
        is about the project. A report counts as often as ``counts`` (R,) says. Half of each report
        counts as if the project's name were not known.
        """
        from scipy.optimize import minimize

        nameless = signals.copy()
        nameless[:, cls.SIGNALS.index("own_name")] = _UNKNOWN_NAME
        rows = np.concatenate([signals, nameless])
        mean = rows.mean(axis=0)
        deviation = np.maximum(rows.std(axis=0), 1e-9)
        scaled = np.column_stack([(rows - mean) / deviation, np.ones(len(rows))])
        signs = np.tile(np.where(at_home, 1.0, -1.0), 2)
        shares = np.tile(counts, 2) / (2 * counts.sum())

        def loss(weights: FloatArray) -> tuple[float, FloatArray]:
            margins = signs * (scaled @ weights)
            penalized = np.append(weights[:-1], 0.0)
            value = float(shares @ np.logaddexp(0, -margins)) + _PENALTY * float(
                penalized @ penalized
            )
            slopes = -shares * signs / (1 + np.exp(margins))
            return value, scaled.T @ slopes + 2 * _PENALTY * penalized

        result: Any = minimize(loss, np.zeros(scaled.shape[1]), jac=True, method="L-BFGS-B")
        weights = result.x[:-1] / deviation
        intercept = float(result.x[-1] - weights @ mean)
        rounded = [float(f"{weight:.4g}") for weight in weights.tolist()]
        return cls(float(f"{intercept:.4g}"), dict(zip(cls.SIGNALS, rounded, strict=True)))

    @staticmethod
    def signals(context: QueryContext) -> FloatArray:
        """Return (K,) the signals of a report and a version.

        Words count by their weight in the query and their IDF; a word that no file contains counts
        most. ``best_score`` is the highest BM25 of a file, divided by the highest possible BM25.
        ``near_commit`` is the highest cosine similarity of a commit message, times the share of
        known words, because it ignores words that no message contains.
        """
        query = context.query
        frames = len(query.text.frames) + sum(map(len, query.places.locations.traces))
        named = context.named_files
        own_frames = len(named.in_frames) + sum(map(len, named.project_frames))
        places = (*query.places.locations.links, *query.places.locations.paths)
        known_places = sum(bool(named.find_rows(place)) for place in places)
        named_files = len(named.mentioned_rows) + len(named.by_compound_name) + known_places
        known_words, best_score = _match_words(context)
        values = {
            "known_words": known_words,
            "known_names": _share_of_known_names(context),
            "best_score": best_score,
            "own_frames": math.log1p(own_frames),
            "foreign_frames": math.log1p(max(frames - own_frames, 0)),
            "named_files": math.log1p(named_files),
            "own_name": _own_name(query),
            "near_commit": known_words
            * float(context.similar_documents.commit_similarities.max(initial=0.0)),
            "path_words": _share_of_path_words(context),
            "terms": math.log1p(len(query.weights)),
        }
        return np.array([values[name] for name in PresenceModel.SIGNALS])

    def probabilities(self, signals: FloatArray) -> FloatArray:
        """Return (R,) probabilities, from the signals (R, K) of reports."""
        weights = np.array([self.weights[name] for name in self.SIGNALS])
        return np.asarray(1 / (1 + np.exp(-(self.intercept + signals @ weights))))

    def probability(self, context: QueryContext) -> float:
        """Return the probability that a report is about the project that is searched."""
        return float(self.probabilities(self.signals(context)[None, :])[0])

    def write(self, file: Path) -> None:
        """Write the model as JSON."""
        write_text(file, json.dumps(asdict(self), indent=1) + "\n")


def _own_name(query: Query) -> float:
    """Return 1 if the report contains the project's name, 0 if not, .5 if the name is unknown."""
    if not query.projects:
        return _UNKNOWN_NAME
    return float(query.text.names_project)


def _match_words(context: QueryContext) -> tuple[float, float]:
    """Return the share of the report's words that any file contains, and the scaled best BM25."""
    weights = context.matches.weights
    frequency = context.version.text.frequency[context.matches.numbers]
    known = float(weights @ (idf(context.files, frequency) * (frequency > 0)))
    is_known = dict(zip(context.matches.words, (frequency > 0).tolist(), strict=True))
    absent = 0.0
    for word, weight in context.query.weights.items():
        # Words of another script say nothing about the project, whose code is mostly English.
        if word.isascii() and not is_known.get(word):
            absent += weight
    rarest = float(idf(context.files, np.zeros(1, dtype=np.int64))[0])
    total = known + absent * rarest
    if not total:
        return 0.0, 0.0
    best = float(context.matches.score_whole(weights).max(initial=0.0))
    return known / total, best / (total * (K1 + 1))


def _share_of_known_names(context: QueryContext) -> float:
    """Return the share of the report's compounds that a file contains; .5 if it has no compound.

    Half a name is added to the known names, and one to all names, so that few names give no
    extremes.
    """
    names = context.query.names.compounds
    known = sum(map(context.version.has_term, names))
    return (known + 0.5) / (len(names) + 1)


def _share_of_path_words(context: QueryContext) -> float:
    """Return the share of the title's words that occur in file names of the version."""
    words = context.query.summary_weights
    paths = context.version.paths
    known = 0
    for word in words:
        term = paths.table.term_ids.get(word)
        known += term is not None and bool(paths.names.frequency[term])
    return known / max(len(words), 1)
