"""Kills writing commands at random points, runs them again, and looks at what there is.

A trial is one command on the small project, ended by SIGKILL, SIGTERM or SIGINT at a point that its seed names: at the
N-th audited event that changes files or starts a process, at the N-th system call of a kind (where strace is), after a
random time, or while it is still loading. Afterwards nothing of it may be alive and no file may be there in part; the
same command again must leave the same bytes as one that was never interrupted, and nothing else.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults import processes
from tests.faults.processes import Outcome, Place, left_over, orphans
from tests.faults.world import World

EVENTS = frozenset(
    "os.rename os.remove os.rmdir os.mkdir os.truncate os.chmod os.link os.symlink sqlite3.connect subprocess.Popen"
    " tempfile.mkstemp tempfile.mkdtemp shutil.rmtree".split()
)
"""Audited events that count, beside every opening of a file to write."""
CALLS = (
    "openat write pwrite64 rename unlink unlinkat rmdir mkdir fsync fdatasync ftruncate chmod vfork clone3 kill dup3"
).split()
"""System calls that count."""
TRACED = frozenset(
    {
        "index",
        "localize",
        "localize, user's cache",
        "evaluate, reports",
        "export-run",
        "import-run",
        "data",
        "lab restrict",
    }
)
"""Commands that are killed at system calls, too: short ones, since tracing makes them many times slower."""
TIMES = frozenset({"seconds.json"})
"""Files that hold seconds, the only ones that differ from run to run."""
SECONDS = re.compile(r'(?m)^  "seconds": [0-9.]+$')
"""What differs in a printed answer."""
SIGNALS = {signal.SIGKILL: 60, signal.SIGTERM: 20, signal.SIGINT: 20}
CODES = {signal.SIGTERM: 143, signal.SIGINT: 130}
STRACE = shutil.which("strace")


@dataclass(frozen=True)
class Command:
    """A command that writes."""

    arguments: Callable[[World, Place], list[str]]
    share: int
    warm: bool = False
    """Whether it finds all facts made."""
    workers: bool = False
    """Whether it has two worker processes."""
    counts: bool = False
    """Whether it prints what was there already, so that a second run prints other numbers."""


def _out(place: Place) -> list[str]:
    return ["--out", str(place.out)]


def _project(world: World, place: Place) -> list[str]:
    return ["--repo", str(world.repo), "--reports", str(world.reports), "--store", str(place.folder / "facts.sqlite")]


COMMANDS: Mapping[str, Command] = {
    "index": Command(lambda w, p: ["index", "--repo", str(w.repo), *_project(w, p)[4:]], 12, counts=True),
    "index, two workers": Command(
        lambda w, p: ["index", "--repo", str(w.repo), *_project(w, p)[4:]], 2, workers=True, counts=True
    ),
    "localize": Command(
        lambda w, p: ["localize", "--json", "--report", str(w.bug), "--repo", str(w.repo), *_project(w, p)[4:]], 12
    ),
    "localize, user's cache": Command(
        lambda w, p: ["localize", "--json", "--report", str(w.bug), "--repo", str(w.repo)], 6
    ),
    "localize, two stages": Command(
        lambda w, p: [
            *("localize", "--json", "--report", str(w.bug), "--repo", str(w.repo), *_project(w, p)[4:]),
            *("--checkpoint", str(w.two_stages)),
        ],
        6,
    ),
    "train": Command(lambda w, p: ["train", str(w.settings("plain")), *_project(w, p), *_out(p)], 14),
    "train, cold": Command(
        lambda w, p: ["train", str(w.settings("one")), *_project(w, p), *_out(p), "--keep-features"], 4
    ),
    "train, both stages": Command(
        lambda w, p: ["train", str(w.settings("two")), *_project(w, p), *_out(p)], 4, warm=True
    ),
    "train, second stage": Command(
        lambda w, p: ["train", str(w.settings("two")), *_project(w, p), *_out(p), "--stage-one", str(w.one_stage)],
        4,
        warm=True,
    ),
    "train, two workers": Command(
        lambda w, p: ["train", str(w.settings("workers")), *_project(w, p), *_out(p)], 2, warm=True, workers=True
    ),
    "rank": Command(lambda w, p: ["rank", *_project(w, p), *_out(p), "--checkpoint", str(w.two_stages)], 10, warm=True),
    "evaluate": Command(
        lambda w, p: [
            *("evaluate", str(w.one_stage), "--per-report", str(p.out / "reports.jsonl")),
            *("--html", str(p.out / "page.html"), "--figures", str(p.out / "figures")),
        ],
        3,
    ),
    "evaluate, reports": Command(
        lambda w, p: ["evaluate", str(w.one_stage), "--per-report", str(p.out / "reports.jsonl")], 4
    ),
    "export-run": Command(lambda w, p: ["export-run", str(w.one_stage), *_out(p), "--others"], 6),
    "import-run": Command(
        lambda w, p: ["import-run", str(w.trec / "run.trec"), "--qrels", str(w.trec / "qrels.trec"), *_out(p)], 6
    ),
    "data": Command(lambda w, p: ["data", "--json", *_project(w, p)[:4], "--ever-fixed", str(p.out / "fixed.txt")], 6),
    "lab baselines": Command(
        lambda w, p: [
            "lab",
            "baselines",
            "buglocator",
            "bluir",
            *_project(w, p),
            *_out(p),
            "--config",
            str(w.settings("plain")),
        ],
        6,
    ),
    "lab restrict": Command(
        lambda w, p: ["lab", "restrict", str(w.one_stage), "--to", str(w.folder / "fixed.txt"), *_out(p)], 4
    ),
    "rank, many": Command(
        lambda w, p: ["rank", "--projects", str(w.projects), "--config", str(w.settings("plain")), *_out(p)], 3
    ),
    "lab pool": Command(
        lambda w, p: [
            *("lab", "pool", "--projects", str(w.projects), "--config", str(w.settings("one"))),
            *("--work", str(p.out / "work"), "--out", str(p.out / "weights")),
        ],
        3,
    ),
}


@dataclass
class Reference:
    """An uninterrupted run of a command: what it leaves, and how far apart its points are."""

    files: dict[str, str]
    out: str
    seconds: float
    events: int
    calls: Counter[str]


@dataclass
class Trial:
    """One kill, as its seed chose it."""

    seed: int
    command: str
    mode: str
    signal: signal.Signals
    point: str = ""
    problems: list[str] = field(default_factory=list)
    hit: bool = True
    """Whether the signal came before the command had ended."""

    def __str__(self) -> str:
        return f"{self.seed}: {self.command}, {self.signal.name} at {self.point}"


class Harness:
    """Runs trials, each in the same place, since paths stand in what is written."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world, self.folder = world, folder
        self.references: dict[str, Reference] = {}
        self.tracers: list[subprocess.Popen[bytes]] = []
        self.strace = STRACE is not None and self._strace_works()

    # Places and runs

    def place(self, command: Command) -> Place:
        """A place with nothing in it but the facts, where the command finds them."""
        shutil.rmtree(self.folder / "trial", ignore_errors=True)
        place = Place(self.folder / "trial").make()
        if command.warm:
            self.world.store_for(place)
        return place

    def run(
        self, command: Command, place: Place, point: Sequence[str] = (), after: Callable[[int], None] | None = None
    ) -> Outcome:
        """Run a command; ``point`` is for ``prepare`` in its process, ``after`` runs beside it once it has begun."""
        started = time.monotonic()
        arguments = command.arguments(self.world, place)
        if command.workers:  # worker processes want a parent that was not forked
            code = f"from tests.faults.kills import launch; launch({list(point)!r}, {arguments!r})"
            return self._started([sys.executable, "-c", code], place, after)
        process = processes.start(place, arguments, lambda: prepare(point))
        if after is not None:
            after(process)
        return self._waited(process, place, started)

    def _started(self, words: Sequence[str], place: Place, after: Callable[[int], None] | None) -> Outcome:
        """Run a program as a user starts it, interpreter and imports included."""
        environment = place.environment() | {"PYTHONPATH": str(Path(__file__).parents[2])}
        started = time.monotonic()
        with (place.folder / "stdout").open("wb") as out, (place.folder / "stderr").open("wb") as err:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=environment,
                cwd=place.here,
                start_new_session=True,
            )
        if after is not None:
            after(process.pid)
        try:
            return self._waited(process.pid, place, started)
        finally:
            process.returncode = 0  # it was waited for

    def _waited(self, process: int, place: Place, started: float) -> Outcome:
        try:
            return processes.wait(process, place, started, 120)
        finally:
            while self.tracers:
                self.tracers.pop().wait(30)

    def reference(self, name: str) -> Reference:
        """The uninterrupted run of a command, made once."""
        if name not in self.references:
            command = COMMANDS[name]
            place = self.place(command)
            counted = place.folder / "events"
            outcome = self.run(command, place, ["event", "0", "SIGKILL", str(counted)])
            if outcome.code != 0:
                raise RuntimeError(f"{name}: {outcome.code} {outcome.err}")
            files, seconds, events = state(place), outcome.seconds, int(counted.read_text()) if counted.exists() else 0
            calls: Counter[str] = Counter()
            if self.strace and name in TRACED:
                place = self.place(command)
                log = self.folder / "calls"
                self.run(command, place, ["call"], lambda process: self._trace(process, ["-o", str(log)]))
                lines = log.read_text("utf-8", "replace").splitlines()
                calls.update(line.partition("(")[0] for line in lines if "(" in line)
            kept = {call: count for call, count in calls.items() if call in CALLS}
            self.references[name] = Reference(files, outcome.out, seconds, events, Counter(kept))
        return self.references[name]

    def _trace(self, process: int, options: Sequence[str]) -> None:
        assert STRACE is not None
        calls = ",".join(f"?{call}" for call in CALLS)
        command = [STRACE, "-qq", "-e", f"trace={calls}", *options, "-p", str(process)]
        quiet = subprocess.DEVNULL
        self.tracers.append(subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet))

    def _strace_works(self) -> bool:
        assert STRACE is not None
        probe = subprocess.run([STRACE, "-qq", "-e", "trace=none", "true"], capture_output=True, check=False)
        return probe.returncode == 0

    # A trial

    def trial(self, seed: int) -> Trial:
        """Kill one command, run it again, and tell what was wrong."""
        rng = random.Random(f"kill {seed}")
        [name] = rng.choices(list(COMMANDS), [one.share for one in COMMANDS.values()])
        [killing] = rng.choices(list(SIGNALS), list(SIGNALS.values()))
        [mode] = rng.choices(["event", "call", "time", "start"], [50, 25, 20, 5])
        command, reference = COMMANDS[name], self.reference(name)
        if mode == "call" and not reference.calls:
            mode = "event"
        if mode == "event" and not reference.events:  # it ended without a chance to count them
            mode = "time"
        trial = Trial(seed, name, mode, killing)
        place = self.place(command)
        outcome = self._killed(trial, command, place, reference, rng)
        trial.hit = not (outcome.code == 0)
        self._judge_killed(trial, place, outcome, reference)
        again = self.run(command, place)
        self._judge_again(trial, place, again, reference)
        return trial

    def _killed(
        self, trial: Trial, command: Command, place: Place, reference: Reference, rng: random.Random
    ) -> Outcome:
        if trial.mode == "event":
            at = rng.randint(1, max(1, reference.events))
            trial.point = f"event {at} of {reference.events}"
            return self.run(command, place, ["event", str(at), trial.signal.name])
        if trial.mode == "call":
            calls = sorted(reference.calls)
            # a kind of call first, so that the many openings do not hide the few renamings
            call = rng.choice(calls)
            at = rng.randint(1, reference.calls[call])
            trial.point = f"{call} {at} of {reference.calls[call]}"
            options = ["-o", os.devnull, "-e", f"inject={call}:signal={trial.signal.name}:when={at}"]
            return self.run(command, place, ["call"], lambda process: self._trace(process, options))
        if trial.mode == "time":
            after = rng.uniform(0, reference.seconds)
            trial.point = f"{after:.3f} s"
            return self.run(command, place, (), lambda process: _after(process, after, trial.signal))
        after = rng.uniform(0, 1.5)
        trial.point = f"{after:.3f} s of its start"
        words = [sys.executable, "-m", "tosloc", *command.arguments(self.world, place)]
        return self._started(words, place, lambda process: _after(process, after, trial.signal))

    def _judge_killed(self, trial: Trial, place: Place, outcome: Outcome, reference: Reference) -> None:
        said = trial.problems.append
        if outcome.timed_out:
            said("did not end")
        if alive := orphans(place):
            said(f"alive after it: {'; '.join(alive)[:200]}")
        if not trial.hit:
            return
        if trial.signal == signal.SIGKILL:
            if outcome.signal != signal.SIGKILL:
                said(f"ended with {outcome.code} instead of the kill: {outcome.err[-200:]}")
        else:
            self._judge_answer(trial, place, outcome)
        for name, digest in state(place).items():
            if (
                reference.files.get(name, digest) != digest
                and name.startswith("out/")
                and not {"work", ".tosloc-work"} & set(Path(name).parts)
            ):
                said(f"half-written: {name}")

    def _judge_answer(self, trial: Trial, place: Place, outcome: Outcome) -> None:
        """What SIGTERM and SIGINT must leave: one sentence, a telling code, nothing temporary."""
        said = trial.problems.append
        # before Python could listen
        loads = trial.mode == "start" or COMMANDS[trial.command].workers
        early = loads and outcome.signal == trial.signal
        if outcome.code != CODES[trial.signal] and not early:
            said(f"ended with code {outcome.code}, signal {outcome.signal}, instead of {CODES[trial.signal]}")
        lines = outcome.err.splitlines()
        if not early and not ((lines and lines[-1].startswith("tosloc: interrupted")) or "tosloc: " in outcome.err):
            said(f"says no sentence: {outcome.err[-200:]!r}")
        if any(not line.startswith("tosloc: ") for line in lines):
            said(f"{len(lines)} lines on standard error: {lines[0][:100]!r} to {lines[-1][:100]!r}")
        # a database that was not closed has two files more, which the next one to open it takes up
        if left := [name for name in _temporary(place) if not name.endswith(("-wal", "-shm"))]:
            said(f"left behind at once: {', '.join(left[:4])}")

    def _judge_again(self, trial: Trial, place: Place, again: Outcome, reference: Reference) -> None:
        said = trial.problems.append
        if again.code != 0:
            said(f"the same command again: code {again.code}, signal {again.signal}: {again.err[-300:]}")
            return
        if SECONDS.sub("", again.out) != SECONDS.sub("", reference.out) and not COMMANDS[trial.command].counts:
            said("the same command again prints something else")
        now = state(place)
        for name in sorted(reference.files.keys() | now.keys()):
            if reference.files.get(name) != now.get(name):
                how = (
                    "missing" if name not in now else "more than" if name not in reference.files else "other bytes than"
                )
                said(f"{how} in an uninterrupted run: {name}")
        if left := _temporary(place):
            said(f"left behind: {', '.join(left[:4])}")
        if alive := orphans(place):
            said(f"alive after the second run: {'; '.join(alive)[:200]}")


def _temporary(place: Place) -> list[str]:
    left = [
        f"tmp/{path.relative_to(place.temporary)}"
        for path in place.temporary.rglob("*")
        if not _of_a_library(place.temporary / path.relative_to(place.temporary).parts[0])
    ]
    return left + left_over(place.folder)


def _of_a_library(path: Path) -> bool:
    """Whether torch or Python itself left it: torch keeps a folder there, Python tries whether it may write there."""
    if path.name.startswith("torchinductor_"):
        return True
    return path.is_file() and len(path.name) == 8 and path.read_bytes() in (b"", b"blat")


def state(place: Place) -> dict[str, str]:
    """File -> digest of all that a command wrote; a database by its rows, whatever their order."""
    found = {}
    fonts = place.cache / "matplotlib"  # its list of them, which a Python that was forked has already
    for root in (place.out, place.cache, place.here, *place.folder.glob("facts*")):
        for path in [root, *root.rglob("*")]:
            if (
                path.is_file()
                and fonts not in path.parents
                and path.name not in TIMES
                and not path.name.endswith(("-wal", "-shm", "-journal"))
            ):
                name = str(path.relative_to(place.folder))
                found[name] = _of_database(path) if path.suffix == ".sqlite" else _digest(path.read_bytes())
    return found


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _of_database(path: Path) -> str:
    """Digest of what a store of facts holds, by its own reader: terms have their numbers in the order of coming."""
    from tosloc.analysis.store import FactStore

    with suppress(sqlite3.Error, OSError):
        with sqlite3.connect(path) as database:
            keys = database.execute(
                "SELECT blob, language FROM facts JOIN makers ON makers.id = facts.maker ORDER BY language, blob"
            ).fetchall()
        database.close()
        parts = [repr(keys).encode()]
        with FactStore(path) as store:
            for language in sorted({language for _, language in keys}):
                table = store.load([blob for blob, one in keys if one == language], language)
                for name, array in sorted(table.to_arrays().items()):
                    parts += [name.encode(), array.tobytes()]
        return _digest(b"\0".join(parts))
    return "no database"


# In the process that is killed


def prepare(point: Sequence[str]) -> None:
    """Get ready for a point: nothing, ("call",) or ("event", number, signal, file for the number of events)."""
    if list(point[:1]) == ["call"]:
        _wait_for_tracer()
    elif list(point[:1]) == ["event"]:
        counted = Path(point[3]) if len(point) > 3 else None
        _at_event(int(point[1]), signal.Signals[point[2]], counted)


def launch(point: Sequence[str], arguments: list[str]) -> None:
    """Run a command with two workers and little for each of them."""
    from tosloc.__main__ import interruption, main

    interruption.end_at_signals()
    from tosloc.analysis import build
    from tosloc.retrieval import extraction

    build.BATCH_BLOBS = 2  # type: ignore[misc]
    extraction.BLOCK_REPORTS = 3
    os.environ["LOKY_MAX_CPU_COUNT"] = "2"
    sys.argv = ["tosloc", *arguments]
    prepare(point)
    sys.exit(main())


def _at_event(number: int, killing: signal.Signals, counted: Path | None = None) -> None:
    """Send the signal at the N-th event, 0 is never; the number of events is written to ``counted``."""
    seen = 0
    own = os.getpid()

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal seen
        if event == "open":
            mode, flags = arguments[1], arguments[2]
            writing = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            if not writing and not (isinstance(mode, str) and set(mode) & set("wax+")):
                return
        elif event not in EVENTS:
            return
        if os.getpid() != own:
            return
        seen += 1
        if log is not None:  # at once, since a command may end without any of Python's ends
            os.pwrite(log, str(seen).encode(), 0)
        if seen == number:
            os.kill(own, killing)

    log = None
    if counted is not None:
        log = fcntl.fcntl(os.open(counted, os.O_WRONLY | os.O_CREAT), fcntl.F_DUPFD, 200)  # no number that others take
    sys.addaudithook(hook)


def _wait_for_tracer() -> None:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        if "TracerPid:\t0\n" not in Path("/proc/self/status").read_text():
            return
        time.sleep(0.002)


def _after(process: int, seconds: float, killing: signal.Signals) -> None:
    time.sleep(seconds)
    with suppress(ProcessLookupError):
        os.kill(process, killing)


def main(asked: argparse.Namespace, world: World, folder: Path) -> int:
    """Run the trials that were asked for and print what became of them."""
    harness = Harness(world, folder)
    seeds = [asked.only] if asked.only is not None else range(asked.seed, asked.seed + asked.number)
    started, bad = time.monotonic(), 0
    ran: Counter[tuple[str, str]] = Counter()
    hits: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for seed in seeds:
        trial = harness.trial(seed)
        ran[trial.command, trial.signal.name] += 1
        hits[trial.mode] += trial.hit
        if trial.problems:
            bad += 1
            print(f"{trial}", *(f"    {problem}" for problem in trial.problems), sep="\n", flush=True)
            reasons.update({problem.split(":")[0] for problem in trial.problems})
            if asked.failures is not None:
                with asked.failures.open("a", encoding="utf-8") as file:
                    file.write(f"{trial}: {' | '.join(trial.problems)}\n")
        elif asked.only is not None:
            print(trial)
        if ran.total() % 50 == 0:
            print(f"{ran.total():,} kills, {bad} with something wrong, {time.monotonic() - started:,.0f} s", flush=True)
    print(f"{'command':<24}" + "".join(f"{killing.name:>9}" for killing in SIGNALS))
    for name in COMMANDS:
        print(f"{name:<24}" + "".join(f"{ran[name, killing.name]:>9}" for killing in SIGNALS))
    print(
        ", ".join(f"{count} ended at {mode}" for mode, count in hits.items())
        + ("" if harness.strace else "; no strace")
    )
    for reason, count in reasons.most_common():
        print(f"{count:>6} x {reason}")
    print(f"{ran.total():,} kills, {bad} with something wrong, in {time.monotonic() - started:,.0f} s")
    return 1 if bad else 0


__all__ = ["COMMANDS", "Harness", "Mapping", "main"]
