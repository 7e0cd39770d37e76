"""The next step of a bisection: the commit to test, or the one that introduced the fault."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Final, NamedTuple

import numpy as np

from tosloc.bisect.graph import (
    CommitGraph,
    choose_commit,
    expected_runs,
    plain_runs,
    scale_weights,
)
from tosloc.bisect.state import MAX_COMMITS, Bisection, Marks, Weights
from tosloc.bisect.weights import weigh_commits
from tosloc.core.errors import ToslocError
from tosloc.core.reports import VALID_TIMES
from tosloc.git.discovery import WebPages
from tosloc.git.repository import Repository

SKIP_CODE: Final = 125
"""Exit code of a test command that cannot test a commit."""
NOT_RUN_CODES: Final = (126, 127)
"""Exit codes of shells for commands that cannot be run, or do not exist."""
MAX_PRIORS: Final = 50
"""Most commits for which ``git bayesect prior`` is called, because each call takes a while."""
FIRST_ABORTING_CODE: Final = 128
"""Exit code of a test command from which on the bisection stops, as in git."""


class Kind(Enum):
    """What a bisection can do next."""

    test = "test"
    """Test the commit that halves the weight."""
    merge_base = "merge base"
    """Test a merge base first, because a good commit is no ancestor of the bad one."""
    found = "found"
    """Nothing: the commit introduced the fault."""
    undecided = "undecided"
    """Nothing: all commits that could be tested were skipped."""


@dataclass(frozen=True)
class Step:
    """What a bisection knows now, and what it does next."""

    kind: Kind
    commit: str
    """Full id of the commit to test or found; the bad commit if it is undecided."""
    candidates: tuple[tuple[str, float], ...]
    """Commits that may have introduced the fault with their probability, most likely first."""
    runs: float
    """Expected number of further test runs."""
    plain_runs: float
    """Expected number of further test runs by bisection that halves the number of commits."""
    notes: tuple[str, ...] = ()
    """Sentences for the user."""

    @property
    def is_test(self) -> bool:
        """Whether there is a commit to test."""
        return self.kind in (Kind.test, Kind.merge_base)


def read_graph(
    repository: Repository, bad: str, good: Sequence[str], *, first_parent: bool = False
) -> CommitGraph:
    """Return the commits that may have introduced a fault. Raises ToslocError for too many."""
    command = ["rev-list", "--topo-order", "--reverse", "--parents", "--stdin"]
    if first_parent:
        command.append("--first-parent")
    commits: list[str] = []
    parents: list[list[int]] = []
    positions: dict[str, int] = {}
    with repository.stream(command, [bad, *(f"^{commit}" for commit in good)]) as output:
        for line in output:
            commit, *parent_ids = line.decode("ascii").split()
            if first_parent:
                parent_ids = parent_ids[:1]
            positions[commit] = len(commits)
            commits.append(commit)
            parents.append([positions[name] for name in parent_ids if name in positions])
            if len(commits) > MAX_COMMITS:
                raise ToslocError(
                    f"more than {MAX_COMMITS:,} commits are between the good and the bad commit;"
                    " name a later good one, or an earlier bad one"
                )
    return CommitGraph(commits, parents)


def weigh_graph(
    repository: Repository,
    marks: Marks,
    report: str,
    scores: dict[str, float],
    *,
    first_parent: bool = False,
) -> Weights:
    """Return the weights of the commits between good and bad ones, by the scores of suspects.

    If only first parents are followed, a merge has the weights of all commits that it brought.
    """
    assert marks.bad is not None
    graph = read_graph(repository, marks.bad, marks.good)
    commits = graph.commits
    values = weigh_commits(commits, scores)
    if first_parent:
        line, sums = graph.first_parent_line(scale_weights(values))
        commits = line.commits
        values = sums / sums.sum()
    even = float(values.min())
    above = np.flatnonzero(values > even).tolist()
    return Weights(report, {commits[place]: float(values[place]) for place in above}, even)


def plan_step(bisection: Bisection) -> Step:
    """Return the next step of a bisection.

    Raises ToslocError if an end is missing, or if the marks contradict each other.
    """
    repository = bisection.repository
    marks = bisection.marks()
    graph = _read_candidates(bisection, marks)
    assert marks.bad is not None
    weights = scale_weights(bisection.weights().of_graph(graph))
    probabilities = weights / weights.sum()
    order = np.argsort(-probabilities, kind="stable").tolist()
    candidates = tuple((graph.commits[place], float(probabilities[place])) for place in order)
    runs = expected_runs(weights)
    runs_of_git = plain_runs(len(graph))
    notes: tuple[str, ...] = ()
    if not bisection.ends_are_checked:
        merge_base, notes = _find_merge_base(repository, marks)
        if merge_base is not None:
            return Step(Kind.merge_base, merge_base, candidates, runs + 1, runs_of_git + 1, notes)
    skipped = [graph.positions[name] for name in marks.skipped if name in graph.positions]
    place = choose_commit(graph, weights, skipped)
    if place is None:
        kind = Kind.found if len(graph) == 1 else Kind.undecided
        return Step(kind, marks.bad, candidates, 0.0, 0.0, notes)
    return Step(Kind.test, graph.commits[place], candidates, runs, runs_of_git, notes)


def add_mark(bisection: Bisection, mark: str, commits: Sequence[str]) -> Step | None:
    """Mark commits as "bad", "good" or "skip", and return the next step; None if an end is missing.

    Raises ToslocError, and changes nothing, if that contradicts earlier marks.
    """
    marks = bisection.marks().with_mark(mark, commits)
    if marks.bad is None or not marks.good:
        bisection.mark(mark, commits)
        return None
    check_marks(bisection.repository, marks)
    bisection.mark(mark, commits)
    return plan_step(bisection)


def take_step(bisection: Bisection, step: Step) -> None:
    """Check out the commit to test, or add the found commit to git's log."""
    if step.kind is not Kind.merge_base:
        bisection.note_checked_ends()
    if step.is_test:
        bisection.check_out(step.commit)
    elif step.kind is Kind.found:
        bisection.note_culprit(step.commit)


def check_marks(repository: Repository, marks: Marks) -> None:
    """Raise ToslocError if an end is missing, or if a good commit contains the bad one."""
    if marks.bad is None or not marks.good:
        mark = "bad" if marks.bad is None else "good"
        raise ToslocError(
            f"this bisection has no {mark} commit; mark one: tosloc bisect {mark} REV"
        )
    for commit in marks.good:
        with repository.stream(["rev-list", "-n1", marks.bad, f"^{commit}"]) as output:
            is_contained = not output.read()
        if is_contained:
            raise ToslocError(
                f"the bad commit {marks.bad[:10]} is contained in the good commit {commit[:10]}, so"
                " the fault was fixed in between; name a good commit that is older, or check if the"
                " two were mixed up"
            )


def _read_candidates(bisection: Bisection, marks: Marks) -> CommitGraph:
    """Return the commits that may have introduced the fault. Raises as ``check_marks`` does."""
    check_marks(bisection.repository, marks)
    assert marks.bad is not None
    return read_graph(
        bisection.repository, marks.bad, marks.good, first_parent=bisection.first_parent
    )


def _find_merge_base(repository: Repository, marks: Marks) -> tuple[str | None, tuple[str, ...]]:
    """Return a merge base to test before the range can be trusted, and notes for the user.

    As in git, it has to be good if a good commit is no ancestor of the bad one: otherwise the fault
    may have been fixed on the way to the good commit.
    """
    assert marks.bad is not None
    ends = [*marks.good, f"^{marks.bad}"]
    with repository.stream(["rev-list", "-n1", "--stdin"], ends) as output:
        if not output.read():
            return None, ()
    # Unlike merge-base, rev-parse does not fail if there is none.
    pairs = [f"{marks.bad}...{commit}" for commit in marks.good]
    with repository.stream(["rev-parse", *pairs]) as output:
        names = output.read().decode("ascii").split()
    common = [name[1:] for name in names if name.startswith("^")]
    if not common:
        return None, ()
    with repository.stream(["merge-base", "--independent", *common]) as output:
        merge_bases = output.read().decode("ascii").split()
    notes: tuple[str, ...] = ()
    for commit in merge_bases:
        if commit in marks.skipped:
            notes += (
                f"the merge base {commit[:10]} was skipped, so the fault may have been there before"
                " the good commit branched off",
            )
        elif commit not in marks.good:
            return commit, notes
    return None, notes


def mark_for_exit_code(code: int) -> str:
    """Return the mark that an exit code of a test command stands for, as in ``git bisect run``.

    Raises ToslocError for a code that ends the bisection.

    >>> mark_for_exit_code(0), mark_for_exit_code(1), mark_for_exit_code(125)
    ('good', 'bad', 'skip')
    """
    if code >= FIRST_ABORTING_CODE:
        raise ToslocError(
            f"the command ended with exit code {code}, and codes from {FIRST_ABORTING_CODE} on stop"
            " the bisection; exit with 1 for bad or 125 to skip, and run the same command again to"
            " continue"
        )
    if code == SKIP_CODE:
        return "skip"
    return "bad" if code else "good"


class CommitDescription(NamedTuple):
    """A commit in words."""

    commit: str
    """Full id."""
    author: str
    authored: datetime
    """Author's time, in UTC; 1970 if it is out of range for a date."""
    subject: str


def describe_commits(repository: Repository, commits: Sequence[str]) -> list[CommitDescription]:
    """Return commits with their author, date and subject, in the order of ``commits``."""
    command = ["log", "--no-walk=unsorted", "--stdin", "--format=%H%x00%an%x00%at%x00%s"]
    with repository.stream(command, commits) as output:
        lines = output.read().decode("utf-8", "replace").split("\n")
    descriptions = {}
    for line in filter(None, lines):  # a name may contain other line separators
        commit, author, time, subject = line.split("\0")
        seconds = int(time) if int(time) in VALID_TIMES else 0
        when = datetime.fromtimestamp(seconds, UTC)
        descriptions[commit] = CommitDescription(commit, author, when, subject.strip())
    return [descriptions[commit] for commit in commits]


def commit_url(repository: Repository, commit: str) -> str | None:
    """Return the address of a commit's page on the web; None if the host is not known."""
    pages = WebPages.of(repository.remote_url())
    return None if pages is None else pages.commit(commit)


def bayesect_commands(bisection: Bisection) -> list[str]:
    """Return commands that start ``git bayesect`` with the weights of a bisection as its priors.

    It follows first parents only, so a merge gets the weights of all commits that it brought. Every
    commit that is not named has the prior 1, which stands for the mean of their weights.
    """
    repository = bisection.repository
    marks = bisection.marks()
    graph = _read_candidates(bisection, marks)
    line, sums = graph.first_parent_line(scale_weights(bisection.weights().of_graph(graph)))
    [oldest] = repository.commits([line.commits[0]])
    if not oldest.parents:
        raise ToslocError(
            "git bayesect needs a good commit among the first parents of the bad one, and there is"
            " none; start with an older good commit"
        )
    commands = [f"git bayesect start --old {oldest.parents[0]} --new {marks.bad}"]
    heaviest = np.argsort(-sums, kind="stable")
    others = sums[heaviest[MAX_PRIORS:]]
    unit = float(others.mean() if len(others) else sums.min())
    for place in np.sort(heaviest[:MAX_PRIORS]).tolist():
        prior = float(f"{sums[place] / unit:.3g}")
        if prior > 1:
            commit = line.commits[place]
            commands.append(f"git bayesect prior --commit {commit} --weight {prior:.10g}")
    return commands
