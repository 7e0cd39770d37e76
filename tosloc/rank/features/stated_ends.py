"""Find the commits in which something works or fails, from releases and commits in a report."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, Self

from tosloc.core.errors import ToslocError
from tosloc.git.repository import Repository
from tosloc.rank.features.project_names import ProjectNames
from tosloc.reports.text import Role
from tosloc.retrieval.history import End, HistoryAsOf, Release, list_beside


class Ends(NamedTuple):
    """Commits in which something works or fails."""

    good: tuple[End, ...] = ()
    bad: tuple[End, ...] = ()
    implied: End | None = None
    """The release before the first one that fails according to the report; else None."""

    @classmethod
    def resolve(cls, repository: Repository, good: Sequence[str], bad: str | None) -> Self:
        """Return the ends with the commits that a question names as good and bad.

        Raises UnknownCommit for a revision that names no commit, and ToslocError if a good commit
        contains the bad commit.
        """
        good_ends = tuple(End(name, repository.resolve(name), is_given=True) for name in good)
        if bad is None:
            return cls(good_ends)
        bad_end = End(bad, repository.resolve(bad), is_given=True)
        for end in good_ends:
            if not list_beside(repository, [bad_end.commit], end.commit):
                raise ToslocError(
                    f"the good commit {end.name} contains the bad commit {bad}, so the fault was"
                    " fixed in between; name a good commit that is older, or check if the two were"
                    " mixed up",
                    about="good",
                )
        return cls(good_ends, (bad_end,))

    def override(self, stated: Ends) -> Ends:
        """Return these ends; if good or bad ones are missing, take those from ``stated``.

        ``stated`` are the ends that a report states.
        """
        if self.good:
            return Ends(self.good, self.bad or stated.bad)
        return Ends(stated.good, self.bad or stated.bad, stated.implied)


NO_ENDS: Final = Ends()


def find_ends(repository: Repository | None, names: ProjectNames, history: HistoryAsOf) -> Ends:
    """Return the good and bad ends that a report states; empty without a repository."""
    if repository is None:
        return NO_ENDS
    releases = history.releases.find(names.claims, history.opened)
    good = _ends_of_releases(repository, releases.good)
    bad = _ends_of_releases(repository, releases.bad)
    bad += _ends_of_releases(repository, releases.used, is_own=True)
    implied = () if releases.implied is None else (releases.implied,)
    implied_ends = _ends_of_releases(repository, implied)
    for end, role in _ends_of_commits(repository, names, history.opened):
        (good if role is Role.GOOD else bad).append(end)
    return Ends(tuple(good), tuple(bad), next(iter(implied_ends), None))


def _ends_of_releases(
    repository: Repository, releases: Iterable[Release], *, is_own: bool = False
) -> list[End]:
    """Return the tagged commits of releases as ends."""
    names = {f"refs/tags/{release.name}": release.name for release in releases}
    ends = []
    for tag, commit in (repository.resolve_many(names) if names else {}).items():
        if commit is not None:
            ends.append(End(names[tag], commit, is_own))
    return ends


def _ends_of_commits(
    repository: Repository, names: ProjectNames, opened: float
) -> list[tuple[End, Role]]:
    """Return the commits before the opening that work, fail or were built, with their roles.

    A commit has two roles if the report contradicts itself about it; the bounds then say so.
    """
    roles: dict[str, Role] = {}
    contradicted: set[str] = set()
    for named in names.changes:
        if named.commit and named.role is not Role.NAMED:
            roles[named.commit] = max(named.role, roles.get(named.commit, named.role))
            if named.is_contradicted:
                contradicted.add(named.commit)
    ids = repository.resolve_before(roles, opened) if roles else {}
    ends = []
    for written, commit in ids.items():
        if commit is None:
            continue
        role = roles[written]
        ends.append((End(commit[:10], commit, role is Role.BUILD), role))
        if written in contradicted:
            ends.append((End(commit[:10], commit), Role.GOOD))
    return ends
