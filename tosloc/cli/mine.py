"""``tosloc mine``: make labelled reports of a project's own issues, for ``tosloc train``."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tosloc.cli.options import CommitOption, NamedRepositoryOption
from tosloc.core.errors import ReportError, ToslocError, pluralize
from tosloc.terminal.options import JsonOption

if TYPE_CHECKING:
    from tosloc.core.progress import Progress
    from tosloc.git.repository import Repository
    from tosloc.mine.issues import Exports
    from tosloc.mine.links import MiningResult

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
        help="Fetch the closed issues of this GitHub project. The token comes from $GITHUB_TOKEN"
        " or gh.",
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
    left out.
    """
    from tosloc.core.io import write_text
    from tosloc.git import discovery
    from tosloc.git.repository import Repository
    from tosloc.mine import links
    from tosloc.mine.issues import Exports
    from tosloc.reports.mentions import compile_pattern
    from tosloc.storage.cache import default_store, note_use
    from tosloc.terminal.printing import progress_bars

    has_issues = bool(exports) or github is not None
    patterns = [compile_pattern(text) for text in pattern or ()]
    if patterns and not has_issues:
        raise ToslocError(
            "--pattern links commits to issues, but no issues are given;"
            " name an export of issues, or --github"
        )
    issues = Exports(all_labels)
    with (
        Repository(repo or discovery.current_repository()) as repository,
        progress_bars() as callback,
    ):
        file = out or mined_reports_path(repository)
        _read_issues(issues, exports or (), github, callback)
        web_pages = discovery.WebPages.of(repository.remote_url())
        if web_pages is not None:
            issues.projects.add(web_pages.project.split("/", 3)[3].lower())
        if has_issues:
            mined = links.mine(repository, issues, tip=commit, patterns=patterns)
        else:
            mined = links.mine_messages(repository, tip=commit)
        if mined.reports and out is None:
            note_use(repository, default_store(repository))
    if mined.reports:
        write_text(file, "".join(json.dumps(report) + "\n" for report in mined.reports))
    _print_counts(mined, file, as_json)
    if not mined.reports:
        read = pluralize(mined.read, "issue" if mined.tracker else "fixing commit")
        raise ReportError(f"no usable fix was found for {read}, so no reports were written")
    number = pluralize(len(mined.reports), "report")
    command = _training_command(repo, out)
    print(f"tosloc: wrote {number} to {file}; now run: {command}", file=sys.stderr)


def _read_issues(
    issues: Exports, exports: Sequence[Path], github: str | None, callback: Progress
) -> None:
    """Add the issues of exported files and of a project at GitHub.

    Raises ReportError if a file is missing or cannot be read.
    """
    from tosloc.core.inputs import read_text
    from tosloc.mine.github import fetch_issues, read_token
    from tosloc.mine.issues import GITHUB_ISSUES

    for export in exports:
        if str(export) == "-":
            issues.add(*read_text("-"))
            continue
        if not export.exists():
            raise ReportError(
                f"{export}: no such file",
                hint="check the path, let {github} fetch the issues of a GitHub project, or export"
                f" them with: {GITHUB_ISSUES} > issues.json",
            )
        issues.add(*read_text(export))
    if github is not None:
        issues.projects.add(github.lower())
        records = fetch_issues(github, read_token(), progress=callback)
        issues.add(json.dumps(records), f"GitHub project {github}")


def _training_command(repo: Path | None, reports: Path | None) -> str:
    """Return the command that trains on what was mined with these options."""
    command = "tosloc train"
    if repo is not None:
        command += f" --repo {repo}"
    if reports is not None:
        command += f" --reports {reports}"
    return command


def mined_reports_path(repository: Repository) -> Path:
    """Return the file of a repository's mined reports, in the user's cache beside its facts."""
    from tosloc.storage.cache import default_store

    return default_store(repository).with_name("reports.jsonl")


def _print_counts(mined: MiningResult, file: Path, as_json: bool) -> None:
    """Print how many reports were linked in which way, and how many were left out for what."""
    from tosloc.terminal.printing import Form, Table, count_cell

    left_out = dict(mined.left_out.most_common())
    values = {
        "tracker": mined.tracker or None,
        "weak": not mined.tracker,
        "read": mined.read,
        "linked": mined.kinds,
        "left_out": left_out,
        "with_cause": mined.with_cause,
        "reports": len(mined.reports),
        "file": str(file) if mined.reports else None,
    }
    label = "linked" if mined.tracker else "used"
    rows = [[f"{label}: {kind}", count_cell(number)] for kind, number in mined.kinds.items()]
    if mined.with_cause:
        rows.append(["of these, with the commit that introduced it", count_cell(mined.with_cause)])
    rows += [[f"left out: {why}", count_cell(number)] for why, number in left_out.items()]
    unit = "issues" if mined.tracker else "commits"
    rows.append([f"all {unit} that were read", count_cell(mined.read)])
    note = ""
    if not mined.tracker:
        note = (
            "These reports are weak: a commit message describes its own fix, which is easier to"
            " locate than what users write."
        )
    table = Table([mined.tracker or "commit messages", unit], rows, note=note)
    Form.chosen(as_json).print(values, [table])
