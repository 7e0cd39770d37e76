"""A bug report prepared for retrieval: its text, names, places and weighted terms."""

from tosloc.retrieval.query.query import PART_WEIGHTS, Query
from tosloc.retrieval.query.query_names import CompoundName
from tosloc.retrieval.query.query_text import TOLD_PARTS, contains_name

__all__ = ["PART_WEIGHTS", "TOLD_PARTS", "CompoundName", "Query", "contains_name"]
