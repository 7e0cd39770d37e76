"""Find the commits between which something broke, by git's ancestry of good and bad ends.

A commit that a good end contains is not the cause, nor is a commit that a bad end does not contain.
Dates and version numbers are not used: a release of a maintained branch may be newer than commits
that it does not contain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Self

from tosloc.core.errors import pluralize
from tosloc.git.repository import Repository
from tosloc.retrieval.history.releases import Release

MAX_ENDS: Final = 20
"""Largest number of good ends, and of bad ends, that are used."""
MAX_RELEASES: Final = 10
"""Largest number of releases that are searched for a commit: the first ones after the commit."""
MAX_COMMITS: Final = 100_000
"""Largest number of commits between two ends that are read."""
MAX_CLOCK_SKEW: Final = 30 * 24 * 3600
"""Seconds by which a commit may seem older than one that it contains."""


class End(NamedTuple):
    """A commit in which something works or fails."""

    name: str
    """A tag, the beginning of a commit's id, or any other revision."""
    commit: str
    """Full id."""
    is_own: bool = False
    """Whether the commit is only known as the version that the reporter ran.

    This is weaker evidence than a statement that it fails.
    """
    is_given: bool = False
    """Whether the question names the end; this is surer than a statement in the report."""


@dataclass(frozen=True, eq=False)
class Bounds:
    """Where the cause of a failure can be in the history of a version.

    An end is a commit in which something works (good) or fails (bad).
    """

    good: tuple[End, ...] = ()
    """Ends in which it works; those that a bad end contradicts are left out."""
    bad: tuple[End, ...] = ()
    """Ends in which it fails."""
    commits: frozenset[str] | None = None
    """Commits of the version that may be the cause.

    No good end contains them, but each bad end does. None if there is no good end, because all
    commits up to the bad ends are possible then.
    """
    later: frozenset[str] = frozenset()
    """Commits of the version that a bad end does not contain."""
    implied: End | None = None
    """The release before the first one that fails, used if no good end is known.

    It may already fail, too.
    """
    likely: frozenset[str] = frozenset()
    """Commits since the implied end; the other commits of the version are less likely."""
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

        A good and a bad end contradict each other if the good end contains the bad one. If the bad
        end is only what the reporter ran, it is left out. Otherwise the good end is left out,
        because it may be good thanks to a fix. If another bad end contains this good end, both are
        left out, because the report states several ranges, and the bounds are around all of them.
        ``implied`` is used if no good end is left.
        """
        good, bad, notes = _without_contradictions(repository, _distinct(good), _distinct(bad))
        good = _outermost(repository, good, newest=True)
        stated = [end for end in bad if not end.is_own]
        # Of several builds of the reporter it need not fail in all.
        own = [end for end in bad if end.is_own]
        stated = list(_outermost(repository, stated, newest=False))
        for end in stated:
            # A version that the reporter ran is not needed if an earlier one fails, too.
            needless = _containing(repository, own, end)
            own = [other for other in own if other not in needless]
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
        """Commits between the ends, or since the implied end; None if the range has no start."""
        if self.commits is not None:
            return self.commits
        return self.likely if self.implied is not None else None

    @property
    def start(self) -> str:
        """Names of the ends after which the failure began; "" if the range has no start."""
        return _join_names(self.good or (() if self.implied is None else (self.implied,)))

    @property
    def end(self) -> str:
        """Names of the ends in which the failure occurs; "" if none is known."""
        return _join_names(self.bad)

    @property
    def words(self) -> str:
        """The range as text: "between v2.0.5 and v2.0.7" or "after v2.0.5"."""
        return f"between {self.start} and {self.end}" if self.bad else f"after {self.start}"

    @property
    def when(self) -> str:
        """The range as text for a reason, with whether something worked or broke in the range."""
        if not self.bad:
            return f"{self.words}, which worked"
        probably = "probably " if self.commits is None else ""
        return f"{self.words}, when it {probably}broke"

    @property
    def sentence(self) -> str:
        """A sentence that says which commits can be the cause; "" if the range has no start."""
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
        """The sentence for users if the question itself names an end."""
        if self.range is None:
            return f"The cause is no later than {self.end}"
        number = pluralize(len(self.range), "commit")
        if self.commits is None:
            return f"The cause is probably {self.words}: {number}"
        if not self.bad:
            return f"The cause is after {self.start}, which worked: {number}"
        return f"The cause is between {self.start}, which worked, and {self.end}: {number}"


def _distinct(ends: Iterable[End]) -> tuple[End, ...]:
    """Return the first MAX_ENDS ends with distinct commits, stated ends before those only run."""
    by_commit: dict[str, End] = {}
    for end in sorted(ends, key=lambda end: end.is_own):
        by_commit.setdefault(end.commit, end)
    return tuple(by_commit.values())[:MAX_ENDS]


def _without_contradictions(
    repository: Repository, good: Sequence[End], bad: Sequence[End]
) -> tuple[tuple[End, ...], tuple[End, ...], tuple[str, ...]]:
    """Return the good and bad ends that do not contradict each other, and notes on the others.

    They contradict each other if a good end contains a bad one.
    """
    notes = []
    kept_good = []
    left_out: set[str] = set()
    stated_bad = [other for other in bad if not other.is_own]
    for end in good:
        lacking = _list_ids(repository, [other.commit for other in bad], [end.commit])
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
        failing_again = _containing(repository, stated_bad, end) if stated else ()
        if failing_again and not any(other.is_given for other in failing_again):
            notes.append(
                f"the report says that it fails in {_join_names(stated)}, works in {end.name} and"
                f" fails in {_join_names(failing_again)}, as if it were about several faults; the"
                " range of versions is around all of them"
            )
            left_out.update(other.commit for other in stated)
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


def _containing(repository: Repository, ends: Iterable[End], inner: End) -> tuple[End, ...]:
    """Return those of ``ends`` that contain the commit of another end."""
    containing = []
    for end in ends:
        if inner.commit not in _list_ids(repository, [inner.commit], [end.commit]):
            containing.append(end)
    return tuple(containing)


def _outermost(repository: Repository, ends: Sequence[End], *, newest: bool) -> tuple[End, ...]:
    """Return the ends that are needed to limit the range.

    A good end is not needed if another good end contains it. A bad end (``newest`` is False) is not
    needed if it contains another bad end.
    """
    if len(ends) < 2:
        return tuple(ends)
    kept = []
    for end in ends:
        others = [other.commit for other in ends if other != end]
        if newest:
            is_needed = end.commit in _list_ids(repository, [end.commit], others)
        else:
            lacking = _list_ids(repository, others, [end.commit])
            is_needed = all(other in lacking for other in others)
        if is_needed:
            kept.append(end)
    return tuple(kept)


def _lacking(repository: Repository, commit: str, ends: Sequence[End]) -> set[str]:
    """Return the commits of a history that no end contains, neither itself nor as a copy.

    A copy is a commit that was picked for a maintained branch. It keeps the author, the author's
    date and the subject.
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
    """Return id -> identity of the commits in ``tips`` that ``excluded`` commits do not contain.

    The identity is the author, the author's date and the subject, which copies of a commit keep. If
    there are more than ``MAX_COMMITS``, only the newest are returned.
    """
    if not tips:
        return {}
    command = ["log", "--stdin", f"--max-count={MAX_COMMITS}", "--format=%H %at %ae %s"]
    origins: dict[str, str] = {}
    with repository.git.stream(command, _revision_lines(tips, excluded)) as output:
        lines_of_log = output.read().decode("utf-8", "replace").split("\n")
    for line in filter(None, lines_of_log):  # a subject may contain other line separators
        commit, _, origin = line.partition(" ")
        origins[commit] = origin
    return origins


def _list_ids(
    repository: Repository, tips: Sequence[str], excluded: Sequence[str]
) -> frozenset[str]:
    """Return the ids of the commits that tips contain and ``excluded`` do not."""
    if not tips:
        return frozenset()
    command = ["rev-list", "--stdin"]
    with repository.git.stream(command, _revision_lines(tips, excluded)) as output:
        return frozenset(output.read().decode("ascii").split())


def _revision_lines(tips: Iterable[str], excluded: Iterable[str]) -> list[str]:
    """Return git's arguments for the commits that tips contain and ``excluded`` do not."""
    return [*tips, *(f"^{commit}" for commit in excluded)]


def list_brought(repository: Repository, merge: str, first_parent: str) -> frozenset[str]:
    """Return the commits that a merge brought to the branch of its first parent."""
    return _list_ids(repository, [merge], [first_parent]) - {merge}


def list_beside(repository: Repository, commits: Sequence[str], searched: str) -> frozenset[str]:
    """Return those of ``commits`` that the commit ``searched`` does not contain."""
    return _list_ids(repository, commits, [searched]).intersection(commits)


def find_first_release(
    repository: Repository, releases: Iterable[Release], commit: str, at: int
) -> str:
    """Return the tag of the first release that contains a commit; "" if none is known.

    ``at`` is the commit's time in seconds since 1970. Only the first ``MAX_RELEASES`` releases that
    are not older are checked, with final releases before previews.
    """
    later = [release for release in releases if release.at >= at]
    later.sort(key=lambda release: (not release.number.is_final, release.at, release.name))
    names = {f"refs/tags/{release.name}": release.name for release in later[:MAX_RELEASES]}
    tagged_by_reference = repository.resolve_many(names) if names else {}
    tips = list(filter(None, tagged_by_reference.values()))
    containing = _list_containing(repository, tips, commit, at)
    for reference, tagged in tagged_by_reference.items():
        if tagged in containing:
            return names[reference]
    return ""


def _list_containing(
    repository: Repository, tips: Sequence[str], commit: str, at: int
) -> frozenset[str]:
    """Return the tips that contain a commit, whose time is ``at`` (seconds since 1970).

    Only commits since that time are read, less ``MAX_CLOCK_SKEW``, because a tip may be the end of
    a branch that is much longer.
    """
    if not tips:
        return frozenset()
    oldest = max(0, at - MAX_CLOCK_SKEW)
    command = ["rev-list", "--stdin", "--parents", "--topo-order", "--reverse"]
    containing = {commit}
    with repository.git.stream([*command, f"--max-age={oldest}"], tips) as output:
        for line in output:  # parents before children
            child, *parents = line.decode("ascii").split()
            if not containing.isdisjoint(parents):
                containing.add(child)
    return frozenset(containing.intersection(tips))


def _join_names(ends: Sequence[End]) -> str:
    """Return the names of ends, joined as text; only the first of many ends are named."""
    names = [end.name for end in ends[:3]]
    if len(ends) > len(names):
        names.append("others")
    return " and ".join(names)
