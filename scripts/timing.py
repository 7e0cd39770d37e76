"""Processor time in turns, and what a command takes in a process of its own."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tosloc.core.errors import ToslocError

Call = Callable[[], object]


class Row(NamedTuple):
    """One comparison: seconds or bytes of both sides."""

    name: str
    value: float
    reference: float

    @property
    def ratio(self) -> float:
        return self.value / self.reference


class Usage(NamedTuple):
    """What a command took, with all processes that it started: seconds, and bytes at the peak."""

    processor: float
    wall: float
    own: int
    """What only memory can hold."""
    whole: int
    """With the pages of files that are mapped."""


def say(text: str) -> None:
    """Progress, on standard error."""
    print(f"bench: {text}", file=sys.stderr, flush=True)


def of_children() -> float:
    """Processor time of the processes that this one has started and that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return ended.ru_utime + ended.ru_stime


def processor_time() -> float:
    """Of this process and of its children."""
    return time.process_time() + of_children()


def in_turns(
    calls: Sequence[Call], rounds: int = 5, clock: Callable[[], float] = processor_time
) -> list[float]:
    """Median time of each call, all called once a round, in an order that changes from round to round."""
    times = np.zeros((rounds, len(calls)))
    for number in range(rounds):
        for place in np.roll(np.arange(len(calls)), number).tolist():
            start = clock()
            calls[place]()
            times[number, place] = clock() - start
    return [float(median) for median in np.median(times, axis=0)]


def mean_in_turns(sides: Iterable[Sequence[Call]]) -> list[float]:
    """The same of several reports, each with its calls: the means."""
    return [float(mean) for mean in np.mean([in_turns(calls) for calls in sides], axis=0)]


def watched(*command: str | Path, **environment: str) -> Usage:
    """Run a command of this Python and look at its memory every 20 ms. Raises ToslocError when it fails."""
    begun, before, own, whole = time.monotonic(), of_children(), 0, 0
    python = [sys.executable, "-P", *command]
    with subprocess.Popen(
        python, stdout=subprocess.DEVNULL, env=os.environ | environment
    ) as process:
        try:
            while process.poll() is None:
                now = _memory(process.pid)
                own = max(own, sum(one for one, _, _ in now))
                whole = max(whole, sum(one for _, one, _ in now), *(peak for _, _, peak in now), 0)
                time.sleep(0.02)
        finally:
            process.kill()
    if process.returncode:
        raise ToslocError(f"{' '.join(map(str, command))} failed; its words stand above")
    return Usage(of_children() - before, time.monotonic() - begun, own, whole)


def _memory(root: int) -> set[tuple[int, int, int]]:
    """Of a process and each that it has started: bytes that only memory can hold, with files, and the latter's peak.

    A set, because a child that is about to become another program still has its parent's.
    """
    found, waiting = set(), [root]
    while waiting:
        place = Path(f"/proc/{waiting.pop()}")
        with suppress(OSError):  # it has ended
            for tasks in place.glob("task/*/children"):
                waiting += map(int, tasks.read_text().split())
            status = dict(
                line.split(":", 1) for line in (place / "status").read_text().splitlines()
            )
            own, whole, peak = (
                int(status.get(name, "0 kB").split()[0]) << 10
                for name in ("RssAnon", "VmRSS", "VmHWM")
            )
            found.add((own, whole, peak))
    return found
