"""Find a project's releases among its tags, and the range of releases that a report names."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple, Self

import numpy as np

from tosloc.core.arrays import Array, LongArray, unpack_words, validate_array
from tosloc.core.reports import VALID_TIMES
from tosloc.git.discovery import WebPages
from tosloc.git.repository import Repository, Tag, Tags
from tosloc.reports.text import ReleaseClaim, is_own_name, normalize_name

_TAG: Final = re.compile(
    r"(?i)(?P<prefix>(?:\D(?:.{0,80}?[^\d.])?)??)(?P<number>\d{1,5}(?:[._]\d{1,8}){1,4})"
    r"(?P<suffix>[-._]?[a-z][\w.-]{0,20})?"
)
_FINAL: Final = re.compile(r"(?i)[-._]?(?:final|release|ga|incubating|stable)")
_LATER: Final = re.compile(
    r"(?i)[-._]?(?:(?:post|patch|hotfix|update|p|sp|sr)[-._]?\d{1,4}|[a-wyz])"
)
"""Marks of a release after the one with the same number: 2.0.post1, 1.1.1k."""
_SEPARATORS: Final = re.compile(r"[\W_]+")


class ReleaseNumber(NamedTuple):
    """The number of a release; numbers are ordered like releases, except for suffixes."""

    parts: tuple[int, ...]
    """Parts of the number without zeros at the end: 2.8.0 is (2, 8)."""
    is_final: bool = True
    """Whether the release is not a preview; previews are ordered before the final release."""
    suffix: str = ""
    """The mark of a preview (rc1, beta2) or of a later release of the number (post1, k)."""

    @property
    def series(self) -> tuple[int, ...]:
        """The first two parts of the number, which a maintained branch shares."""
        return (*self.parts, 0, 0)[:2]


def parse_release_number(number: str, suffix: str = "") -> ReleaseNumber:
    """Return the parsed number of a release such as 2.8.0, 2_8_0 or 2.8.0rc1.

    >>> parse_release_number("2_8_0")
    ReleaseNumber(parts=(2, 8), is_final=True, suffix='')
    >>> parse_release_number("1.2", ".Final").parts
    (1, 2)
    >>> parse_release_number("1.2.0rc1")
    ReleaseNumber(parts=(1, 2), is_final=False, suffix='rc1')
    >>> parse_release_number("1.2.0.post1")
    ReleaseNumber(parts=(1, 2), is_final=True, suffix='post1')
    """
    match = re.match(r"\d{1,9}(?:[._]\d{1,9}){0,9}", number)
    digits = match[0] if match else ""
    mark = number[len(digits) :] or suffix
    parts = [int(part) for part in re.split(r"[._]", digits) if part]
    while parts and parts[-1] == 0:
        parts.pop()
    if not mark or _FINAL.fullmatch(mark):
        return ReleaseNumber(tuple(parts))
    is_final = _LATER.fullmatch(mark) is not None
    return ReleaseNumber(tuple(parts), is_final, _SEPARATORS.sub("", mark.lower()))


class Release(NamedTuple):
    """A tag that names a release."""

    number: ReleaseNumber
    at: int
    """Committer time of the release's commit, in seconds since 1970."""
    known_at: int
    name: str
    """The whole tag."""
    prefix: str
    """The text before the number in the tag."""


class ClaimedReleases(NamedTuple):
    """The releases that a report mentions."""

    good: tuple[Release, ...]
    """Releases in which something works, according to the report."""
    bad: tuple[Release, ...]
    """Releases in which it fails."""
    used: tuple[Release, ...]
    """Releases that the reporter used."""
    implied: Release | None
    """The release before the one in which it began to fail, according to the report; else None."""


@dataclass(frozen=True, eq=False)
class Releases:
    """The n tags of a project, and the names under which it is known on the web."""

    tags: Sequence[str]
    """(n,) names of the tags."""
    times: LongArray
    """(n,) committer time of each tag's commit, in seconds since 1970."""
    known: LongArray
    """(n,) when each tag was made, in seconds since 1970."""
    projects: Sequence[str]
    """Paths of the project on the web, such as pallets/flask; empty if no remote is known."""

    @classmethod
    def collect(cls, tags: Iterable[Tag], projects: Sequence[str] = ()) -> Self:
        """Return the tags of a project as arrays, with the project's paths on the web."""
        listed = sorted(tags, key=lambda tag: tag.name)
        return cls(
            [tag.name for tag in listed],
            np.array([tag.committed_at for tag in listed], dtype=np.int64),
            np.array([tag.known_at for tag in listed], dtype=np.int64),
            list(projects),
        )

    @classmethod
    def read(cls, repo: Repository) -> Self:
        """Return the tags of a repository, and its path on the web."""
        pages = WebPages.of(repo.remote_url())
        projects = [] if pages is None else ["/".join(pages.project.split("/")[3:])]
        return cls.collect(Tags.read(repo).newest, projects)

    @cached_property
    def releases(self) -> tuple[Release, ...]:
        """The tags that name a release; the most common prefix first, then ordered by number."""
        releases = []
        for tag, at, known in zip(self.tags, self.times.tolist(), self.known.tolist(), strict=True):
            match = _TAG.fullmatch(tag)
            if match:
                number = parse_release_number(match["number"], match["suffix"] or "")
                prefix = match["prefix"].lower().removesuffix("v")
                releases.append(Release(number, at, known, tag, prefix))
        prefix_counts = Counter(release.prefix for release in releases)
        return tuple(
            sorted(releases, key=lambda release: (-prefix_counts[release.prefix], release.number))
        )

    def known_before(self, opened: float) -> tuple[Release, ...]:
        """Return the releases whose tags were made strictly before ``opened``."""
        return tuple(release for release in self.releases if release.known_at < opened)

    def tagged_at_once(self) -> Self:
        """Return the same tags, as if each had been made with its commit."""
        return replace(self, known=self.times)

    def is_own(self, project: str, folders: Collection[str]) -> bool:
        """Return whether ``project`` means this project: a path on the web, or a word of a report.

        ``folders`` are the normalized names of its parts, see ``is_own_name``.
        """
        return is_own_name(project, self.projects, folders)

    @cached_property
    def own_names(self) -> frozenset[str]:
        """Normalized names of the project, taken from its paths on the web."""
        return frozenset(normalize_name(own.rpartition("/")[2]) for own in self.projects)

    def find(self, claims: Iterable[ReleaseClaim], opened: float) -> ClaimedReleases:
        """Return the releases that a report's claims mean, among tags made before ``opened``.

        If a repository has several packages, a tag that begins with the name of the claim's product
        is preferred: tracing-subscriber-0.3.20 for tracing-subscriber 0.3.20.
        """
        known = self.known_before(opened)
        by_state: dict[str, list[Release]] = {"works": [], "fails": [], "begins": [], "used": []}
        for claim in claims:
            of_products = _of_products(known, claim.products)
            release = _find(of_products, claim.number) or _find(known, claim.number)
            if release is not None:
                by_state[claim.state].append(release)
        begins = by_state["begins"]
        first = min(begins, key=lambda release: release.number, default=None)
        return ClaimedReleases(
            tuple(by_state["works"]),
            (*by_state["fails"], *begins),
            tuple(by_state["used"]),
            None if first is None else _previous(known, first),
        )

    def before(self, tag: str, opened: float) -> Release | None:
        """Return the release before that of a tag, among tags made before ``opened``, or None."""
        known = self.known_before(opened)
        release = next((release for release in known if release.name == tag), None)
        return None if release is None else _previous(known, release)


def _of_products(known: Sequence[Release], products: Sequence[str]) -> list[Release]:
    """Return the releases whose tags begin with the name of one of the products."""
    names = {normalize_name(product) for product in products}
    return [release for release in known if normalize_name(release.prefix) in names]


def _find(known: Sequence[Release], written: str) -> Release | None:
    """Return the release with a number as a report writes it, or None.

    A number without a tag of its own means another final release of the same number: 2.8.0 may
    mean 2.8.0.post1, and 2.8.0.post1 may mean 2.8.0. A number of two parts, such as 2.8, means the
    first final release of its series. A number of four parts means the release of its first three
    parts, if no release of the project has four: packages and plugins add a revision of their own
    to the number of the program in them.
    """
    number = parse_release_number(written)
    of_parts = [release for release in known if release.number.parts == number.parts]
    for release in of_parts:
        if release.number == number:
            return release
    if not number.is_final:
        return None
    final = [release for release in of_parts if release.number.is_final]
    if final:
        return min(final, key=lambda release: release.at)
    if len(number.parts) == 4 and all(len(release.number.parts) < 4 for release in known):
        return _find(known, ".".join(map(str, number.parts[:3])))
    if written.count(".") > 1:
        return None
    in_series = [release for release in known if release.number.series == number.series]
    final = [release for release in in_series if release.number.is_final]
    return min(final, key=lambda release: release.at, default=None)


def _previous(known: Sequence[Release], release: Release) -> Release | None:
    """Return the release before ``release``; None if there is none."""
    earlier = []
    for other in known:
        is_before = other.number < release.number and other.at < release.at
        if is_before and other.prefix == release.prefix and other.number.is_final:
            earlier.append(other)
    return max(earlier, key=lambda other: other.number, default=None)


def check_releases(arrays: Mapping[str, Array], name: str) -> None:
    """Raise KeyError or ValueError unless untrusted arrays are a valid ``Releases``.

    Their names begin with ``name``.
    """
    tags = len(unpack_words(arrays[f"{name}.tags"]))
    for key in ("times", "known"):
        validate_array(
            arrays,
            f"{name}.{key}",
            np.int64,
            tags,
            least=VALID_TIMES.start,
            below=VALID_TIMES.stop,
        )
    unpack_words(arrays[f"{name}.projects"])


NO_RELEASES: Final = Releases.collect([])
