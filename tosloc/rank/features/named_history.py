"""Find the part of the history that a report names: earlier changes, and ends of a range.

Ends are commits in which something works or fails.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Final

import numpy as np

from tosloc.core.arrays import FloatArray, LongArray
from tosloc.git.fixes import is_fix_message
from tosloc.git.repository import Repository
from tosloc.rank.features.project_names import ProjectNames
from tosloc.rank.features.stated_ends import NO_ENDS, Ends, find_ends
from tosloc.reports.text import NamedChange, ReleaseClaim, Role
from tosloc.retrieval.history import (
    Bounds,
    HistoryAsOf,
    list_beside,
    list_brought,
)
from tosloc.retrieval.query import Query
from tosloc.retrieval.texts import Documents, DocumentsView
from tosloc.retrieval.version_index import VersionIndex

MAX_DOCUMENTS: Final = 20
"""Largest number of commits that a name may mean; names of more commits are ignored."""
MIN_ISSUES_OF_TRACKER: Final = 5
"""Number of different issues such as PROJ-7 that commits must name for PROJ to be a tracker.

CIFAR-10, for example, is no issue.
"""
MAX_BLAMED: Final = 10
"""Largest number of blamed commits that are used."""
MAX_MISSING: Final = 5
"""Largest number of versions without a tag that a note lists."""
_ROLES_OF_ENDS: Final = (Role.BUILD, Role.GOOD, Role.BAD)


@dataclass(frozen=True)
class FoundChange:
    """An earlier change that a report names and the history contains."""

    written: str
    """The name as people write it: #6322 or 321d7e5."""
    name: str
    """Name in the form of ``tosloc.git.change_names``, "#6322" or "!45"; "" for a commit."""
    commit: str
    """Full id of the change's newest commit; a merge's id only if no other commit is known."""
    at: int
    """Committer time of that commit, in seconds since 1970."""
    is_change: bool
    """Whether the name certainly means a change; otherwise it may mean an issue."""
    rows: tuple[int, ...]
    """Path rows, by present paths, of the files that the change touched."""


@dataclass(frozen=True)
class BlamedCommit:
    """A commit that broke something, according to the report."""

    written: str
    """The name as people write it: #6322 or 321d7e5."""
    commit: str
    """Full id."""
    at: int
    """Committer time, in seconds since 1970; 0 if it is not known."""
    subject: str
    """First line of the commit's message; "" if it is not known."""
    brought: frozenset[str]
    """Full ids of the commits that the blame covers: the commit, or those that a merge brought."""
    is_contained: bool
    """Whether the searched version contains the commit."""


class NamedHistory:
    """Earlier changes and releases that a query names, from the history known at its opening."""

    def __init__(
        self,
        query: Query,
        version: VersionIndex,
        history: HistoryAsOf,
        repository: Repository | None,
        given: Ends = NO_ENDS,
    ) -> None:
        self._number_of_paths = len(version.table)
        self._history = history
        self._given = given
        self._searched_commit = version.snapshot.commit
        self._repository = repository if self._searched_commit.strip("0") else None
        self._names = ProjectNames(query, version.snapshot, history, self._repository)

    @cached_property
    def changes(self) -> tuple[FoundChange, ...]:
        """The earlier changes of source files that the report names as evidence.

        They are in the report's order. A commit that the report names as a build, or as working or
        failing, is not evidence, even if the report names it again.
        """
        found = []
        surest: dict[str, Role] = {}
        for named in self._names.changes:
            change = self._find(named)
            if change is not None:
                found.append(change)
                if named.commit:
                    surest[change.commit] = max(named.role, surest.get(change.commit, named.role))
        ends = {commit for commit, role in surest.items() if role in _ROLES_OF_ENDS}
        return tuple(change for change in found if change.commit not in ends)

    @cached_property
    def _tracker_projects(self) -> frozenset[str]:
        """Keys of the trackers of issues that the report names, such as PROJ for PROJ-7.

        A key counts only if known commits name several of its issues.
        """
        projects = set()
        for named in self._names.changes:
            if _names_tracker(named):
                projects.add(_tracker_project(named.name))
        if not projects:
            return frozenset()
        view = self._history.commits
        issues: Counter[str] = Counter()
        for name, numbers in view.documents.by_name.items():
            project = _tracker_project(name)
            if project in projects and view.known[numbers].any():
                issues[project] += 1
        return frozenset(
            project for project, number in issues.items() if number >= MIN_ISSUES_OF_TRACKER
        )

    def _find(self, named: NamedChange) -> FoundChange | None:
        """Return a named change from the history; None if the history does not contain it."""
        history = self._history
        if _names_tracker(named) and _tracker_project(named.name) not in self._tracker_projects:
            return None
        commits = _known_documents(history.commits, named)
        # A large merge resolves a blamed number, but it says little about any file.
        merges = []
        for number in _known_documents(history.merges, named):
            if touched_rows(history.merges.documents, number):
                merges.append(number)
        reports: list[int] = []
        if named.name.startswith("#"):
            by_number = NamedChange(named.written, name=named.name[1:])
            reports = _known_documents(history.reports, by_number)
        if not 0 < len(commits) + len(merges) + len(reports) <= MAX_DOCUMENTS:
            return None
        sources = [(history.commits, commits), (history.reports, reports), (history.merges, merges)]
        rows: set[int] = set()
        for view, numbers in sources:
            for number in numbers:
                rows.update(touched_rows(view.documents, number))
        view, numbers = next(source for source in sources if source[1])
        newest = max(numbers)
        documents = view.documents
        return FoundChange(
            named.written,
            named.name,
            documents.commit_ids[newest],
            int(documents.times[newest]),
            named.is_change,
            tuple(sorted(rows)),
        )

    @cached_property
    def blamed(self) -> tuple[BlamedCommit, ...]:
        """The commits that the report blames, in its order, if the repository contains them.

        Without a repository they are looked up in the version's history, a merge covers only
        itself, and a number means all commits whose messages contain it.
        """
        blamed: dict[str, BlamedCommit] = {}
        for named in self._names.changes:
            if named.role is not Role.BLAMED:
                continue
            for commit in self._commits_of(named)[:MAX_BLAMED]:
                found = self._describe_blamed(commit, named.written)
                if found is not None:
                    blamed.setdefault(commit, found)
        merges = [merge for merge in blamed.values() if merge.brought != {merge.commit}]
        for merge in merges:
            for commit in merge.brought - {merge.commit}:
                # The merge stands for what it brought.
                if commit in blamed and blamed[commit].written == merge.written:
                    del blamed[commit]
        return tuple(blamed.values())[:MAX_BLAMED]

    def _commits_of(self, named: NamedChange) -> list[str]:
        """Return the full ids of the commits that a name means, which is an id or a number.

        A number means the pull request, or else the fixes of the issue; see ``_prefer_meant``.
        """
        repository = self._repository
        if named.commit and repository is not None:
            opened = self._history.opened
            resolved = repository.resolve_before([named.commit], opened)[named.commit]
            return [] if resolved is None else [resolved]
        commits = []
        for view in (self._history.merges, self._history.large, self._history.commits):
            numbers = _known_documents(view, named)
            if len(numbers) <= MAX_DOCUMENTS:
                commits += [view.documents.commit_ids[number] for number in numbers]
        return commits if repository is None else _prefer_meant(repository, named, commits)

    def _describe_blamed(self, commit: str, written: str) -> BlamedCommit | None:
        """Return a blamed commit with the commits it covers; None if it is after the opening."""
        repository = self._repository
        if repository is None:
            return BlamedCommit(written, commit, 0, "", frozenset([commit]), is_contained=True)
        [info] = repository.commits([commit])
        if info.committed_at >= self._history.opened:
            return None
        brought = frozenset([commit])
        if len(info.parents) > 1:
            brought = list_brought(repository, commit, info.parents[0])
        is_contained = not list_beside(repository, [commit], self._searched_commit)
        return BlamedCommit(
            written, commit, info.committed_at, info.subject, brought, is_contained=is_contained
        )

    @cached_property
    def blamed_ids(self) -> frozenset[str]:
        """Full ids of the commits that the report blames, and of those in blamed merges."""
        return frozenset().union(*(blamed.brought for blamed in self.blamed))

    def find_blamed(self, change: FoundChange) -> BlamedCommit | None:
        """Return the commit that the report blames under the name of a change; None if it has none.

        Other commits may contain the same number, such as one that repairs a pull request.
        """
        for blamed in self.blamed:
            if blamed.written == change.written or change.commit in blamed.brought:
                return blamed
        return None

    @cached_property
    def blamed_rows(self) -> tuple[int, ...]:
        """Path rows, by present paths, of the files that blamed commits changed.

        A merge counts as changing the files of all commits that it brought.
        """
        rows: set[int] = set()
        for blamed in self.blamed:
            for view in (self._history.commits, self._history.large, self._history.merges):
                for commit in (blamed.commit, *blamed.brought):
                    for number in _by_commit(view.documents, commit):
                        if view.known[number]:
                            rows.update(touched_rows(view.documents, number))
        return tuple(sorted(rows))

    @cached_property
    def _ends(self) -> Ends:
        """Good and bad ends that the question names, or by default those that its report states.

        There are no ends without a repository.
        """
        return self._given.override(find_ends(self._repository, self._names, self._history))

    @property
    def has_given_ends(self) -> bool:
        """Whether the question names good or bad ends."""
        return self._given != NO_ENDS

    @cached_property
    def bounds(self) -> Bounds:
        """Range in which the cause can be, given the releases and commits that work and fail."""
        good, bad, implied = self._ends
        if self._repository is None or not (good or bad):
            return Bounds()
        return Bounds.between(self._repository, self._searched_commit, good, bad, implied)

    @cached_property
    def range(self) -> frozenset[str] | None:
        """The commits between the good and bad ends; None if no start is known.

        Most reports only say which version was used. Then git is not called.
        """
        good, _, implied = self._ends
        return self.bounds.range if good or implied is not None else None

    @cached_property
    def states_regression(self) -> bool:
        """Whether the report blames a change of this project, or says after which end it broke.

        An end is a release or commit in which it worked.
        """
        return bool(self.blamed) or self.range is not None

    @cached_property
    def is_about_project(self) -> bool:
        """Whether the report refers to this project's history, so that it is about this project.

        A mere number is not enough, because most projects have a change #12.
        """
        return self.states_regression or any(not change.name for change in self.changes)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Sentences about commits and releases that matter, but are missing in the repository."""
        if self._repository is None:
            return ()
        return (*self._describe_missing_commits(), *self._describe_missing_releases())

    def _describe_missing_commits(self) -> Iterator[str]:
        """Yield a note for each missing commit that works or fails according to the report.

        Commits that are only named, or are builds, may belong to another program.
        """
        deciding = []
        for named in self._names.changes:
            is_foreign = named.project != "" and not self._names.is_own(named.project)
            if named.commit and named.role >= Role.GOOD and not is_foreign:
                deciding.append(named.commit)
        if self._repository is None or not deciding:
            return
        known = self._repository.resolve_before(deciding, self._history.opened)
        for written, commit in self._repository.resolve_many(deciding).items():
            if commit is None and known[written] is None:
                yield (
                    f"the report names commit {written[:10]}, which this repository does not"
                    " contain"
                )

    @cached_property
    def missing_releases(self) -> tuple[ReleaseClaim, ...]:
        """The report's statements that a release works or fails, if the release has no tag."""
        missing = []
        for claim in self._names.claims:
            if claim.state != "used" and not any(self._history.releases.find([claim], inf)):
                missing.append(claim)
        return tuple(missing)

    def _describe_missing_releases(self) -> Iterator[str]:
        """Yield a note on the releases without a tag that work or fail by the report."""
        numbers = list(dict.fromkeys(claim.number for claim in self.missing_releases))
        if numbers:
            versions = "version" if len(numbers) == 1 else "versions"
            more = ", ..." if len(numbers) > MAX_MISSING else ""
            yield (
                f"the report names {versions} {', '.join(numbers[:MAX_MISSING])}{more}, which no"
                " tag of this repository names; to get missing tags, run: git fetch --tags"
            )

    def in_range(self, view: DocumentsView) -> LongArray:
        """Return the known documents between the good and bad ends, in order of time."""
        between = self.range
        if not between:
            return np.zeros(0, dtype=np.int64)
        commit_ids = view.documents.commit_ids
        numbers = [number for number, commit in enumerate(commit_ids) if commit in between]
        candidates = np.array(numbers, dtype=np.int64)
        return candidates[view.known[candidates]]

    @cached_property
    def range_weights(self) -> FloatArray:
        """(N,) for each path the sum of 1/sqrt(k) over commits and merges in the range.

        k is the number of files that a commit touched. Only commits that touched the path count.
        """
        total = np.zeros(self._number_of_paths)
        for view in (self._history.commits, self._history.merges):
            documents = self.in_range(view)
            weights = 1 / np.sqrt(view.documents.sizes[documents])
            total += view.scatter_to_files(documents, weights, self._number_of_paths)
        return total


def _prefer_meant(repository: Repository, named: NamedChange, commits: Sequence[str]) -> list[str]:
    """Return the commits that the report means by a number.

    ``commits`` are all whose messages contain it. The report means those of the pull request with
    this number. If there are none, it is the number of an issue, and the report means its fixes.
    Fixes come first if the report speaks of an issue or its fix, because some projects number
    issues and pull requests independently.
    """
    infos = repository.commits(commits)
    own = [info.id for info in infos if info.pull_request == named.name]
    fixes = []
    for info in infos:
        # A merge names no issue but those that it closes.
        is_fix = len(info.parents) > 1 or is_fix_message(info.message)
        if is_fix and info.id not in own:
            fixes.append(info.id)
    preferred = (fixes, own) if named.means_fix else (own, fixes)
    return next(filter(None, preferred), list(commits))


def touched_rows(documents: Documents, number: int) -> Sequence[int]:
    """Return the path rows of the files that a document touched."""
    first, last = documents.file_starts[number : number + 2].tolist()
    rows: list[int] = documents.files[first:last].tolist()
    return rows


def _known_documents(view: DocumentsView, named: NamedChange) -> list[int]:
    """Return the known documents with a name, or the only known document of a commit's id."""
    documents = view.documents
    if not named.commit:
        return [number for number in documents.by_name.get(named.name, ()) if view.known[number]]
    numbers = [number for number in _by_commit(documents, named.commit) if view.known[number]]
    return numbers if len(numbers) == 1 else []


def _names_tracker(named: NamedChange) -> bool:
    """Return whether a change is named by a key such as PROJ-7, not by a bare number."""
    return named.name[:1].isalpha()


def _tracker_project(name: str) -> str:
    """Return the project of an issue, such as PROJ for PROJ-7; "" for a name without a hyphen."""
    project, hyphen, _ = name.partition("-")
    return project if hyphen else ""


def _by_commit(documents: Documents, beginning: str) -> Iterator[int]:
    """Yield the documents of the commits whose ids begin so."""
    ids = documents.remember(_sorted_ids)
    for position in range(bisect_left(ids, (beginning, 0)), len(ids)):
        commit, number = ids[position]
        if not commit.startswith(beginning):
            return
        yield number


def _sorted_ids(documents: Documents) -> list[tuple[str, int]]:
    """Return the commit id of each document with its number, sorted."""
    return sorted((commit, number) for number, commit in enumerate(documents.commit_ids))
