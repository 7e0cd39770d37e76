"""The part of the history that a report names: earlier changes, and a range of releases."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from tosloc.core.records import FloatArray, LongArray
from tosloc.reports.named_changes import NamedChange
from tosloc.reports.named_versions import VersionClaim
from tosloc.retrieval.documents import Documents, DocumentsView
from tosloc.retrieval.releases import ReleaseRange, normalize_name

if TYPE_CHECKING:
    from tosloc.retrieval.context import QueryContext

MAX_DOCUMENTS: Final = 20
"""Commits that one name may mean; a name of more, such as that of a long task, tells nothing."""
MIN_ISSUES_OF_TRACKER: Final = 5
"""Fewest issues such as PROJ-7 that commits name, if PROJ is a tracker's project.

CIFAR-10 is none."""


@dataclass(frozen=True)
class FoundChange:
    """An earlier change that a report names, as the history has it."""

    written: str
    """The name as people write it: #6322 or 321d7e5."""
    name: str
    """The number as ``tosloc.git.change_names`` has it, "#6322" or "!45"; "" for a commit."""
    commit: str
    """Full id of its newest commit; of a merge only if no other commit is known."""
    at: int
    """Committer time of that commit, in seconds since 1970."""
    is_change: bool
    """Whether the report names a change for certain, not maybe an issue."""
    rows: tuple[int, ...]
    """Path rows of the files that it changed, under their present paths."""


class NamedHistory:
    """Earlier changes and releases that a query names, as far as they were known."""

    def __init__(self, context: QueryContext) -> None:
        self._context = context
        self._history = context.history

    @cached_property
    def _folders(self) -> frozenset[str]:
        """Normalized names of the version's folders, and of its top-level files."""
        folders: set[str] = set()
        for path in self._context.version.text.snapshot.paths:
            folders.update(path.split("/")[:-1])
        return frozenset(map(normalize_name, folders))

    def _is_own(self, project: str) -> bool:
        """Return whether a name means the searched project."""
        return self._history.releases.is_own(project, self._folders)

    @cached_property
    def changes(self) -> tuple[FoundChange, ...]:
        """The earlier changes that the report names, in its order; each changed a source file."""
        found = []
        for named in self._context.query.named_changes:
            if named.project and not self._is_own(named.project):
                continue
            change = self._find(named)
            if change is not None:
                found.append(change)
        return tuple(found)

    @cached_property
    def _tracker_projects(self) -> frozenset[str]:
        """Projects of issues that the report names, PROJ of PROJ-7, that several commits name."""
        projects = set()
        for named in self._context.query.named_changes:
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
        """Return a named change as the history has it; None if it is not known."""
        history = self._history
        if _names_tracker(named) and _tracker_project(named.name) not in self._tracker_projects:
            return None
        commits = _known_documents(history.commits, named)
        merges = _known_documents(history.merges, named)
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
    def release_range(self) -> ReleaseRange | None:
        """The releases between which something broke, by the report; None if it does not say."""
        return self._history.releases.find_range(self._own_claims, self._history.opened)

    @cached_property
    def latest_cause(self) -> float:
        """Time up to which a commit can have caused the fault, in seconds since 1970.

        It is that of the oldest release that fails, by the report; without one, the opening.
        """
        failing = self._history.releases.first_failing(self._own_claims, self._history.opened)
        return self._history.opened if failing is None else float(failing.at)

    @cached_property
    def _own_claims(self) -> list[VersionClaim]:
        """What the report says about versions of this project."""
        claims = []
        for claim in self._context.query.version_claims:
            if not claim.products or any(map(self._is_own, claim.products)):
                claims.append(claim)
        return claims

    def in_range(self, view: DocumentsView) -> LongArray:
        """Return the known documents within the range of releases, in order of time."""
        if self.release_range is None:
            return np.zeros(0, dtype=np.int64)
        times = view.documents.times
        after, until, *_ = self.release_range
        return np.flatnonzero(view.known & (times > after) & (times <= until))

    @cached_property
    def range_weights(self) -> FloatArray:
        """(N,) sum of 1/sqrt(k) over the commits and merges in the range that touched a file."""
        total = np.zeros(self._context.all_paths)
        for view in (self._history.commits, self._history.merges):
            documents = self.in_range(view)
            weights = 1 / np.sqrt(view.documents.sizes[documents])
            total += view.scatter_to_files(documents, weights, self._context.all_paths)
        return total


def touched_rows(documents: Documents, number: int) -> Sequence[int]:
    """Return the path rows of the files that a document touched."""
    first, last = documents.file_starts[number : number + 2].tolist()
    rows: list[int] = documents.files[first:last].tolist()
    return rows


def _known_documents(view: DocumentsView, named: NamedChange) -> list[int]:
    """Return the known documents with a name, or the one with an id."""
    documents = view.documents
    if named.commit:
        numbers: Iterable[int] = _by_commit(documents, named.commit)
    else:
        numbers = documents.by_name.get(named.name, ())
    return [number for number in numbers if view.known[number]]


def _names_tracker(named: NamedChange) -> bool:
    """Return whether a change is named by an issue such as PROJ-7, not by a bare number."""
    return named.name[:1].isalpha()


def _tracker_project(name: str) -> str:
    """Return the project of an issue, PROJ of PROJ-7; "" for a name without a hyphen."""
    project, hyphen, _ = name.partition("-")
    return project if hyphen else ""


def _by_commit(documents: Documents, beginning: str) -> Iterator[int]:
    """Yield the document of a commit by the beginning of its id, if that of one alone."""
    ids = documents.remember(_sorted_ids)
    position = bisect_left(ids, (beginning, 0))
    matching = [item for item in ids[position : position + 2] if item[0].startswith(beginning)]
    if len(matching) == 1:
        yield matching[0][1]


def _sorted_ids(documents: Documents) -> list[tuple[str, int]]:
    """Return the commit id of each document with its number, sorted."""
    return sorted((commit, number) for number, commit in enumerate(documents.commit_ids))
