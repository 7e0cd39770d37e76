"""Timing: processor time in turns, memory, and the rows that come of it."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tosloc.errors import ToslocError

ROUNDS = 5
GIB = 2**30


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison."""

    name: str
    value: float
    reference: float

    @property
    def ratio(self) -> float:
        """Value / reference."""
        return self.value / self.reference


def say(text: str) -> None:
    """Progress, on standard error."""
    print(f"bench: {text}", file=sys.stderr, flush=True)


def seconds(call: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Time of one call."""
    start = clock()
    call()
    return clock() - start


def with_children() -> float:
    """Processor time of this process and of those that it has started and that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def in_turns(
    calls: Sequence[Callable[[], object]], rounds: int = ROUNDS, clock: Callable[[], float] = time.process_time
) -> list[float]:
    """Median processor time of each call, all called once a round, in an order that changes from round to round."""
    times = np.zeros((rounds, len(calls)))
    for number in range(rounds):
        for place in np.roll(np.arange(len(calls)), number).tolist():
            times[number, place] = seconds(calls[place], clock)
    return [float(median) for median in np.median(times, axis=0)]


def mean_in_turns(sides: Iterable[Sequence[Callable[[], object]]], **options: Any) -> list[float]:
    """The same of several reports, each with its calls: the means."""
    return [float(mean) for mean in np.mean([in_turns(calls, **options) for calls in sides], axis=0)]


def alone(code: str, *arguments: str) -> dict[str, Any]:
    """What a program prints that runs in a process of its own."""
    done = subprocess.run([sys.executable, "-P", "-c", code, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["no message"]
        raise ToslocError(f"evaluating {arguments[0]} failed: {said[-1]}")
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def peak_memory(arguments: Sequence[str]) -> float:
    """Largest sum of the resident memory of a ``tosloc`` command's processes.

    A process's own high-water mark counts where it is more than what was seen of all.
    """
    command = [sys.executable, "-P", "-m", "tosloc", *arguments]
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        largest = 0
        try:
            while process.poll() is None:
                now = [memory_of(one) for one in family(process.pid)]
                largest = max(largest, sum(resident for resident, _ in now), *(mark for _, mark in now), 0)
                time.sleep(0.05)
        finally:
            process.kill()
            process.wait()
        if process.returncode:
            errors.seek(0)
            said = errors.read().decode("utf-8", "replace").strip().splitlines() or ["no message"]
            raise ToslocError(f"tosloc {arguments[0]} failed: {said[-1]}")
    return float(largest)


def family(root: int) -> list[int]:
    """A process and all that come from it."""
    found = [root]
    for one in found:  # which grows
        for tasks in Path(f"/proc/{one}/task").glob("*/children"):
            with suppress(OSError):  # it has ended
                found += map(int, tasks.read_text().split())
    return found


def memory_of(process: int) -> tuple[int, int]:
    """Resident memory of a process now, and its high-water mark, in bytes."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0, 0
    kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.startswith(("VmRSS", "VmHWM"))}
    return kilobytes.get("VmRSS", 0) * 1024, kilobytes.get("VmHWM", 0) * 1024
