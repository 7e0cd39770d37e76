"""A Dask cluster of separate processes on this machine, and what it does to a first index: ``local_cluster.py GIT``.

Indexes a repository alone and by 1 and 2 workers, and once more with one of two workers killed on the way; prints the
seconds of each, and whether facts and an answer are the same. With ``--reports`` and
``--config`` it also trains alone and by 2 workers, and compares what was written, byte for byte.
"""

from __future__ import annotations

import argparse
import filecmp
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).parents[1]
TOSLOC = (sys.executable, "-P", "-m", "tosloc")
START_SECONDS = 60.0
GROWN_BYTES = 1_000_000
REPORT = (
    '{"id": "1", "summary": "Wrong size of the buffer after a connection is closed",'
    ' "description": "Reading the next header fails with a null pointer.", "opened": "2030-01-01T00:00:00Z"}'
)


class LocalCluster:
    """A scheduler and workers, each a process of its own; use it in a ``with`` block, which ends them all."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.scheduler: subprocess.Popen[bytes] | None = None
        self.workers: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in (*self.workers, *([self.scheduler] if self.scheduler else [])):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # also what is stopped
            process.wait()

    def start(self, workers: int) -> None:
        """Start the scheduler and so many workers, and wait until all of them are registered."""
        words = ["scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-dashboard", "--no-show"]
        self.scheduler = self._start(words, ROOT)
        with socket.socket() as asking:
            _until(lambda: asking.connect_ex(("127.0.0.1", self.port)) == 0, "the scheduler has not started")
        for _ in range(workers):
            self.start_worker()
        _until(lambda: self.said().count("Registered to") >= workers, "the workers have not started")

    def start_worker(self, *more: str, at_start: str = "") -> subprocess.Popen[bytes]:
        """Start a worker of one thread; ``at_start`` is Python that it runs before anything else."""
        words = ["worker", self.address, "--nthreads", "1", "--no-dashboard", "--local-directory", str(self.folder)]
        place = self.folder / f"python-{len(self.workers)}"
        place.mkdir()
        (place / "sitecustomize.py").write_text(at_start)
        self.workers.append(self._start([*words, *(more or ("--no-nanny",))], place, ROOT))
        return self.workers[-1]

    def said(self) -> str:
        """What the workers have logged."""
        path = self.folder / "worker.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def _start(self, words: list[str], *path: Path) -> subprocess.Popen[bytes]:
        own = {"PYTHONPATH": os.pathsep.join(map(str, path)), "DASK_TEMPORARY_DIRECTORY": str(self.folder)}
        with (self.folder / f"{words[0]}.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "dask", *words],
                env=dict(os.environ) | own,
                cwd=self.folder,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )


def _until(seen: Any, otherwise: str) -> None:
    end = time.monotonic() + START_SECONDS
    while not seen():
        if time.monotonic() > end:
            raise TimeoutError(otherwise)
        time.sleep(0.05)


def tosloc(*words: object, cluster: LocalCluster | None = None, kill: bool = False) -> float:
    """Run a command, and if wanted ``kill`` a worker once facts are written; the seconds that it took."""
    begun = time.monotonic()
    more = ["--cluster", cluster.address] if cluster else []
    process = subprocess.Popen([*TOSLOC, *map(str, words), *more], stdout=subprocess.DEVNULL)
    if cluster and kill:
        while process.poll() is None and not any(one.stat().st_size > GROWN_BYTES for one in cache().glob("*/*-wal")):
            time.sleep(0.01)
        if process.poll() is not None:
            raise SystemExit("it had ended before a worker was killed; name a larger repository")
        cluster.workers[0].kill()
        cluster.workers[0].wait()
    if process.wait():
        raise SystemExit(f"tosloc {words[0]} ended with exit code {process.returncode}")
    return time.monotonic() - begun


def cache() -> Path:
    """The folder of facts, of this process and those that it starts."""
    return Path(os.environ["TOSLOC_CACHE"])


def facts() -> list[tuple[Any, ...]]:
    """What is in the cache, whatever the order in which it was written."""
    [store] = cache().glob("*/facts.sqlite")
    with closing(sqlite3.connect(store)) as database:
        return sorted(database.execute("SELECT id, analyser, payload FROM facts"))


def answer(repo: Path) -> dict[str, Any]:
    """What ``tosloc localize --json`` says by these facts, but for the seconds that it took."""
    command = [*TOSLOC, "localize", "-", "--repo", str(repo), "--json"]
    said = subprocess.run(command, input=REPORT, capture_output=True, check=True, text=True)
    found: dict[str, Any] = json.loads(said.stdout)
    del found["seconds"]
    return found


def differing(one: Path, other: Path) -> list[str]:
    """Names of files that differ or stand on one side alone, but for seconds.json and what a kill has left."""
    names = {path.relative_to(folder) for folder in (one, other) for path in folder.rglob("*") if path.is_file()}
    names = {name for name in names if name.name != "seconds.json" and not name.name.startswith(".tosloc-unfinished.")}
    return [
        str(name)
        for name in sorted(names)
        if not ((one / name).exists() and (other / name).exists() and filecmp.cmp(one / name, other / name, False))
    ]


def main() -> None:
    """Print a line for each command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("repo", type=Path)
    parser.add_argument("--reports", type=Path)
    parser.add_argument("--config", default="default")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        indexed = ("index", "--repo", asked.repo, "--json")
        os.environ["TOSLOC_CACHE"] = str(folder / "alone")
        print(f"index alone: {tosloc(*indexed):.1f} s", flush=True)
        wanted = answer(asked.repo), facts()
        for workers, kill in ((1, False), (2, False), (2, True)):
            os.environ["TOSLOC_CACHE"] = str(folder / f"{workers}-{kill}")
            with LocalCluster(folder / f"cluster-{workers}-{kill}") as cluster:
                cluster.start(workers)
                seconds = tosloc(*indexed, cluster=cluster, kill=kill)
            what = f"{workers} workers{', one killed on the way' if kill else ''}"
            same = "the same" if (answer(asked.repo), facts()) == wanted else "DIFFERENT"
            print(f"index, {what}: {seconds:.1f} s; facts and answer {same}", flush=True)
        if asked.reports:
            trained = ("train", asked.config, "--repo", asked.repo, "--reports", asked.reports)
            os.environ["TOSLOC_CACHE"] = str(folder / "first")
            alone = tosloc(*trained, "--out", folder / "one")
            os.environ["TOSLOC_CACHE"] = str(folder / "other")
            with LocalCluster(folder / "cluster") as cluster:
                cluster.start(2)
                seconds = tosloc(*trained, "--out", folder / "two", cluster=cluster)
            same = ", ".join(differing(folder / "one", folder / "two")) or "none"
            print(f"train alone: {alone:.1f} s; 2 workers: {seconds:.1f} s; differ: {same}")


if __name__ == "__main__":
    main()
