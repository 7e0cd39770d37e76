"""``tosloc bisect``: git's bisection, but the most suspect commits are tested first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from tosloc.cli.commit_text import CommitDescription, commit_url, describe_commits
from tosloc.cli.options import FullHelpGroup
from tosloc.cli.report_arguments import read_reports
from tosloc.core.errors import ReportError, RepositoryError, ToslocError, pluralize
from tosloc.core.io import escape_unprintable, truncate_text
from tosloc.terminal.options import JsonOption
from tosloc.terminal.printing import make_console, print_json, print_notes, progress_bars

if TYPE_CHECKING:
    from tosloc.bisect.steps import Bisection, Step
    from tosloc.core.reports import BugReport
    from tosloc.git.repository import Repository

UNDECIDED: Final = 2
"""Exit code if only skipped commits are left, as in git."""
SCHEMA: Final = "tosloc.bisect/1"
"""Name and version of the format of ``--json``."""
MAX_CANDIDATES: Final = 5
"""Largest number of likely candidates that are printed."""
MAX_UNDECIDED: Final = 100
"""Largest number of commits that are printed if only skipped commits are left."""
MIN_PROBABILITY: Final = 0.02
"""Smallest probability of a candidate that is printed as likely."""
MAX_JSON_CANDIDATES: Final = 1000
"""Largest number of candidates in JSON."""
MAX_FILES: Final = 10
"""Largest number of files of a found commit that are printed."""
MAX_BAD_RUNS: Final = 3
"""Number of runs without a good one after which a command has to pass on a good commit."""
MAX_TEXT_CHARACTERS: Final = 100
"""Largest number of characters of a subject, a name or a report's summary that are printed."""

_CLEAN_UP: Final = (
    "if the test command changed or made these files, undo that (git restore, git clean) and run"
    " the same command again"
)
"""Instruction for a checkout that fails after a test."""
_MARK_WORDS: Final = {"good": "good", "bad": "bad", "skip": "skipped"}

app = typer.Typer(
    cls=FullHelpGroup,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Find the change that broke something: git bisect, testing suspect changes first.",
)


@contextmanager
def _open_bisection(*, running: bool = True) -> Iterator[Bisection]:
    """Yield the bisection of the repository around the current folder."""
    from tosloc.bisect.steps import Bisection
    from tosloc.git import discovery
    from tosloc.git.repository import Repository

    try:
        path = discovery.current_repository()
    except RepositoryError as error:  # its message names an option that these commands lack
        raise RepositoryError(error.without_arguments(), hint="change to one") from None
    with Repository(path) as repository:
        bisection = Bisection(repository, Path.cwd())
        if running:
            bisection.state.check_running()
        yield bisection


@app.command(epilog="Example: tosloc bisect start bug.md --good v1.2")
def start(
    report: Annotated[
        str | None,
        typer.Argument(
            metavar="REPORT",
            help="Bug report, as for tosloc localize: a file, - for standard input, an issue, or"
            " the text in quotation marks.",
            show_default="none: every commit is equally likely, as in git bisect",
        ),
    ] = None,
    good: Annotated[
        list[str] | None,
        typer.Option(
            metavar="REV",
            help="Commit, branch or tag that works. Repeatable.",
            show_default="what the report states",
        ),
    ] = None,
    bad: Annotated[
        str | None,
        typer.Option(
            metavar="REV",
            help="Commit, branch or tag that fails.",
            show_default="what the report states, else HEAD",
        ),
    ] = None,
    first_parent: Annotated[
        bool,
        typer.Option("--first-parent", help="Follow only the first parent of merges, as in git."),
    ] = False,
    no_checkout: Annotated[
        bool,
        typer.Option(
            "--no-checkout", help="Only set BISECT_HEAD to the commit to test, as in git."
        ),
    ] = False,
) -> None:
    """Start a bisection and check out the first commit to test.

    Good and bad commits that are not named are those of the report: versions and commits in which
    something works or fails.
    """
    bug_report = None if report is None else _read_report(report)
    with _open_bisection(running=False) as bisection:
        with progress_bars() as callback:
            step = bisection.start(
                bad,
                good or (),
                bug_report,
                first_parent=first_parent,
                no_checkout=no_checkout,
                progress=callback,
            )
        print_notes(step.notes)
        _print_status(bisection, step)
        print_notes(
            [
                "mark the commit with tosloc bisect good, bad or skip, or let a command test it:"
                " tosloc bisect run COMMAND"
            ]
        )
        if not bisection.state.weights().commits:
            reason = "there is no report" if report is None else "no suspect is in the range"
            print_notes([f"{reason}, so every commit is equally likely, as in git bisect"])


def _read_report(source: str) -> BugReport:
    """Return the report of an argument. Raises ReportError unless it contains exactly one."""
    reports = read_reports(source, None, every_failure=False)
    if len(reports) != 1:
        raise ReportError(
            f"{source}: there are {len(reports)} reports, and a bisection is about one of them"
        )
    return reports[0]


@app.command(epilog="Example: tosloc bisect good")
def good(
    revisions: Annotated[
        list[str] | None,
        typer.Argument(metavar="REV", help="Commits.", show_default="the checked out commit"),
    ] = None,
) -> None:
    """Mark commits as good, and check out the next one to test."""
    with _open_bisection() as bisection:
        _mark(bisection, "good", list(map(bisection.repository.resolve, revisions or ())))


@app.command(epilog="Example: tosloc bisect bad")
def bad(
    revision: Annotated[
        str | None,
        typer.Argument(metavar="REV", help="Commit.", show_default="the checked out commit"),
    ] = None,
) -> None:
    """Mark a commit as bad, and check out the next one to test."""
    with _open_bisection() as bisection:
        commits = [] if revision is None else [bisection.repository.resolve(revision)]
        _mark(bisection, "bad", commits)


@app.command(epilog="Example: tosloc bisect skip v1.3..v1.4")
def skip(
    revisions: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="REV",
            help="Commits, or ranges such as v1.3..v1.4.",
            show_default="the checked out commit",
        ),
    ] = None,
) -> None:
    """Mark commits that cannot be tested, and check out the next one to test."""
    with _open_bisection() as bisection:
        commits = []
        for revision in revisions or ():
            commits += _resolve_range(bisection.repository, revision)
        _mark(bisection, "skip", commits)


def _resolve_range(repository: Repository, revision: str) -> list[str]:
    """Return the commits of a range such as v1.3..v1.4, or the commit that a revision names."""
    if ".." not in revision:
        return [repository.resolve(revision)]
    first, _, last = revision.partition("..")
    ends = [repository.resolve(last or "HEAD"), f"^{repository.resolve(first or 'HEAD')}"]
    with repository.git.stream(["rev-list", "--stdin"], ends) as output:
        commits = output.read().decode("ascii").split()
    if not commits:
        raise ToslocError(f"{revision}: there is no commit in this range; name its older end first")
    return commits


def _mark(bisection: Bisection, mark: str, commits: Sequence[str]) -> None:
    """Mark commits, by default the checked out one, and take the next step."""
    step = bisection.mark(mark, commits or [bisection.state.current])
    if step is None:
        print_notes(["a bisection needs a good and a bad commit; mark the other one"])
    else:
        _take_and_print(bisection, step)
        _finish(step)


def _take_and_print(bisection: Bisection, step: Step) -> None:
    """Check out the next commit to test and print it, or print the commit that was found."""
    bisection.take(step)
    print_notes(step.notes)
    _print_step(bisection, step)


def _finish(step: Step) -> None:
    """Exit with git's code if only skipped commits are left."""
    if step.is_undecided:
        raise typer.Exit(UNDECIDED)


@app.command("next", epilog="Example: tosloc bisect next --json")
def next_command(as_json: JsonOption = False) -> None:
    """Check out the next commit to test, for example after git bisect good."""
    with _open_bisection() as bisection:
        step = bisection.plan()
        if as_json:
            bisection.take(step)
            print_json(_step_values(bisection, step))
        else:
            _take_and_print(bisection, step)
        _finish(step)


@app.command(epilog="Example: tosloc bisect status")
def status(as_json: JsonOption = False) -> None:
    """Show the marks, the commits that are left and the most likely of them; change nothing."""
    with _open_bisection() as bisection:
        step = bisection.plan()
        if as_json:
            print_json(_step_values(bisection, step))
            return
        print_notes(step.notes)
        _print_status(bisection, step)


@app.command(
    "run",
    epilog="Example: tosloc bisect run pytest -q tests/test_cart.py",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
def run_command(
    command: Annotated[
        list[str],
        typer.Argument(metavar="COMMAND", help="Test command with its arguments."),
    ],
) -> None:
    """Let a command test commit after commit until the change is found.

    Its exit code says what a commit is, as in git bisect run: 0 good, 125 cannot be tested, 128 and
    above stop, anything else bad.
    """
    with _open_bisection() as bisection:
        step = bisection.plan()
        _take_and_print(bisection, step)
        plain_runs = step.plain_runs
        bad_end = bisection.state.marks().bad
        assert bad_end is not None
        marks: list[str] = []
        while step.is_test:
            mark = bisection.test(command, Path.cwd(), step, is_first=not marks)
            marks.append(mark)
            print(f"Run {len(marks)}: {step.commit[:10]} is {_MARK_WORDS[mark]}", flush=True)
            next_step = bisection.mark(mark, [step.commit])
            assert next_step is not None  # both ends were there before the command ran
            step = next_step
            if _needs_good_run(marks, step):
                good_end, mark = bisection.test_good(command, Path.cwd(), step, bad_end)
                marks.append(mark)
                print(
                    f"Run {len(marks)}: the good commit {good_end[:10]} is {_MARK_WORDS[mark]}"
                    " (tested because no other run was good)",
                    flush=True,
                )
            try:
                _take_and_print(bisection, step)
            except ToslocError as error:
                raise ToslocError(str(error), hint=_CLEAN_UP) from None
        if marks:
            print(f"{pluralize(len(marks), 'test run')} (git bisect: about {plain_runs:.1f})")
            print_notes(_notes_on_marks(marks, step))
        print_notes(["return to where you were: tosloc bisect reset"])
        _finish(step)


def _needs_good_run(marks: Sequence[str], step: Step) -> bool:
    """Return whether a command that has only failed so far has to pass on a good commit."""
    if "good" in marks or marks[-1] != "bad":
        return False
    return step.is_found or marks.count("bad") == MAX_BAD_RUNS


def _notes_on_marks(marks: Sequence[str], step: Step) -> list[str]:
    """Return a note if a command has given the same result for every commit that it tested."""
    if not step.is_found or {"good", "bad"} <= set(marks):
        return []
    if "bad" in marks:
        return [
            "no test run was good, so the command may fail on every commit; check that it works on"
            f" a good commit that it can test, before {step.commit[:10]}"
        ]
    return [
        f"no test run was bad, so the command may not test the fault; check that it fails on"
        f" {step.commit[:10]}"
    ]


@app.command("log", epilog="Example: tosloc bisect log > bisection.txt")
def log_command() -> None:
    """Print git's log of the bisection, which git bisect replay reads."""
    with _open_bisection() as bisection:
        print(bisection.state.log(), end="")


@app.command(epilog="Example: tosloc bisect reset")
def reset(
    revision: Annotated[
        str | None,
        typer.Argument(
            metavar="REV",
            help="Commit or branch to check out.",
            show_default="what was checked out before",
        ),
    ] = None,
) -> None:
    """End the bisection, and check out what was checked out before it."""
    with _open_bisection(running=False) as bisection:
        if not bisection.state.is_running:
            print_notes(["no bisection is in progress, so there is nothing to reset"])
            return
        place = bisection.state.reset(*(() if revision is None else (revision,)))
        print(f"The bisection has ended. {escape_unprintable(place)} is checked out.")


@app.command(epilog="Example: tosloc bisect prior > priors.sh")
def prior() -> None:
    """Print the weights as commands for git bayesect, which bisects with flaky tests."""
    with _open_bisection() as bisection:
        for line in bisection.bayesect_commands():
            print(line)


# ---- printing


def _print_step(bisection: Bisection, step: Step) -> None:
    """Print the commit to test with the expected number of runs, or the result."""
    if step.is_found:
        _print_culprit(bisection, step.commit)
    elif step.is_undecided:
        number = len(step.candidates)
        print(f"Only skipped commits are left. One of these {number:,} introduced the fault:")
        _print_candidates(bisection, step.candidates)
    else:
        print(_remaining(step))
        if step.is_merge_base:
            print("A good commit is no ancestor of the bad one: their merge base comes first.")
        _print_commit("Testing ", bisection, step.commit)


def _remaining(step: Step) -> str:
    """Return the number of remaining commits, and the expected number of test runs, as text."""
    left = pluralize(len(step.candidates), "commit")
    return (
        f"{left} left; about {step.runs:.1f} more test runs expected"
        f" (git bisect: {step.plain_runs:.1f})"
    )


def _print_line(line: str) -> None:
    """Print a line immediately; on a terminal, cut it to the width."""
    console = make_console()
    if console.is_terminal:
        line = truncate_text(line, console.width)
    print(line, flush=True)


def _commit_line(description: CommitDescription) -> str:
    """Return a line about a commit: id, date and subject."""
    subject = truncate_text(escape_unprintable(description.subject), MAX_TEXT_CHARACTERS)
    return f"{description.commit[:10]} ({description.committed:%Y-%m-%d}) {subject}"


def _describe(bisection: Bisection, commits: Sequence[str]) -> list[CommitDescription]:
    """Return commits with the names of authors that the bad commit's ``.mailmap`` gives."""
    version = bisection.state.marks().bad
    assert version is not None
    return describe_commits(bisection.repository, commits, version)


def _print_commit(label: str, bisection: Bisection, commit: str) -> None:
    """Print a line with a label and a commit."""
    [description] = _describe(bisection, [commit])
    _print_line(label + _commit_line(description))


def _print_culprit(bisection: Bisection, commit: str) -> None:
    """Print the commit that introduced the fault, with its author and files."""
    from rich.text import Text

    from tosloc.git.history import changed_paths

    repository = bisection.repository
    [description] = _describe(bisection, [commit])
    url = commit_url(repository, commit)
    console = make_console()
    style = "yellow bold" if url is None else f"yellow bold link {url}"
    console.print(Text("The first bad commit:", "bold"), soft_wrap=True)
    identity, _, rest = _commit_line(description).partition(" ")
    console.print(Text("  ").append(identity, style).append(f" {rest}"), soft_wrap=True)
    author = truncate_text(escape_unprintable(description.author), MAX_TEXT_CHARACTERS)
    console.print(Text(f"  by {author}", "dim"), soft_wrap=True)
    files = changed_paths(repository, commit)
    for path in files[:MAX_FILES]:
        console.print(Text(f"    {escape_unprintable(path)}"), soft_wrap=True)
    more = len(files) - MAX_FILES
    if more > 0:
        console.print(Text(f"    and {pluralize(more, 'more file')}", "dim"), soft_wrap=True)


def _print_candidates(bisection: Bisection, candidates: Sequence[tuple[str, float]]) -> None:
    """Print candidates with their probabilities."""
    from tosloc.localize.answer import percent

    shown = candidates[:MAX_UNDECIDED]
    descriptions = _describe(bisection, [commit for commit, _ in shown])
    for description, (_, probability) in zip(descriptions, shown, strict=True):
        _print_line(f"  {percent(probability):>4}  {_commit_line(description)}")
    if len(candidates) > len(shown):
        print(f"        and {len(candidates) - len(shown):,} more")


def _print_status(bisection: Bisection, step: Step) -> None:
    """Print the report, the marks, the candidates and the next step."""
    weights = bisection.state.weights()
    marks = bisection.state.marks()
    if weights.commits:
        report = truncate_text(escape_unprintable(weights.report), MAX_TEXT_CHARACTERS)
        print(f"Report: {report}")
    assert marks.bad is not None
    _print_commit("Bad:    ", bisection, marks.bad)
    for commit in marks.good[:MAX_CANDIDATES]:
        _print_commit("Good:   ", bisection, commit)
    if len(marks.good) > MAX_CANDIDATES:
        print(f"        and {len(marks.good) - MAX_CANDIDATES:,} more good commits")
    if marks.skipped:
        print(f"Skipped: {pluralize(len(marks.skipped), 'commit')}")
    likely = []
    for candidate in step.candidates[:MAX_CANDIDATES]:
        if candidate[1] >= MIN_PROBABILITY:
            likely.append(candidate)
    if step.is_test and weights.commits and likely:
        print("Most likely:")
        _print_candidates(bisection, likely)
    _print_step(bisection, step)


def _step_values(bisection: Bisection, step: Step) -> dict[str, Any]:
    """Return the state of a bisection and its next step as JSON values."""
    from tosloc.git.history import changed_paths

    marks = bisection.state.marks()
    repository = bisection.repository
    [description] = _describe(bisection, [step.commit])
    files = changed_paths(repository, step.commit)
    candidates = []
    for commit, probability in step.candidates[:MAX_JSON_CANDIDATES]:
        candidates.append({"commit": commit, "probability": round(probability, 9)})
    return {
        "schema": SCHEMA,
        "state": step.kind.value,
        "commit": {
            "id": description.commit,
            "author": escape_unprintable(description.author),
            "committed": description.committed.astimezone(UTC).isoformat(),
            "subject": description.subject,
            "files": [escape_unprintable(path) for path in files],
            "url": commit_url(repository, step.commit),
        },
        "bad": marks.bad,
        "good": list(marks.good),
        "skipped": sorted(marks.skipped),
        "report": bisection.state.weights().report or None,
        "left": len(step.candidates),
        "candidates": candidates,
        "expected_runs": round(step.runs, 3),
        "expected_runs_of_git_bisect": round(step.plain_runs, 3),
        "notes": list(step.notes),
    }
