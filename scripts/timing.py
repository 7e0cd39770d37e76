"""Processor time of calls in turns, and what a command takes in a process of its own."""

from __future__ import annotations

import compileall
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
PACKAGE = Path(__file__).parents[1] / "tosloc"


class Row(NamedTuple):
    """One comparison: seconds or bytes of both sides."""

    name: str
    value: float
    reference: float

    @property
    def ratio(self) -> float:
        """The value as a multiple of the reference."""
        return self.value / self.reference


class Usage(NamedTuple):
    """What a command took, with all processes that it started: seconds, and bytes at the peak."""

    processor: float
    wall: float
    own: int
    """Memory that is not backed by files."""
    whole: int
    """Memory with the pages of mapped files."""


class _ProcessMemory(NamedTuple):
    """Memory of one process, in bytes."""

    own: int
    """Memory that is not backed by files."""
    whole: int
    """Memory with the pages of mapped files."""
    peak: int
    """The largest value of ``whole`` so far."""


def say(text: str) -> None:
    """Print progress on standard error."""
    print(f"bench: {text}", file=sys.stderr, flush=True)


def compile_package() -> None:
    """Write the bytecode of the package's changed modules, as installing a package does.

    Some containers set PYTHONDONTWRITEBYTECODE, with which each process would compile them again.
    """
    compileall.compile_dir(PACKAGE, quiet=1)


def children_time() -> float:
    """Return the processor time of this process's children that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def processor_time() -> float:
    """Return the processor time of this process and of its children."""
    return time.process_time() + children_time()


def median_times(
    calls: Sequence[Call], rounds: int = 5, clock: Callable[[], float] = processor_time
) -> list[float]:
    """Return the median time of each call.

    All are called once a round, in an order that changes from round to round.
    """
    times = np.zeros((rounds, len(calls)))
    for number in range(rounds):
        for position in np.roll(np.arange(len(calls)), number).tolist():
            start = clock()
            calls[position]()
            times[number, position] = clock() - start
    return [float(median) for median in np.median(times, axis=0)]


def mean_median_times(calls_by_report: Iterable[Sequence[Call]]) -> list[float]:
    """Return the means of ``median_times`` over reports, which have the same number of calls."""
    times = [median_times(calls) for calls in calls_by_report]
    return [float(mean) for mean in np.mean(times, axis=0)]


def measure_command(*command: str | Path, **environment: str) -> Usage:
    """Run a command of this Python and look at its memory every 20 ms.

    Raises ToslocError if it fails.
    """
    begun = time.monotonic()
    time_before = children_time()
    own = 0
    whole = 0
    python = [sys.executable, "-P", *command]
    with subprocess.Popen(
        python, stdout=subprocess.DEVNULL, env=os.environ | environment
    ) as process:
        try:
            while process.poll() is None:
                processes = _memory(process.pid)
                own = max(own, sum(memory.own for memory in processes))
                whole = max(whole, sum(memory.whole for memory in processes))
                for memory in processes:
                    whole = max(whole, memory.peak)
                time.sleep(0.02)
        finally:
            process.kill()
    if process.returncode:
        raise ToslocError(f"{' '.join(map(str, command))} failed; its messages are above")
    return Usage(children_time() - time_before, time.monotonic() - begun, own, whole)


def _memory(root: int) -> set[_ProcessMemory]:
    """Return the memory of a process and of each that it has started.

    It is a set, because a child that is about to become another program still has its parent's
    memory.
    """
    processes = set()
    waiting = [root]
    while waiting:
        folder = Path(f"/proc/{waiting.pop()}")
        with suppress(OSError):  # The process has ended.
            for children in folder.glob("task/*/children"):
                waiting += map(int, children.read_text().split())
            lines = (folder / "status").read_text().splitlines()
            status = dict(line.split(":", 1) for line in lines)
            values = [
                int(status.get(name, "0 kB").split()[0]) << 10
                for name in ("RssAnon", "VmRSS", "VmHWM")
            ]
            processes.add(_ProcessMemory(*values))
    return processes
