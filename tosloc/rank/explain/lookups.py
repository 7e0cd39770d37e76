"""Functions that read the repository for reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True)
class RepositoryLookups:
    """Functions that read data for reasons from the repository; by default they return nothing."""

    subject: Callable[[str], str | None] = lambda commit: None
    """Function that returns the first line of a commit's message."""
    commit_url: Callable[[str], str | None] = lambda commit: None
    """Function that returns the web address of a commit."""
    authors: Callable[[Sequence[str]], Mapping[str, str]] = lambda commits: {}
    """Function that returns commit id -> author's name."""
    owners: Callable[[str], Sequence[str]] = lambda path: ()
    """Function that returns the owners of a path, according to the version's CODEOWNERS."""
    committed: Callable[[str, int], datetime] = lambda commit, seconds: datetime.fromtimestamp(
        seconds, UTC
    )
    """Function that returns a commit's time in the committer's zone, from seconds since 1970."""
