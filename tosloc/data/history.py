"""The commits behind a version: what they say, which source files they touch, which of them precede which."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from typing import IO, Final

import numpy as np

from tosloc.data.git import Repository, ends_with
from tosloc.errors import UnknownCommit
from tosloc.records import BoolArray, IntArray, LongArray, Names, Progress, silent

# C commits, T touched files of all commits together, P parents of all commits together

RECENT: Final = 32
"""Answers of ``ancestors`` that are kept: the next question is most often about a commit just after one of them."""
MARK: Final = 512
"""One commit in so many along a line of first parents keeps its answer for good, so that no question walks far."""

_COMMIT = re.compile(rb"([0-9a-f]{40,64}) (-?\d*) ([0-9a-f ]*)\n")

_FIX = r"(?:fix(?:es|ed|ing)?|(?:bug|hot)[-_ ]?fix(?:es)?)"
_BUG = r"(?:bug(?:s|zilla)?|bz|defect)(?:[ ]bug)?[^0-9A-Za-z\n]{0,4}"
_TRAILER = re.compile(
    r"(?im)^(?:git-svn-id|change-id|signed-off-by|reviewed-(?:on|by)|tested-by|also-by|co-authored-by):.*$"
)
_UNDOES = re.compile(r"(?i)\W*(?:merged?\b(?! fix)|revert|back(?:ed|ing)?[- ]?out\b|undo|undid)")
_NOT_A_FIX = re.compile(
    rf"""(?ix)
      \b(?:quick|multi|post|pre|auto|correction)[-_ ]?fix(?:es)?\b        # what an editor offers
    | \bfixed[- ](?:width|size|length|point|layout|position|rate|delay|column|header|height|font)s?\b
    | \b{_FIX}[ ]
      (?:(?:for|up|in|a|an|the|some|few|more|another|other|further|last|several|various|many|all|minor|small|tiny|trivial
        |simple|additional|remaining|new|missing|wrong|bad|broken|failing|failed|compiler|deprecation|generics?|unchecked
        |raw|types?|find-?bugs|spotbugs|checkstyle|eclipse|ide|sonar|junit|unit|jdk|java|code|source)[ ])*
      (?:typos?|spelling|grammar|wording|java-?docs?|docs?|documentation|comments?|indent\w*|white-?spaces?|format\w*
        |licen[cs]es?|copyrights?|headers?|imports?|links?|warnings?|nits?|checkstyle|findbugs|builds?|compil\w*|tests?
        |test-?cases?|translations?|change-?logs?|read-?me|version|polish)\b
    """
)
_SAYS_FIX = re.compile(
    rf"""(?imx)
      \A[^\n]*\b{_FIX}\b                                               # anywhere in the first line
    | ^[-*\s]*(?:summary\s*:|description\s*:)?[-*\s]*{_FIX}\b           # at the beginning of a later one
    """
)
_CLOSES = re.compile(
    rf"""(?ix)
      \b(?:{_FIX}|close[sd]?|resolve[sd]?)\b:?[ ]+(?:for[ ]|\w+[ ])?
        (?:\#\d+|gh-\d+|(?:issue|bug|defect)s?[ ]\#?\d+|[\w./-]+\#\d+|\d{{5,6}}(?!\w)
          |https?://\S*(?:/issues/|show_bug\.cgi\?id=)\d+|(?-i:[A-Z][A-Z0-9]+-\d+))
    | \bbugs?\s?\(s\)[ ](?:resolved|resovled|fixed)\s*:\s*\[?\#?\d{{4,}}
    """
)
_NAMES_BUG = re.compile(
    rf"""(?imx)
      \A\W*(?:pr\W?)?\d{{5,6}}(?!\d)                                    # its number, then its title
    | \A(?:\[\d{{4}}\]|\#?\d{{4}}\W*\Z)
    | \A[^\n]*\b{_BUG}\d{{3,}}
    | ^\W*{_BUG}\d{{4,}}
    | \A\W*(?:pr)?\W*https?://\S*show_bug\.cgi\?id=\d+
    """
)
_BUG_ID = re.compile(
    rf"""(?ix)
      \b(?:{_BUG}|{_FIX}(?:[ ]for)?:?[ ]\#?(?=\d{{4}})|issues?[ ]\#?|pr\W?(?=\d{{5}})
        |bugs?\s?\(s\)[ ](?:resolved|resovled|fixed)\s*:\s*\[?\#?)
        (?P<several>\d{{2,7}}\b(?:\s*(?:,|;|&|\+|\band\b)\s*(?:bug\s*)?\#?\d{{2,7}}\b)*)
    | show_bug\.cgi\?id=(?P<tracker>\d+)
    | /issues/(?P<url>\d+)
    | \A\W*(?P<first>\d{{5,6}})(?!\d)
    | \A\[?(?P<short>\d{{4}})(?:\]|\W*\Z)
    | \b[\w.-]+/[\w.-]+\#(?P<elsewhere>\d+)\b
    | (?<!pull[ ]request[ ])(?<!\bPR[ ])(?<![\w&/(])\#(?P<hash>\d+)\b(?!/)
    | (?-i:\b(?!(?:UTF|SHA|ISO|RFC|EPL|JSR|CVE|GTK|JDK|HTTP|AES|MD|CP|IEEE|JEP|LGPL|GPL|TLS|SSL|UCS|PEP|APR|BASE)-)
        (?P<jira>[A-Z][A-Z0-9]+-[1-9]\d*)\b)
    """
)


@dataclass(frozen=True, eq=False)
class History:
    """Commits numbered so that every parent comes before its children; where that leaves a choice, older ones first."""

    ids: tuple[str, ...]
    """(C,) full commit ids."""
    times: LongArray
    """(C,) committer times, seconds since 1970, UTC. A child's can be earlier than its parent's."""
    messages: tuple[str, ...]
    """(C,) whole messages."""
    parent_starts: LongArray
    """(C+1,) the parents of commit ``c``, first one first, are ``parents[parent_starts[c]:parent_starts[c + 1]]``."""
    parents: IntArray
    """(P,) numbers of commits."""
    touched_starts: LongArray
    """(C+1,) the files of commit ``c`` are ``touched[touched_starts[c]:touched_starts[c + 1]]``, in path order."""
    touched: IntArray
    """(T,) numbers into ``path_names``."""
    path_names: Names
    """The repository's table of paths."""
    _recent: dict[int, BoolArray] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def index(self) -> dict[str, int]:
        """Number of each commit id."""
        return {commit_id: number for number, commit_id in enumerate(self.ids)}

    def number(self, commit_id: str) -> int:
        """Number of a commit. Raises UnknownCommit when the history does not reach it."""
        found = self.index.get(commit_id)
        if found is None:
            raise UnknownCommit(
                f"no commit {commit_id!r} in this history; read the history again from a tip that reaches it"
            )
        return found

    def files(self, number: int) -> IntArray:
        """Numbers of the paths that commit ``number`` touches, in path order; empty for a merge."""
        return self.touched[self.touched_starts[number] : self.touched_starts[number + 1]]

    def ancestors(self, commit_id: str) -> BoolArray:
        """(C,) whether each commit is the given one or comes before it; not to be written to. Raises UnknownCommit."""
        start = self.number(commit_id)
        reached = self._recent.pop(start, None)
        if reached is None:
            reached = self._marks.get(start)
        if reached is None:
            reached = self._reach(start, (self._recent, self._marks))
        self._recent[start] = reached
        if len(self._recent) > RECENT:
            del self._recent[next(iter(self._recent))]
        return reached

    @cached_property
    def _parent_lists(self) -> list[list[int]]:
        bounds, parents = self.parent_starts.tolist(), self.parents.tolist()
        return [parents[bounds[c] : bounds[c + 1]] for c in range(len(self))]

    @cached_property
    def _marks(self) -> dict[int, BoolArray]:
        """Answers for one commit in MARK along every line of first parents, found from the oldest on."""
        parents = self._parent_lists
        childless = np.ones(len(self), dtype=np.bool_)
        childless[self.parents] = False
        seen: set[int] = set()
        marked: list[int] = []
        for tip in np.flatnonzero(childless)[::-1].tolist():
            line: list[int] = []
            place: int | None = tip
            while place is not None and place not in seen:
                line.append(place)
                place = parents[place][0] if parents[place] else None
            seen.update(line)
            marked.extend(line[::-1][MARK - 1 :: MARK])
        marks: dict[int, BoolArray] = {}
        for place in sorted(marked):
            marks[place] = self._reach(place, (marks,))
        return marks

    def _reach(self, start: int, known: tuple[dict[int, BoolArray], ...]) -> BoolArray:
        """Ancestors of ``start`` and itself, by a walk down from it that stops at commits whose answer is known."""
        parents = self._parent_lists
        reached = np.zeros(len(self), dtype=np.bool_)
        waiting = [-start]
        while waiting:  # the latest first, so that a known answer covers older branches before they are walked
            place = -heapq.heappop(waiting)
            if reached[place]:
                continue
            for answers in known:
                if place in answers:
                    reached |= answers[place]
                    break
            else:
                reached[place] = True
                for parent in parents[place]:
                    heapq.heappush(waiting, -parent)
        reached.flags.writeable = False
        return reached


def read_history(
    repository: Repository, tips: Sequence[str] | str, suffixes: Iterable[str], progress: Progress = silent
) -> History:
    """All commits reachable from ``tips``, with the files (regular, path ending with a suffix) that each one touches.

    A file is touched when the commit adds, changes or deletes it, against its parent; a move touches both paths, and a
    root commit touches all it has. Two kinds of commits touch nothing: merges, whose changes are their branches', and
    the commits at which a shallow clone was cut off, whose changes are not known. No blob is read.
    Raises UnknownCommit for a tip that is none, RepositoryError when commits or trees are missing.
    """
    revisions = [tips] if isinstance(tips, str) else list(tips)
    resolved = sorted({repository.resolve(revision) for revision in revisions})
    keep = ends_with(suffixes)
    cut = repository.shallow
    ids: list[str] = []
    times: list[int] = []
    messages: list[str] = []
    index: dict[str, int] = {}
    parents, parent_starts = [np.empty(0, dtype=np.int32)], [0]
    touched: list[int] = []
    touched_starts: list[int] = []
    command = "log --stdin --no-renames --raw -z --root --no-abbrev --no-ext-diff --no-textconv".split()
    command += ["--date-order", "--reverse", "--no-color", "--encoding=UTF-8", "--format=%H %ct %P%n%B"]
    asked = "".join(f"{tip}\n" for tip in resolved).encode()
    # without a tip git would start from HEAD
    with repository.stream(command, asked) if resolved else nullcontext(BytesIO()) as log:
        fields = _fields(log)
        for text in fields:
            head = text.lstrip(b"\n")
            if head.startswith(b":"):
                path = next(fields)
                old_mode, new_mode = head[1:4], head[8:11]
                if b"100" in (old_mode, new_mode) and ids[-1] not in cut and keep(path):
                    touched.append(repository.path_names.id(path.decode("utf-8", "surrogateescape")))
            elif found := _COMMIT.match(head):
                touched_starts.append(len(touched))
                commit_id = found[1].decode("ascii")
                index[commit_id] = len(ids)
                ids.append(commit_id)
                times.append(int(found[2] or 0))
                messages.append(head[found.end() :].decode("utf-8", "replace").rstrip())
                known = [index[parent] for parent in found[3].decode("ascii").split() if parent in index]
                parents.append(np.array(known, dtype=np.int32))
                parent_starts.append(parent_starts[-1] + len(known))
                if len(ids) % 1000 == 0:
                    progress("reading history", len(ids), 0)
    touched_starts.append(len(touched))
    progress("reading history", len(ids), len(ids))
    return History(
        tuple(ids),
        np.array(times, dtype=np.int64),
        tuple(messages),
        np.array(parent_starts, dtype=np.int64),
        np.concatenate(parents),
        np.array(touched_starts, dtype=np.int64),
        np.array(touched, dtype=np.int32),
        repository.path_names,
    )


def _fields(stream: IO[bytes]) -> Iterator[bytes]:
    """The stream's parts between NUL bytes, without empty ones."""
    rest = b""
    while block := stream.read(1 << 20):
        *whole, rest = (rest + block).split(b"\0")
        yield from filter(None, whole)
    if rest:
        yield rest


def fix_commits(history: History) -> IntArray:
    """Numbers, rising, of the commits whose message says that they fix a bug; merges are not among them."""
    merges = np.diff(history.parent_starts) > 1
    fixes = [number for number, message in enumerate(history.messages) if not merges[number] and says_fix(message)]
    return np.array(fixes, dtype=np.int32)


def says_fix(message: str) -> bool:
    """Whether a commit message says that a bug of the program is fixed.

    It does when its first line, or the beginning of a later one, has a fixing word, when it closes an issue, or when
    its first line names a bug; not when it only mends documentation, warnings or tests, merges, or takes back a commit.

    >>> [says_fix(text) for text in ("Fixed NPE in Foo", "Bug 12345 - Tree flickers", "Fix typo", 'Revert "Fix NPE"')]
    [True, True, False, False]
    """
    text = _TRAILER.sub("", message).strip()
    if _UNDOES.match(text):
        return False
    if _CLOSES.search(text) or _NAMES_BUG.search(text):
        return True
    return _SAYS_FIX.search(_NOT_A_FIX.sub("", text).lstrip()) is not None


def bug_ids(message: str) -> tuple[str, ...]:
    """Numbers of the bugs and issues that a commit message mentions, in order, each once; Jira's with their project.

    >>> bug_ids("Fix bugs 123 and 456, see PROJ-7 (#99)")
    ('123', '456', 'PROJ-7')
    """
    found: dict[str, None] = {}
    for match in _BUG_ID.finditer(_TRAILER.sub("", message).strip()):
        text = next(group for group in match.groups() if group)
        found |= dict.fromkeys([text] if match["jira"] else re.findall(r"\d+", text))
    return tuple(found)
