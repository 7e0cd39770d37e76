"""Features of stage one, the query context that they read, and tables of features."""

from tosloc.rank.features.evidence import KINDS, find_statements, own_frames
from tosloc.rank.features.query_context import QueryContext
from tosloc.rank.features.registry import (
    ALL,
    FEATURES,
    FEATURES_VERSION,
    PAPER,
    PRIOR_WEIGHTS,
    columns,
    scale_by_largest,
)
from tosloc.rank.features.tables import (
    PARTS,
    WORK_FOLDER,
    FeatureTable,
    TableFolder,
)

__all__ = [
    "ALL",
    "FEATURES",
    "FEATURES_VERSION",
    "KINDS",
    "PAPER",
    "PARTS",
    "PRIOR_WEIGHTS",
    "WORK_FOLDER",
    "FeatureTable",
    "QueryContext",
    "TableFolder",
    "columns",
    "find_statements",
    "own_frames",
    "scale_by_largest",
]
