"""An answer on standard output, for people: on a terminal with bars, colours and links, elsewhere as plain text."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from rich.console import Console
from rich.style import Style
from rich.text import Text

from tosloc.answer import Answer, background_told, percent
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
Link: TypeAlias = Callable[[str, tuple[int, int] | None], str | None]
"""Where a file can be opened, with lines where its page can show them."""


def print_answer(answer: Answer, repository: Repository | None = None, before: int = 0) -> None:
    """Print what was searched, and each hit with its functions and reasons; its notes are left to the caller. An empty
    line parts it from others ``before``.

    Paths are whole and can be copied; on a terminal reasons go on in further lines, a pipe gets them in one each.
    """
    console = Console(highlight=False, markup=False, emoji=False)
    # the console of Linux prints what it should hide of a link
    links = console.is_terminal and not console.is_dumb_terminal and os.environ.get("TERM") != "linux"
    pages = WebPages.of(repository.remote_url()) if links and repository is not None else None

    def link(path: str, lines: tuple[int, int] | None) -> str | None:
        here = _in_work_tree(path, repository) if links else None
        if pages is None or (here is not None and lines is None):
            return None if here is None else here.as_uri()
        return pages.file(answer.commit, path, lines)

    def wrapped(line: Text, indent: int) -> None:
        room = max(console.width - indent, 20)
        for part in line.wrap(console, room) if console.is_terminal else [line]:
            part.rstrip()
            console.print(Text(" " * indent).append_text(part), soft_wrap=True)

    report, searched = answer.report, answer.searched
    if before:
        console.print()
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
            eighths = round(max(0.0, min(hit.share, 1.0)) * BAR * 8)
            bar = (_EIGHTHS[-1] * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()
            place.append(f"{bar:<{BAR}} ", style="green")
        place.append(f"{percent(hit.share):>4}  ")
        place.append(printable(hit.path), style=Style(color="cyan", link=link(hit.path, None)))
        console.print(place, soft_wrap=True)
        for below in _below(hit, link):
            wrapped(below, widest + 3)
    others = ", ".join(f"{hit.path} ({hit.why[0].text})" for hit in answer.others)
    below = [f"other files: {others}"] if others else []
    for said in (*below, *(told.text for told in background_told(answer))):
        wrapped(Text(cut(printable(said), LONGEST), style="dim"), 0)


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
    if not answer.hits:
        raise ToslocError("--open: no file can be named")
    hit = answer.hits[0]
    file = _in_work_tree(hit.path, repository)
    if file is None:
        raise ToslocError(f"--open: {hit.path} is not in the work tree; check out {answer.commit[:10]}")
    code = Path(editor[0]).stem in VS_CODE
    place = ["-g", f"{file}:{_line(hit)}"] if code else [f"+{_line(hit)}", str(file)]
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


def _below(hit: Hit, link: Link) -> Iterator[Text]:
    """Functions and reasons of a hit, a line each."""
    named = []
    for function in hit.functions:
        address = link(hit.path, (function.start, function.end))
        name = Text(printable(function.name), style=Style(color="yellow", link=address))
        named.append(name.append(f":{function.start}-{function.end}", style=Style(dim=True, color="default")))
    if named:
        yield Text("  ").join(named)
    for reason in hit.why:
        shown = printable(cut(reason.text, LONGEST))
        text = Text(shown, style="dim")
        if reason.url is not None and reason.commit is not None and (start := shown.find(reason.commit[:10])) >= 0:
            text.stylize(Style(link=reason.url), start, start + 10)
        yield text
