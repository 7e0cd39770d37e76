"""Describe commits as text, for the commands that print them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tosloc.git.repository import Repository


class CommitDescription(NamedTuple):
    """The parts of a commit that commands print, as answers show them."""

    commit: str
    """Full id."""
    author: str
    committed: datetime
    """Committer time, in the committer's time zone."""
    subject: str


def describe_commits(
    repository: Repository, commits: Sequence[str], version: str
) -> list[CommitDescription]:
    """Return commits with their author, date and subject, in the order of ``commits``.

    Names of authors are those of ``.mailmap`` in the commit ``version``.
    """
    from tosloc.git.repository import AuthorNames

    authors = AuthorNames(repository, version).read(commits)
    descriptions = []
    for info in repository.commits(commits):
        author = authors.get(info.id, "")
        descriptions.append(CommitDescription(info.id, author, info.committed, info.subject))
    return descriptions


def commit_url(repository: Repository, commit: str) -> str | None:
    """Return the web address of a commit's page; None if the host is not known."""
    from tosloc.git.discovery import WebPages

    pages = WebPages.of(repository.remote_url())
    return None if pages is None else pages.commit(commit)
