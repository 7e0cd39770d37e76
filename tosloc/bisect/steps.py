"""A bisection that first tests the commits that most likely introduced the fault of a report."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Final

import numpy as np

from tosloc.bisect.ends import StatedEnds, find_stated_ends
from tosloc.bisect.graph import (
    CommitGraph,
    choose_commit,
    expected_runs,
    plain_runs,
    scale_weights,
)
from tosloc.bisect.state import EQUAL_WEIGHTS, MAX_COMMITS, BisectionState, Marks, Weights
from tosloc.bisect.weights import score_suspects, weigh_commits
from tosloc.core.errors import ToslocError
from tosloc.core.io import truncate_text
from tosloc.core.progress import Progress, announce, ignore_progress
from tosloc.core.reports import BugReport
from tosloc.git.repository import Repository
from tosloc.localize.localizer import Localizer
from tosloc.localize.question import Question

SKIP_CODE: Final = 125
"""Exit code with which a test command says that a commit cannot be tested."""
NOT_RUN_CODES: Final = {126: "cannot be run", 127: "was not found"}
"""Exit codes of shells for commands that do not run -> the reason."""
MAX_COMMAND_CHARACTERS: Final = 100
"""Largest number of characters of a test command in a message."""
MAX_PRIORS: Final = 50
"""Largest number of commits for which ``git bayesect prior`` is called; each call takes a while."""
FIRST_ABORTING_CODE: Final = 128
"""Smallest exit code of a test command that stops the bisection, as in git."""


class Kind(Enum):
    """Kinds of the next step of a bisection."""

    test = "test"
    """Test a commit that halves the weight."""
    merge_base = "merge base"
    """Test a merge base first, because a good commit is not an ancestor of the bad one."""
    found = "found"
    """Do nothing: the commit that introduced the fault is found."""
    undecided = "undecided"
    """Do nothing: all commits that could be the culprit were skipped."""


@dataclass(frozen=True)
class Step:
    """The state of a bisection, and its next step."""

    kind: Kind
    commit: str
    """Full id of the commit to test, or of the commit found; if undecided, of the bad commit."""
    candidates: tuple[tuple[str, float], ...]
    """Ids and probabilities of commits that may have introduced the fault, likeliest first."""
    runs: float
    """Expected number of further test runs."""
    plain_runs: float
    """Expected number of further test runs of a bisection that ignores weights."""
    notes: tuple[str, ...] = ()
    """Sentences for the user."""

    @property
    def is_test(self) -> bool:
        """Whether there is a commit to test."""
        return self.kind in (Kind.test, Kind.merge_base)

    @property
    def is_merge_base(self) -> bool:
        """Whether the commit to test is a merge base."""
        return self.kind is Kind.merge_base

    @property
    def is_found(self) -> bool:
        """Whether ``commit`` is found to have introduced the fault."""
        return self.kind is Kind.found

    @property
    def is_undecided(self) -> bool:
        """Whether all remaining commits were skipped."""
        return self.kind is Kind.undecided


class Bisection:
    """A bisection of a repository, in the state of git's own bisection.

    Git is run in ``folder`` to check out commits, so that git does not remove this folder.
    """

    def __init__(self, repository: Repository, folder: Path | None = None) -> None:
        self.repository: Final = repository
        self.state: Final = BisectionState(repository, folder)

    def start(
        self,
        bad: str | None,
        good: Sequence[str],
        report: BugReport | None = None,
        *,
        first_parent: bool = False,
        no_checkout: bool = False,
        progress: Progress = ignore_progress,
    ) -> Step:
        """Start a bisection between revisions, check out the first commit, and return the step.

        Without a report, every commit is equally likely. If ``bad`` or ``good`` is missing, ends
        that the report states are used and announced. Raises ToslocError if the first commit cannot
        be chosen or checked out; no bisection remains then.
        """
        repository = self.repository
        if self.state.is_running:
            raise ToslocError(
                "a bisection is in progress; continue it (tosloc bisect next), or end it (tosloc"
                " bisect reset)"
            )
        if repository.work_tree is None and not no_checkout:
            raise ToslocError(
                f"{repository.path}: a bare repository has no files to test",
                hint="add {no_checkout}, and let the command read the commit that BISECT_HEAD"
                " names",
            )
        if report is None and not good:
            raise ToslocError(
                "no commit is known to work", hint="name one with {good}, or name a report"
            )
        if not no_checkout:
            self.state.check_clean()
        marks = self._find_ends(bad, good, report, progress)
        check_marks(repository, marks)
        assert marks.bad is not None
        weights = EQUAL_WEIGHTS
        if report is not None:
            with Localizer.open(repository.path, ready=False) as localizer:
                question = Question(report, commit=marks.bad, good=marks.good)
                scores = score_suspects(localizer, question, progress)
            name = report.summary or report.id
            weights = weigh_graph(repository, marks, name, scores, first_parent=first_parent)
        options = []
        if first_parent:
            options.append("--first-parent")
        if no_checkout:
            options.append("--no-checkout")
        self.state.start(marks.bad, marks.good, weights, *options)
        try:
            step = self.plan()
            self.take(step)
        except ToslocError:
            self.state.reset()
            raise
        return step

    def _find_ends(
        self, bad: str | None, good: Sequence[str], report: BugReport | None, progress: Progress
    ) -> Marks:
        """Return the ends of the range: the given ones, or by default those that a report states.

        Ends from the report are announced. Raises ToslocError if no good end is known.
        """
        repository = self.repository
        bad_commit = repository.resolve(bad or "HEAD")
        good_commits = tuple(map(repository.resolve, good))
        if report is None or (good and bad is not None):
            return Marks(bad_commit, good_commits)
        with Localizer.open(repository.path, ready=False) as localizer:
            stated = find_stated_ends(localizer, report, bad_commit, progress)
        if not good:
            if not stated.good:
                raise _missing_good_end(repository, stated, bad_commit)
            good_commits = tuple(end.commit for end in stated.good)
            for end in stated.good:
                announce(progress, f"good: {end.name}, {end.origin}")
        if bad is None and stated.bad is not None:
            bad_commit = stated.bad.commit
            announce(progress, f"bad: {stated.bad.name}, {stated.bad.origin}")
        return Marks(bad_commit, good_commits)

    def plan(self) -> Step:
        """Return the next step.

        Raises ToslocError if an end is missing, or if the marks contradict each other.
        """
        marks = self.state.marks()
        graph = self._read_candidates(marks)
        assert marks.bad is not None
        weights = scale_weights(self.state.weights().of_graph(graph))
        probabilities = weights / weights.sum()
        order = np.argsort(-probabilities, kind="stable").tolist()
        candidates = tuple((graph.commits[place], float(probabilities[place])) for place in order)
        runs = expected_runs(weights)
        runs_of_git = plain_runs(len(graph))
        notes: tuple[str, ...] = ()
        if not self.state.ends_are_checked:
            merge_base, notes = _find_merge_base(self.repository, marks)
            if merge_base is not None:
                return Step(
                    Kind.merge_base, merge_base, candidates, runs + 1, runs_of_git + 1, notes
                )
        skipped = [graph.positions[name] for name in marks.skipped if name in graph.positions]
        place = choose_commit(graph, weights, skipped)
        if place is None:
            kind = Kind.found if len(graph) == 1 else Kind.undecided
            return Step(kind, marks.bad, candidates, 0.0, 0.0, notes)
        return Step(Kind.test, graph.commits[place], candidates, runs, runs_of_git, notes)

    def mark(self, mark: str, commits: Sequence[str]) -> Step | None:
        """Mark commits as "bad", "good" or "skip", and return the next step.

        Return None if an end is still missing. Raises ToslocError if the marks would contradict
        earlier ones; nothing is changed then.
        """
        marks = self.state.marks().with_mark(mark, commits)
        if marks.bad is None or not marks.good:
            self.state.mark(mark, commits)
            return None
        check_marks(self.repository, marks)
        self.state.mark(mark, commits)
        return self.plan()

    def take(self, step: Step) -> None:
        """Check out the commit to test, or add the found commit to git's log."""
        if step.kind is not Kind.merge_base:
            self.state.note_checked_ends()
        if step.is_test:
            self.state.check_out(step.commit)
        elif step.kind is Kind.found:
            self.state.note_culprit(step.commit)

    def test(self, command: Sequence[str], folder: Path, step: Step, *, is_first: bool) -> str:
        """Run a test command in a folder, and return the mark that its exit code means.

        If the first command does not run, it is tried on a good commit, as in git. So is a command
        that fails on a merge base, because a bad merge base ends the bisection. Raises ToslocError
        if it fails on the good commit, too, or if its exit code stops the bisection.
        """
        code = self.state.run(command, folder)
        if is_first and code in NOT_RUN_CODES:
            self._check_command(command, folder, step, code)
        mark = mark_for_exit_code(code)
        if mark == "bad" and step.kind is Kind.merge_base:
            self._check_merge_base(command, folder, step)
        return mark

    def _check_merge_base(self, command: Sequence[str], folder: Path, step: Step) -> None:
        """Raise ToslocError if a command that fails on the merge base fails on a good commit."""
        good, code = self._run_on_good(command, folder, step)
        if mark_for_exit_code(code) == "bad":
            raise ToslocError(
                f"{_spell(command)}: this command fails on the merge base {step.commit[:10]} and on"
                f" the good commit {good[:10]} (exit code {code}), so it does not test the fault;"
                " correct the command and run it again, or reset and start with an older good"
                " commit"
            )

    def _check_command(self, command: Sequence[str], folder: Path, step: Step, code: int) -> None:
        """Raise ToslocError if a command that does not run here does not run on a good commit."""
        good, code_of_good = self._run_on_good(command, folder, step)
        if code_of_good == code:
            raise ToslocError(
                f"{_spell(command)}: this command, or one that it calls, {NOT_RUN_CODES[code]}"
                f" (exit code {code}), also on the good commit {good[:10]}; check names and paths"
            )

    def _run_on_good(self, command: Sequence[str], folder: Path, step: Step) -> tuple[str, int]:
        """Run a command on a good commit; return the commit and the exit code.

        Afterwards the commit of the step is checked out again.
        """
        good = self.state.marks().good[0]
        self.state.check_out(good)
        code = self.state.run(command, folder)
        self.state.check_out(step.commit)
        return good, code

    def test_good(
        self, command: Sequence[str], folder: Path, step: Step, bad: str
    ) -> tuple[str, str]:
        """Run a command on a good end, and return its id and its mark.

        If the step is a found commit, the good end is the one before it. ``bad`` is the bad end
        before the command ran. It is the bad end again if the command fails on the good end, too.
        ToslocError is raised then, because the command does not test the fault.
        """
        [info] = self.repository.commits([step.commit])
        good = self.state.marks().good
        commit = next((parent for parent in info.parents if parent in good), good[0])
        tested = self.state.current
        self.state.check_out(commit)
        code = self.state.run(command, folder)
        if code in (0, SKIP_CODE):
            self.state.check_out(tested)
            return commit, mark_for_exit_code(code)
        self.state.mark("bad", [bad])
        self.take(self.plan())
        mark_for_exit_code(code)  # raises an error if the code stops the bisection
        raise ToslocError(
            f"{_spell(command)}: this command fails on every commit, on the good commit"
            f" {commit[:10]}, too (exit code {code}), so the change was not found; correct the"
            " command and run it again, or reset and start with an older good commit"
        )

    def bayesect_commands(self) -> list[str]:
        """Return commands that start ``git bayesect`` with the weights as its priors.

        ``git bayesect`` follows first parents only, so the weight of a merge is the sum over the
        commits that it brought. Commits that no command names have the prior 1, which stands for
        their mean weight.
        """
        marks = self.state.marks()
        graph = self._read_candidates(marks)
        line, sums = graph.first_parent_line(scale_weights(self.state.weights().of_graph(graph)))
        [oldest] = self.repository.commits([line.commits[0]])
        if not oldest.parents:
            raise ToslocError(
                "git bayesect needs a good commit among the first parents of the bad one, and there"
                " is none; start with an older good commit"
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

    def _read_candidates(self, marks: Marks) -> CommitGraph:
        """Return the graph of commits that may have introduced the fault.

        Raises the errors of ``check_marks``.
        """
        check_marks(self.repository, marks)
        assert marks.bad is not None
        return read_graph(
            self.repository, marks.bad, marks.good, first_parent=self.state.first_parent
        )


def _missing_good_end(repository: Repository, stated: StatedEnds, bad: str) -> ToslocError:
    """Return the error for a report that states no good end; its hint proposes one if possible.

    ``bad`` is the bad commit.
    """
    proposal = "REV" if not stated.blamed else f"{stated.blamed[:10]}~1"
    if stated.without_tag:
        return ToslocError(
            f"the report says that {stated.without_tag[0]} works, and no tag of this repository"
            " names this version",
            hint=f"get missing tags (git fetch --tags), or name a commit that works: {{good}}"
            f" {proposal}",
        )
    hint = f"name one: {{good}} {proposal}"
    if stated.worked_at is not None and not stated.blamed:
        day = datetime.fromtimestamp(stated.worked_at, UTC).date()
        last = _last_commit(repository, bad, stated.worked_at)
        if last:
            hint = f"it worked until {day} by the report; if {last[:10]}, the last commit then,"
            hint += f" works, name it: {{good}} {last[:10]}"
    elif stated.before_bad and stated.bad is not None and not stated.blamed:
        hint = (
            f"if the release before {stated.bad.name} does, name it: {{good}} {stated.before_bad}"
        )
    return ToslocError("the report states no version of this project that works", hint=hint)


def _last_commit(repository: Repository, commit: str, time: float) -> str:
    """Return the id of the last commit of a history at a time (seconds since 1970), or ""."""
    command = ["rev-list", "-n1", "--first-parent", f"--before={int(time)}", commit]
    with repository.git.stream(command) as output:
        return output.read().decode("ascii").strip()


def read_graph(
    repository: Repository, bad: str, good: Sequence[str], *, first_parent: bool = False
) -> CommitGraph:
    """Return the graph of commits that may have introduced a fault.

    Raises ToslocError if there are too many.
    """
    command = ["rev-list", "--topo-order", "--reverse", "--parents", "--stdin"]
    if first_parent:
        command.append("--first-parent")
    commits: list[str] = []
    parents: list[list[int]] = []
    positions: dict[str, int] = {}
    with repository.git.stream(command, [bad, *(f"^{commit}" for commit in good)]) as output:
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
    """Return the weights of the commits between good and bad ones, from scores of suspects.

    With ``first_parent``, the weight of a merge is the sum over all commits that it brought.
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


def check_marks(repository: Repository, marks: Marks) -> None:
    """Raise ToslocError if an end is missing, or if a good commit contains the bad one."""
    if marks.bad is None or not marks.good:
        mark = "bad" if marks.bad is None else "good"
        raise ToslocError(
            f"this bisection has no {mark} commit; mark one: tosloc bisect {mark} REV"
        )
    if marks.bad in marks.good:
        raise ToslocError(
            f"commit {marks.bad[:10]} cannot be good and bad at once; name a good commit that is"
            " older"
        )
    for commit in marks.good:
        with repository.git.stream(["rev-list", "-n1", marks.bad, f"^{commit}"]) as output:
            is_contained = not output.read()
        if is_contained:
            raise ToslocError(
                f"the bad commit {marks.bad[:10]} is contained in the good commit {commit[:10]}, so"
                " the fault was fixed in between; name a good commit that is older, or check if the"
                " two were mixed up"
            )


def _find_merge_base(repository: Repository, marks: Marks) -> tuple[str | None, tuple[str, ...]]:
    """Return a merge base to test before the range can be trusted, and notes for the user.

    As in git, this is needed if a good commit is not an ancestor of the bad one. If the merge base
    is bad, the fault may have been fixed on the way to the good commit. Return None if no test is
    needed.
    """
    assert marks.bad is not None
    ends = [*marks.good, f"^{marks.bad}"]
    with repository.git.stream(["rev-list", "-n1", "--stdin"], ends) as output:
        if not output.read():
            return None, ()
    # Unlike merge-base, rev-parse does not fail if there is none.
    pairs = [f"{marks.bad}...{commit}" for commit in marks.good]
    with repository.git.stream(["rev-parse", *pairs]) as output:
        names = output.read().decode("ascii").split()
    common = [name[1:] for name in names if name.startswith("^")]
    if not common:
        return None, ()
    with repository.git.stream(["merge-base", "--independent", *common]) as output:
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


def _spell(command: Sequence[str]) -> str:
    """Return a test command as it is typed in a shell; a long one is cut."""
    return truncate_text(shlex.join(command), MAX_COMMAND_CHARACTERS)


def mark_for_exit_code(code: int) -> str:
    """Return the mark that an exit code of a test command means, as in ``git bisect run``.

    Raises ToslocError for a code that stops the bisection.

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
