"""Find the changes and releases of the searched project, not of others, that a report names."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from typing import Final

from tosloc.core.versions import Snapshot
from tosloc.git.repository import Repository
from tosloc.reports.mentions import own_id
from tosloc.reports.text import NamedChange, ReleaseClaim, normalize_name
from tosloc.retrieval.history import HistoryAsOf
from tosloc.retrieval.query import Query

LENGTH_OF_ID: Final = 40
"""Smallest number of characters of a whole commit id."""
_FOLDERS_OF_PACKAGES: Final = frozenset(
    "apps components crates lib libs modules packages plugins projects python src".split()
)
"""Folders at the top that contain the packages of a project."""


class ProjectNames:
    """The changes and releases of the searched project that a report names."""

    def __init__(
        self,
        query: Query,
        snapshot: Snapshot,
        history: HistoryAsOf,
        repository: Repository | None,
    ) -> None:
        self._query = query
        self._snapshot = snapshot
        self._history = history
        self._repository = repository

    @cached_property
    def _folders(self) -> frozenset[str]:
        """Normalized names of the folders that may be parts of the project.

        If the project's name is known, these are the version's folders at the top and in folders of
        packages: deeper ones, such as backends/redis, are often called like another project.
        """
        is_known = bool(self._history.releases.projects)
        folders: set[str] = set()
        for path in self._snapshot.paths:
            names = path.split("/")[:-1]
            depth = 2 if names and names[0] in _FOLDERS_OF_PACKAGES else 1
            folders.update(names[:depth] if is_known else names)
        return frozenset(map(normalize_name, folders))

    def is_own(self, project: str) -> bool:
        """Return whether a name means the searched project."""
        return self._history.releases.is_own(project, self._folders)

    @cached_property
    def changes(self) -> tuple[NamedChange, ...]:
        """The changes of this project that the report names, except the report itself.

        Numbers and words that may be ids count only if the repository has such a commit.
        """
        report_id = own_id(self._query.report)
        report_name = f"#{report_id}" if report_id.isdigit() else report_id
        names = []
        for named in self._query.names.changes:
            is_itself = named.name != "" and named.name == report_name
            if not is_itself and self._concerns_project(named):
                names.append(named)
        unknown = self._find_unknown([named.commit for named in names if not named.is_certain])
        return tuple(named for named in names if named.is_certain or named.commit not in unknown)

    def _find_unknown(self, beginnings: Sequence[str]) -> frozenset[str]:
        """Return those of ``beginnings`` with which no known commit's id begins, or several do.

        Only commits before the report's opening are known.
        """
        if self._repository is None or not beginnings:
            return frozenset(beginnings)
        commits = self._repository.resolve_before(beginnings, self._history.opened)
        return frozenset(beginning for beginning, commit in commits.items() if commit is None)

    def _concerns_project(self, named: NamedChange) -> bool:
        """Return whether a name does not belong to another project.

        A whole commit id in the repository belongs to this project, whatever its remote is called.
        """
        is_whole = len(named.commit) >= LENGTH_OF_ID
        return is_whole or not named.project or self.is_own(named.project)

    @cached_property
    def claims(self) -> list[ReleaseClaim]:
        """The report's statements about releases of this project."""
        claims = []
        for claim in self._query.names.release_claims:
            is_key = claim.state == "used"
            is_own = partial(self._is_own_product, is_key=is_key)
            # "Turi Create 5.6" has the name in two words.
            names = (*claim.products, "".join(claim.products))
            if not claim.products or any(map(is_own, names)):
                claims.append(claim)
        return claims

    def _is_own_product(self, product: str, *, is_key: bool) -> bool:
        """Return whether a product in a statement about a release is the searched project.

        A key of a form such as "Python" may also be the name of a folder, so only the scope of an
        npm package tells that a folder of this project is meant.
        """
        uses_folders = not is_key or product.startswith("@")
        folders = self._folders if uses_folders else frozenset()
        return self._history.releases.is_own(product, folders)
