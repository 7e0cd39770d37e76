"""An answer on standard output, for people: on a terminal with bars, colours and links, elsewhere as plain text."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.style import Style
from rich.text import Text

from tosloc.answer import Answer, background_lines, percent
from tosloc.errors import ToslocError, counted
from tosloc.git.discovery import WebPages
from tosloc.io import cut, printable
from tosloc.records import Hit

if TYPE_CHECKING:
    from tosloc.git.repository import Repository

BAR: Final = 8
"""Cells of a full bar."""
NARROW: Final = 60
"""Columns below which a terminal gets no bars."""
LONGEST: Final = 240
"""Letters of a heading or a reason that are printed."""
VS_CODE: Final = frozenset({"code", "code-insiders", "codium", "vscodium", "cursor", "windsurf"})
"""Editors that take a line as -g FILE:LINE, and not as +LINE FILE."""
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"


def print_answer(answer: Answer, repository: Repository | None = None, *, again: bool = False) -> None:
    """Print what was searched, and each hit with its functions and reasons; its notes are left to the caller.

    Paths are whole and can be copied; on a terminal reasons go on in further lines, a pipe gets them in one each.
    """
    console = Console(highlight=False, markup=False, emoji=False)
    # the console of Linux prints what it should hide of a link
    links = console.is_terminal and not console.is_dumb_terminal and os.environ.get("TERM") != "linux"
    places = Links(answer, repository) if links else None
    if again:
        console.print()
    report, searched = answer.report, answer.searched
    heading = printable(cut(f"{report.id}: {report.summary}" if report.summary else report.id, LONGEST))
    console.print(Text(heading, style="bold"), soft_wrap=True)
    tests = f"; {counted(searched.hidden_tests, 'test file')} hidden (--tests)" if searched.hidden_tests else ""
    files = f"{counted(searched.files, 'file')} of {answer.commit[:10]}, {answer.committed:%Y-%m-%d}"
    changed = f", {counted(searched.uncommitted, 'file')} not committed" if searched.uncommitted else ""
    console.print(Text(f"{files}{changed}{tests}", style="dim"), soft_wrap=True)
    widest = max((len(str(hit.rank)) for hit in answer.hits), default=1)
    for hit in answer.hits:
        place = Text(f"{hit.rank:>{widest}}  ")
        if console.is_terminal and console.width >= NARROW:
            place.append(f"{_bar(hit.share, console):<{BAR}} ", style="green")
        place.append(f"{percent(hit.share):>4}  ")
        link = None if places is None else places.file(hit.path)
        console.print(place.append(printable(hit.path), style=Style(color="cyan", link=link)), soft_wrap=True)
        for line in _below(hit, places):
            room = console.width - widest - 3
            for part in line.wrap(console, max(room, 20)) if console.is_terminal else [line]:
                part.rstrip()
                console.print(Text(" " * (widest + 3)).append_text(part), soft_wrap=True)
    others = ", ".join(f"{printable(hit.path)} ({printable(hit.why[0].text)})" for hit in answer.others)
    below = [f"other files: {others}"] if others else []
    for line in (*below, *map(printable, background_lines(answer))):
        console.print(Text(cut(line, LONGEST), style="dim"), soft_wrap=not console.is_terminal)


def print_places(answer: Answer, repository: Repository | None = None) -> None:
    """Print ``file:line:column: function, share`` of each hit, for editors.

    What is in the work tree is named from the current folder, the rest from the repository's root.
    """
    for hit in answer.hits:
        here = _in_work_tree(hit.path, repository)
        path = hit.path if here is None else os.path.relpath(here)
        said = ", ".join([*(function.name for function in hit.functions[:1]), percent(hit.share)])
        print(printable(f"{path}:{_line(hit)}:1: {said}"))


def editor_for(repository: Repository | None) -> list[str]:
    """Words of the command of the user's editor. Raises ToslocError where it could open nothing."""
    if repository is None or repository.work_tree is None:
        raise ToslocError("--open: there is no work tree to open files of; name one with --repo")
    if not (os.isatty(0) and os.isatty(1)):
        raise ToslocError("--open: needs a terminal; --format path prints what editors read")
    try:
        words = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "")
    except ValueError:  # an open quotation mark
        words = []
    if not words:
        raise ToslocError("--open: neither VISUAL nor EDITOR names an editor; set one, as in: export EDITOR=vim")
    return words


def open_first(editor: Sequence[str], answer: Answer, repository: Repository | None) -> None:
    """Open the first hit in an editor, and wait for it. Raises ToslocError."""
    [hit] = answer.top(1)
    file = _in_work_tree(hit.path, repository)
    if file is None:
        raise ToslocError(f"--open: {hit.path} is not in the work tree; check out {answer.commit[:10]}")
    if Path(editor[0]).stem in VS_CODE:
        place = ["-g", f"{file}:{_line(hit)}"]
    else:
        place = [f"+{_line(hit)}", str(file)]
    sys.stdout.flush()
    signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is the editor's
    try:
        subprocess.run([*editor, *place], check=False)
    except OSError as error:
        raise ToslocError(f"--open: {editor[0]} cannot be run ({error.strerror}); set VISUAL or EDITOR") from error


def _line(hit: Hit) -> int:
    """Where to look first: its best function, else the first place that a reason names."""
    places = [*(function.start for function in hit.functions), *(why.lines[0] for why in hit.why if why.lines)]
    return places[0] if places else 1


def _in_work_tree(path: str, repository: Repository | None) -> Path | None:
    """A file of the work tree; None where it is not there."""
    root = None if repository is None else repository.work_tree
    return root / path if root is not None and (root / path).is_file() else None


class Links:
    """Where files and commits can be opened: the work tree's files, else pages on the web; None where there is none."""

    def __init__(self, answer: Answer, repository: Repository | None) -> None:
        self.commit = answer.commit
        self.pages = None if repository is None else WebPages.of(repository.remote_url())
        self.repository = repository

    def file(self, path: str, lines: tuple[int, int] | None = None) -> str | None:
        """Address of a file, with lines where its page can show them."""
        here = _in_work_tree(path, self.repository)
        local = None if here is None else here.as_uri()
        if self.pages is None or (local is not None and lines is None):
            return local
        return self.pages.file(self.commit, path, lines)


def _below(hit: Hit, links: Links | None) -> Iterator[Text]:
    """Functions and reasons of a hit, a line each."""
    named = []
    for function in hit.functions:
        link = None if links is None else links.file(hit.path, (function.start, function.end))
        name = Text(printable(function.name), style=Style(color="yellow", link=link))
        named.append(name.append(f":{function.start}-{function.end}", style=Style(dim=True, color="default")))
    if named:
        yield Text("  ").join(named)
    for reason in hit.why:
        shown = printable(cut(reason.text, LONGEST))
        text = Text(shown, style="dim")
        if reason.url is not None and reason.commit is not None and (start := shown.find(reason.commit[:10])) >= 0:
            text.stylize(Style(link=reason.url), start, start + 10)
        yield text


def _bar(share: float, console: Console) -> str:
    """A bar of eighths of a cell, where the terminal can show them."""
    eighths = round(max(0.0, min(share, 1.0)) * BAR * 8)
    if console.options.ascii_only:
        return "#" * round(eighths / 8)
    return (_EIGHTHS[-1] * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()
