"""Past changes that may have introduced the bug of a report."""

from tosloc.rank.suspects.candidates import MAX_FILES, Candidates, collect_candidates
from tosloc.rank.suspects.features import FEATURES, WEIGHTS
from tosloc.rank.suspects.search import SuspectSearch, describe_statements, find_suspects

__all__ = [
    "FEATURES",
    "MAX_FILES",
    "WEIGHTS",
    "Candidates",
    "SuspectSearch",
    "collect_candidates",
    "describe_statements",
    "find_suspects",
]
