"""From issues to the commits that fixed them: of all links the surest is taken, what is left out is counted."""

from __future__ import annotations

import re
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
from tosloc.mine.mentions import BODY, CLOSES, NAMES, NUMBER, mentions
from tosloc.records import BugReport, Progress, silent
from tosloc.reports.test_paths import which_are_tests

CLOSED_BY_PULL: Final = "closing pull request"
CLOSED_BY_COMMIT: Final = "closing commit"
PULL_TEXT: Final = "pull request's text"
PATTERN: Final = "pattern"
WEAK: Final = "commit message"  # the kind of a report that is no report: what a commit says of its fix
KINDS: Final = (CLOSED_BY_PULL, CLOSED_BY_COMMIT, CLOSES, PULL_TEXT, PATTERN, NAMES, NUMBER, BODY)
"""Kinds of links in order of trust: what the tracker recorded, what people wrote to close it, what names it."""
_MENTIONED: Final = frozenset((NAMES, NUMBER, BODY))
"""Kinds that do not say that the issue is closed: such a commit may as well add a test for it."""
_LATEST: Final = dict.fromkeys((CLOSES, PULL_TEXT, PATTERN), 365) | dict.fromkeys(_MENTIONED, 30)
"""Days after its closing in which a commit may fix an issue: a later one follows up, or means another project's. What
the tracker recorded is not asked."""
MOST_FILES: Final = 30  # source files of a fix: one that touches more says little about any of them
MOST_NAMED: Final = 5  # issues that one commit names: more are the list of a release, or of what a merge holds
NO_FIX: Final = "no fix is known"
NOT_IN_HISTORY: Final = "its fix is not in this history"
TOO_EARLY: Final = "its fix is older than the report"
TOO_LATE: Final = "what names it came long after it was closed"
ONLY_TESTS: Final = "what names it changed tests alone"
REVERTED: Final = "its fix was reverted"
NO_PARENT: Final = "nothing is known of the version before its fix"
NO_SOURCE: Final = "its fix changed no source file that was there before"
TOO_MANY: Final = f"its fix changed more than {MOST_FILES} source files"

_REVERTS: Final = re.compile(r"(?i)\bthis reverts commit ([0-9a-f]{40,64})\b")
_REVERT_OF: Final = re.compile(r'(?i)(?:revert|back(?:ed|ing)?[- ]?out):?\s+"(?P<subject>.*)"?\s*\Z')
_IS_REVERT: Final = re.compile(r"(?i)\W{0,3}(?:revert(?:s|ed|ing)?\b|back(?:ed|ing)?[- ]?out\b)")
_PULL_NUMBER: Final = re.compile(
    r"(?i)\(#(\d{1,9})\)\s*\Z|\AMerge pull request #(\d{1,9})\b|\bsee merge request \S*!(\d{1,9})"
)

Link: TypeAlias = tuple[str, str]  # kind, and a commit that may have fixed an issue


class Change(NamedTuple):
    """What a commit changed of the source: the files that were there before, and how many with the new ones."""

    paths: tuple[str, ...] = ()
    files: int = 0

    @property
    def only_tests(self) -> bool:
        return bool(which_are_tests(self.paths).all())


class MinedReport(NamedTuple):
    """A report with the commit that fixed it and how that was found."""

    report: BugReport
    fix_commit: str
    fixed: tuple[str, ...]  # source files of before the fix that it changed, in path order
    link: str  # one of KINDS, or WEAK
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

    read: int  # issues read, or commits that say that they fix a bug
    tracker: str  # "" where commit messages stood in for reports
    reports: list[MinedReport] = field(default_factory=list)  # in the order of their fixes' times
    left_out: Counter[str] = field(default_factory=Counter)  # why -> how many

    @property
    def kinds(self) -> dict[str, int]:
        """Kind of link -> reports linked so, surest first."""
        counts = Counter(report.link for report in self.reports)
        return {kind: counts[kind] for kind in (*KINDS, WEAK) if counts[kind]}


def history(repository: Repository, tip: str = "HEAD", progress: Progress = silent) -> dict[str, CommitInfo]:
    """The commits of a version by id, parents first. Raises UnknownCommit."""
    ids = commit_order(repository, [repository.resolve(tip)])
    progress("reading commit messages", 0, len(ids))
    return {info.id: info for info in repository.commits(ids)}


def pull_of(commit: CommitInfo) -> str:
    """Number of the pull or merge request that a commit's first line names as its own; "" where it names none."""
    found = _PULL_NUMBER.search(commit.message.partition("\n")[0].strip())
    return "" if found is None else next(filter(None, found.groups()))


def source_changes(repository: Repository, commits: Iterable[CommitInfo]) -> dict[str, Change]:
    """What each commit changed of the source against its first parent; those without a parent are left out."""
    asked = {info.id: info.parents[0] for info in commits if info.parents}
    changes: dict[str, list[str]] = {commit: [] for commit in asked}
    added: Counter[str] = Counter()
    is_source = ends_with(SOURCE_SUFFIXES)
    for commit, (before, after), path in repository.changes(f"{one} {parent}" for one, parent in asked.items()):
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
    projects: Collection[str] = (),
    progress: Progress = silent,
) -> Mined:
    """Reports of the exports with the commits that fixed them.

    ``projects`` (OWNER/NAME, in lower case) are those whose issues are meant beside the exports' own. Raises
    ReportError when the exports hold no issue, UnknownCommit for a tip that is none.
    """
    if not exports.issues:
        raise ReportError("the exports hold pull requests or events, and no issue; export issues, too")
    mined = Mined(len(exports.issues), exports.tracker)
    issues: dict[str, Issue] = {}
    for number, issue in exports.issues.items():
        other = not all_labels and is_no_bug(issue.labels)
        if why := issue.left_out or ("labelled as something else than a bug" if other else ""):
            mined.left_out[why] += 1
        else:
            issues[number] = issue
    infos = history(repository, tip, progress)
    links = _links(infos, exports, issues, patterns, exports.projects | set(projects))
    named = {commit for some in links.values() for _, commit in some} & infos.keys()
    changes, gone = source_changes(repository, (infos[commit] for commit in named)), reverted(infos)
    for number, issue in issues.items():
        found = _fix_of(issue, links.get(number, ()), infos, changes, gone)
        if isinstance(found, str):
            mined.left_out[found] += 1
        else:
            kind, commit = found
            mined.reports.append(MinedReport(issue.report, commit, changes[commit].paths, kind, issue.url))
    mined.reports.sort(key=lambda one: (infos[one.fix_commit].committed_at, one.fix_commit, one.report.id))
    return mined


def _links(
    infos: Mapping[str, CommitInfo],
    exports: Exports,
    issues: Mapping[str, Issue],
    patterns: Sequence[re.Pattern[str]],
    projects: Collection[str],
) -> dict[str, list[Link]]:
    """Everything that links an issue with a commit; commits that the history lacks among them."""
    links: defaultdict[str, list[Link]] = defaultdict(list)
    by_pull: defaultdict[str, list[str]] = defaultdict(list)
    bare = exports.tracker in ("Bugzilla", "lines")
    for info in infos.values():
        is_revert = _IS_REVERT.match(info.message) is not None
        said = info.message.partition("\n")[2] if is_revert else info.message  # else it names what it takes back
        found = mentions(said, issues, projects, bare=bare)
        for number, kind in found.items():
            if kind == CLOSES or (len(found) <= MOST_NAMED and not is_revert):
                links[number].append((kind, info.id))
        for pattern in patterns:
            numbers = {match[1].strip().lstrip("#") for match in pattern.finditer(info.message) if match[1]}
            for number in numbers & issues.keys() if len(numbers) <= MOST_NAMED else ():
                links[number].append((PATTERN, info.id))
        if not is_revert and (pull := pull_of(info)):
            by_pull[pull].append(info.id)
    for closing in exports.closings:
        said_by = CLOSED_BY_PULL if closing.pull else CLOSED_BY_COMMIT
        closed = {
            number: PULL_TEXT for number, kind in mentions(closing.text, issues, projects).items() if kind == CLOSES
        }
        closed |= {number: said_by for number in closing.issues if number in issues}
        # what merging it left: the commit that the tracker names, else those of the history that name it
        named = [closing.commit] if closing.commit else []
        left = named if closing.commit in infos else by_pull.get(closing.pull) or named
        for number, kind in closed.items():
            links[number] += [(kind, commit) for commit in left]
    return links


def _fix_of(
    issue: Issue,
    links: Iterable[Link],
    infos: Mapping[str, CommitInfo],
    changes: Mapping[str, Change],
    gone: Collection[str],
) -> Link | str:
    """The surest link of an issue whose commit can be learned from; else why there is none.

    By trust, then product code before tests, the nearest to the closing, the first.
    """
    known, closed = list(links), issue.closed

    def away(commit: str) -> float:
        """Seconds from the closing to the commit; 0 where nothing is known of it."""
        return 0.0 if closed is None else infos[commit].committed_at - closed.timestamp()

    tests: tuple[tuple[Callable[[str, str], bool], str], ...] = (
        (lambda kind, commit: True, NO_FIX),
        (lambda kind, commit: commit in infos, NOT_IN_HISTORY),
        (lambda kind, commit: infos[commit].committed_at >= int(issue.report.opened_seconds), TOO_EARLY),
        (lambda kind, commit: kind not in _LATEST or away(commit) <= _LATEST[kind] * 86_400, TOO_LATE),
        (lambda kind, commit: commit not in gone, REVERTED),
        (lambda kind, commit: commit in changes, NO_PARENT),
        (lambda kind, commit: bool(changes[commit].paths), NO_SOURCE),
        (lambda kind, commit: kind not in _MENTIONED or not changes[commit].only_tests, ONLY_TESTS),
    )
    for test, why in tests:
        known = [link for link in known if test(*link)]
        if not known:
            return why

    def order(link: Link) -> tuple[int, bool, float, int]:
        kind, commit = link
        return KINDS.index(kind), changes[commit].only_tests, abs(away(commit)), infos[commit].committed_at

    kind, commit = min(known, key=order)
    return TOO_MANY if changes[commit].files > MOST_FILES else (kind, commit)


def reverted(infos: Mapping[str, CommitInfo]) -> frozenset[str]:
    """Ids of the commits that were taken back and not brought again, by what messages say; parents come first."""
    by_subject: dict[str, str] = {}
    taken: set[str] = set()
    undone: dict[str, set[str]] = {}
    for info in infos.values():
        subject = info.message.strip().partition("\n")[0].strip()
        gone = {name.lower() for name in _REVERTS.findall(info.message)} & infos.keys()
        named = _REVERT_OF.match(subject)
        if not gone and named is not None and (earlier := by_subject.get(named["subject"].rstrip('"').strip())):
            gone.add(earlier)
        if gone:
            undone[info.id] = gone
            taken |= gone
            for one in gone:  # a revert that is reverted brings its commit again
                taken -= undone.get(one, set())
        by_subject[subject] = info.id
    return frozenset(taken)
