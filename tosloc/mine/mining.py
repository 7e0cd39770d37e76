"""Make labelled reports from a project's issues, or from its commit messages without issues."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from tosloc.core.errors import ConfigError, ReportError
from tosloc.core.inputs import read_text
from tosloc.core.progress import Progress, ignore_progress
from tosloc.git.discovery import WebPages
from tosloc.git.repository import Repository
from tosloc.mine.github import fetch_issues, read_token
from tosloc.mine.issues import GITHUB_ISSUES, Exports
from tosloc.mine.links import MiningResult, mine, mine_messages
from tosloc.retrieval.history import TrackerIssues
from tosloc.storage.cache import CacheEntry


def mine_reports(
    repository: Repository,
    exports: Sequence[Path] = (),
    github: str | None = None,
    *,
    tip: str = "HEAD",
    patterns: Sequence[str] = (),
    all_labels: bool = False,
    progress: Progress = ignore_progress,
) -> MiningResult:
    """Return labelled reports from exported issues, and from a project's issues at GitHub.

    ``exports`` are files; - is standard input. ``github`` is OWNER/NAME. ``patterns`` are regular
    expressions that find ids of issues in commit messages. Without ``exports`` and ``github``,
    commit messages take the place of reports. Raises ReportError if a file is missing or cannot be
    read.
    """
    compiled_patterns = [compile_pattern(pattern) for pattern in patterns]
    issues = _read_exports(exports, all_labels=all_labels)
    if github is not None:
        issues.projects.add(github.lower())
        records = fetch_issues(github, read_token(), progress=progress)
        issues.add(json.dumps(records), f"GitHub project {github}")
    web_pages = WebPages.of(repository.remote_url())
    if web_pages is not None:
        issues.projects.add(_project_name(web_pages).lower())
    if not exports and github is None:
        result = mine_messages(repository, tip=tip)
        result.issues_command = _github_command(repository)
        return result
    return mine(repository, issues, tip=tip, patterns=compiled_patterns)


def _github_command(repository: Repository) -> str:
    """Return the command that mines the issues of a repository's project at GitHub.

    Its name is that of the repository's remote, or OWNER/NAME if the remote is not at GitHub.
    """
    web_pages = WebPages.of(repository.remote_url())
    if web_pages is None or web_pages.host != "github":
        return "tosloc mine --github OWNER/NAME"
    return f"tosloc mine --github {_project_name(web_pages)}"


def _project_name(web_pages: WebPages) -> str:
    """Return OWNER/NAME of a project."""
    return web_pages.project.split("/", 3)[3]


def read_tracker_issues(
    repository: Repository,
    exports: Sequence[Path] = (),
    progress: Progress = ignore_progress,
    *,
    options: str = "",
) -> TrackerIssues:
    """Return the issues of exports, or the issues that ``tosloc mine`` stored for a repository.

    Raises ReportError if there are none, and CheckpointError if the stored ones are damaged. The
    command that stores issues, which the sentence recommends, ends with ``options``.
    """
    if exports:
        return _read_exports(exports).tracker_issues(progress)
    file = CacheEntry.of(repository).tracker_issues
    if not file.exists():
        raise ReportError(
            "no issues of this project are known",
            hint=f"run {_github_command(repository)}{options}, or name an export of them with"
            f" {{issues}}: {GITHUB_ISSUES} > issues.json",
        )
    return TrackerIssues.load(file)


def _read_exports(exports: Sequence[Path], *, all_labels: bool = False) -> Exports:
    """Return the issues of all exports. Raises ReportError."""
    issues = Exports(all_labels)
    for export in exports:
        issues.add(*_read_export(export))
    return issues


def _read_export(export: Path) -> tuple[str, str]:
    """Return the text and the name of an export. Raises ReportError."""
    if str(export) == "-":
        return read_text("-")
    if not export.exists():
        raise ReportError(
            f"{export}: no such file",
            hint="check the path, let {github} fetch the issues of a GitHub project, or export"
            f" them with: {GITHUB_ISSUES} > issues.json",
        )
    return read_text(export)


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return a project's own pattern, compiled; its first group is an issue's id.

    Raises ConfigError if it is not a regular expression with a group.
    """
    try:
        compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ConfigError(
            f"{pattern!r} is not a regular expression: {error}", about="pattern"
        ) from error
    if not compiled.groups:
        raise ConfigError(
            f"{pattern!r} has no group",
            hint=r"put the issue's id in a group, as in 'Bug:(\d+)'",
            about="pattern",
        )
    return compiled
