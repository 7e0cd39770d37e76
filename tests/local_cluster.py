"""A Dask cluster of separate processes on this machine; and what two results have that differs."""

import filecmp
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]


class LocalCluster:
    """A scheduler and two workers, each a process of its own. Close it."""

    def __init__(self, folder):
        self.folder, self.processes = folder, list[subprocess.Popen[bytes]]()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            here = free.getsockname()
        self.address = f"tcp://127.0.0.1:{here[1]}"
        self.scheduler = self._start(
            "scheduler", "--host", here[0], "--port", str(here[1]), "--no-show"
        )
        with socket.socket() as asking:
            wait_until(lambda: asking.connect_ex(here) == 0)
        self.workers = [self.start_worker(), self.start_worker()]

    def start_worker(self, *more):
        """A worker of one thread, without a nanny unless ``more`` options say otherwise, once it is registered."""
        log, options = self.folder / "worker.log", more or ("--no-nanny",)
        log.touch()
        before = log.read_text().count("Registered to")
        worker = self._start(
            "worker",
            self.address,
            "--nthreads",
            "1",
            "--local-directory",
            str(self.folder),
            *options,
        )
        wait_until(lambda: log.read_text(errors="replace").count("Registered to") > before)
        return worker

    def _start(self, *words):
        own = {"PYTHONPATH": str(ROOT), "DASK_TEMPORARY_DIRECTORY": str(self.folder)}
        command = [sys.executable, "-m", "dask", *words, "--no-dashboard"]
        with (self.folder / f"{words[0]}.log").open("ab") as log:
            options = {"stdout": subprocess.DEVNULL, "stderr": log, "start_new_session": True}
            self.processes.append(
                subprocess.Popen(command, env=os.environ | own, cwd=self.folder, **options)
            )
        return self.processes[-1]

    def close(self):
        """End all of them."""
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # also what is stopped
            process.wait()


def wait_until(seen):
    """Wait for something, a minute at most. Raises TimeoutError."""
    end = time.monotonic() + 60
    while not seen():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.05)


def differing_files(one, other):
    """Names of files that differ or stand on one side alone, but for what a kill has left."""
    names = {
        path.relative_to(folder)
        for folder in (one, other)
        for path in folder.rglob("*")
        if path.is_file()
    }
    names = {name for name in names if not name.name.startswith(".tosloc-unfinished.")}
    return [
        str(name)
        for name in sorted(names)
        if not (
            (one / name).exists()
            and (other / name).exists()
            and filecmp.cmp(one / name, other / name, False)
        )
    ]
