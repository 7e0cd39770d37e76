"""A Dask cluster of separate processes on this machine; and what two results have that differs."""

from __future__ import annotations

import filecmp
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).parents[1]


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
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", str(self.port), "--no-show")
        with socket.socket() as asking:
            until(lambda: asking.connect_ex(("127.0.0.1", self.port)) == 0)
        for _ in range(workers):
            self.start_worker()
        until(lambda: self.said().count("Registered to") >= workers)

    def start_worker(self, *more: str) -> subprocess.Popen[bytes]:
        """Start a worker of one thread, without a nanny unless ``more`` options say otherwise."""
        options = ("--nthreads", "1", "--local-directory", str(self.folder), *(more or ("--no-nanny",)))
        self.workers.append(self._start("worker", self.address, *options))
        return self.workers[-1]

    def said(self) -> str:
        """What the workers have logged."""
        path = self.folder / "worker.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        own = {"PYTHONPATH": str(ROOT), "DASK_TEMPORARY_DIRECTORY": str(self.folder)}
        command = [sys.executable, "-m", "dask", *words, "--no-dashboard"]
        with (self.folder / f"{words[0]}.log").open("ab") as log:
            options: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": log, "start_new_session": True}
            return subprocess.Popen(command, env=os.environ | own, cwd=self.folder, **options)


def until(seen: Callable[[], bool]) -> None:
    """Wait for something, a minute at most."""
    end = time.monotonic() + 60
    while not seen():
        if time.monotonic() > end:
            raise TimeoutError("the cluster has not started")
        time.sleep(0.05)


def facts() -> list[tuple[Any, ...]]:
    """What is in the cache of one repository, whatever the order in which it was written."""
    [store] = Path(os.environ["TOSLOC_CACHE"]).glob("*/facts.sqlite")
    with closing(sqlite3.connect(store)) as database:
        return sorted(database.execute("SELECT id, analyser, payload FROM facts"))


def differing(one: Path, other: Path) -> list[str]:
    """Names of files that differ or stand on one side alone, but for what a kill has left."""
    names = {path.relative_to(folder) for folder in (one, other) for path in folder.rglob("*") if path.is_file()}
    names = {name for name in names if not name.name.startswith(".tosloc-unfinished.")}
    return [
        str(name)
        for name in sorted(names)
        if not ((one / name).exists() and (other / name).exists() and filecmp.cmp(one / name, other / name, False))
    ]
