"""Progress of long work on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from tosloc.records import Progress, silent


@contextmanager
def shown() -> Iterator[Progress]:
    """A progress callback: bars with the time that is left on a terminal, elsewhere nothing."""
    if not sys.stderr.isatty():
        yield silent
        return
    columns = SpinnerColumn(finished_text=" "), TextColumn("{task.description}"), BarColumn(bar_width=None)
    more = MofNCompleteColumn(), TimeRemainingColumn()
    with Bars(*columns, *more, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total or None)
            bars.update(tasks[what], completed=done, total=total or None)

        yield show
