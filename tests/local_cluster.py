"""A Dask cluster of separate processes on this machine, and a comparison of two result folders."""

import filecmp
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from tests.waiting import wait_until

ROOT = Path(__file__).parents[1]


class LocalCluster:
    """A scheduler and two workers, each a process of its own. Close it after use."""

    def __init__(self, folder):
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            host, port = free.getsockname()
        self.address = f"tcp://{host}:{port}"
        options = ("--host", host, "--port", str(port), "--no-show")
        self.scheduler = self._start("scheduler", *options)
        with socket.socket() as connection:
            wait_until(lambda: connection.connect_ex((host, port)) == 0)
        self.workers = [self.start_worker(), self.start_worker()]

    def start_worker(self, *more):
        """Start a worker of one thread, and return its process once the worker is registered.

        It has no nanny unless ``more`` options say otherwise.
        """
        log = self.folder / "worker.log"
        log.touch()
        registered_before = log.read_text().count("Registered to")
        options = ("--nthreads", "1", "--local-directory", str(self.folder))
        worker = self._start("worker", self.address, *options, *(more or ["--no-nanny"]))

        def is_registered():
            return log.read_text(errors="replace").count("Registered to") > registered_before

        wait_until(is_registered)
        return worker

    def _start(self, *arguments):
        """Start a Dask process whose output goes to a log named after its first argument."""
        settings = {"PYTHONPATH": str(ROOT), "DASK_TEMPORARY_DIRECTORY": str(self.folder)}
        command = [sys.executable, "-m", "dask", *arguments, "--no-dashboard"]
        with (self.folder / f"{arguments[0]}.log").open("ab") as log:
            process = subprocess.Popen(
                command,
                env=os.environ | settings,
                cwd=self.folder,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def close(self):
        """Kill all processes, with those that they started."""
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # ends stopped processes, too
            process.wait()


def differing_files(first, second):
    """Return the names of files that differ between two folders or exist in only one of them.

    Unfinished files that a kill has left are ignored.
    """
    names = set()
    for folder in (first, second):
        for path in folder.rglob("*"):
            if path.is_file() and not path.name.startswith(".tosloc-unfinished."):
                names.add(path.relative_to(folder))
    return [str(name) for name in sorted(names) if not are_equal(first / name, second / name)]


def are_equal(first, second):
    """Return whether two files exist and have the same content."""
    return first.exists() and second.exists() and filecmp.cmp(first, second, shallow=False)
