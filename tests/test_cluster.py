"""Work by a Dask cluster: what does not fit is a sentence; workers that die; the same bytes."""

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import pytest
from joblib import delayed

from tests import toy
from tests.local_cluster import LocalCluster, differing, until
from tosloc import cluster, errors, processes
from tosloc.cli.app import main
from tosloc.cluster import on_cluster
from tosloc.errors import MissingExtra, ToslocError


def test_a_wrong_address_is_a_sentence(project, tmp_path, capsys, monkeypatch):
    for address in ("here", ":8786", "host:port", "http://host:1", "tcp://host:-1", f"{'x' * 2000}:1"):
        with pytest.raises(ToslocError, match="is no address of a Dask scheduler, such as"), on_cluster(address, {}):
            pass
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    one = ("--repo", project.git.path, "--reports", project.reports())
    projects = tmp_path / "projects.toml"
    projects.write_text(f'[a]\nrepo = "{one[1]}"\nreports = "{one[3]}"\n')
    out = tmp_path / "new/out"
    for words in (
        ["index", *one[:2]],
        ["train", *one, "--out", out],
        ["rank", *one, "--out", out],
        ["lab", "pool", "--projects", projects, "--work", out],
    ):
        assert main([*map(str, words), "--cluster", "nothing"]) == 2
        assert capsys.readouterr().err.startswith("tosloc: --cluster: 'nothing' is no address of a Dask scheduler")
    assert list(tmp_path.iterdir()) == [projects]
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"run: pip install 'tosloc\[dask\]'"), on_cluster("127.0.0.1:9", {}):
        pass


@pytest.fixture
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """A scheduler and two workers."""
    pytest.importorskip("distributed")
    with LocalCluster(tmp_path_factory.mktemp("dask")) as made:
        made.start(2)
        yield made


def deadly(number: int, at: int) -> int:
    """Bring the process down at one number, as a parser might."""
    if number == at:
        os.kill(os.getpid(), signal.SIGSEGV)
    return number


def failing() -> None:
    raise ToslocError("it is the input's fault")


def in_order(calls: list[Any]) -> list[Any]:
    with processes.parallel(calls, 1, return_as="generator") as results:
        return list(results)


@pytest.mark.slow
def test_calls(two, project, capfd):
    with on_cluster(two.address, {project.git.path: "HEAD"}):
        assert in_order([delayed(abs)(-number) for number in range(20)]) == list(range(20))
        assert in_order([delayed(os.getcwd)()]) == [os.getcwd()]
        with pytest.raises(ToslocError, match="it is the input's fault"):
            in_order([delayed(failing)()])
        two.workers[0].kill()
        two.workers[0].wait()
        assert in_order([delayed(abs)(-number) for number in range(20)]) == list(range(20))
        assert two.scheduler is not None
        with processes.parallel([delayed(time.sleep)(60)], 1, return_as="generator") as results:
            two.scheduler.kill()
            with pytest.raises(ToslocError, match="has gone; what was finished is kept"):
                next(results)
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_what_does_not_fit_and_a_call_that_brings_its_worker_down(two, monkeypatch):
    def refused(words: str) -> None:
        with pytest.raises(ToslocError, match=words), on_cluster(two.address, {}):
            pass

    with monkeypatch.context() as patch:
        patch.setattr(cluster.tosloc, "__version__", "0.0.1")
        refused(r"has other packages .*tosloc 0\.0\.1")
    two.start_worker("--nanny")
    with on_cluster(two.address, {}), pytest.raises(BrokenProcessPool, match="killed at the same work"):
        in_order([delayed(deadly)(number, 5) for number in range(12)])
    registered = two.said().count("Registered to") + 1
    two.start_worker("--no-nanny", "--nthreads", "2")
    until(lambda: two.said().count("Registered to") >= registered)
    refused("has many threads")


@pytest.mark.slow
def test_the_same_bytes(two, project, tmp_path, monkeypatch):
    settings = tmp_path / "settings.toml"
    settings.write_text(toy.SETTINGS)
    named = ("--repo", project.git.path, "--reports", project.reports())
    for folder, more in (("here", ()), ("there", ("--cluster", two.address))):
        monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / f"cache-{folder}"))
        out = tmp_path / folder
        for words in (
            ("train", settings, *named, "--out", out / "trained"),
            ("rank", *named, "--checkpoint", out / "trained/checkpoint", "--out", out / "ranked"),
        ):
            assert main([*map(str, (*words, *more))]) == 0
    assert differing(tmp_path / "here", tmp_path / "there") == []
