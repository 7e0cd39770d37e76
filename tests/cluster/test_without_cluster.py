"""What of a cluster can be seen without one: addresses, settings, frames, and calls that are done elsewhere."""

from __future__ import annotations

import io
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import joblib
import pytest

from tests import toy
from tests.cluster import calls
from tosloc import errors, processes
from tosloc.analysis.languages import analyser_of
from tosloc.cli import many
from tosloc.cli.app import main
from tosloc.cluster import client, slot, worker
from tosloc.cluster.client import connected
from tosloc.config import Config
from tosloc.data.git import Repository
from tosloc.errors import ClusterError, MissingExtra, StoreError, ToslocError
from tosloc.experiment import ExperimentContext
from tosloc.index import build as building
from tosloc.index.build import build
from tosloc.index.store import FactStore
from tosloc.retrieval import extraction as extracting
from tosloc.retrieval.extraction import tasks_of
from tosloc.training import feature_names


class Away:
    """Does calls as another machine would: what goes there and comes back is pickled."""

    def __init__(self, dies: Iterable[int] = ()) -> None:
        self.done, self.dies = 0, set(dies)

    def results(
        self, calls: Iterable[Any], ordered: bool, broken: processes.Broken | None
    ) -> Generator[Any, None, None]:
        for number, (function, arguments, named) in enumerate(calls):
            if number in self.dies:
                assert broken is not None
                yield broken(function, *arguments)
                continue
            frame = pickle.dumps((os.getcwd(), pickle.dumps((function, arguments, named))))
            kind, value = pickle.loads(slot._answer(frame))
            if kind == "error":
                raise value
            self.done += 1
            yield value


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> toy.Toy:
    return toy.grow(tmp_path_factory.mktemp("toy"), bugs=14, themes=7)


@pytest.mark.parametrize(
    "address",
    [
        *("", "here", "host", ":8786", "host:", "host:port", "host:0", "host:65536", f"host:{'9' * 5000}"),
        *("http://host:1", "tcp://", "tcp://:1", "tcp://host:-1", "tcp://host:८", f"{'x' * 2000}:1"),
    ],
)
def test_no_address(address: str) -> None:
    with pytest.raises(ClusterError, match="is no address of a Dask scheduler, such as tcp:"):
        client._checked_address(address)


@pytest.mark.parametrize("address", ["127.0.0.1:8786", "tcp://127.0.0.1:8786", "tcp://[::1]:1"])
def test_an_address(address: str) -> None:
    assert client._checked_address(address) == f"tcp://{address.removeprefix('tcp://')}"


def test_no_host_is_called_so() -> None:
    with pytest.raises(ClusterError, match=r"no host is called 'nowhere\.invalid'"):
        client._checked_address("nowhere.invalid:8786")
    with pytest.raises(ClusterError, match="no host is called"):
        client._checked_address(f"{'x' * 200}:8786")


def test_nobody_answers(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(client, "ANSWER_SECONDS", 0.2)
    with pytest.raises(ClusterError, match=r"no Dask scheduler answers at 127\.0\.0\.1:9 within"):
        connected("127.0.0.1:9", {}).__enter__()
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_what_answers_and_is_no_scheduler(project: toy.Toy) -> None:
    pytest.importorskip("distributed")
    text = "from tosloc.cluster import client; client.ANSWER_SECONDS = 1; from tosloc.__main__ import main; main()"
    with socket.create_server(("127.0.0.1", 0)) as silent:
        words = ["index", "--repo", str(project.git.path), "--cluster", f"127.0.0.1:{silent.getsockname()[1]}"]
        done = subprocess.run([sys.executable, "-c", text, *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr.startswith("tosloc: --cluster: no Dask scheduler answers at 127.0.0.1:")
    assert len(done.stderr.splitlines()) == 1


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"--cluster needs distributed; run: pip install 'tosloc\[dask\]'"):
        connected("127.0.0.1:9", {}).__enter__()


def test_the_setting(project: toy.Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, dict[Path, str]]] = []

    @contextmanager
    def noted(address: str, repositories: dict[Path, str], folder: Path | None, *, written: bool) -> Iterator[None]:
        asked.append((address, repositories))
        yield

    monkeypatch.setattr(client, "connected", noted)
    head = {project.git.path: project.git.made[-1]}
    config = Config.of({"run": {"cluster": "there:1"}}, "test")
    for option, wanted in ((None, [("there:1", head)]), ("other:2", [("other:2", head)]), ("", [])):
        with many.on_cluster(option, config, {project.git.path: "", tmp_path / "none": ""}):
            assert asked == wanted
        asked.clear()
    assert "cluster" not in config.as_dict()["run"]  # or results would differ by it


def test_a_wrong_address_is_a_sentence(
    project: toy.Toy, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    one = ("--repo", project.git.path, "--reports", project.reports())
    projects = tmp_path / "projects.toml"
    projects.write_text(f'[a]\nrepo = "{one[1]}"\nreports = "{one[3]}"\n')
    out = tmp_path / "new/out"
    for words in (
        ["index", *one[:2]],
        ["train", *one, "--out", out],
        ["rank", *one, "--out", out],
        ["train", "--projects", projects, "--out", out],
        ["rank", "--projects", projects, "--out", out],
        ["lab", "baselines", "buglocator", *one, "--out", out],
        ["lab", "pool", "--projects", projects, "--work", out],
    ):
        assert main([*map(str, words), "--cluster", "nothing"]) == 2
        assert capsys.readouterr().err.startswith("tosloc: --cluster: 'nothing' is no address of a Dask scheduler")
    assert list(tmp_path.iterdir()) == [projects]


def test_frames() -> None:
    file = io.BytesIO()
    for data in (b"", b"one", b"x" * 3_000_000):
        slot.write_frame(file, data)
    whole = file.getvalue()
    file.seek(0)
    assert [slot.read_frame(file) for _ in range(4)] == [b"", b"one", b"x" * 3_000_000, None]
    assert slot.read_frame(io.BytesIO(whole[:5])) is None
    assert slot.read_frame(io.BytesIO(whole[8:17])) is None


@pytest.mark.parametrize(
    ("kind", "error", "says"),
    [
        ("ours", ToslocError, "it is the input's fault"),
        ("unpicklable", ToslocError, "it is damaged"),
        ("fault", RuntimeError, "ZeroDivisionError"),
    ],
)
def test_errors_travel(kind: str, error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        list(Away().results([joblib.delayed(calls.failing)(kind)], True, None))


def test_whose_calls_are_done(tmp_path: Path) -> None:
    with (
        processes.executed_by(Away()),
        processes.parallel([joblib.delayed(abs)(-1)], 1, return_as="generator") as results,
    ):
        assert processes.executor() is not None
        assert list(results) == [1]
    assert processes.executor() is None


def rows(store: FactStore, blobs: Mapping[str, str]) -> dict[str, bytes]:
    return store.read(list(blobs), analyser_of("java"))


def test_facts_that_are_made_elsewhere(project: toy.Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "BATCH_BLOBS", 2)
    with Repository(project.git.path) as repo:
        snapshot = repo.snapshot("HEAD", frozenset({".java"}))
    blobs = dict.fromkeys(snapshot.blobs, ".java")
    away = Away()
    with FactStore(tmp_path / "here") as here, FactStore(tmp_path / "there") as there:
        report = build(project.git.path, here, blobs, jobs=1)
        with processes.executed_by(away):
            assert build(project.git.path, there, blobs, jobs=1) == report
        assert away.done == (len(blobs) + 1) // 2
        assert rows(here, blobs) == rows(there, blobs)


def test_what_a_worker_cannot_read_is_read_here(
    project: toy.Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(building, "BATCH_BLOBS", 2)
    there = building._analyse_numbered

    def without(path: str, number: int, batch: Any, lizard: bool) -> Any:
        return number, [one._replace(payload=None) for one in there(path, number, batch, lizard)[1]]

    class Poor(Away):
        def results(self, calls: Iterable[Any], *more: Any) -> Generator[Any, None, None]:
            for _, arguments, named in calls:
                yield without(*arguments, **named)

    with Repository(project.git.path) as repo, processes.executed_by(Poor()), FactStore(tmp_path / "store") as store:
        blobs = dict.fromkeys(repo.snapshot("HEAD", frozenset({".java"})).blobs, ".java")
        assert build(project.git.path, store, blobs).added == len(blobs)


@pytest.mark.slow  # a process for what brings one down
def test_a_batch_that_kills_is_done_here(project: toy.Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "BATCH_BLOBS", 2)
    with Repository(project.git.path) as repo:
        blobs = dict.fromkeys(repo.snapshot("HEAD", frozenset({".java"})).blobs, ".java")
    with processes.executed_by(Away(dies=[1])), FactStore(tmp_path / "store") as store:
        assert build(project.git.path, store, blobs).added == len(blobs)


@pytest.mark.parametrize("sampled", [0, 3])
def test_tables_that_are_made_elsewhere(
    project: toy.Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sampled: int
) -> None:
    monkeypatch.setattr(extracting, "BLOCK_REPORTS", 4)
    away = Away()
    with (
        Repository(project.git.path) as repo,
        ExperimentContext.set_up(toy.config(), repo, project.reports(), tmp_path / "store") as experiment,
    ):
        tasks = tasks_of(experiment.dataset.cases, experiment.history, sampled)
        names = feature_names(toy.config())
        for folder in ("here", "there"):  # as a process that was killed leaves it
            (tmp_path / folder).mkdir()
            (tmp_path / folder / "facts.sqlite").write_bytes(b"half a copy")
        here = experiment.extraction(tmp_path / "here", names).run(tasks, jobs=1)
        with processes.executed_by(away):
            there = experiment.extraction(tmp_path / "there", names).run(tasks, jobs=1)
    assert away.done == len(there) == 4
    assert [path.read_bytes() for path in here] == [path.read_bytes() for path in there]
    assert not (tmp_path / "here/facts.sqlite").exists()
    assert {path.name for path in (tmp_path / "there").iterdir()} == {
        path.name for path in (tmp_path / "here").iterdir()
    }


def test_a_copy_of_the_facts(project: toy.Toy, tmp_path: Path) -> None:
    with Repository(project.git.path) as repo:
        blobs = dict.fromkeys(repo.snapshot("HEAD", frozenset({".java"})).blobs, ".java")
    with FactStore(tmp_path / "store") as store:
        build(project.git.path, store, blobs, jobs=1)
        (tmp_path / "shared").mkdir()
        store.copy_to(tmp_path / "shared/a copy?of#it")
        whole = rows(store, blobs)
    (tmp_path / "shared/a copy?of#it").chmod(0o400)
    with FactStore(tmp_path / "shared/a copy?of#it", unchanging=True) as copy:
        assert rows(copy, blobs) == whole
        with pytest.raises(StoreError, match="cannot be used"):
            copy.remove(blobs, "java")
    assert [path.name for path in (tmp_path / "shared").iterdir()] == ["a copy?of#it"]
    with pytest.raises(StoreError, match="cannot be used"), FactStore(tmp_path / "none", unchanging=True) as none:
        none.missing(["1"], "java")


def test_what_a_worker_looks_at(project: toy.Toy, tmp_path: Path) -> None:
    path, head = str(project.git.path), project.git.made[-1]
    token = tmp_path / "token"
    token.write_text("seen")
    found = worker.look({path: head}, str(token), True)
    assert found == (worker.about(), "", "seen")
    assert list(tmp_path.iterdir()) == [token]
    assert {"Python", "tosloc", "tosloc's code", "numpy", "tree-sitter-java"} <= found.about.keys()
    assert str(tmp_path) in worker.look({path: head, str(tmp_path): ""}, "", False).repository
    assert "1111" in worker.look({path: "1" * 40}, "", False).repository
    assert "No such file" in worker.look({}, str(tmp_path / "other"), False).token


@pytest.mark.slow
def test_a_process_for_calls(tmp_path: Path) -> None:
    one = worker._Slots.take("a")
    call = pickle.dumps((str(tmp_path), pickle.dumps((os.getcwd, (), {}))))
    one.ask(call)
    assert one.has_answered(30)
    answer = one.answer()
    assert answer is not None
    assert pickle.loads(answer) == ("value", str(tmp_path))
    worker._Slots.give_back("a", one)
    other = worker._Slots.take("b")
    assert other is not one
    assert worker._Slots.take("a") is one
    one.ask(pickle.dumps(("", pickle.dumps((os.abort, (), {})))))
    assert one.has_answered(30)
    assert one.answer() is None
    assert one.kill() == -signal.SIGABRT
    other.kill()


@pytest.mark.slow
@pytest.mark.parametrize(("call", "code"), [(b"", 0), (pickle.dumps(("", pickle.dumps((time.sleep, (60,), {})))), 1)])
def test_a_process_that_hears_nothing(call: bytes, code: int) -> None:
    program = "from tosloc.cluster import slot; slot.SILENT_SECONDS = .5; slot.main()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as silent:
        assert silent.stdin is not None
        slot.write_frame(silent.stdin, call)
        for _ in range(10):
            time.sleep(0.1)
            slot.write_frame(silent.stdin, b"")
        assert silent.poll() is None
        assert silent.wait(30) == code
