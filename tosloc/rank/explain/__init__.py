"""Why a file is listed: reasons, functions, lines of code, background."""

from tosloc.rank.explain.background import collect_background, find_other_files
from tosloc.rank.explain.excerpts import (
    PointedLines,
    choose_body,
    choose_excerpts,
    choose_lines,
    distinctive_terms,
    find_matches,
)
from tosloc.rank.explain.functions import (
    FUNCTION_DEPTH,
    SIGN_WEIGHTS,
    function_bm25,
    function_signs,
    score_functions,
)
from tosloc.rank.explain.later_fixes import find_later_fix
from tosloc.rank.explain.lookups import RepositoryLookups

__all__ = [
    "FUNCTION_DEPTH",
    "SIGN_WEIGHTS",
    "PointedLines",
    "RepositoryLookups",
    "choose_body",
    "choose_excerpts",
    "choose_lines",
    "collect_background",
    "distinctive_terms",
    "find_later_fix",
    "find_matches",
    "find_other_files",
    "function_bm25",
    "function_signs",
    "score_functions",
]
