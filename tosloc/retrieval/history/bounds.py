"""The commits between which something broke, by git's ancestry of good and bad ends.

A commit that a good end contains is not the cause, nor is one that a bad end lacks. Dates and
version numbers decide nothing: a release of a maintained branch may be newer than commits that it
lacks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

from tosloc.core.errors import pluralize
from tosloc.git.repository import Repository
from tosloc.retrieval.history.releases import Release

MAX_ENDS: Final = 20
"""Good ends, and bad ends, that are looked at."""
MAX_RELEASES: Final = 10
"""Releases in which a commit is looked for: the first ones after it."""
MAX_COMMITS: Final = 100_000
"""Commits between two ends that are read."""


class End(NamedTuple):
    """A commit in which something works or fails."""

    name: str
    """A tag, the beginning of a commit's id, or any other revision."""
    commit: str
    """Full id."""
    is_own: bool = False
    """Whether it is only known as what the reporter ran, which is less sure than a statement."""
    is_given: bool = False
    """Whether the question names it, which is surer than what its report states."""


@dataclass(frozen=True, eq=False)
class Bounds:
    """Where the cause of a failure can be in the history of a version."""

    good: tuple[End, ...] = ()
    """Ends in which it works, without those that a bad end contradicts."""
    bad: tuple[End, ...] = ()
    """Ends in which it fails."""
    commits: frozenset[str] | None = None
    """Commits of the version that no good end contains and that each bad end contains.

    None without a good end, because all commits up to the bad ends are possible then."""
    later: frozenset[str] = frozenset()
    """Commits of the version that a bad end lacks."""
    implied: End | None = None
    """The release before the first that fails, if no good end is known. It may fail already."""
    likely: frozenset[str] = frozenset()
    """Commits since the implied end; all others are possible, too."""
    notes: tuple[str, ...] = ()
    """Sentences about statements that contradict each other, for the user."""

    @classmethod
    def between(
        cls,
        repository: Repository,
        commit: str,
        good: Iterable[End],
        bad: Iterable[End],
        implied: End | None = None,
    ) -> Self:
        """Return the bounds in the history of a commit, given by its full id.

        If a good end contains a bad one, the statement counts: what the reporter only ran is left
        out, otherwise the good end is, since it may be good because of a fix.
        """
        good, bad, notes = _without_contradictions(repository, _distinct(good), _distinct(bad))
        good = _outermost(repository, good, newest=True)
        stated = [end for end in bad if not end.is_own]
        # Of several builds of the reporter it need not fail in all.
        own = [end for end in bad if end.is_own]
        stated = list(_outermost(repository, stated, newest=False))
        bad = (*stated, *own)
        later: set[str] = set()
        for end in stated:
            later |= _lacking(repository, commit, [end])
        if own:
            later |= _lacking(repository, commit, own)
        commits = None
        likely: frozenset[str] = frozenset()
        if good:
            commits = frozenset(_lacking(repository, commit, good) - later)
        elif implied is not None:
            likely = frozenset(_lacking(repository, commit, [implied]) - later)
        bounds = cls(good, bad, commits, frozenset(later), implied, likely, notes)
        if commits is not None and not commits:
            note = f"no commit of the searched version is {bounds.words}; search another version"
            bounds = cls(good, bad, commits, frozenset(later), implied, likely, (*notes, note))
        return bounds

    def allow(self, commit: str) -> bool:
        """Return whether a commit of the version may be the cause."""
        return commit not in self.later and (self.commits is None or commit in self.commits)

    @property
    def range(self) -> frozenset[str] | None:
        """The commits between the ends, the implied end counted; None if the range has no start."""
        if self.commits is not None:
            return self.commits
        return self.likely if self.implied is not None else None

    @property
    def start(self) -> str:
        """Names of the ends after which it broke; "" if the range has no start."""
        return _join_names(self.good or (() if self.implied is None else (self.implied,)))

    @property
    def end(self) -> str:
        """Names of the ends in which it fails; "" if none is known."""
        return _join_names(self.bad)

    @property
    def words(self) -> str:
        """The range in words: "between v2.0.5 and v2.0.7" or "after v2.0.5"."""
        return f"between {self.start} and {self.end}" if self.bad else f"after {self.start}"

    @property
    def when(self) -> str:
        """The range in words, and what happened in it, for a reason."""
        if not self.bad:
            return f"{self.words}, which worked"
        probably = "probably " if self.commits is None else ""
        return f"{self.words}, when it {probably}broke"

    @property
    def sentence(self) -> str:
        """Where the cause is by good and bad ends; "" if a report states no start of the range."""
        if any(end.is_given for end in (*self.good, *self.bad)):
            return self._given_sentence
        if self.commits is None:
            if not self.likely:
                return ""
            number = pluralize(len(self.likely), "commit")
            probably = f"it probably broke after {self.start} ({number})"
            return f"By the report it fails in {self.end}, so {probably}"
        works = f"By the report it works in {self.start}"
        fails = f" and fails in {self.end}" if self.bad else ""
        return f"{works}{fails}: {pluralize(len(self.commits), 'commit')} can be the cause"

    @property
    def _given_sentence(self) -> str:
        """Where the cause is by ends of which the question names some."""
        if self.range is None:
            return f"The cause is no later than {self.end}"
        number = pluralize(len(self.range), "commit")
        if self.commits is None:
            return f"The cause is probably {self.words}: {number}"
        if not self.bad:
            return f"The cause is after {self.start}, which worked: {number}"
        return f"The cause is between {self.start}, which worked, and {self.end}: {number}"


def _distinct(ends: Iterable[End]) -> tuple[End, ...]:
    """Return the first ends with distinct commits, each stated one before what was only run."""
    by_commit: dict[str, End] = {}
    for end in sorted(ends, key=lambda end: end.is_own):
        by_commit.setdefault(end.commit, end)
    return tuple(by_commit.values())[:MAX_ENDS]


def _without_contradictions(
    repository: Repository, good: Sequence[End], bad: Sequence[End]
) -> tuple[tuple[End, ...], tuple[End, ...], tuple[str, ...]]:
    """Return good and bad ends of which no good one contains a bad one, and notes on the others."""
    notes = []
    kept_good = []
    left_out: set[str] = set()
    for end in good:
        lacking = _list_commits(repository, [other.commit for other in bad], [end.commit])
        contained = [other for other in bad if other.commit not in lacking]
        stated = []
        for other in contained:
            if not other.is_own and other.is_given >= end.is_given:
                stated.append(other)
        if stated and stated[0].is_given:
            notes.append(
                f"the report says that it works in {end.name}, which contains the bad commit"
                f" {stated[0].name}; {end.name} is ignored"
            )
            continue
        if any(other.commit == end.commit for other in stated):
            notes.append(
                f"the report says that it works in {end.name} and also that it fails there; the"
                " failure counts"
            )
            continue
        if stated:
            notes.append(
                f"the report says that it works in {end.name} and fails in {stated[0].name}, which"
                f" {end.name} contains; {end.name} is ignored, since it may be fixed there"
            )
            continue
        kept_good.append(end)
        for other in contained:
            left_out.add(other.commit)
            if end.is_given:
                notes.append(
                    f"by the report it fails in {other.name}, which the good commit {end.name}"
                    f" contains; {other.name} is ignored"
                )
                continue
            notes.append(
                f"the report says that it works in {end.name}, which contains {other.name}, the"
                f" reporter's version; {other.name} is ignored"
            )
    kept_bad = [end for end in bad if end.commit not in left_out]
    return tuple(kept_good), tuple(kept_bad), tuple(notes)


def _outermost(repository: Repository, ends: Sequence[End], *, newest: bool) -> tuple[End, ...]:
    """Return the ends that no other one makes needless.

    Of good ends those are needless that another one contains, and of bad ends (``newest`` is
    False) those that contain another one.
    """
    kept = []
    for end in ends:
        others = [other.commit for other in ends if other != end]
        if newest:
            is_needed = end.commit in _list_commits(repository, [end.commit], others)
        else:
            lacking = _list_commits(repository, others, [end.commit])
            is_needed = all(other in lacking for other in others)
        if is_needed:
            kept.append(end)
    return tuple(kept)


def _lacking(repository: Repository, commit: str, ends: Sequence[End]) -> set[str]:
    """Return the commits of a history that no end contains, neither itself nor as a copy.

    A commit that was picked for a maintained branch keeps its author, the author's date and its
    subject.
    """
    tips = [end.commit for end in ends]
    lacking = _list_commits(repository, [commit], tips)
    if not lacking:
        return set()
    beside = set(_list_commits(repository, tips, [commit]).values())
    return {other for other, origin in lacking.items() if origin not in beside}


def _list_commits(
    repository: Repository, tips: Sequence[str], excluded: Sequence[str]
) -> Mapping[str, str]:
    """Return the commits that tips contain and excluded ones lack, with what copies keep.

    Of more than ``MAX_COMMITS`` only the newest are returned.
    """
    if not tips:
        return {}
    lines = [*tips, *(f"^{commit}" for commit in excluded)]
    command = ["log", "--stdin", f"--max-count={MAX_COMMITS}", "--format=%H %at %ae %s"]
    origins: dict[str, str] = {}
    with repository.git.stream(command, lines) as output:
        lines_of_log = output.read().decode("utf-8", "replace").split("\n")
    for line in filter(None, lines_of_log):  # a subject may contain other line separators
        commit, _, origin = line.partition(" ")
        origins[commit] = origin
    return origins


def list_brought(repository: Repository, merge: str, first_parent: str) -> frozenset[str]:
    """Return the commits that a merge brought to the branch of its first parent."""
    return frozenset(_list_commits(repository, [merge], [first_parent])) - {merge}


def list_beside(repository: Repository, commits: Sequence[str], searched: str) -> frozenset[str]:
    """Return those of some commits that the searched commit does not contain."""
    return frozenset(_list_commits(repository, commits, [searched])).intersection(commits)


def find_first_release(
    repository: Repository, releases: Iterable[Release], commit: str, at: int
) -> str:
    """Return the tag of the first release that contains a commit of a time; "" if none is known.

    Of releases that are not older than the commit the first ``MAX_RELEASES`` are looked at.
    """
    later = [release for release in releases if release.at >= at]
    later.sort(key=lambda release: (not release.number.is_final, release.at, release.name))
    names = {f"refs/tags/{release.name}": release.name for release in later[:MAX_RELEASES]}
    for reference, tagged in (repository.resolve_many(names) if names else {}).items():
        if tagged is not None and not list_beside(repository, [commit], tagged):
            return names[reference]
    return ""


def _join_names(ends: Sequence[End]) -> str:
    """Return the names of ends, of many only the first ones."""
    names = [end.name for end in ends[:3]]
    if len(ends) > len(names):
        names.append("others")
    return " and ".join(names)
