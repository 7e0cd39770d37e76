"""``tosloc mine``: make labelled reports from a project's own issues, for ``tosloc train``."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from tosloc.cli.options import CommitOption, NamedRepositoryOption, repository_option
from tosloc.core.errors import ReportError, ToslocError, pluralize
from tosloc.terminal.options import JsonOption

ExportsArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="EXPORT",
        help="JSON export of issues: of gh issue list and gh pr list, or of GitHub, GitLab, Jira or"
        " Bugzilla; - is standard input.",
        show_default="commit messages only, as weak reports",
    ),
]
GitHubOption = Annotated[
    str | None,
    typer.Option(
        metavar="OWNER/NAME",
        help="Fetch the issues of this GitHub project. The token comes from $GITHUB_TOKEN or gh.",
    ),
]
PatternOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="REGEX",
        help="Regular expression for issues in commit messages, such as 'Bug-Id: (\\d+)'."
        " Repeatable.",
    ),
]
AllLabelsOption = Annotated[
    bool,
    typer.Option("--all-labels", help="Also use issues whose labels say that they are not bugs."),
]
MinedOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        dir_okay=False,
        help="File to write the reports to, as JSON lines.",
        show_default="where tosloc train finds them",
    ),
]


def mine(
    exports: ExportsArgument = None,
    repo: NamedRepositoryOption = None,
    github: GitHubOption = None,
    commit: CommitOption = "HEAD",
    pattern: PatternOption = None,
    all_labels: AllLabelsOption = False,
    out: MinedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make labelled reports from a project's own issues or commits.

    Links issues to the commits that fixed them, and counts the linked issues and those that were
    left out. Without --out all issues, open ones too, are kept for tosloc similar.
    """
    from tosloc.core.io import write_text
    from tosloc.git import discovery
    from tosloc.git.repository import Repository
    from tosloc.mine.mining import mine_reports
    from tosloc.storage.cache import CacheEntry
    from tosloc.terminal.printing import progress_bars

    if pattern and not exports and github is None:
        raise ToslocError(
            "--pattern links commits to issues, but no issues are given;"
            " name an export of issues, or --github"
        )
    with (
        Repository(repo or discovery.current_repository()) as repository,
        progress_bars() as callback,
    ):
        file = out or CacheEntry.of(repository).mined_reports
        _check_writable(file)
        mined = mine_reports(
            repository,
            exports or (),
            github,
            tip=commit,
            patterns=pattern or (),
            all_labels=all_labels,
            progress=callback,
        )
        if out is None and (mined.reports or mined.exports is not None):
            entry = CacheEntry.of(repository)
            entry.note_use(repository)
            if mined.exports is not None:
                mined.exports.tracker_issues(callback).save(entry.tracker_issues)
        is_shallow = bool(repository.shallow)
    if mined.reports:
        write_text(file, "".join(json.dumps(report) + "\n" for report in mined.reports))
    note = ""
    if not mined.tracker:
        note = (
            "These reports are weak: a commit message describes its own fix, which is easier to"
            " locate than what users write. Issues train better, and tosloc similar needs them:"
            f" name an export, or run {mined.issues_command}{repository_option(repo)}"
        )
    _print_counts(mined.counts(), file, note, as_json)
    if not mined.reports:
        issues = f"for {pluralize(mined.read, 'issue')}"
        commits = f"in {pluralize(mined.read, 'commit')}"
        is_kept = out is None and mined.exports is not None
        kept = ", but tosloc similar can search the issues" if is_kept else ""
        raise ReportError(
            f"no usable fix was found {issues if mined.tracker else commits}, so no reports were"
            f" written{kept}",
            hint=_history_hint(is_shallow=is_shallow),
        )
    number = pluralize(len(mined.reports), "report")
    command = _training_command(repo, out)
    print(f"tosloc: wrote {number} to {file}; now run: {command}", file=sys.stderr)


def _check_writable(file: Path) -> None:
    """Raise ToslocError if a file cannot be written; to fetch the issues may take minutes."""
    existing = next(path for path in (file, *file.absolute().parents) if path.exists())
    problem = ""
    if existing != file and not existing.is_dir():
        problem = "is not a folder"
    elif not os.access(existing, os.W_OK):
        problem = "is read-only"
    if problem:
        raise ToslocError(
            f"{file} cannot be written, because {existing} {problem}",
            hint="name another file with {out}",
        )


def _history_hint(*, is_shallow: bool) -> str:
    """Return advice for the case that no fix was found in a shallow clone; "" for a full one."""
    if not is_shallow:
        return ""
    return "this is a shallow clone, which lacks earlier commits; run: git fetch --unshallow"


def _training_command(repo: Path | None, reports: Path | None) -> str:
    """Return the command that trains on the reports that were mined with these options."""
    command = f"tosloc train{repository_option(repo)}"
    if reports is not None:
        command += f" --reports {shlex.quote(str(reports))}"
    return command


def _print_counts(counts: Mapping[str, Any], file: Path, note: str, as_json: bool) -> None:
    """Print how many reports each kind of link labelled, and how many were left out and why.

    A table for people ends with the note.
    """
    from tosloc.terminal.printing import Form, Table, count_cell

    values = {**counts, "file": str(file) if counts["reports"] else None}
    label = "linked" if counts["tracker"] else "used"
    rows = [[f"{label}: {kind}", count_cell(number)] for kind, number in counts["linked"].items()]
    if counts["with_cause"]:
        cause = "of these, with the commit that introduced it"
        rows.append([cause, count_cell(counts["with_cause"])])
    rows += [[f"left out: {why}", count_cell(number)] for why, number in counts["left_out"].items()]
    unit = "issues" if counts["tracker"] else "commits"
    rows.append([f"all {unit} that were read", count_cell(counts["read"])])
    table = Table([counts["tracker"] or "commit messages", unit], rows, note=note)
    Form.chosen(as_json).print(values, [table])
