"""Progress of long work on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress as Bars
from rich.progress import TaskID

from tosloc.records import Progress


@contextmanager
def shown() -> Iterator[Progress]:
    """A progress callback: bars with the time that is left on a terminal, elsewhere nothing."""
    with Bars(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bars:
        tasks: dict[str, TaskID] = {}

        def show(what: str, done: int, total: int) -> None:
            bars.start()
            if what not in tasks:
                tasks[what] = bars.add_task(what)
            bars.update(tasks[what], completed=done, total=total or None)
            if bars.finished and not bars.disable:  # an answer may be printed now: nothing stands in its line
                bars.stop()
                for task in tasks.values():
                    bars.remove_task(task)
                tasks.clear()

        yield show
