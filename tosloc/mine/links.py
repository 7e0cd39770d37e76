"""From issues to the commits that fixed them: of all links the surest is taken, what is left out is counted."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from math import inf
from typing import Any, Final, TypeAlias

from tosloc.code.languages import SOURCE_SUFFIXES
from tosloc.core.errors import ReportError
from tosloc.core.records import BugReport
from tosloc.git.fixes import is_fix_message
from tosloc.git.history import list_parents_first
from tosloc.git.process import CommitInfo
from tosloc.git.repository import Repository, suffix_matcher
from tosloc.mine.issues import GITHUB_ISSUES, Exports, Issue
from tosloc.mine.mentions import BODY, CLOSES, LONGEST_TEXT, NAMES, NUMBER, mentions
from tosloc.paths.classify import which_are_tests

CLOSED_BY_PULL: Final = "closing pull request"
CLOSED_BY_COMMIT: Final = "closing commit"
PULL_TEXT: Final = "pull request's text"
PATTERN: Final = "pattern"
WEAK: Final = (
    "commit message"  # the kind of a report that is no report: what a commit says of its fix
)
KINDS: Final = {
    CLOSED_BY_PULL: inf,
    CLOSED_BY_COMMIT: inf,
    CLOSES: 365,
    PULL_TEXT: 365,
    PATTERN: 365,
    NAMES: 30,
    NUMBER: 30,
    BODY: 30,
    WEAK: inf,
}
"""Kinds of links in order of trust: what the tracker recorded, what people wrote to close it, what names it. For each
the days after the closing in which a commit may fix an issue: a later one follows up, or means another project's.
"""
_NAMED_ALONE: Final = 30  # days of the kinds that do not say that the issue is closed: it may as well add a test for it
MOST_FILES: Final = 30  # source files of a fix: one that touches more says little about any of them
MOST_NAMED: Final = (
    5  # issues that one commit names: more are the list of a release, or of what a merge holds
)

_REVERTS: Final = re.compile(r"(?i)\bthis reverts commit ([0-9a-f]{40,64})\b")
_REVERT_OF: Final = re.compile(
    r'(?i)(?:revert|back(?:ed|ing)?[- ]?out):?\s+"(?P<subject>.*+)\s*+\Z'
)
_IS_REVERT: Final = re.compile(r"(?i)\W{0,3}(?:revert(?:s|ed|ing)?\b|back(?:ed|ing)?[- ]?out\b)")
_PULL_NUMBER: Final = re.compile(
    r"(?i)(?:\(#(?=\d+\)\s*\Z)|\AMerge pull request #|\bsee merge request \S*!)(\d{1,9})\b"
)
"""Number of the pull or merge request that a commit's first line names as its own."""
_TRAILER: Final = re.compile(
    r"(?im)^(?:git-svn-id|change-id|[a-z-]{3,30}-by|cc|bug|closes?|fix(?:es)?|refs?):.*$"
)
_LEADING_NUMBER: Final = re.compile(
    r"(?i)\A(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?)?[\s:(\[]*(?:(?:issue|bug|bz|pr)\s*)?(?:#?\d{2,9}|[A-Z][A-Z0-9]+-\d+)[\s:)\].,-]*"
)
_FILLER: Final = re.compile(
    r"""(?ix)\b(?:(?:bug|hot)?fix(?:e[ds]|ing)? | bugs? | issues? | errors? | problems? | updated? | a | an | the | for
      | in | of | some | more | small | minor | stuff | [\w./-]{1,250}\.[a-z]\w{0,5} )\b | \#?\d+"""
)
"""What says nothing of a fault: words of fixing, numbers, names of files."""
_OF_FORM: Final = re.compile(
    r"""(?ix)\b(?: typos? | spelling | grammar | wording | white-?spaces? | spac(?:e|es|ing) | indent\w* | format\w*
      | long[ ]lines? | styles? | nits? | lint\w* | (?:auto)?pep-?8\w* | flake8 | py(?:lint|flakes|right) | mypy
      | typing | type[ ]?hints? | annotations? | warnings? | doc(?:s|strings?|umentation)? | comments? | read-?me
      | change-?log | copyright | licen[cs]es? | versions? | bump\w* | releases? | refactor\w* | clean-?ups? | reviews?
      | tests? | testing | travis | ci | coverage | examples? | merge )\b"""
)

Link: TypeAlias = tuple[str, str]  # kind, and a commit that may have fixed an issue
Changes: TypeAlias = Mapping[
    str, Sequence[str]
]  # commit -> the source files that it changed, "" for each new one


@dataclass(slots=True)
class Mined:
    """Labelled reports, and what was left out."""

    read: int  # issues read, or commits that say that they fix a bug
    tracker: str  # "" where commit messages stood in for reports
    reports: list[dict[str, Any]] = field(default_factory=list)
    """Lines as ``tosloc train`` reads them, in the order of their fixes' times, with the kind of link of each."""
    left_out: Counter[str] = field(default_factory=Counter)  # why -> how many

    @property
    def kinds(self) -> dict[str, int]:
        """Kind of link -> reports linked so, surest first."""
        counts = Counter(report["link"] for report in self.reports)
        return {kind: counts[kind] for kind in KINDS if counts[kind]}


def history(repository: Repository, tip: str) -> dict[str, CommitInfo]:
    """The commits of a version by id, parents first. Raises UnknownCommit."""
    return {
        info.id: info
        for info in repository.commits(list_parents_first(repository, [repository.resolve(tip)]))
    }


def mine(
    repository: Repository,
    exports: Exports,
    *,
    tip: str = "HEAD",
    patterns: Sequence[re.Pattern[str]] = (),
) -> Mined:
    """Reports of the exports with the commits that fixed them. Raises ReportError when the exports hold no issue,
    UnknownCommit for a tip that is none.
    """
    if not exports.issues:
        raise ReportError(
            f"the exports hold no issue; export closed ones, as: {GITHUB_ISSUES} > issues.json"
        )
    infos = history(repository, tip)
    return _mined(
        repository, infos, exports.tracker, exports.issues, _links(infos, exports, patterns)
    )


def mine_messages(repository: Repository, *, tip: str = "HEAD") -> Mined:
    """Weak reports, from git alone: what commits say of the bugs that they fix, as if it had been reported so.

    Each is as old as its fix, and called by its id. They are easier than what users write, who do not know the fix.
    """
    infos, issues = history(repository, tip), {}
    for info in infos.values():
        if len(info.parents) > 1 or not is_fix_message(info.message):
            continue
        subject, _, body = _TRAILER.sub("", info.message).strip().partition("\n")
        summary, description = (
            _LEADING_NUMBER.sub("", subject).strip() or subject.strip(),
            body.strip(),
        )
        words = len(_FILLER.sub("", summary).split())
        why = ""
        if not (description or (words and len(summary.split()) >= 3)):
            why = "the message says too little"
        elif words < 4 and _OF_FORM.search(summary):
            why = "the message speaks of formatting, typing, tests or a version"
        when = datetime.fromtimestamp(info.committed_at, UTC)
        issues[info.id] = Issue(BugReport(info.id[:12], summary, description, when), None, why, "")
    return _mined(repository, infos, "", issues, {commit: [(WEAK, commit)] for commit in issues})


def _mined(
    repository: Repository,
    infos: Mapping[str, CommitInfo],
    tracker: str,
    issues: Mapping[str, Issue],
    links: Mapping[str, Sequence[Link]],
) -> Mined:
    """The issues by their surest links."""
    # what each commit changed of the source against its first parent; those without a parent are left out
    named = (infos[commit] for some in links.values() for _, commit in some if commit in infos)
    changes: dict[str, list[str]] = {info.id: [] for info in named if info.parents}
    is_source = suffix_matcher(SOURCE_SUFFIXES)
    for commit, kinds, path in repository.changes(
        f"{commit} {infos[commit].parents[0]}" for commit in changes
    ):
        if b"100" in kinds and is_source(path):
            changes[commit].append(
                path.decode("utf-8", "surrogateescape") if kinds[0] == b"100" else ""
            )
    mined, gone = Mined(len(issues), tracker), reverted(infos)
    for number, issue in issues.items():
        fix = issue.left_out or _fix_of(issue, links.get(number, ()), infos, changes, gone)
        if isinstance(fix, str):
            mined.left_out[fix] += 1
        else:
            kind, commit = fix
            assert issue.report.opened is not None
            line = asdict(issue.report) | {
                "opened": issue.report.opened.isoformat(),
                "fix_commit": commit,
            }
            more = {
                "fixed": list(filter(None, changes[commit])),
                "link": kind,
                "weak": kind == WEAK,
                "url": issue.url,
            }
            mined.reports.append(line | {key: said for key, said in more.items() if said})
    mined.reports.sort(
        key=lambda one: (infos[one["fix_commit"]].committed_at, one["fix_commit"], one["id"])
    )
    return mined


def _links(
    infos: Mapping[str, CommitInfo], exports: Exports, patterns: Sequence[re.Pattern[str]]
) -> dict[str, list[Link]]:
    """Everything that links an issue with a commit; commits that the history lacks among them."""
    issues = {number for number, issue in exports.issues.items() if not issue.left_out}
    links: defaultdict[str, list[Link]] = defaultdict(list)
    by_pull: defaultdict[str, list[str]] = defaultdict(list)
    bare = exports.tracker in ("Bugzilla", "lines")
    for info in infos.values():
        is_revert = _IS_REVERT.match(info.message)
        said = (
            info.message.partition("\n")[2] if is_revert else info.message
        )  # else it names what it takes back
        found = mentions(said, issues, exports.projects, bare=bare)
        for number, kind in found.items():
            if kind == CLOSES or (len(found) <= MOST_NAMED and not is_revert):
                links[number].append((kind, info.id))
        message = info.message[:LONGEST_TEXT]
        for pattern in patterns:
            numbers = {
                match[1].strip().lstrip("#") for match in pattern.finditer(message) if match[1]
            }
            for number in numbers & issues if len(numbers) <= MOST_NAMED else ():
                links[number].append((PATTERN, info.id))
        if not is_revert and (pull := _PULL_NUMBER.search(info.message.strip().partition("\n")[0])):
            by_pull[pull[1]].append(info.id)
    for closing in exports.closings:
        said_by = CLOSED_BY_PULL if closing.pull else CLOSED_BY_COMMIT
        written = mentions(closing.text, issues, exports.projects)
        closed = {number: PULL_TEXT for number, kind in written.items() if kind == CLOSES}
        closed |= dict.fromkeys(issues.intersection(closing.issues), said_by)
        # what merging it left: the commit that the tracker names, else those of the history that name it
        named = [closing.commit]
        left = named if closing.commit in infos else by_pull.get(closing.pull, named)
        for number, kind in closed.items():
            links[number] += [(kind, commit) for commit in left]
    return links


def _fix_of(
    issue: Issue,
    links: Sequence[Link],
    infos: Mapping[str, CommitInfo],
    changes: Changes,
    gone: Collection[str],
) -> Link | str:
    """The surest link of an issue whose commit can be learned from; else why there is none.

    By trust, then product code before tests, the nearest to the closing, the first.
    """
    closed = None if issue.closed is None else issue.closed.timestamp()

    def rating(link: Link) -> tuple[Any, ...]:
        """At which of the tests it fails, negative, and why; then what goes first of those that pass all."""
        kind, commit = link
        if (info := infos.get(commit)) is None:
            return -1, "its fix is not in this history"
        if info.committed_at < int(issue.report.opened_seconds):
            return -2, "its fix is older than the report"
        away = 0.0 if closed is None else info.committed_at - closed
        if away > KINDS[kind] * 86_400:
            return -3, "what names it came long after it was closed"
        if commit in gone:
            return -4, "its fix was reverted"
        if commit not in changes:
            return -5, "nothing is known of the version before its fix"
        if not (paths := [*filter(None, changes[commit])]):
            return -6, "its fix changed no source file that was there before"
        only_tests = bool(which_are_tests(paths).all())
        if only_tests and KINDS[kind] == _NAMED_ALONE:
            return -7, "what names it changed tests alone"
        return -8, "", list(KINDS).index(kind), only_tests, abs(away), info.committed_at

    if not links:
        return "no fix is known"
    best = min(links, key=rating)
    _, why, *_ = rating(best)
    if not why and len(changes[best[1]]) > MOST_FILES:
        return f"its fix changed more than {MOST_FILES} source files"
    return why or best


def reverted(infos: Mapping[str, CommitInfo]) -> set[str]:
    """Ids of the commits that were taken back and not brought again, by what messages say; parents come first."""
    by_subject: dict[str, str] = {}
    taken: set[str] = set()
    undone: dict[str, set[str]] = {}
    for info in infos.values():
        subject = info.message.strip().partition("\n")[0].strip()
        gone = {name.lower() for name in _REVERTS.findall(info.message)} & infos.keys()
        if not gone and (named := _REVERT_OF.match(subject)):
            gone = {by_subject.get(named["subject"].rstrip('"').strip(), "")}
        taken |= gone
        for one in gone:  # a revert that is reverted brings its commit again
            taken -= undone.get(one, set())
        undone[info.id], by_subject[subject] = gone, info.id
    return taken
