"""Work by a Dask cluster: errors are sentences, dead workers are replaced, results are the same."""

import os
import signal
import time
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from functools import partial

import pytest

import tosloc
from tests import toy
from tests.local_cluster import LocalCluster, differing_files
from tosloc.cli.app import main
from tosloc.core import errors, processes
from tosloc.core.cluster import on_cluster
from tosloc.core.errors import MissingExtra, ToslocError
from tosloc.git.repository import resolve_revision

LONG_ADDRESS = f"{'x' * 2000}:1"


@pytest.mark.parametrize(
    "address",
    ["here", ":8786", "host:port", "http://host:1", "host:-1", LONG_ADDRESS],
    ids=["no port", "no host", "named port", "http", "negative port", "long"],
)
def test_a_wrong_address_is_refused(address):
    with (
        pytest.raises(ToslocError, match="is not the address of a Dask scheduler; write it like"),
        on_cluster(address, {}, resolve_revision),
    ):
        pass


@pytest.mark.parametrize("command", ["index", "train", "rank"])
def test_no_command_begins_without_its_cluster(command, project, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    arguments = [command, "--repo", str(project.git.path), "--cluster", "nothing"]
    if command != "index":
        arguments += ["--reports", str(project.write_reports()), "--out", str(tmp_path / "out")]
    assert main(arguments) == 2
    sentence = "tosloc: --cluster: 'nothing' is not the address of a Dask scheduler"
    assert capsys.readouterr().err.startswith(sentence)
    assert list(tmp_path.iterdir()) == []


def test_without_dask_the_error_has_the_command_that_installs_it(monkeypatch):
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    with (
        pytest.raises(MissingExtra, match=r"run: .*pip .*install .*\[dask\]"),
        on_cluster("127.0.0.1:9", {}, resolve_revision),
    ):
        pass


# With two workers


@pytest.fixture
def local_cluster(tmp_path_factory):
    """Start a scheduler and two workers."""
    pytest.importorskip("distributed")
    with closing(LocalCluster(tmp_path_factory.mktemp("dask"))) as local_cluster:
        yield local_cluster


def crash_at(number, fatal_number):
    """Crash the process at one number, as a parser might; else return the number."""
    if number == fatal_number:
        os.kill(os.getpid(), signal.SIGSEGV)
    return number


def raise_error():
    raise ToslocError("it is the input's fault")


def perform(calls):
    """Return the results of calls in their order."""
    with processes.run_in_parallel(calls, 1, ordered=True) as results:
        return list(results)


def expect_refusal(local_cluster, message):
    with (
        pytest.raises(ToslocError, match=message),
        on_cluster(local_cluster.address, {}, resolve_revision),
    ):
        pass


@pytest.mark.slow
def test_calls_are_performed_in_order_even_if_a_worker_dies(local_cluster, project, capfd):
    calls = [partial(abs, -number) for number in range(20)]
    with on_cluster(local_cluster.address, {project.git.path: "HEAD"}, resolve_revision):
        assert perform(calls) == list(range(20))
        local_cluster.workers[0].kill()
        assert perform(calls) == list(range(20))
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err == ""


@pytest.mark.slow
def test_calls_are_performed_in_the_current_folder(local_cluster):
    with on_cluster(local_cluster.address, {}, resolve_revision):
        assert perform([partial(os.getcwd)]) == [os.getcwd()]


@pytest.mark.slow
def test_an_error_in_a_cluster_worker_is_raised_here(local_cluster):
    with (
        on_cluster(local_cluster.address, {}, resolve_revision),
        pytest.raises(ToslocError, match="it is the input's fault"),
    ):
        perform([partial(raise_error)])


@pytest.mark.slow
def test_a_scheduler_that_dies_is_reported_in_a_sentence(local_cluster, capfd):
    with (
        on_cluster(local_cluster.address, {}, resolve_revision),
        processes.run_in_parallel([partial(time.sleep, 60)], 1, ordered=True) as results,
    ):
        local_cluster.scheduler.kill()
        with pytest.raises(ToslocError, match="no longer answers; finished results are kept"):
            next(results)
    captured = capfd.readouterr()
    assert captured.out == ""
    assert captured.err == ""


@pytest.mark.slow
def test_workers_of_another_version_are_refused(local_cluster, monkeypatch):
    monkeypatch.setattr(tosloc, "__version__", "0.0.1")
    expect_refusal(
        local_cluster,
        r"differs from this machine \(only one of them has .*tosloc 0\.0\.1.*\)",
    )


@pytest.mark.slow
def test_a_call_that_kills_several_workers_is_an_error(local_cluster):
    local_cluster.start_worker("--nanny")
    with (
        on_cluster(local_cluster.address, {}, resolve_revision),
        pytest.raises(BrokenProcessPool, match="killed while doing the same task"),
    ):
        perform([partial(crash_at, number, 5) for number in range(12)])


@pytest.mark.slow
def test_workers_of_several_threads_are_refused(local_cluster):
    local_cluster.start_worker("--no-nanny", "--nthreads", "2")
    expect_refusal(local_cluster, "runs more than one thread")


def run(*arguments):
    """Run a command of TosLoc."""
    assert main([str(argument) for argument in arguments]) == 0


@pytest.mark.slow
def test_a_cluster_gives_the_same_bytes(local_cluster, project, tmp_path, monkeypatch):
    settings = tmp_path / "settings.toml"
    settings.write_text(toy.SETTINGS)
    data = ("--repo", project.git.path, "--reports", project.write_reports())
    for name, options in (("here", ()), ("there", ("--cluster", local_cluster.address))):
        monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / f"cache-{name}"))
        trained = tmp_path / name / "trained"
        run("train", settings, *data, "--out", trained, *options)
        checkpoint = trained / "checkpoint"
        ranked = tmp_path / name / "ranked"
        run("rank", *data, "--checkpoint", checkpoint, "--out", ranked, *options)
    assert differing_files(tmp_path / "here", tmp_path / "there") == []
