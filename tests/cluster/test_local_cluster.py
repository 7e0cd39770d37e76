"""Work by a cluster of separate processes: what dies, stops, goes or joins, and what does not fit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from joblib import delayed

from scripts.local_cluster import LocalCluster
from tests import toy
from tests.cluster import calls
from tests.test_processes import gone
from tosloc.cli.app import main
from tosloc.cluster import client
from tosloc.cluster.client import connected
from tosloc.errors import ClusterError, ClusterWarning, ToslocError
from tosloc.processes import parallel

pytest.importorskip("distributed")
pytestmark = pytest.mark.slow

NO_TOSLOC = """
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "tosloc":
            raise ModuleNotFoundError("No module named 'tosloc'", name="tosloc")
sys.meta_path.insert(0, Finder())
"""
ANOTHER = "import tosloc; tosloc.__version__ = '0.0.1'"


def until(seen: Callable[[], object], seconds: float = 20.0) -> None:
    """Wait for something to be seen."""
    end = time.monotonic() + seconds
    while not seen():
        assert time.monotonic() < end, "it has not come"
        time.sleep(0.02)


def in_order(some: list[Any], **options: Any) -> list[Any]:
    with parallel(some, 1, return_as="generator", **options) as results:
        return list(results)


def as_they_come(some: list[Any], **options: Any) -> list[Any]:
    with parallel(some, 1, return_as="generator_unordered", **options) as results:
        return list(results)


def test_results(two: LocalCluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with connected(two.address, {}):
        assert in_order([delayed(abs)(-number) for number in range(20)]) == list(range(20))
        assert sorted(as_they_come([delayed(abs)(-number) for number in range(20)])) == list(range(20))
        assert in_order([]) == []
        assert in_order([delayed(calls.surroundings)()]) == [("1", 2, True, True)]
        assert in_order([delayed(os.getcwd)()]) == [os.getcwd()]
        assert in_order([delayed(lambda: "of no module")()]) == ["of no module"]
        assert in_order([delayed(len)(b"x" * 20_000_000)]) == [20_000_000]
        # a process of a worker's each, which is kept
        some = [delayed(calls.noted)(tmp_path, number, 0.3) for number in range(6)]
        assert in_order(some) == list(range(6))
        assert len({path.suffixes[-2] for path in tmp_path.glob("[0-9]*")}) == 2
        for kind, error, words in (
            ("ours", ToslocError, "it is the input's fault"),
            ("unpicklable", ToslocError, "it is damaged"),
            ("fault", RuntimeError, "ZeroDivisionError: a fault"),
        ):
            with pytest.raises(error, match=words):
                in_order([delayed(calls.failing)(kind)])
    assert capfd.readouterr() == ("", "")


def test_a_call_that_brings_its_process_down(two: LocalCluster) -> None:
    some = [delayed(calls.deadly)(number, 5) for number in range(12)]
    with connected(two.address, {}):
        instead = in_order(some, broken=lambda function, number, at: -number)
        assert instead == [*range(5), -5, *range(6, 12)]
        with pytest.raises(ClusterError, match="processes of 2 workers were killed at the same work"):
            as_they_come(some)
        assert in_order(some[:5]) == list(range(5))
    assert [worker.poll() for worker in two.workers] == [None, None]


def test_a_worker_that_is_killed(two: LocalCluster, tmp_path: Path) -> None:
    assert sorted(first_then(two, slow(tmp_path, 12), two.workers[0])) == list(range(12))
    begun = list(tmp_path.glob("[0-9]*"))
    assert len(begun) <= 12 + 2  # what it had in hand, and what it had just handed over
    assert {int(path.name.split(".")[2]) for path in begun} == {worker.pid for worker in two.workers}


def test_a_worker_that_stops_for_a_while_and_one_that_joins(two: LocalCluster, tmp_path: Path) -> None:
    with connected(two.address, {}), parallel(slow(tmp_path, 16), 1, return_as="generator") as results:
        found = [next(results)]
        two.workers[0].send_signal(signal.SIGSTOP)
        third = two.start_worker()
        threading.Timer(4, two.workers[0].send_signal, [signal.SIGCONT]).start()
        found += results
    assert found == list(range(16))
    assert list(tmp_path.glob(f"[0-9]*.{third.pid}"))


def test_a_worker_that_joins_and_does_not_fit(two: LocalCluster, tmp_path: Path) -> None:
    third: list[subprocess.Popen[bytes]] = []

    def found() -> list[int]:
        with connected(two.address, {}), parallel(slow(tmp_path, 20), 1, return_as="generator") as results:
            first = next(results)
            third.append(two.start_worker(at_start=NO_TOSLOC))
            return [first, *results]

    with pytest.warns(ClusterWarning, match=r"has no TosLoc, or another one .*; it is left out"):
        assert found() == list(range(20))
    assert not list(tmp_path.glob(f"*.{third[0].pid}"))


def test_no_worker_is_left(two: LocalCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(client, "LOST_SECONDS", 3.0)
    with pytest.raises(ClusterError, match="has had no worker for 3 s"):
        first_then(two, slow(tmp_path, 12), *two.workers)


def test_a_scheduler_that_goes_and_comes_back(
    two: LocalCluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert two.scheduler is not None
    with pytest.raises(ClusterError, match=r"the Dask scheduler at .* has gone; what was finished is kept"):
        first_then(two, slow(tmp_path, 12), two.scheduler)
    two.start_scheduler()
    two.start_worker()
    with connected(two.address, {}):
        assert in_order(slow(tmp_path, 3)) == list(range(3))
    assert capfd.readouterr() == ("", "")


def test_a_scheduler_that_says_nothing(
    two: LocalCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(client, "LOST_SECONDS", 2.0)
    monkeypatch.setattr(client, "ANSWER_SECONDS", 1.0)
    assert two.scheduler is not None
    with pytest.raises(ClusterError, match=r"the Dask scheduler at .* has gone"):
        first_then(two, slow(tmp_path, 12), two.scheduler, by=signal.SIGSTOP)
    assert capfd.readouterr() == ("", "")


def test_a_worker_that_is_started_again(cluster: LocalCluster, tmp_path: Path) -> None:
    cluster.start_scheduler()
    nanny = cluster.start_worker("--nanny")  # as dask worker starts one by itself
    with connected(cluster.address, {}), parallel(slow(tmp_path, 8), 1, return_as="generator") as results:
        first = next(results)
        [worker] = {int(path.name.split(".")[2]) for path in tmp_path.glob("[0-9]*")}
        assert worker != nanny.pid
        os.kill(worker, signal.SIGKILL)
        assert [first, *results] == list(range(8))


def slow(folder: Path, number: int) -> list[Any]:
    """So many calls that take a while."""
    return [delayed(calls.noted)(folder, one, 0.4) for one in range(number)]


def first_then(
    cluster: LocalCluster, some: list[Any], *killed: subprocess.Popen[bytes], by: int = signal.SIGKILL
) -> list[Any]:
    """Results of calls; after the first, processes get a signal."""
    with connected(cluster.address, {}), parallel(some, 1, return_as="generator_unordered") as results:
        first = next(results)
        for process in killed:
            process.send_signal(by)
            if by == signal.SIGKILL:
                process.wait()
        return [first, *results]


@pytest.mark.parametrize(
    ("at_start", "says"),
    [
        (NO_TOSLOC, "has no TosLoc, or another one"),
        (ANOTHER, "has tosloc 0.0.1, here it is"),
        ("import platform; platform.python_version_tuple = lambda: ('3', '99', '0')", "has Python 3.99, here it is"),
    ],
)
def test_workers_that_do_not_fit(
    at_start: str, says: str, cluster: LocalCluster, capfd: pytest.CaptureFixture[str]
) -> None:
    cluster.start_scheduler()
    cluster.start_worker(at_start=at_start)
    with pytest.raises(ClusterError, match=says), connected(cluster.address, {}):
        pass
    assert capfd.readouterr() == ("", "")


def test_what_workers_cannot_reach(two: LocalCluster, tmp_path: Path, toy_project: toy.Toy) -> None:
    head = toy_project.git.made[-1]
    with connected(two.address, {toy_project.git.path: head}, tmp_path, written=True):
        pass
    assert list(tmp_path.iterdir()) == []
    for path, commit, says in (
        (tmp_path / "nowhere", "", "cannot read a repository: .*each worker has to reach it at the same path"),
        (toy_project.git.path, "1" * 40, "cannot read a repository: .*1111"),
    ):
        with pytest.raises(ClusterError, match=says), connected(two.address, {path: commit}):
            pass


NOT_SHARED = """
import pathlib
read_text = pathlib.Path.read_text
def without(self, *more, **named):
    if ".tosloc-unfinished." in self.name:
        raise FileNotFoundError(2, "No such file or directory", str(self))
    return read_text(self, *more, **named)
pathlib.Path.read_text = without
"""


def test_a_folder_that_is_not_shared(cluster: LocalCluster, toy_project: toy.Toy, tmp_path: Path) -> None:
    cluster.start_scheduler()
    cluster.start_worker(at_start=NOT_SHARED)
    words = ["train", "--repo", toy_project.git.path, "--reports", toy_project.reports(), "--out", tmp_path / "a/b"]
    process = command(tmp_path, *words, "--cluster", cluster.address)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert f"cannot read in {tmp_path}/a/b ([Errno 2] No such file or directory" in err
    assert err.endswith("; the folder has to be shared by all workers\n")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def toy_project(tmp_path_factory: pytest.TempPathFactory) -> toy.Toy:
    return toy.grow(tmp_path_factory.mktemp("toy"), bugs=14, themes=7)


def command(folder: Path, *words: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tosloc", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ) | {"PYTHONPATH": str(Path(__file__).parents[2]), "TOSLOC_CACHE": str(folder / "cache")},
    )


def done(*words: object) -> None:
    assert main([*map(str, words)]) == 0


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "seconds.json"
    }


def test_the_same_bytes(
    two: LocalCluster, toy_project: toy.Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    place, reports = toy_project.git.path, toy_project.reports()
    settings = tmp_path / "settings.toml"
    settings.write_text(f'{toy.SETTINGS}cluster = "{two.address}"\n')
    named = ("--repo", place, "--reports", reports)
    done("train", settings, *named, "--out", tmp_path / "here", "--cluster", "")
    done("train", settings, *named, "--out", tmp_path / "there", "--store", tmp_path / "store")
    assert files(tmp_path / "here") == files(tmp_path / "there")
    for folder, more in (("here", ()), ("there", ("--cluster", two.address))):
        checkpoint = tmp_path / folder / "checkpoint"
        done("rank", *named, "--checkpoint", checkpoint, "--out", tmp_path / f"ranked-{folder}", *more)
    assert files(tmp_path / "ranked-here") == files(tmp_path / "ranked-there")
    projects = tmp_path / "projects.toml"
    entry = f'repo = "{place}"\nreports = "{reports}"\n'
    projects.write_text(f"[one]\n{entry}[two]\n{entry}part = 'train'\njudged = 'test'\n")
    for folder, more in (("all-here", ()), ("all-there", ("--cluster", two.address))):
        done("rank", "--projects", projects, "--out", tmp_path / folder, *more)
    assert files(tmp_path / "all-here") == files(tmp_path / "all-there")


@pytest.fixture
def large(toy_project: toy.Toy, tmp_path_factory: pytest.TempPathFactory) -> toy.Toy:
    """A repository whose first index takes many batches."""
    project = toy.Toy(tmp_path_factory.mktemp("large"), toy_project.git)
    body = "".join(f"  int name{number}(int count) {{ return count + {number}; }}\n" for number in range(150))
    pen = toy.Pen()
    pen.commit({f"src/C{number}.java": f"class C{number} {{\n{body}}}\n" for number in range(500)}, "All", toy.START)
    path = project.folder / "repo"
    path.mkdir()
    project.git = type(toy_project.git)(path, True, toy_project.git.environment)
    project.git.git("init", "-q", "-b", "main", "--bare")
    pen.put(project.git)
    return project


def test_a_command_whose_scheduler_goes(two: LocalCluster, large: toy.Toy, tmp_path: Path) -> None:
    assert two.scheduler is not None
    index = partial(command, tmp_path, "index", "--repo", large.git.path, "--json", "--progress")
    process = index("--cluster", two.address)
    store = tmp_path / "cache"
    until(lambda: list(store.rglob("facts.sqlite-wal")) and next(store.rglob("*-wal")).stat().st_size > 150_000)
    two.scheduler.kill()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert err.splitlines()[-1].startswith(f"tosloc: --cluster: the Dask scheduler at {two.address} has gone")
    two.scheduler.wait()
    two.start_scheduler()
    two.start_worker()
    process = index("--cluster", two.address)
    out, _ = process.communicate(timeout=60)
    counts = json.loads(out)
    assert counts["added"] + counts["known"] == 500
    assert counts["known"] > 0


def test_ctrl_c(two: LocalCluster, toy_project: toy.Toy, tmp_path: Path) -> None:
    text = (
        "import sys\nfrom pathlib import Path\nfrom joblib import delayed\nfrom tests.cluster import calls\n"
        "from tosloc.cli.guard import guarded\nfrom tosloc.cluster.client import connected\n"
        "from tosloc.processes import parallel\n"
        "def run():\n"
        "    some = [delayed(calls.noted)(Path(sys.argv[2]), number, 30) for number in range(6)]\n"
        "    with connected(sys.argv[1], {}), parallel(some, 1, return_as='generator') as results:\n"
        "        list(results)\n    return 0\nsys.exit(guarded(run))\n"
    )
    notes = tmp_path / "notes"
    notes.mkdir()
    for number, code in ((signal.SIGINT, 130), (signal.SIGKILL, -9)):
        process = subprocess.Popen(
            [sys.executable, "-c", text, two.address, str(notes)],
            stderr=subprocess.PIPE,
            text=True,
            env=dict(os.environ) | {"PYTHONPATH": str(Path(__file__).parents[2])},
        )
        until(lambda: len(list(notes.glob("[0-9]*"))) == 2)
        process.send_signal(number)
        _, err = process.communicate(timeout=20)
        assert process.returncode == code
        assert err == ("tosloc: interrupted; run the same command again to go on\n" if code > 0 else "")
        begun = [int(path.name.split(".")[1]) for path in notes.glob("[0-9]*")]
        assert [child for child in begun if not gone(child, 10)] == []
        assert [worker.poll() for worker in two.workers] == [None, None]
        for path in notes.iterdir():
            path.unlink()
    with connected(two.address, {}):
        assert in_order([delayed(abs)(-1)]) == [1]
