"""Find the past commits that may have introduced the fault of a report.

Candidates are commits that touched the first files of an answer. A weighted sum of features orders
them; docs/method.md, section 6, describes features and weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from tosloc.core.records import Hit, SuspectChange
from tosloc.git.repository import Repository
from tosloc.rank.reasons import FileReasons, RepositoryLookups
from tosloc.rank.suspect_candidates import collect_candidates
from tosloc.rank.suspect_descriptions import describe_suspect
from tosloc.retrieval.postings import top_k

MAX_SUSPECTS: Final = 3
"""Most suspect changes of an answer."""
MISSING_BLOBS: Final = "some changes could not be read, because this clone lacks their contents"


class SuspectSearch(NamedTuple):
    """Suspect changes for one report, and what hindered the search."""

    changes: tuple[SuspectChange, ...]
    """The most suspect first."""
    notes: tuple[str, ...] = ()
    """Sentences for the user."""


def find_suspects(
    repository: Repository,
    reasons: FileReasons,
    hits: Sequence[Hit],
    lookups: RepositoryLookups,
    most: int = MAX_SUSPECTS,
) -> SuspectSearch:
    """Return the commits that most likely introduced the fault of an answered report.

    ``reasons`` are those of the answered query; its history ends before the report's opening, and
    the searched version contains all of it. ``hits`` are the first files of the answer with their
    functions; only the first ``suspect_candidates.MAX_FILES`` of them count. Missing blobs give a
    note, not an error.
    """
    candidates = collect_candidates(repository, reasons.context, hits)
    # Of equal candidates the newest comes first.
    last = len(candidates.commits) - 1
    best = [last - place for place in top_k(candidates.scores()[::-1], most).tolist()]
    changes = [describe_suspect(candidates, place, reasons, lookups) for place in best]
    notes = (MISSING_BLOBS,) if candidates.is_incomplete else ()
    return SuspectSearch(tuple(changes), notes)
