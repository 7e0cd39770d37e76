"""Why a file is listed: reasons, functions, lines of code, background."""

from tosloc.rank.explain.background import collect_background, find_other_files
from tosloc.rank.explain.excerpts import choose_excerpts
from tosloc.rank.explain.functions import (
    FUNCTION_DEPTH,
    SIGN_WEIGHTS,
    function_bm25,
    function_signs,
    score_functions,
)
from tosloc.rank.explain.later_fixes import find_later_fix
from tosloc.rank.explain.lookups import RepositoryLookups
from tosloc.rank.explain.matching_terms import find_matches
from tosloc.rank.explain.report_lines import ReportLines

__all__ = [
    "FUNCTION_DEPTH",
    "SIGN_WEIGHTS",
    "ReportLines",
    "RepositoryLookups",
    "choose_excerpts",
    "collect_background",
    "find_later_fix",
    "find_matches",
    "find_other_files",
    "function_bm25",
    "function_signs",
    "score_functions",
]
