"""Answers on standard output: with bars, colours and links on a terminal, else as plain text."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.text import Text

from tosloc.core.errors import ToslocError, pluralize
from tosloc.core.io import escape_code_line, escape_unprintable, truncate_text
from tosloc.localize.answer import (
    Answer,
    background_lines,
    fixed_line,
    is_before_first_commit,
    percent,
    suspect_heading,
    suspect_origin,
    suspect_place,
)
from tosloc.terminal.printing import make_console

if TYPE_CHECKING:
    from rich.console import Console

    from tosloc.core.answers import Hit, SuspectChange
    from tosloc.git.repository import Repository

BAR_CELLS: Final = 8
"""Cells of a full bar."""
MAX_TEXT_CHARACTERS: Final = 240
"""Characters of a heading or a reason that are printed."""
MAX_CODE_CHARACTERS: Final = 100
"""Characters of a line of code that are printed."""
_SUSPECT_INDENT: Final = 2
_DIFF_STYLES: Final = {"+": "green", "-": "red"}
_MIN_WRAPPED_COLUMNS: Final = 20
"""Columns that a wrapped line has at least, whatever its indentation."""


def print_answer(answer: Answer, repository: Repository | None = None, before: int = 0) -> None:
    """Print what was searched, what the report states, and each hit with functions and reasons.

    The answer's notes are not printed. ``before`` is the number of answers that were printed
    before, from which an empty line separates this one. Paths are printed whole, so that they can
    be copied. On a terminal long reasons are wrapped; elsewhere each is one line.
    """
    console = make_console()
    if before:
        console.print()
    _print_heading(console, answer)
    for statement in answer.statements:
        text = truncate_text(escape_unprintable(statement), MAX_TEXT_CHARACTERS)
        _print_wrapped(console, Text(text))
    if answer.leads_with_suspects:
        _print_suspects(console, answer.suspects)
    rank_width = len(str(len(answer.hits)))
    for hit in answer.hits:
        _print_hit(console, hit, rank_width, repository)
    if answer.others:
        others = [f"{hit.path} ({hit.reasons[0].text})" for hit in answer.others]
        _print_wrapped(console, _dim(f"Other files: {', '.join(others)}"))
    for line in background_lines(answer):
        _print_wrapped(console, _dim(line.text))
    if answer.suspects and not answer.leads_with_suspects:
        _print_suspects(console, answer.suspects)


def _print_heading(console: Console, answer: Answer) -> None:
    """Print the report's name, whether it is fixed already, and what was searched."""
    report = answer.report
    name = f"{report.id}: {report.summary}" if report.summary else report.id
    heading = escape_unprintable(truncate_text(name, MAX_TEXT_CHARACTERS))
    _print_wrapped(console, Text(heading, "bold"))
    fixed = fixed_line(answer)
    if fixed is not None:
        line = escape_unprintable(truncate_text(fixed.text, MAX_TEXT_CHARACTERS))
        _print_wrapped(console, Text(line, "yellow"))
    scope = f"Searched {pluralize(answer.searched.files, 'file')} {_version_text(answer)}"
    hidden_tests = answer.searched.hidden_tests
    if hidden_tests:
        scope += f"; {pluralize(hidden_tests, 'test file')} hidden (--tests)"
    hidden_files = answer.searched.hidden_files
    if hidden_files:
        scope += f"; {pluralize(hidden_files, 'generated or vendored file')} hidden (--all-files)"
    _print_wrapped(console, _dim(scope))


def _version_text(answer: Answer) -> str:
    """Return which version was searched: a commit, with changes on disk, or only files on disk."""
    if is_before_first_commit(answer.commit):
        return "on disk; nothing is committed yet"
    version = f"of commit {answer.commit[:10]} ({answer.committed:%Y-%m-%d})"
    if not answer.searched.uncommitted:
        return version
    changes = pluralize(answer.searched.uncommitted, "uncommitted file")
    return f"{version} with {changes}"


def _print_hit(console: Console, hit: Hit, rank_width: int, repository: Repository | None) -> None:
    """Print a file with its rank and confidence, and below it its functions and reasons."""
    line = Text(f"{hit.rank:>{rank_width}}  ")
    if console.is_terminal:
        block = "█" if console.encoding.startswith("utf") else "#"
        line.append(f"{block * round(hit.confidence * BAR_CELLS):<{BAR_CELLS}} ", style="green")
    file = _file_on_disk(hit.path, repository)
    style = "cyan" if file is None else f"cyan link {file.as_uri()}"
    line.append(f"{percent(hit.confidence):>4}  ").append(escape_unprintable(hit.path), style)
    console.print(line, soft_wrap=True)
    indent = rank_width + 3
    if hit.functions:
        functions = []
        for function in hit.functions:
            name = Text(escape_unprintable(function.name), "yellow")
            functions.append(name.append(f":{function.start}-{function.end}", "dim default"))
        _print_wrapped(console, Text("  ").join(functions), indent)
    for reason in hit.reasons:
        _print_wrapped(console, _dim(reason.text), indent)
    for code_line in hit.code:
        # Code is not wrapped, so that it stays readable.
        code = truncate_text(escape_code_line(code_line.text.strip()), MAX_CODE_CHARACTERS)
        number = Text(f"{' ' * indent}{code_line.line}: ", "dim")
        console.print(number.append(code, "default"), soft_wrap=True)


def _print_suspects(console: Console, changes: Sequence[SuspectChange]) -> None:
    """Print past changes that may have introduced the fault, each with lines of its diff."""
    console.print(Text("Suspect changes, most suspect first:"), soft_wrap=True)
    for change in changes:
        heading = escape_unprintable(truncate_text(suspect_heading(change), MAX_TEXT_CHARACTERS))
        commit, _, rest = heading.partition(" ")
        style = "yellow" if change.url is None else f"yellow link {change.url}"
        line = Text(commit, style).append(f" {rest}", "default")
        _print_wrapped(console, line, _SUSPECT_INDENT)
        origin = suspect_origin(change)
        if origin:
            _print_wrapped(console, _dim(origin), 2 * _SUSPECT_INDENT)
        _print_wrapped(console, _dim(suspect_place(change)), 2 * _SUSPECT_INDENT)
        for diff_line in change.diff:
            # Code is not wrapped, so that it stays readable.
            code = truncate_text(escape_code_line(diff_line.rstrip()), MAX_CODE_CHARACTERS)
            text = Text(" " * 2 * _SUSPECT_INDENT).append(code, _DIFF_STYLES.get(code[:1], "dim"))
            console.print(text, soft_wrap=True)


def _print_wrapped(console: Console, text: Text, indent: int = 0) -> None:
    """Print a line with an indentation, on a terminal wrapped to its width."""
    width = max(console.width - indent, _MIN_WRAPPED_COLUMNS)
    lines = text.wrap(console, width) if console.is_terminal else [text]
    for line in lines:
        line.rstrip()
        console.print(Text(" " * indent).append_text(line), soft_wrap=True)


def _dim(text: str) -> Text:
    """Return a text in a dim style, escaped and truncated."""
    return Text(truncate_text(escape_unprintable(text), MAX_TEXT_CHARACTERS), style="dim")


def print_locations(answer: Answer, repository: Repository | None = None) -> None:
    """Print ``file:line:column: function, confidence`` of each hit, for editors.

    The line is the first of the hit's best function, else the first that a reason names. Paths of
    files in the work tree are relative to the current folder, others to the repository's root.
    """
    for hit in answer.hits:
        file = _file_on_disk(hit.path, repository)
        path = hit.path if file is None else os.path.relpath(file)
        function_names = [function.name for function in hit.functions[:1]]
        description = ", ".join([*function_names, percent(hit.confidence)])
        print(escape_unprintable(f"{path}:{_first_line(hit)}:1: {description}"))


def open_first(answer: Answer, repository: Repository | None) -> None:
    """Open the first hit in the user's editor, at the line of its best function.

    Raises ToslocError if the hit is not in the work tree, or the editor cannot be started.
    """
    file = _file_on_disk(answer.hits[0].path, repository) if answer.hits else None
    if file is None:
        raise ToslocError("--open: the answer's first file is not in the work tree")
    line = _first_line(answer.hits[0])
    try:
        editor = shlex.split(os.environ.get("VISUAL") or os.environ["EDITOR"])
        if Path(editor[0]).stem.startswith("code"):
            arguments = ["--goto", f"{file}:{line}"]
        else:
            arguments = [f"+{line}", str(file)]
        subprocess.run([*editor, *arguments], check=False)
    # LookupError: there is no name. ValueError: a quotation mark is not closed. OSError: there is
    # no such program.
    except (LookupError, ValueError, OSError) as error:
        detail = f" ({error})" if isinstance(error, OSError) else ""
        raise ToslocError(
            f"--open: no editor can be started; set one, as in: export EDITOR=vim{detail}"
        ) from error


def _first_line(hit: Hit) -> int:
    """Return the first line of the best function, else the first that a reason names, else 1."""
    if hit.functions:
        return hit.functions[0].start
    for reason in hit.reasons:
        if reason.lines:
            return reason.lines[0]
    return 1


def _file_on_disk(path: str, repository: Repository | None) -> Path | None:
    """Return a file of the work tree, None if it is not there."""
    work_tree = None if repository is None else repository.work_tree
    if work_tree is None:
        return None
    file = work_tree / path
    return file if file.is_file() else None
