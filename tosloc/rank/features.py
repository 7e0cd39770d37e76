"""The features of stage one: each a small function from a query context to one value a file, and a line in the table.

The paper's four are ``text``, ``trace``, ``history`` and ``complexity``. The others were chosen on training and
validation reports of four projects; docs/features.md lists what each is worth. Shapes: F files of the version.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tosloc.index.context import QueryContext
from tosloc.rank import history_features, location_features, text_features
from tosloc.records import FloatArray

FEATURES_VERSION = "features2"
"""Of the formulas, in the names of stored feature tables: raise it when one gives other values."""


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature: its name, its formula, what it says to people, and how its values are made comparable."""

    name: str
    """Also its key in weights.json and in printed reasons."""
    values: Callable[..., FloatArray]
    """From a query context, and for a related feature from the prior (F,) too, to (F,) values."""
    reason: str | None = None
    """Of what kind the reasons are that can be given for a file that it lifts; None where people could check none."""
    prior: float = 0.0
    """Fixed weight in the first guess, never fitted."""
    scaled: bool = True
    """Whether values are divided by the largest one among the version's files."""
    history: bool = False
    """Whether it needs a history: without one it is 0 for every file."""


PAPER: tuple[Feature, ...] = (
    Feature("text", text_features.text, "words", scaled=False),
    Feature("trace", location_features.trace, "frame", scaled=False),
    Feature("history", history_features.history, scaled=False, history=True),
    Feature("complexity", text_features.complexity, scaled=False),
)
DIRECT: tuple[Feature, ...] = (
    Feature("bm25f", text_features.bm25f, "words", prior=0.5),
    Feature("code", text_features.code, "words", prior=1.0),
    Feature("methods", text_features.methods, "words", prior=0.4),
    Feature("chunk", text_features.chunk, "words", prior=2.3),
    Feature("summary", text_features.summary, "words", prior=1.0),
    Feature("lead", text_features.lead, "words"),
    Feature("coverage", text_features.coverage, "words"),
    Feature("identifiers", text_features.identifiers, "words", prior=1.0),
    Feature("path", text_features.path, "path", prior=0.6),
    Feature("folders", text_features.folders, "path", prior=0.8),
    Feature("name_coverage", text_features.name_coverage, "path", prior=0.6),
    Feature("mention", location_features.mention, "name", prior=1.0, scaled=False),
    Feature("mention_order", location_features.mention_order, "name", scaled=False),
    Feature("rare_frame", location_features.rare_frame, "frame", prior=1.5, scaled=False),
    Feature("cause_frame", location_features.cause_frame, "frame", prior=1.5),
    Feature("file_documents", history_features.file_documents, "past", prior=1.0, history=True),
    Feature("commit_summary", history_features.commit_summary, "past", prior=0.4, history=True),
    Feature("near_commits", history_features.near_commits, "past", prior=0.4, history=True),
    Feature("near_reports", history_features.near_reports, "past", prior=1.0, history=True),
    Feature("near_package", history_features.near_package, prior=0.8, history=True),
    Feature("folder_reports", history_features.folder_reports, history=True),
    Feature("name_documents", history_features.name_documents, prior=0.7, history=True),
    Feature("recency", history_features.recency, prior=1.0, history=True),
    Feature("activity", history_features.activity, prior=1.0, history=True),
    Feature("year", history_features.year, history=True),
    Feature("popularity", history_features.popularity, prior=-1.8, history=True),
    Feature("length", text_features.length),
    Feature("test", location_features.test, prior=-0.6, scaled=False),
    Feature("types", text_features.types, "words"),
    Feature("referenced", history_features.referenced, "past", history=True),
    Feature("own_frame", location_features.own_frame, "frame", scaled=False),
    Feature("linked", location_features.linked, "name", scaled=False),
    Feature("written_path", location_features.written_path, "name", scaled=False),
    Feature("example", location_features.example, scaled=False),
    Feature("vendored", location_features.vendored, scaled=False),
    Feature("setup", location_features.setup, scaled=False),
    Feature("rare_bm25f", text_features.rare_bm25f, "words"),
    Feature("rare_chunk", text_features.rare_chunk, "words"),
    Feature("summary_strings", text_features.summary_strings, "words"),
    Feature("defined_names", text_features.defined_names, "name", scaled=False),
    Feature("message_strings", text_features.message_strings, "words"),
)
RELATED: tuple[Feature, ...] = (
    Feature("co_change", history_features.co_change, history=True),
    Feature("twin", location_features.test_counterpart, "test"),
    Feature("folder_share", location_features.folder_share),
    Feature("namesake", location_features.namesake),
)
CONTEXT: tuple[Feature, ...] = (
    Feature("files", location_features.files, scaled=False),
    Feature("known_reports", history_features.known_reports, scaled=False, history=True),
    Feature("known_commits", history_features.known_commits, scaled=False, history=True),
    Feature("report_terms", location_features.report_terms, scaled=False),
    Feature("language_share", location_features.language_share, scaled=False),
)
"""The same for every file, or nearly: for the learned ranker."""

PAPER_NAMES: tuple[str, ...] = tuple(feature.name for feature in PAPER)
RELATED_NAMES: tuple[str, ...] = tuple(feature.name for feature in RELATED)
CONTEXT_NAMES: tuple[str, ...] = tuple(feature.name for feature in CONTEXT)
NAMES: tuple[str, ...] = (*(feature.name for feature in DIRECT), *RELATED_NAMES, *CONTEXT_NAMES)
"""What stage one uses unless a configuration says otherwise, in the order of its weights."""
FEATURES: Mapping[str, Feature] = {feature.name: feature for feature in (*DIRECT, *RELATED, *CONTEXT, *PAPER)}
ALL: tuple[str, ...] = tuple(FEATURES)
_GUESSED_BY: tuple[Feature, ...] = tuple(feature for feature in DIRECT if feature.prior)
PRIOR_WEIGHTS: Mapping[str, float] = {feature.name: feature.prior for feature in _GUESSED_BY}


def prior(columns: Mapping[str, FloatArray]) -> FloatArray:
    """(F,) softmax of the first guess over the version's files, from scaled columns."""
    guess = sum((weight * columns[name] for name, weight in PRIOR_WEIGHTS.items() if name in columns), np.float64(0.0))
    share = np.exp(guess - np.max(guess))
    value: FloatArray = share / share.sum()
    return value


def scaled(values: FloatArray) -> FloatArray:
    """Values divided by their largest, where that is above 0."""
    largest = float(values.max()) if len(values) else 0.0
    return values / largest if largest > 0 else values


def columns(context: QueryContext, wanted: Sequence[str]) -> dict[str, FloatArray]:
    """The wanted features' values, (F,) each, made comparable between reports. Raises KeyError for an unknown name."""
    chosen = [FEATURES[name] for name in wanted]
    related = [feature for feature in chosen if feature.name in RELATED_NAMES]
    made: dict[str, FloatArray] = {}
    for feature in [*chosen, *(_GUESSED_BY if related else ())]:
        if feature.name not in RELATED_NAMES and feature.name not in made:
            values = feature.values(context)
            made[feature.name] = scaled(values) if feature.scaled else values
    if related:
        shares = prior(made) if context.files else np.zeros(0)
        for feature in related:
            made[feature.name] = scaled(feature.values(context, shares)) if context.files else np.zeros(0)
    return {name: made[name] for name in wanted}
