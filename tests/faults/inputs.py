"""Runs hostile cases, many in one forked process, and says which did not end as they must.

A case ends well with an answer (exit code 0, nothing on standard error but sentences of ours) or with one sentence and
exit code 2; in bounded time and memory; nothing of its repository has run, and nothing is left behind.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.faults import processes
from tests.faults.cases import Case, kind_of, kinds
from tests.faults.processes import MEMORY, SECONDS, Outcome, Place, left_over, orphans
from tests.faults.repositories import CANARY
from tests.faults.world import World

BATCH = 40
"""Cases of one process."""
LONGEST = 7_000
"""Letters of a sentence, which may name a path or an option as long as the system takes it."""
CHANNEL = 200
"""File descriptor on which that process tells of its cases."""


@dataclass(frozen=True)
class Failure:
    """A case that did not end as it must."""

    seed: int
    kind: str
    why: str
    arguments: list[str]
    said: str
    """End of standard error."""


@dataclass
class Tally:
    """What became of cases."""

    answered: Counter[str]
    refused: Counter[str]
    failures: list[Failure]
    slowest: float = 0.0

    @property
    def cases(self) -> int:
        """Number of cases that were run."""
        return self.answered.total() + self.refused.total() + len(self.failures)


def run_cases(
    world: World, seeds: Sequence[int], folder: Path, kind: str = ""
) -> Iterator[tuple[int, str, Failure | None, Outcome]]:
    """Run the cases of some seeds: seed, kind, the failure or None, and the outcome, in their order."""
    waiting = [(seed, name) for seed in seeds if (name := kind_of(seed)[0]).startswith(kind)]
    while waiting:
        done = 0
        for seed, name, failure, outcome in _batch(world, waiting[:BATCH], folder):
            done += 1
            yield seed, name, failure, outcome
            if failure is not None:
                break  # the process may be in a bad state: go on in a new one
        waiting = waiting[done:]


def _batch(
    world: World, batch: Sequence[tuple[int, str]], folder: Path
) -> Iterator[tuple[int, str, Failure | None, Outcome]]:
    """The first cases of a batch, up to one that fails."""
    shutil.rmtree(folder, ignore_errors=True)
    shared = Place(folder / "process").make()
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    sys.stdout.flush()
    process = os.fork()
    if not process:
        try:
            os.dup2(writing, CHANNEL, inheritable=False)
            _child(world, batch, folder, shared)
        except BaseException:
            import traceback

            os.write(CHANNEL, b"broken " + traceback.format_exc().replace("\n", " | ").encode() + b"\n")
        finally:
            os._exit(0)
    os.close(writing)
    lines = _Lines(reading, process)
    try:
        yield from _judged(batch, folder, shared, lines, process)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process, 9)
        with suppress(ChildProcessError):
            os.waitpid(process, 0)
        os.close(reading)


def _judged(
    batch: Sequence[tuple[int, str]], folder: Path, shared: Place, lines: _Lines, process: int
) -> Iterator[tuple[int, str, Failure | None, Outcome]]:
    for seed, name in batch:
        place = Place(folder / str(seed))
        made = lines.next(300)  # the case has been made, and begins
        if made is None and not lines.timed_out and seed != batch[0][0]:
            return  # it has ended to make room
        if made is None or not made.startswith(b"made "):
            raise RuntimeError(f"case {seed} ({name}) could not be made: {(made or b'').decode()}")
        arguments = json.loads(made[5:])
        started = time.monotonic()
        ended = lines.next(SECONDS)
        seconds = time.monotonic() - started
        code = killed = None
        codes, expected, memory = {0, 2}, None, 0
        if ended is not None and ended.startswith(b"broken "):
            code, killed = None, -1
            (place.folder / "stderr").write_bytes(b"Traceback (most recent call last) beside the command: " + ended)
            ended = None
        elif ended is not None:
            code, memory, codes, expected = json.loads(ended)
        elif not lines.timed_out:
            _, status = os.waitpid(process, 0)
            killed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
            code = os.waitstatus_to_exitcode(status) if killed is None else None
        out, err = (_text(place.folder / stream) for stream in ("stdout", "stderr"))
        outcome = Outcome(code, killed, lines.timed_out, out, err, seconds, memory)
        why = _wrong(outcome, set(codes), expected, place, shared)
        failure = Failure(seed, name, why, arguments, err[-3000:]) if why else None
        yield seed, name, failure, outcome
        if failure is None:
            shutil.rmtree(place.folder, ignore_errors=True)
        if ended is None:
            return


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(5_000_000).decode("utf-8", "replace")
    except OSError:
        return ""


PROGRESS = re.compile(r"[\w ,-]+: [\d,]+(?:/[\d,]+)?(?:, [\d.,]+/s)?")
"""A line that a command prints for people who ask for --progress."""


def _wrong(outcome: Outcome, codes: set[int], expected: str | None, place: Place, shared: Place) -> str:
    """Why an outcome is not as it must be; empty if it is."""
    if (place.input / CANARY).exists() or (place.here / CANARY).exists():
        return "something of the repository ran"
    if outcome.timed_out:
        return f"no end after {SECONDS:g} s"
    if outcome.signal is not None and outcome.signal > 0:
        return f"ended by signal {outcome.signal}"
    if "Traceback (most recent call last)" in outcome.err or "MemoryError" in outcome.err:
        where = re.findall(r'File "[^"]*?(tosloc/[^"]+)", line \d+', outcome.err)
        last = outcome.err.strip().rpartition("\n")[2][:100]
        return f"traceback in {where[-1] if where else '?'}: {last}"
    if outcome.code not in codes:
        return f"exit code {outcome.code}"
    lines = [line for line in outcome.err.splitlines() if not PROGRESS.fullmatch(line)]
    strange = [line for line in outcome.err.split("\n") if line and not line.startswith("tosloc: ")]
    strange = [line for line in strange if not PROGRESS.fullmatch(line)]
    lines = [line for line in lines if "have been made again" not in line]  # mended, whatever comes then
    if outcome.code == 2 and (len(lines) != 1 or strange):
        return f"{len(lines)} lines for one sentence: {(strange or lines or [''])[0][:80]}"
    if outcome.code == 2 and len(outcome.err) > LONGEST:
        return f"a sentence of {len(outcome.err):,} letters"
    if outcome.code == 2 and outcome.out:
        return "an answer beside an error"
    if strange:
        return f"strange words on standard error: {strange[0][:100]}"
    if any(ord(char) < 32 and char != "\n" for char in outcome.err):
        return "control characters on standard error"
    if outcome.memory > MEMORY:
        return f"{outcome.memory >> 20:,} MiB of memory"
    if expected is not None and outcome.code == 0 and outcome.out != expected:
        return "another answer than from what is whole, without a word"
    # a store that one process uses for many cases is closed with that process
    left = [name for name in left_over(place.folder) if not name.endswith(("-wal", "-shm"))]
    if outcome.code == 2 and place.out.exists():
        # what an unfinished training has worked out serves the next one
        written = [path.relative_to(place.out) for path in place.out.rglob("*") if path.is_file()]
        left += [f"out/{path}" for path in written if not {"work", ".tosloc-work"} & set(path.parts)]
    if outcome.code == 2:
        left += [f"here/{path.name}" for path in place.here.rglob("*") if path.is_file()]
    left += [f"tmp/{name}" for name in _lasting(shared.temporary)]
    return f"left behind: {', '.join(left[:5])}" if left else ""


def _lasting(folder: Path) -> list[str]:
    """Names of what stands in the folder for temporary files for longer than a moment: the next case has begun."""
    ours = ("tosloc-git-", "torchinductor_")  # until the process ends; torch's own
    names = {path.name for path in folder.iterdir() if not path.name.startswith(ours)}
    if names:
        time.sleep(0.5)
    return sorted(name for name in names if (folder / name).exists())


class _Lines:
    """Lines that the child writes, each within a time."""

    def __init__(self, pipe: int, process: int) -> None:
        self._pipe, self._process, self._rest = pipe, process, b""
        self.timed_out = False

    def next(self, seconds: float) -> bytes | None:
        """The next line; None when the child has ended or the time is over."""
        import select

        until = time.monotonic() + seconds
        while b"\n" not in self._rest:
            left = until - time.monotonic()
            if left <= 0:
                self.timed_out = True
                return None
            ready, _, _ = select.select([self._pipe], [], [], left)
            if ready:
                data = os.read(self._pipe, 65_536)
                if not data:
                    return None
                self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line


def _child(world: World, batch: Sequence[tuple[int, str]], folder: Path, shared: Place) -> None:
    """Make and run cases one after the other, telling of each."""
    import gc
    import resource
    import signal
    import tempfile

    from tosloc.cli import main

    os.setsid()
    os.closerange(3, CHANNEL)
    os.environ.clear()
    os.environ.update(shared.environment())
    tempfile.tempdir = None
    signal.signal(signal.SIGINT, signal.default_int_handler)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for seed, name in batch:
        place = Place(folder / str(seed)).make()
        tempfile.tempdir = str(folder)
        case = kinds()[name].make(kind_of(seed)[1], world, place)
        tempfile.tempdir = None
        os.write(CHANNEL, b"made " + json.dumps(case.arguments).encode() + b"\n")
        for number, (path, flags) in enumerate(
            (
                (str(case.stdin or os.devnull), os.O_RDONLY),
                (str(place.folder / "stdout"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
                (str(place.folder / "stderr"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
            )
        ):
            opened = os.open(path, flags, 0o644)
            os.dup2(opened, number)
            os.close(opened)
        sys.stdin, sys.stdout, sys.stderr = (
            open(0, encoding="utf-8", closefd=False),
            open(1, "w", encoding="utf-8", closefd=False),
            open(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False),
        )
        os.environ.pop("TOSLOC_CACHE", None)  # the harness's own, where pytest runs it
        os.environ.update(XDG_CACHE_HOME=str(place.cache), HOME=str(place.folder))
        os.chdir(place.here)
        code = 1
        try:
            code = main(case.arguments)
        except BaseException:
            import traceback

            traceback.print_exc()
        gc.collect()  # a command's own process ends here, and closes what it holds
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        sys.stderr.flush()
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        os.write(CHANNEL, json.dumps([code, memory, sorted(case.codes), case.expected]).encode() + b"\n")
        if memory > MEMORY // 3:
            return  # the next case gets a process that holds less


def summary(tally: Tally) -> str:
    """Counts by kind, and below them the failures by reason."""
    failed = Counter(failure.kind for failure in tally.failures)
    lines = [f"{'kind':<28} {'answer':>7} {'sentence':>9} {'failure':>8}"]
    for name in kinds():
        cells = tally.answered[name], tally.refused[name], failed[name]
        if any(cells):
            lines.append(f"{name:<28} {cells[0]:>7,} {cells[1]:>9,} {cells[2]:>8,}")
    cells = tally.answered.total(), tally.refused.total(), len(tally.failures)
    lines.append(f"{'all':<28} {cells[0]:>7,} {cells[1]:>9,} {cells[2]:>8,}")
    reasons = Counter((failure.kind, failure.why) for failure in tally.failures)
    for (name, why), count in sorted(reasons.items(), key=lambda one: (one[0][0], -one[1])):
        first = next(failure for failure in tally.failures if (failure.kind, failure.why) == (name, why))
        lines.append(f"  {count:>4} x {name}: {why}  (--only {first.seed})")
    return "\n".join(lines)


def stored(failure: Failure) -> str:
    """A failure as one line of JSON."""
    return json.dumps(asdict(failure))


__all__ = ["Case", "Failure", "Tally", "orphans", "processes", "run_cases", "stored", "summary"]
