"""Progress of long work on standard error, with rate and time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars
from rich.text import Text

from tosloc.records import Progress, silent

SECONDS_BETWEEN_LINES = 10.0


class _Rate(ProgressColumn):
    """How many are done each second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed and speed >= 10 else f"{speed:.1f}/s" if speed else "")


@contextmanager
def shown(wanted: bool | None, stream: TextIO | None = None) -> Iterator[Progress]:
    """A progress callback: bars on a terminal, elsewhere if ``wanted`` lines, else nothing.

    Lines, for a log, come at most one each ten seconds, and one at the end of each work.
    """
    stream = stream or sys.stderr
    if wanted is False or (wanted is None and not stream.isatty()):
        yield silent
    elif not stream.isatty():
        last = 0.0

        def line(what: str, done: int, total: int) -> None:
            nonlocal last
            if time.monotonic() - last < SECONDS_BETWEEN_LINES and (done != total or not total):
                return
            last = time.monotonic()
            print(f"{what}: {done}/{total}" if total else f"{what}: {done}", file=stream, flush=True)

        yield line
    else:
        columns = (
            SpinnerColumn(finished_text=" "),
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            _Rate(),
            TimeRemainingColumn(),
        )
        with Bars(*columns, console=Console(file=stream), transient=True) as bars:
            tasks: dict[str, TaskID] = {}

            def show(what: str, done: int, total: int) -> None:
                if what not in tasks:
                    tasks[what] = bars.add_task(what, total=total or None)
                bars.update(tasks[what], completed=done, total=total or None)

            yield show
