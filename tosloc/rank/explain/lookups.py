"""What reasons read from the repository."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True)
class RepositoryLookups:
    """Functions that read from the repository what reasons show; by default they return nothing."""

    subject: Callable[[str], str | None] = lambda commit: None
    """Return the first line of a commit's message."""
    commit_url: Callable[[str], str | None] = lambda commit: None
    """Return the address where a commit can be read."""
    authors: Callable[[Sequence[str]], Mapping[str, str]] = lambda commits: {}
    """Return the author's name of each commit id."""
    owners: Callable[[str], Sequence[str]] = lambda path: ()
    """Return whom the version's CODEOWNERS names for a path."""
    committed: Callable[[str, int], datetime] = lambda commit, seconds: datetime.fromtimestamp(
        seconds, UTC
    )
    """Return a commit's time in seconds since 1970 as a time in the committer's zone."""
