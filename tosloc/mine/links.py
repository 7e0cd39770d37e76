"""From issues to the commits that fixed them: of all links the surest is taken, what is left out is counted."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from tosloc.code.languages import SOURCE_SUFFIXES
from tosloc.errors import ReportError
from tosloc.git.history import commit_order
from tosloc.git.process import CommitInfo
from tosloc.git.repository import Repository, ends_with
from tosloc.mine.issues import Exports, Issue, is_no_bug
from tosloc.mine.mentions import BODY, CLOSES, NAMES, NUMBER, PATTERN, mentions, of_pattern
from tosloc.records import BugReport, Progress, silent
from tosloc.reports.issues import is_unfilled
from tosloc.reports.test_paths import which_are_tests

CLOSED_BY_PULL: Final = "closing pull request"
CLOSED_BY_COMMIT: Final = "closing commit"
PULL_TEXT: Final = "pull request's text"
WEAK: Final = "commit message"
"""The kind of a report that is no report: what a commit says of its fix."""
KINDS: Final = (CLOSED_BY_PULL, CLOSED_BY_COMMIT, CLOSES, PULL_TEXT, PATTERN, NAMES, NUMBER, BODY)
"""Kinds of links in order of trust: what the tracker recorded, what people wrote to close it, what names it."""
_MENTIONED: Final = frozenset((NAMES, NUMBER, BODY))
"""Kinds that do not say that the issue is closed: such a commit may as well add a test for it."""
_LATEST: Final = dict.fromkeys((CLOSES, PULL_TEXT, PATTERN), 365) | dict.fromkeys(_MENTIONED, 30)
"""Days after its closing in which a commit may fix an issue: a later one follows up, or means another project's. What
the tracker recorded is not asked."""

MOST_FILES: Final = 30
"""Source files of a fix: one that touches more says little about any of them."""
MOST_NAMED: Final = 5
"""Issues that one commit names: more are the list of a release, or of what a merge holds."""

PULLS: Final = "a pull request, listed as an issue"
OPEN: Final = "still open"
NOT_PLANNED: Final = "closed without a fix (not planned, duplicate, not reproduced)"
NO_BUG: Final = "labelled as something else than a bug"
EMPTY: Final = "says nothing beside the form"
NO_FIX: Final = "no fix is known"
NOT_IN_HISTORY: Final = "its fix is not in this history"
TOO_EARLY: Final = "its fix is older than the report"
TOO_LATE: Final = "what names it came long after it was closed"
REVERTED: Final = "its fix was reverted"
NO_PARENT: Final = "nothing is known of the version before its fix"
NO_SOURCE: Final = "its fix changed no source file that was there before"
ONLY_TESTS: Final = "what names it changed tests alone"
TOO_MANY: Final = "its fix changed more than {} source files"

_REVERTS: Final = re.compile(r"(?i)\bthis reverts commit ([0-9a-f]{7,64})\b")
_REVERT_OF: Final = re.compile(r'(?i)(?:revert|back(?:ed|ing)?[- ]?out):?\s+"(?P<subject>.*)"?\s*\Z')
_IS_REVERT: Final = re.compile(r"(?i)\W{0,3}(?:revert(?:s|ed|ing)?\b|back(?:ed|ing)?[- ]?out\b)")
_PULL_NUMBER: Final = re.compile(
    r"(?i)\(#(\d{1,9})\)\s*\Z|\AMerge pull request #(\d{1,9})\b|\bsee merge request \S*!(\d{1,9})"
)


Link: TypeAlias = tuple[str, str]
"""Kind, and a commit that may have fixed an issue."""


class Change(NamedTuple):
    """What a commit changed of the source."""

    paths: tuple[str, ...]
    """Files that were there before, in path order."""
    files: int
    """How many files, new ones among them."""

    @property
    def only_tests(self) -> bool:
        """Whether all that was there before are tests."""
        return bool(which_are_tests(self.paths).all())


@dataclass(frozen=True, slots=True)
class MinedReport:
    """A report with the commit that fixed it and how that was found."""

    report: BugReport
    fix_commit: str
    fixed: tuple[str, ...]
    """Source files of before the fix that it changed, in path order."""
    link: str
    """One of KINDS, or WEAK."""
    url: str = ""

    def as_dict(self) -> dict[str, object]:
        """What a line of the file says, which ``tosloc train`` reads."""
        assert self.report.opened is not None
        line: dict[str, object] = {
            "id": self.report.id,
            "summary": self.report.summary,
            "description": self.report.description,
            "opened": self.report.opened.isoformat(),
            "fix_commit": self.fix_commit,
            "fixed": list(self.fixed),
            "link": self.link,
        }
        return line | ({"weak": True} if self.link == WEAK else {}) | ({"url": self.url} if self.url else {})


@dataclass(slots=True)
class Mined:
    """Labelled reports, and what was left out."""

    reports: list[MinedReport] = field(default_factory=list)
    """In the order of their fixes' times."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Why -> how many."""
    read: int = 0
    """Issues read, or commits that say that they fix a bug."""
    tracker: str = ""
    """"" where commit messages stood in for reports."""

    def leaves_out(self, *reasons: tuple[bool, str]) -> bool:
        """Whether one of the reasons holds; the first that does is counted."""
        why = next((why for is_so, why in reasons if is_so), None)
        if why is not None:
            self.left_out[why] += 1
        return why is not None

    @property
    def kinds(self) -> dict[str, int]:
        """Kind of link -> reports linked so, surest first."""
        counts = Counter(report.link for report in self.reports)
        return {kind: counts[kind] for kind in (*KINDS, WEAK) if counts[kind]}


class Commits:
    """The commits of a history by time, with what was taken back, and the source files of those that are asked for."""

    def __init__(self, repository: Repository, tip: str = "HEAD", progress: Progress = silent) -> None:
        self._repository = repository
        head = repository.resolve(tip)
        ids = commit_order(repository, [head])
        progress("reading commit messages", 0, len(ids))
        self.infos: dict[str, CommitInfo] = {info.id: info for info in repository.commits(ids)}
        self.place = {name: place for place, name in enumerate(ids)}
        self.reverted = _reverted(self.infos)
        self._mainline: set[str] = set()
        while head in self.infos and head not in self._mainline:
            self._mainline.add(head)
            head = next(iter(self.infos[head].parents), "")

    def may_fix(self, info: CommitInfo) -> bool:
        """Whether a commit's change is its own: any but merges into another branch, which bring others' work."""
        return len(info.parents) < 2 or info.id in self._mainline

    def pull_of(self, commit: str) -> str:
        """Number of the pull or merge request that a commit's first line names as its own; "" where it names none."""
        found = _PULL_NUMBER.search(self.infos[commit].message.partition("\n")[0].strip())
        return "" if found is None else next(filter(None, found.groups()))

    def source_changes(self, commits: Iterable[str]) -> dict[str, Change]:
        """What each commit changed of the source against its first parent; of those without a parent nothing."""
        asked = [info for info in map(self.infos.__getitem__, dict.fromkeys(commits)) if info.parents]
        changes: dict[str, list[str]] = {info.id: [] for info in asked}
        added: Counter[str] = Counter()
        is_source = ends_with(SOURCE_SUFFIXES)
        for commit, (before, after), path in self._repository.changes(f"{one.id} {one.parents[0]}" for one in asked):
            if before == b"100" and is_source(path):
                changes[commit].append(path.decode("utf-8", "surrogateescape"))
            elif after == b"100" and is_source(path):
                added[commit] += 1
        return {name: Change(tuple(paths), len(paths) + added[name]) for name, paths in changes.items()}


def mine(
    repository: Repository,
    exports: Exports,
    *,
    tip: str = "HEAD",
    patterns: Sequence[re.Pattern[str]] = (),
    all_labels: bool = False,
    most_files: int = MOST_FILES,
    projects: Collection[str] = (),
    progress: Progress = silent,
) -> Mined:
    """Reports of the exports with the commits that fixed them.

    ``projects`` (OWNER/NAME, in lower case) are those whose issues are meant beside the exports' own. Raises
    ReportError when the exports hold no issue, UnknownCommit for a tip that is none.
    """
    if not exports.issues:
        raise ReportError("the exports hold pull requests or events, and no issue; export issues, too")
    mined = Mined(read=len(exports.issues), tracker=exports.tracker)
    issues = {
        number: issue
        for number, issue in exports.issues.items()
        if not mined.leaves_out(
            (issue.is_pull, PULLS),
            (issue.is_open, OPEN),
            (issue.not_planned, NOT_PLANNED),
            (not all_labels and is_no_bug(issue.labels), NO_BUG),
            (not issue.report.summary or is_unfilled(issue.report), EMPTY),
        )
    }
    commits = Commits(repository, tip, progress)
    links = _links(commits, exports, issues, patterns, exports.projects | set(projects))
    changes = commits.source_changes(commit for some in links.values() for _, commit in some if commit in commits.infos)
    for number, issue in issues.items():
        found = _fix_of(issue, links.get(number, ()), commits, changes, most_files)
        if isinstance(found, str):
            mined.left_out[found] += 1
        else:
            kind, commit = found
            mined.reports.append(MinedReport(issue.report, commit, changes[commit].paths, kind, issue.url))
    mined.reports.sort(key=lambda one: (commits.infos[one.fix_commit].committed_at, one.fix_commit, one.report.id))
    return mined


def _links(
    commits: Commits,
    exports: Exports,
    issues: Mapping[str, Issue],
    patterns: Sequence[re.Pattern[str]],
    projects: Collection[str],
) -> dict[str, list[Link]]:
    """Everything that links an issue with a commit; commits that the history lacks among them."""
    links: defaultdict[str, list[Link]] = defaultdict(list)
    by_pull: defaultdict[str, list[str]] = defaultdict(list)
    bare = exports.tracker in ("Bugzilla", "lines")
    for info in filter(commits.may_fix, commits.infos.values()):
        is_revert = _IS_REVERT.match(info.message) is not None
        said = info.message.partition("\n")[2] if is_revert else info.message  # else it names what it takes back
        found = mentions(said, issues, projects, bare=bare)
        for number, kind in found.items():
            if (kind == CLOSES or len(found) <= MOST_NAMED) and (kind == CLOSES or not is_revert):
                links[number].append((kind, info.id))
        for pattern in patterns:
            numbers = of_pattern(pattern, info.message, issues)
            for number in numbers if len(numbers) <= MOST_NAMED else ():
                links[number].append((PATTERN, info.id))
        if not is_revert and (pull := commits.pull_of(info.id)):
            by_pull[pull].append(info.id)
    for request in exports.pulls.values():
        closed = {number: CLOSED_BY_PULL for number in request.closes if number in issues}
        for number, kind in mentions(request.text, issues, projects).items():
            if kind == CLOSES:
                closed.setdefault(number, PULL_TEXT)
        # what merging it left: the commit that the tracker names, else those of the history that name it
        named = [request.commit] if request.commit else []
        left = named if request.commit in commits.infos else by_pull.get(request.number) or named
        for number, kind in closed.items():
            links[number] += [(kind, commit) for commit in left]
    for number, commit in exports.closings:
        if number in issues:
            links[number].append((CLOSED_BY_COMMIT, commit))
    return links


def _fix_of(
    issue: Issue, links: Sequence[Link], commits: Commits, changes: Mapping[str, Change], most_files: int
) -> Link | str:
    """The surest link of an issue whose commit can be learned from; else why there is none.

    By trust, then product code before tests, the nearest to the closing, the first.
    """
    infos, known = commits.infos, list(links)
    closed = None if issue.closed is None else issue.closed.timestamp()

    def away(commit: str) -> float:
        """Seconds from the closing to the commit; 0 where nothing is known of it."""
        return 0.0 if closed is None else infos[commit].committed_at - closed

    tests: tuple[tuple[Callable[[str, str], bool], str], ...] = (
        (lambda kind, commit: True, NO_FIX),
        (lambda kind, commit: commit in infos, NOT_IN_HISTORY),
        (lambda kind, commit: infos[commit].committed_at >= int(issue.report.opened_seconds), TOO_EARLY),
        (lambda kind, commit: kind not in _LATEST or away(commit) <= _LATEST[kind] * 86_400, TOO_LATE),
        (lambda kind, commit: commit not in commits.reverted, REVERTED),
        (lambda kind, commit: commit in changes, NO_PARENT),
        (lambda kind, commit: bool(changes[commit].paths), NO_SOURCE),
        (lambda kind, commit: kind not in _MENTIONED or not changes[commit].only_tests, ONLY_TESTS),
    )
    for test, why in tests:
        known = [link for link in known if test(*link)]
        if not known:
            return why
    kind, commit = min(
        known,
        key=lambda link: (
            KINDS.index(link[0]),
            changes[link[1]].only_tests,
            abs(away(link[1])),
            commits.place[link[1]],
        ),
    )
    return TOO_MANY.format(most_files) if changes[commit].files > most_files else (kind, commit)


def _reverted(infos: Mapping[str, CommitInfo]) -> frozenset[str]:
    """Ids of the commits that were taken back and not brought again, by what messages say; parents come first."""
    by_subject: dict[str, str] = {}
    reverted: set[str] = set()
    undone: dict[str, set[str]] = {}
    ids = sorted(infos)
    for info in infos.values():
        subject = info.message.strip().partition("\n")[0].strip()
        gone: set[str] = set()
        for match in _REVERTS.finditer(info.message):
            place = bisect_left(ids, short := match[1].lower())
            found = [one for one in ids[place : place + 2] if one.startswith(short)]
            gone |= set(found) if len(found) == 1 else set()
        named = _REVERT_OF.match(subject)
        if not gone and named is not None and (earlier := by_subject.get(named["subject"].rstrip('"').strip())):
            gone.add(earlier)
        if gone:
            undone[info.id] = gone
            reverted |= gone
            for one in gone:  # a revert that is reverted brings its commit again
                reverted -= undone.get(one, set())
        by_subject[subject] = info.id
    return frozenset(reverted)
