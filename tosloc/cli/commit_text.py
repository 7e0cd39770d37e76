"""Describe commits as text, for the commands that print them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from tosloc.core.reports import VALID_TIMES

if TYPE_CHECKING:
    from tosloc.git.repository import Repository


class CommitDescription(NamedTuple):
    """The parts of a commit that commands print."""

    commit: str
    """Full id."""
    author: str
    authored: datetime
    """Author's time, in UTC; 1970 if it cannot be a date."""
    subject: str


def describe_commits(repository: Repository, commits: Sequence[str]) -> list[CommitDescription]:
    """Return commits with their author, date and subject, in the order of ``commits``."""
    command = ["log", "--no-walk=unsorted", "--stdin", "--format=%H%x00%an%x00%at%x00%s"]
    with repository.git.stream(command, commits) as output:
        lines = output.read().decode("utf-8", "replace").split("\n")
    descriptions = {}
    for line in filter(None, lines):  # a name may contain other line separators
        commit, author, time, subject = line.split("\0")
        seconds = int(time) if int(time) in VALID_TIMES else 0
        when = datetime.fromtimestamp(seconds, UTC)
        descriptions[commit] = CommitDescription(commit, author, when, subject.strip())
    return [descriptions[commit] for commit in commits]


def commit_url(repository: Repository, commit: str) -> str | None:
    """Return the web address of a commit's page; None if the host is not known."""
    from tosloc.git.discovery import WebPages

    pages = WebPages.of(repository.remote_url())
    return None if pages is None else pages.commit(commit)
