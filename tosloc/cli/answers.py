"""An answer on standard output, for people: on a terminal with bars, colours and links, elsewhere as plain text."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.style import Style
from rich.text import Text

from tosloc.answer import Answer, percent
from tosloc.errors import counted
from tosloc.git.discovery import WebPages
from tosloc.io import printable
from tosloc.records import Hit

if TYPE_CHECKING:
    from tosloc.git.repository import Repository

BAR: Final = 8
"""Cells of a full bar."""
NARROW: Final = 60
"""Columns below which a terminal gets no bars."""
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
    heading = printable(f"{report.id}: {report.summary}" if report.summary else report.id)
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


class Links:
    """Where files and commits can be opened: the work tree's files, else pages on the web; None where there is none."""

    def __init__(self, answer: Answer, repository: Repository | None) -> None:
        self.commit = answer.commit
        self.pages = None if repository is None else WebPages.of(repository.remote_url())
        self.work_tree = None if repository is None else repository.work_tree

    def file(self, path: str, lines: tuple[int, int] | None = None) -> str | None:
        """Address of a file, with lines where its page can show them."""
        here = None if self.work_tree is None else self.work_tree / path
        local = here.as_uri() if here is not None and here.is_file() else None
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
        shown = printable(reason.text)
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
