"""``tosloc cache`` as people type it."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import GitRepository
from tosloc.cli import main
from tosloc.index.user_cache import let_go

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def place(plain_folder: Path) -> Iterator[Path]:
    yield plain_folder
    let_go()


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Function (*arguments) -> exit code, standard output and standard error."""

    def tosloc(*arguments: str | Path) -> tuple[int, str, str]:
        code = main([str(argument) for argument in arguments])
        let_go()  # as a process does that ends
        return code, *capsys.readouterr()

    return tosloc


@pytest.fixture
def folder(repository: GitRepository, run: Run, tmp_path: Path) -> Path:
    """The folder that is kept of a repository, indexed ten days ago."""
    repository.commit({"src/Door.java": "class Door { void open() {} }", "src/Key.java": "class Key {}"})
    assert run("index", "--repo", repository.path)[0] == 0
    [made] = (tmp_path / "cache").iterdir()
    ten_days = time.time() - 10 * 86_400 - 60
    os.utime(made / "place.json", (ten_days, ten_days))
    return made


def test_it_is_its_owners_alone(folder: Path, run: Run, repository: GitRepository) -> None:
    def modes() -> set[int]:
        found = {path: stat.S_IMODE(path.stat().st_mode) for path in (folder.parent, *folder.parent.rglob("*"))}
        assert len(found) > 5
        return {mode ^ 0o100 * path.is_dir() for path, mode in found.items()}

    report = folder.parents[1] / "report.txt"
    report.write_text("Door.open loses its key")
    assert run("localize", report, "--repo", repository.path)[0] == 0
    assert modes() == {0o600}
    folder.chmod(0o755)  # as an earlier version made it
    assert run("localize", report, "--repo", repository.path)[0] == 0
    assert modes() == {0o600}


def test_listed(folder: Path, run: Run, repository: GitRepository) -> None:
    for arguments in ([], ["list"], ["list", "--repo", repository.path]):
        code, out, _ = run("cache", *arguments)
        assert code == 0
        [head, _, line, last] = [line.split() for line in out.splitlines() if line.strip()]
        assert head == ["kept", "of", "facts", "all", "last", "used", "repository"]
        assert line[0] == folder.name
        assert line[-4:] == ["10", "days", "ago", str(repository.path)]
        assert last[:2] == ["all", "1"]
    code, out, _ = run("cache", "list", "--json")
    [record] = json.loads(out)
    assert record["folder"] == str(folder)
    assert (record["repository"], record["there"], record["in_use"]) == (str(repository.path), True, False)
    assert list(record["bytes"]) == ["facts", "versions", "vectors", "reports", "other"]
    assert record["total"] == sum(record["bytes"].values())


def test_of_nothing(run: Run, tmp_path: Path) -> None:
    for arguments in ([], ["list"]):
        assert run("cache", *arguments) == (0, "", f"tosloc: nothing is kept in {tmp_path / 'cache'}\n")
    assert run("cache", "prune") == (0, "nothing to remove\n", "")
    assert run("cache", "prune", "--all", "--json") == (0, "[]\n", "")
    assert run("cache", "check") == (0, "nothing is kept\n", "")
    assert run("cache", "vacuum") == (0, "0 freed in all\n", "")
    assert not (tmp_path / "cache").exists()


def test_pruned(folder: Path, run: Run, repository: GitRepository) -> None:
    assert run("cache", "prune")[:2] == (0, "nothing to remove\n")
    assert run("cache", "prune", "--older-than", "11d")[:2] == (0, "nothing to remove\n")
    assert run("cache", "prune", "--gone")[:2] == (0, "nothing to remove\n")
    assert run("cache", "prune", "--max-size", "1G")[:2] == (0, "nothing to remove\n")
    assert folder.exists()
    for chosen in (["--older-than", "9d"], ["--all"], ["--repo", repository.path], ["--repo", folder.name]):
        code, out, _ = run("cache", "prune", *chosen, "--dry-run")
        assert code == 0
        assert out.startswith(f"{folder.name}: everything would be removed: ")
        assert "would be freed in all" in out
        assert folder.exists()
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    code, out, _ = run("cache", "prune", "--older-than", "9d", "--json")
    assert (code, folder.exists()) == (0, False)
    assert json.loads(out) == [{"folder": str(folder), "what": "everything", "freed": size, "left": None}]


def test_pruned_of_what_is_gone(folder: Path, run: Run, repository: GitRepository) -> None:
    repository.path.rename(repository.path.with_name("moved"))
    assert f"{repository.path} (gone)" in run("cache")[1]
    code, out, _ = run("cache", "prune", "--gone")
    assert (code, folder.exists()) == (0, False)
    assert f"{folder.name}: everything removed: " in out


def test_pruned_to_a_size(folder: Path, run: Run) -> None:
    code, out, _ = run("cache", "prune", "--max-size", "1kB")
    assert (code, folder.exists()) == (0, False)
    assert f"{folder.name}: facts, versions, vectors removed: " in out


def test_what_is_in_use_stays(folder: Path, run: Run, repository: GitRepository) -> None:
    code = (
        "import sys; from tosloc.localizer import Localizer;"
        f"opened = Localizer.open({str(repository.path)!r}); print(flush=True); sys.stdin.read()"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        for arguments, expected in (["--all"], 0), (["--repo", repository.path], 1), (["--max-size", "0"], 0):
            code, out, err = run("cache", "prune", *arguments)
            assert (code, folder.exists()) == (expected, True)
            assert out == "nothing to remove\n"
            assert (f"{folder.name}: a process uses it, so it stays\n" in err) == ("--max-size" not in arguments)
    finally:
        process.communicate()
    assert run("cache", "prune", "--all")[0] == 0
    assert not folder.exists()


def test_checked(folder: Path, run: Run) -> None:
    assert run("cache", "check")[:2] == (0, f"{folder.name}: well, facts 2\n")
    store = folder / "facts.sqlite"
    store.write_bytes(store.read_bytes()[:-4096])
    code, out, _ = run("cache", "check")
    assert code == 1
    assert out.startswith(f"{folder.name}: DAMAGED\n  {store}: the facts store is damaged (")
    assert "delete it and index again" in out
    code, out, _ = run("cache", "check", "--json")
    assert code == 1
    [record] = json.loads(out)
    assert (record["folder"], len(record["damaged"])) == (str(folder), 1)


def test_vacuumed(folder: Path, run: Run) -> None:
    assert run("cache", "vacuum")[0] == 0
    assert json.loads(run("cache", "vacuum", "--json")[1]) == [{"folder": str(folder), "freed": 0}]
    (folder / "facts.sqlite").write_bytes(b"x" * 5000)
    code, _, err = run("cache", "vacuum")
    assert code == 2
    assert "cannot be vacuumed (file is not a database); see: tosloc cache check" in err


def test_names_that_would_change_a_terminal(folder: Path, run: Run) -> None:
    odd = folder.with_name("door\x1b[31m\n-01234567")
    folder.rename(odd)
    (odd / "place.json").unlink()
    for arguments in (["list"], ["check"], ["vacuum"], ["prune", "--all"]):
        code, out, err = run("cache", *arguments)
        assert code == 0
        assert "\x1b" not in out + err
    assert not odd.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["prune", "--older-than", "soon"], "--older-than: 'soon' is no age; write 36h, 90d, 12w or 1y, say"),
        (["prune", "--max-size", "small"], "--max-size: 'small' is no size; write 500M or 20G, say"),
        (["prune", "--repo", "elsewhere"], "elsewhere: nothing is kept of such a repository; see: tosloc cache list"),
        (["prune", "--all", "--gone"], "--all: takes everything"),
        (["prune", "--max-size", "1G", "--former-files"], "--max-size: takes the least used as a whole"),
        (["check", "--repo", "elsewhere"], "nothing is kept of such a repository"),
        (["purge"], "No such command 'purge'"),
    ],
)
def test_wrong_input_is_one_sentence(arguments: list[str], words: str, folder: Path, run: Run) -> None:
    code, out, err = run("cache", *arguments)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert words in err
    assert folder.exists()


def test_a_largest_size_that_is_none(
    repository: GitRepository, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    repository.commit({"src/Door.java": "class Door {}"})
    monkeypatch.setenv("TOSLOC_CACHE_SIZE", "much")
    code, _, err = run("index", "--repo", repository.path)
    assert (code, err) == (2, "tosloc: $TOSLOC_CACHE_SIZE: 'much' is no size; write 500M or 20G, say\n")
    assert not (tmp_path / "cache").exists()
