"""Find links from issues to the commits that fixed them.

The surest link of each issue is used. Issues that are left out are counted by reason.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from math import inf
from typing import Any, Final, NamedTuple

from tosloc.code.languages import SOURCE_SUFFIXES
from tosloc.core.errors import ReportError
from tosloc.core.reports import BugReport
from tosloc.git.fixes import (
    is_fix_message,
    reverted_commits,
    without_commits,
)
from tosloc.git.history import list_parents_first
from tosloc.git.repository import CommitInfo, Repository, list_changes, suffix_matcher
from tosloc.mine.issues import GITHUB_ISSUES, Exports, Issue
from tosloc.paths.classify import which_are_tests
from tosloc.reports.mentions import MAX_TEXT_LENGTH, Mention, find_mentions

CLOSED_BY_PULL: Final = "closing pull request"
CLOSED_BY_COMMIT: Final = "closing commit"
PULL_TEXT: Final = "pull request's text"
PATTERN: Final = "pattern"
WEAK: Final = "commit message"
"""Kind of link of a weak report, which is a commit message in place of a report."""


class LinkKind(NamedTuple):
    """Properties of a kind of link between an issue and a commit.

    A commit more than ``max_days`` after the closing of the issue is a follow-up, or means an issue
    of another project. With ``only_names``, the commit names the issue without saying that it is
    closed; such a commit may only add a test.
    """

    max_days: float
    only_names: bool = False


KINDS: Final = {
    CLOSED_BY_PULL: LinkKind(inf),
    CLOSED_BY_COMMIT: LinkKind(inf),
    Mention.CLOSES: LinkKind(365),
    PULL_TEXT: LinkKind(365),
    PATTERN: LinkKind(365),
    Mention.NAMES: LinkKind(30, only_names=True),
    Mention.NUMBER: LinkKind(30, only_names=True),
    Mention.BODY: LinkKind(30, only_names=True),
    WEAK: LinkKind(inf),
}
"""Kinds of links, surest first.

First come links that the tracker recorded, then statements of people that close an issue, and last
mere mentions of it.
"""
_RANK_BY_KIND: Final = {kind: rank for rank, kind in enumerate(KINDS)}
MAX_FIXED_FILES: Final = 30
"""Largest number of source files of a fix; a larger fix says little about each file."""
MAX_ISSUES_PER_COMMIT: Final = 5
"""Largest number of issues that a commit may name.

More are a list of what a release or a merge contains.
"""
_SECONDS_PER_DAY: Final = 86_400

NO_LINK: Final = "no fix is known"
NOT_IN_HISTORY: Final = "its fix is not in this history"
OLDER_THAN_REPORT: Final = "its fix is older than the report"
LONG_AFTER_CLOSING: Final = "the commit that names it is much later than its closing"
REVERTED: Final = "its fix was reverted"
NO_VERSION_BEFORE: Final = "the version before its fix is unknown"
NO_SOURCE_FILE: Final = "its fix changed no existing source file"
ONLY_TESTS: Final = "the commit that names it changed only tests"
TOO_MANY_FILES: Final = f"its fix changed more than {MAX_FIXED_FILES} source files"
_PROBLEMS: Final = (
    NOT_IN_HISTORY,
    OLDER_THAN_REPORT,
    LONG_AFTER_CLOSING,
    REVERTED,
    NO_VERSION_BEFORE,
    NO_SOURCE_FILE,
    ONLY_TESTS,
)
"""Reasons why a link cannot be used, in the order of the checks."""
_IS_MERGE: Final = "it is a merge"
_SAYS_NO_FIX: Final = "the message does not say that the commit fixes a bug"
_SAYS_TOO_LITTLE: Final = "the message does not describe the bug"
_NOT_ABOUT_A_FAULT: Final = "the message is about formatting, typing, tests or a version"

_IS_REVERT: Final = re.compile(r"(?i)\W{0,3}(?:revert(?:s|ed|ing)?\b|back(?:ed|ing)?[- ]?out\b)")
_TRAILER: Final = re.compile(
    r"(?im)^(?:git-svn-id|change-id|[a-z-]{3,30}-by|cc|bug|closes?|fix(?:es)?|refs?):.*$"
)
_LEADING_NUMBER: Final = re.compile(
    r"(?i)\A(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?)?[\s:(\[]*(?:(?:issue|bug|bz|pr)\s*)?"
    r"(?:#?\d{2,9}|[A-Z][A-Z0-9]+-\d+)[\s:)\].,-]*"
)
_FILLER: Final = re.compile(
    r"""(?ix)\b(?:(?:bug|hot)?fix(?:e[ds]|ing)? | bugs? | issues? | errors? | problems? | updated?
      | a | an | the | for | in | of | some | more | small | minor | stuff
      | [\w./-]{1,250}\.[a-z]\w{0,5} )\b | \#?\d+"""
)
"""Words that say nothing about a fault: words about fixing, numbers, names of files."""
_ABOUT_FORM: Final = re.compile(
    r"""(?ix)\b(?: typos? | spelling | grammar | wording | white-?spaces? | spac(?:e|es|ing)
      | indent\w* | format\w* | long[ ]lines? | styles? | nits? | lint\w* | (?:auto)?pep-?8\w*
      | flake8 | py(?:lint|flakes|right) | mypy | typing | type[ ]?hints? | annotations?
      | warnings? | doc(?:s|strings?|umentation)? | comments? | read-?me | change-?log | copyright
      | licen[cs]es? | versions? | bump\w* | releases? | refactor\w* | clean-?ups? | reviews?
      | tests? | testing | travis | ci | coverage | examples? | merge )\b"""
)
"""Words about changes of form, and about tests, documentation and releases."""
_MIN_SUMMARY_WORDS: Final = 3
"""Number of words in a message's first line with which no further lines are needed."""
_MIN_WORDS_BESIDE_FORM: Final = 4
"""Number of words in a first line, without filler, from which it is about a fault, not form."""


class Link(NamedTuple):
    """A link of an issue to a commit that may have fixed it."""

    kind: str
    commit: str


@dataclass(slots=True)
class FileChanges:
    """The source files that a commit changed, compared with its first parent."""

    paths: list[str] = field(default_factory=list)
    """Paths of the changed files that existed before."""
    count: int = 0
    """Number of all changed source files, including new ones."""


@dataclass(slots=True)
class MiningResult:
    """Labelled reports, and counts of issues that were left out.

    ``read`` counts the issues, or all commits of the history; each of them is in ``reports`` or is
    counted in ``left_out``, by the reason. ``tracker`` is "" if commit messages took the place of
    reports. ``reports`` are lines for ``tosloc train`` with their kind of link, ordered by time of
    the fix.
    """

    read: int
    tracker: str
    reports: list[dict[str, Any]] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    exports: Exports | None = None
    """All issues that were read; None if commit messages took the place of reports."""
    issues_command: str = ""
    """Command that mines issues, if commit messages took the place of reports."""

    def counts(self) -> dict[str, Any]:
        """Return JSON values: reports by kind of link, and left-out issues by reason."""
        return {
            "tracker": self.tracker or None,
            "weak": not self.tracker,
            "read": self.read,
            "linked": self.kinds,
            "left_out": dict(self.left_out.most_common()),
            "with_cause": self.with_cause,
            "reports": len(self.reports),
        }

    @property
    def kinds(self) -> dict[str, int]:
        """Kind of link -> number of reports, surest kind first."""
        counts = Counter(report["link"] for report in self.reports)
        return {kind: counts[kind] for kind in KINDS if counts[kind]}

    @property
    def with_cause(self) -> int:
        """Number of reports whose fix says which commit introduced the bug."""
        return sum("introduced_by" in report for report in self.reports)


def read_history(repository: Repository, tip: str) -> dict[str, CommitInfo]:
    """Return commit id -> commit of a version's history, parents first. Raises UnknownCommit."""
    ids = list_parents_first(repository, [repository.resolve(tip)])
    return {info.id: info for info in repository.commits(ids)}


def mine(
    repository: Repository,
    exports: Exports,
    *,
    tip: str = "HEAD",
    patterns: Sequence[re.Pattern[str]] = (),
) -> MiningResult:
    """Return labelled reports: issues in the exports with the commits that fixed them.

    ``patterns`` find ids of issues in commit messages. Raises ReportError if the exports contain no
    issue, and UnknownCommit for an unknown ``tip``.
    """
    if not exports.issues:
        raise ReportError(
            f"the exports contain no issue; export them with: {GITHUB_ISSUES} > issues.json"
        )
    infos = read_history(repository, tip)
    links = _find_links(infos, exports, patterns)
    result = _label_issues(repository, infos, exports.tracker, exports.issues, links)
    result.exports = exports
    return result


def mine_messages(repository: Repository, *, tip: str = "HEAD") -> MiningResult:
    """Return weak reports from git alone: commit messages in place of users' bug reports.

    The opening of each is the time of its fix, and its id is the commit's. They are easier to
    localize than reports of users, who do not know the fix. A commit counts as a fix if its message
    says so, or if it names the person who reported the bug.
    """
    infos = read_history(repository, tip)
    issues = {}
    left_out: Counter[str] = Counter()
    for info in infos.values():
        if len(info.parents) > 1:
            left_out[_IS_MERGE] += 1
        elif is_fix_message(info.message) or info.names_reporter:
            issues[info.id] = _issue_of_message(info)
        else:
            left_out[_SAYS_NO_FIX] += 1
    links = {commit: [Link(WEAK, commit)] for commit in issues}
    result = _label_issues(repository, infos, "", issues, links)
    result.read = len(infos)
    result.left_out += left_out
    return result


def _issue_of_message(info: CommitInfo) -> Issue:
    """Return a commit's message as an issue, without trailers, commit ids and a leading number."""
    message = without_commits(_TRAILER.sub("", info.message))
    subject, _, body = message.strip().partition("\n")
    summary = _LEADING_NUMBER.sub("", subject).strip() or subject.strip()
    description = body.strip()
    words_about_fault = len(_FILLER.sub("", summary).split())
    is_long = words_about_fault > 0 and len(summary.split()) >= _MIN_SUMMARY_WORDS
    if not description and not is_long:
        left_out = _SAYS_TOO_LITTLE
    elif words_about_fault < _MIN_WORDS_BESIDE_FORM and _ABOUT_FORM.search(summary):
        left_out = _NOT_ABOUT_A_FAULT
    else:
        left_out = ""
    opened = datetime.fromtimestamp(info.committed_at, UTC)
    report = BugReport(info.id[:12], summary, description, opened)
    return Issue(report, None, left_out, "")


def _label_issues(
    repository: Repository,
    infos: Mapping[str, CommitInfo],
    tracker: str,
    issues: Mapping[str, Issue],
    links: Mapping[str, Sequence[Link]],
) -> MiningResult:
    """Return the issues labelled with the commits of their surest links."""
    changes = _read_changes(repository, infos, links)
    causes = _find_causes(repository, infos, changes)
    reverted = reverted_commits(infos)
    result = MiningResult(len(issues), tracker)
    for number, issue in issues.items():
        if issue.left_out:
            result.left_out[issue.left_out] += 1
            continue
        fix = _choose_fix(issue, links.get(number, ()), infos, changes, reverted)
        if isinstance(fix, Link):
            line = _report_line(issue, fix, changes[fix.commit])
            if fix.commit in causes:
                line["introduced_by"] = causes[fix.commit]
            result.reports.append(line)
        else:
            result.left_out[fix] += 1

    def fix_time(report: Mapping[str, Any]) -> tuple[int, str, str]:
        commit = report["fix_commit"]
        return infos[commit].committed_at, commit, report["id"]

    result.reports.sort(key=fix_time)
    return result


def _read_changes(
    repository: Repository,
    infos: Mapping[str, CommitInfo],
    links: Mapping[str, Sequence[Link]],
) -> dict[str, FileChanges]:
    """Return commit id -> its changes, for linked commits in the history that have a parent."""
    changes = {}
    for issue_links in links.values():
        for link in issue_links:
            if link.commit in infos and infos[link.commit].parents:
                changes[link.commit] = FileChanges()
    is_source = suffix_matcher(SOURCE_SUFFIXES)
    pairs = (f"{commit} {infos[commit].parents[0]}" for commit in changes)
    for commit, changed_files in list_changes(repository, pairs):
        if changed_files is None:
            changes[commit].count = MAX_FIXED_FILES + 1
            continue
        for change, path in changed_files:
            # 100 begins the mode of a regular file, before or after the change.
            mode_before = change[1:4]
            mode_after = change[8:11]
            if b"100" in (mode_before, mode_after) and is_source(path):
                changes[commit].count += 1
                if mode_before == b"100":
                    changes[commit].paths.append(path.decode("utf-8", "surrogateescape"))
    return changes


def _find_causes(
    repository: Repository, infos: Mapping[str, CommitInfo], fixes: Iterable[str]
) -> dict[str, list[str]]:
    """Return id of a fix -> commits that introduced the bug, for fixes whose messages name them.

    Only commits in the history count.
    """
    names_by_fix = {fix: infos[fix].declared_causes for fix in fixes}
    all_names = [name for names in names_by_fix.values() for name in names]
    commits_by_name = repository.resolve_many(all_names) if all_names else {}
    causes = {}
    for fix, names in names_by_fix.items():
        commits = []
        for name in names:
            commit = commits_by_name[name]
            if commit is not None and commit != fix and commit in infos:
                commits.append(commit)
        if commits:
            causes[fix] = commits
    return causes


def _report_line(issue: Issue, link: Link, changes: FileChanges) -> dict[str, Any]:
    """Return a labelled report as a line of a file; keys without a value are left out."""
    assert issue.report.opened is not None
    line = asdict(issue.report)
    del line["notes"]
    line["opened"] = issue.report.opened.isoformat()
    line["fix_commit"] = link.commit
    line["fixed"] = changes.paths
    line["link"] = link.kind
    if link.kind == WEAK:
        line["weak"] = True
    if issue.url:
        line["url"] = issue.url
    return line


def _find_links(
    infos: Mapping[str, CommitInfo], exports: Exports, patterns: Sequence[re.Pattern[str]]
) -> dict[str, list[Link]]:
    """Return issue id -> all its links, including links to commits outside the history."""
    ids = {number for number, issue in exports.issues.items() if not issue.left_out}
    links: defaultdict[str, list[Link]] = defaultdict(list)
    commits_by_pull: defaultdict[str, list[str]] = defaultdict(list)
    bare = exports.tracker in ("Bugzilla", "lines")
    for info in infos.values():
        is_revert = _IS_REVERT.match(info.message) is not None
        # The first line of a revert names what it takes back.
        text = info.message.partition("\n")[2] if is_revert else info.message
        mentions = find_mentions(text, ids, exports.projects, bare=bare)
        names_few = len(mentions) <= MAX_ISSUES_PER_COMMIT and not is_revert
        for number, kind in mentions.items():
            if kind == Mention.CLOSES or names_few:
                links[number].append(Link(kind, info.id))
        for pattern in patterns:
            for number in _ids_by_pattern(info.message, pattern, ids):
                links[number].append(Link(PATTERN, info.id))
        pull = info.pull_request
        if pull and not is_revert:
            commits_by_pull[pull[1:]].append(info.id)
    for closing in exports.closings:
        kinds: dict[str, str] = {}
        for number, kind in find_mentions(closing.text, ids, exports.projects).items():
            if kind == Mention.CLOSES:
                kinds[number] = PULL_TEXT
        for number in ids.intersection(closing.issues):
            kinds[number] = CLOSED_BY_PULL if closing.pull else CLOSED_BY_COMMIT
        # The tracker names the merged commit. If the history lacks it, the commits that name
        # the pull request count.
        commits = [closing.commit]
        if closing.commit not in infos:
            commits = commits_by_pull.get(closing.pull, commits)
        for number, link_kind in kinds.items():
            for commit in commits:
                links[number].append(Link(link_kind, commit))
    return links


def _ids_by_pattern(message: str, pattern: re.Pattern[str], ids: Collection[str]) -> list[str]:
    """Return the ids of issues that a pattern finds in a message; empty if there are too many."""
    numbers = set()
    for match in pattern.finditer(message[:MAX_TEXT_LENGTH]):
        if match[1]:
            numbers.add(match[1].strip().lstrip("#"))
    if len(numbers) > MAX_ISSUES_PER_COMMIT:
        return []
    return [number for number in numbers if number in ids]


def _choose_fix(
    issue: Issue,
    links: Sequence[Link],
    infos: Mapping[str, CommitInfo],
    changes: Mapping[str, FileChanges],
    reverted: Collection[str],
) -> Link | str:
    """Return the surest usable link of an issue, or the reason why there is none.

    Of links of the same kind, those to commits that change product code come before those that
    change only tests; then the link nearest to the closing is preferred, then the earliest. If no
    link can be used, the reason is that of the link that passes most checks.
    """
    if not links:
        return NO_LINK
    usable = []
    problems = []
    for link in links:
        problem = _problem(link, issue, infos, changes, reverted)
        if problem:
            problems.append(problem)
        else:
            usable.append(link)
    if not usable:
        return max(problems, key=_PROBLEMS.index)

    def order(link: Link) -> tuple[int, bool, float, int]:
        info = infos[link.commit]
        distance = abs(_seconds_after_closing(issue, info))
        only_tests = _only_tests(changes[link.commit])
        return _RANK_BY_KIND[link.kind], only_tests, distance, info.committed_at

    surest = min(usable, key=order)
    if changes[surest.commit].count > MAX_FIXED_FILES:
        return TOO_MANY_FILES
    return surest


def _problem(
    link: Link,
    issue: Issue,
    infos: Mapping[str, CommitInfo],
    changes: Mapping[str, FileChanges],
    reverted: Collection[str],
) -> str:
    """Return why a link's commit cannot be used; "" if it can."""
    info = infos.get(link.commit)
    kind = KINDS[link.kind]
    if info is None:
        return NOT_IN_HISTORY
    if info.committed_at < int(issue.report.opened_seconds):
        return OLDER_THAN_REPORT
    if _seconds_after_closing(issue, info) > kind.max_days * _SECONDS_PER_DAY:
        return LONG_AFTER_CLOSING
    if link.commit in reverted:
        return REVERTED
    if link.commit not in changes:
        return NO_VERSION_BEFORE
    if not changes[link.commit].paths:
        return NO_SOURCE_FILE
    if kind.only_names and _only_tests(changes[link.commit]):
        return ONLY_TESTS
    return ""


def _seconds_after_closing(issue: Issue, info: CommitInfo) -> float:
    """Return the seconds from the closing of the issue to a commit; 0 if the closing is unknown."""
    if issue.closed is None:
        return 0.0
    return info.committed_at - issue.closed.timestamp()


def _only_tests(changes: FileChanges) -> bool:
    return bool(which_are_tests(changes.paths).all())
