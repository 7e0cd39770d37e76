"""Read the arguments that name bug reports (files, issues, texts) and folders to search."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tosloc.core.errors import ReportError, ToslocError
from tosloc.core.io import truncate_text

if TYPE_CHECKING:
    from tosloc.core.reports import BugReport
    from tosloc.git.repository import Repository

_SPECIAL_IN_GLOBS: Final = re.compile(r"[\\*?\[\]]")
_MAX_SUGGESTED_CHARACTERS: Final = 60
"""Largest number of characters of a report in a suggested command."""


def read_all(
    sources: Sequence[str],
    opening_time: datetime | None,
    repo: Path | None,
    every_failure: bool,
) -> list[BugReport]:
    """Return the reports of all arguments, with ``opening_time`` as time of opening if given.

    ``read_new_reports`` explains ``every_failure``.
    """
    reports = []
    for source in sources:
        for report in read_reports(source, repo, every_failure):
            reports.append(replace(report, opened=opening_time or report.opened))
    return reports


def sort_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the arguments that are reports, and those that are folders to search.

    Raises ToslocError if there is no report, for several words that are not quoted, and for a
    source file instead of a report or beside one.
    """
    folders = [argument for argument in arguments if os.path.isdir(argument)]
    sources = [argument for argument in arguments if argument not in folders]
    if not sources and _has_piped_input():
        sources = ["-"]
    if not sources and folders:
        raise ToslocError(
            f"{folders[0]} is a folder, which only restricts the search; add a report:"
            f" tosloc localize 'what goes wrong' {folders[0]}"
        )
    if not sources:
        raise ToslocError("Missing argument 'REPORT'; see: tosloc localize --help")
    words = [source for source in sources if _is_word(source)]
    if len(words) > 1:
        text = shlex.quote(truncate_text(" ".join(words), _MAX_SUGGESTED_CHARACTERS))
        raise ReportError(
            f"{words[0]}: no such file; if this is the text of a report, put it in quotation marks:"
            f" tosloc localize {text}"
        )
    for source in sources:
        if _is_source_file(source):
            glob = _SPECIAL_IN_GLOBS.sub(r"\\\g<0>", os.path.basename(source))
            raise ReportError(_describe_source_file(source, glob, is_alone=len(sources) == 1))
    return sources, folders


def _is_source_file(source: str) -> bool:
    """Return whether an argument is an existing file that a search would rank, by its suffix."""
    from tosloc.code.languages import SOURCE_SUFFIXES

    return Path(source).suffix.lower() in SOURCE_SUFFIXES and os.path.isfile(source)


def _describe_source_file(source: str, glob: str, *, is_alone: bool) -> str:
    """Return a sentence on why a source file is no report, and how to search it with a glob."""
    problem = f"{source} is a source file and no report"
    include = f"--include {shlex.quote(glob)}"
    if not is_alone:
        return f"{problem}; to search only this file, use {include}"
    return (
        f"{problem}; describe the bug in quotation marks or in a text file, and add {include} to"
        f" search only this file: tosloc localize 'what goes wrong' {include}"
    )


def _has_piped_input() -> bool:
    """Return whether standard input is a pipe or a file, not a terminal or null device."""
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (AttributeError, OSError):  # It is closed, or not a stream of the system.
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)


def _is_word(source: str) -> bool:
    """Return whether an argument is a single word that does not name a file or an issue."""
    is_one_word = len(source.split()) == 1 and source != "-"
    if not is_one_word or os.path.exists(source):
        return False
    from tosloc.mine.github import IssueReference

    return IssueReference.parse(source) is None


def folder_globs(folders: Sequence[str], repository: Repository | None) -> list[str] | None:
    """Return globs for the files below folders of a work tree; None for all of its files.

    Raises ToslocError for folders outside the work tree.
    """
    work_tree = None if repository is None else repository.work_tree
    root = None if work_tree is None else work_tree.resolve()
    globs = []
    for folder in folders:
        path = Path(folder).resolve()
        if root is None or not path.is_relative_to(root):
            if root is None:
                problem = "a folder can restrict the search only in a work tree"
            else:
                problem = f"this folder is not inside {work_tree}"
            raise ToslocError(
                f"{folder}: {problem}; restrict the search with a glob, as in --include 'src/**'"
            )
        if path == root:
            return None
        escaped = _SPECIAL_IN_GLOBS.sub(r"\\\g<0>", path.relative_to(root).as_posix())
        globs.append(f"/{escaped}/")
    return globs


def read_reports(source: str, repo: Path | None, every_failure: bool) -> list[BugReport]:
    """Return the reports of an argument: a file, standard input, an issue at GitHub, or a text.

    ``read_new_reports`` explains ``every_failure``. Raises ReportError.
    """
    from tosloc.reports.issues import read_new_reports

    if source == "-":
        return read_new_reports("-", every_failure=every_failure)
    if os.path.exists(source):
        return read_new_reports(Path(source), every_failure=every_failure)
    from tosloc.mine.github import IssueReference  # here: it imports what speaks HTTP

    reference = IssueReference.parse(source)
    if reference is not None:
        if not reference.project:
            reference = IssueReference(_github_project(source, repo), reference.number)
        return read_new_reports(StringIO(json.dumps(reference.fetch())))
    if len(source.split()) == 1:
        raise ReportError(
            f"{source}: no such file or folder; check the path, or give the report's text (two"
            " words or more) or a GitHub issue ('#12', OWNER/REPO#12 or its address)"
        )
    return read_new_reports(StringIO(source))


def _github_project(source: str, repo: Path | None) -> str:
    """Return OWNER/NAME of the repository's remote, for an issue given by its number.

    Raises ReportError if the remote is not at github.com.
    """
    from tosloc.git import discovery
    from tosloc.git.repository import Repository
    from tosloc.mine.github import IssueReference

    with Repository(repo or discovery.current_repository()) as repository:
        web_pages = discovery.WebPages.of(repository.remote_url())
    if web_pages is not None:
        reference = IssueReference.parse(f"{web_pages.project}/issues/1")
        if reference is not None:
            return reference.project
    raise ReportError(
        f"{source}: the remote named origin is not on github.com; write OWNER/REPO{source}"
    )
