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
from tosloc.records import Function, Hit, Reason

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
    for line in _heading(answer):
        console.print(line, soft_wrap=True)
    widest = max((len(str(hit.rank)) for hit in answer.hits), default=1)
    for hit in answer.hits:
        console.print(_place(hit, widest, console, places), soft_wrap=True)
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
        if here is not None and lines is None and here.is_file():
            return here.as_uri()
        if self.pages is not None:
            return self.pages.file(self.commit, path, lines)
        return here.as_uri() if here is not None and here.is_file() else None


def _heading(answer: Answer) -> Iterator[Text]:
    report = answer.report
    yield Text(printable(f"{report.id}: {report.summary}" if report.summary else report.id), style="bold")
    hidden = answer.searched.hidden_tests
    tests = f"; {counted(hidden, 'test file')} hidden (--tests)" if hidden else ""
    files = f"{counted(answer.searched.files, 'file')} of {answer.commit[:10]}, {answer.committed:%Y-%m-%d}"
    yield Text(f"{files}{tests}", style="dim")


def _place(hit: Hit, widest: int, console: Console, links: Links | None) -> Text:
    """Rank, share and path of a hit."""
    line = Text(f"{hit.rank:>{widest}}  ")
    if console.is_terminal and console.width >= NARROW:
        line.append(f"{_bar(hit.share, console):<{BAR}} ", style="green")
    line.append(f"{percent(hit.share):>4}  ")
    link = None if links is None else links.file(hit.path)
    return line.append(printable(hit.path), style=Style(color="cyan", link=link))


def _below(hit: Hit, links: Links | None) -> Iterator[Text]:
    """Functions and reasons of a hit, a line each."""
    if hit.functions:
        line = Text()
        for number, function in enumerate(hit.functions):
            line.append("  " if number else "")
            line.append_text(_function(hit.path, function, links))
        yield line
    for reason in hit.why:
        yield _reason(reason)


def _function(path: str, function: Function, links: Links | None) -> Text:
    link = None if links is None else links.file(path, (function.start, function.end))
    text = Text(printable(function.name), style=Style(color="yellow", link=link))
    return text.append(f":{function.start}-{function.end}", style=Style(dim=True, color="default"))


def _reason(reason: Reason) -> Text:
    text = Text(printable(reason.text), style="dim")
    if reason.url is not None and reason.commit is not None:
        shown = printable(reason.text)
        start = shown.find(reason.commit[:10])
        if start >= 0:
            text.stylize(Style(link=reason.url), start, start + 10)
    return text


def _bar(share: float, console: Console) -> str:
    """A bar of eighths of a cell, where the terminal can show them."""
    eighths = round(max(0.0, min(share, 1.0)) * BAR * 8)
    if console.options.ascii_only:
        return "#" * round(eighths / 8)
    return (_EIGHTHS[-1] * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()
