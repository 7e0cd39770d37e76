"""An answer on standard output, for people: on a terminal with bars, colours and links, elsewhere as plain text."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.text import Text

from tosloc.cli.printing import make_console
from tosloc.core.errors import ToslocError, pluralize
from tosloc.core.io import escape_unprintable, truncate_text
from tosloc.localize.answer import Answer, background_lines, is_before_first_commit, percent

if TYPE_CHECKING:
    from tosloc.core.records import Hit
    from tosloc.git.repository import Repository

BAR: Final = 8
"""Cells of a full bar."""
LONGEST: Final = 240
"""Letters of a heading or a reason that are printed."""


def print_answer(answer: Answer, repository: Repository | None = None, before: int = 0) -> None:
    """Print what was searched, and each hit with its functions and reasons; its notes are left to the caller. An empty
    line parts it from others ``before``.

    Paths are whole and can be copied; on a terminal reasons go on in further lines, a pipe gets them in one each.
    """
    console = make_console()
    # of a terminal that cannot show the block
    bar = "█" if console.encoding.startswith("utf") else "#"

    def wrapped(line: Text, indent: int = 0) -> None:
        room = max(console.width - indent, 20)
        for part in line.wrap(console, room) if console.is_terminal else [line]:
            part.rstrip()
            console.print(Text(" " * indent).append_text(part), soft_wrap=True)

    report, searched = answer.report, answer.searched
    if before:
        console.print()
    heading = truncate_text(
        f"{report.id}: {report.summary}" if report.summary else report.id, LONGEST
    )
    console.print(Text(escape_unprintable(heading), "bold"), soft_wrap=True)
    tests = (
        f"; {pluralize(searched.hidden_tests, 'test file')} hidden (--tests)"
        if searched.hidden_tests
        else ""
    )
    searched_files = f"{pluralize(searched.files, 'file')} {_version_text(answer)}"
    console.print(Text(f"{searched_files}{tests}", "dim"), soft_wrap=True)
    widest = len(str(len(answer.hits)))
    for hit in answer.hits:
        place = Text(f"{hit.rank:>{widest}}  ")
        if console.is_terminal:
            place.append(f"{bar * round(hit.share * BAR):<{BAR}} ", style="green")
        here = _in_work_tree(hit.path, repository)
        style = "cyan" if here is None else f"cyan link {here.as_uri()}"
        console.print(
            place.append(f"{percent(hit.share):>4}  ").append(escape_unprintable(hit.path), style),
            soft_wrap=True,
        )
        named = [
            Text(escape_unprintable(one.name), "yellow").append(
                f":{one.start}-{one.end}", "dim default"
            )
            for one in hit.functions
        ]
        for below in [Text("  ").join(named)] * bool(named) + [
            _dim(reason.text) for reason in hit.why
        ]:
            wrapped(below, widest + 3)
    if answer.others:
        wrapped(
            _dim(
                f"other files: {', '.join(f'{hit.path} ({hit.why[0].text})' for hit in answer.others)}"
            )
        )
    for reason in background_lines(answer):
        wrapped(_dim(reason.text))


def _version_text(answer: Answer) -> str:
    """Return which version was searched: a commit, with changes on disk, or only files on disk."""
    if is_before_first_commit(answer.commit):
        return "on disk, nothing is committed yet"
    version = f"of {answer.commit[:10]}, {answer.committed:%Y-%m-%d}"
    if not answer.searched.uncommitted:
        return version
    return f"{version}, {pluralize(answer.searched.uncommitted, 'file')} not committed"


def _dim(text: str) -> Text:
    return Text(truncate_text(escape_unprintable(text), LONGEST), style="dim")


def print_places(answer: Answer, repository: Repository | None = None) -> None:
    """Print ``file:line:column: function, share`` of each hit, for editors: the line of its best function, else the
    first that a reason names.

    What is in the work tree is named from the current folder, the rest from the repository's root.
    """
    for hit in answer.hits:
        here = _in_work_tree(hit.path, repository)
        path = hit.path if here is None else os.path.relpath(here)
        said = ", ".join([*(function.name for function in hit.functions[:1]), percent(hit.share)])
        print(escape_unprintable(f"{path}:{_line(hit)}:1: {said}"))


def open_first(answer: Answer, repository: Repository | None) -> None:
    """Open the first hit in the user's editor, at the line of its best function. Raises ToslocError."""
    here = _in_work_tree(answer.hits[0].path, repository) if answer.hits else None
    if here is None:
        raise ToslocError("--open: no file of the work tree can be named")
    line = _line(answer.hits[0])
    try:
        editor = shlex.split(os.environ.get("VISUAL") or os.environ["EDITOR"])
        goto = (
            ["--goto", f"{here}:{line}"]
            if Path(editor[0]).stem.startswith("code")
            else [f"+{line}", str(here)]
        )
        subprocess.run([*editor, *goto], check=False)
    except (
        LookupError,
        ValueError,
        OSError,
    ) as error:  # no name, an open quotation mark, no such program
        said = f" ({error})" if isinstance(error, OSError) else ""
        raise ToslocError(
            f"--open: VISUAL or EDITOR must name an editor, as in: export EDITOR=vim{said}"
        ) from error


def _line(hit: Hit) -> int:
    """The first line of its best function, else the first that a reason names."""
    return [
        *(one.start for one in hit.functions),
        *(why.lines[0] for why in hit.why if why.lines),
        1,
    ][0]


def _in_work_tree(path: str, repository: Repository | None) -> Path | None:
    """A file of the work tree; None where it is not there."""
    root = None if repository is None else repository.work_tree
    return root / path if root is not None and (root / path).is_file() else None
