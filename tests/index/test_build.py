"""Filling a store from a repository, and being stopped while doing so."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tosloc.code.facts import analyse
from tosloc.code.languages import analyser_of
from tosloc.git.repository import Repository
from tosloc.index import build as module
from tosloc.index.build import BuildReport, build, read_facts
from tosloc.index.corpus import FactTable
from tosloc.index.store import FactStore

SCRIPT = """
import sys
from tosloc.index import build as module
from tosloc.index.store import FactStore
module.BATCH_BLOBS = 2
def progress(what, done, total):
    print(done, flush=True)
with FactStore(sys.argv[2]) as store:
    blobs = {blob: ".java" for blob in sys.argv[4:]}
    module.build(sys.argv[1], store, blobs, jobs=int(sys.argv[3]), progress=progress)
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A repository of 40 Java files; blob -> text."""
    path = tmp_path_factory.mktemp("shop")
    texts = {}
    for i in range(40):
        body = "".join(f"    int step{i}Of{j}(int a) {{ return a > {j} ? 1 : 2; }}\n" for j in range(5 * i))
        texts[f"Shop{i}.java"] = f"package shop;\n/** Number {i}. */\nclass Shop{i} {{\n{body}}}\n"
    for name, text in texts.items():
        (path / name).write_text(text)
    git = ["git", "-C", str(path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "-qm", "all"], check=True)
    listing = subprocess.run([*git, "ls-files", "-s"], check=True, capture_output=True, text=True).stdout
    return path, {line.split()[1]: texts[line.split()[3]] for line in listing.splitlines()}


def assert_same(one: FactTable, two: FactTable) -> None:
    for name in vars(one):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_build(
    repository: tuple[Path, dict[str, str]], tmp_path: Path, jobs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, texts = repository
    monkeypatch.setattr(module, "BATCH_BLOBS", 8)
    seen: list[tuple[int, int]] = []
    wanted = {blob: ".java" for blob in texts} | {"f" * 40: ".java", next(iter(texts)): ".JAVA"}
    with FactStore(tmp_path / "facts.db") as store:
        report = build(path, store, wanted, jobs, lambda what, done, total: seen.append((done, total)))
        assert report == BuildReport(added=40, known=0, missing=1, fallback=0)
        assert seen[0] == (0, 41)
        assert seen[-1] == (41, 41)
        table = read_facts(path, store, wanted)
        for place, text in enumerate(texts.values()):
            facts = analyse(text, ".java")
            start, end = table.starts[place : place + 2]
            assert [table.vocabulary[t] for t in table.terms[start:end]] == facts.terms
            np.testing.assert_array_equal(table.counts[start:end], facts.counts)
            assert table.complexity[place] == facts.complexity
        del wanted["f" * 40]
        assert build(path, store, wanted, jobs) == BuildReport(added=0, known=40, missing=0, fallback=0)


def test_damaged_rows_are_made_again(repository: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    path, texts = repository
    wanted = dict.fromkeys(texts, ".java")
    with FactStore(tmp_path / "facts.db") as store:
        build(path, store, wanted, 1)
        whole = read_facts(path, store, wanted)
        store.write((blob, analyser_of("java"), b"damaged") for blob in list(texts)[::7])
        assert_same(read_facts(path, store, wanted), whole)
        unread = read_facts(path, store, {"f" * 40: ".java"} | wanted)  # a blob that could not be read
        assert unread.parsed.tolist() == [False] + [True] * 40


@pytest.mark.slow
def test_a_blob_that_kills_its_worker_loses_nobody_else(
    repository: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    path, texts = repository
    blobs = list(texts)
    bad = next(blob for blob in blobs if "class Shop17 " in texts[blob])
    script = tmp_path / "deadly.py"
    script.write_text(
        SCRIPT.replace("BATCH_BLOBS = 2", "BATCH_BLOBS = 4")
        .replace("with FactStore", "if __name__ == '__main__':\n  with FactStore")
        .replace("\n    ", "\n      ")
        .replace("module.build(", "print(module.build(")
        .replace("progress=progress)", "progress=progress))")
    )
    # every process that starts with this on its path has an analyser that dies at one text
    (tmp_path / "sitecustomize.py").write_text(
        "import os\n"
        "import tosloc.code.facts as facts\n"
        "real = facts.analyse_all\n"
        "def analyse_all(files, *, parse=True, **more):\n"
        "    if parse and any('class Shop17 ' in text for text, _ in files):\n"
        "        os._exit(9)\n"
        "    return real(files, parse=parse, **more)\n"
        "facts.analyse_all = analyse_all\n"
    )
    root = Path(module.__file__).parents[2]
    done = subprocess.run(
        [sys.executable, str(script), str(path), str(tmp_path / "facts.db"), "2", *blobs],
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{root}"},
    )
    assert done.returncode == 0, done.stderr
    assert "BuildReport(added=40, known=0, missing=0, fallback=1, large=0)" in done.stdout
    assert f"file content {bad} brings down what parses it" in done.stderr
    with FactStore(tmp_path / "facts.db") as store:
        table = read_facts(path, store, dict.fromkeys(blobs, ".java"))
        assert [blob for blob, parsed in zip(blobs, table.parsed, strict=True) if not parsed] == [bad]


@pytest.mark.slow
@pytest.mark.parametrize("deaths", [3, 1_000])
def test_no_file_is_blamed_for_the_death_of_what_reads_it(
    repository: tuple[Path, dict[str, str]], tmp_path: Path, deaths: int
) -> None:
    """The first processes are killed whatever they do: both workers and the one after them, or all that there are."""
    path, texts = repository
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\n"
        "if {'joblib.externals.loky.backend.popen_loky_posix', '--multiprocessing-fork'} & set(sys.orig_argv):\n"
        f"    with open({str(tmp_path / 'started')!r}, 'a') as started:\n"
        "        started.write('x')\n"
        "        started.flush()\n"
        f"    if os.path.getsize(started.name) <= {deaths}:\n"
        "        os.kill(os.getpid(), 9)\n"
    )
    script = SCRIPT.replace("with FactStore", "if __name__ == '__main__':\n  with FactStore").replace(
        "\n    ", "\n      "
    )
    (tmp_path / "program.py").write_text(script)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "program.py"), str(path), str(tmp_path / "facts.db"), "2", *texts],
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{Path(module.__file__).parents[2]}"},
    )
    with FactStore(tmp_path / "facts.db") as store:
        left = set(store.missing(texts, analyser_of("java")))
        known = [blob for blob in texts if blob not in left]
        assert read_facts(path, store, dict.fromkeys(known, ".java")).parsed.all()
    if deaths == 3:
        assert (done.returncode, known) == (0, list(texts)), done.stderr
    else:
        assert (done.returncode, known) == (1, [])
        assert "ToslocError: " in done.stderr
        assert "killed whatever they read" in done.stderr


def test_a_file_that_is_too_large_is_known_by_its_path_alone(
    repository: tuple[Path, dict[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, texts = repository
    read: list[str] = []
    monkeypatch.setattr(module, "LARGEST_SOURCE", 1_000)

    def asked(_: Repository, blobs: list[str]) -> Iterator[tuple[str, bytes]]:
        read.extend(blobs)
        return ((blob, b"class A {}") for blob in blobs)

    monkeypatch.setattr(Repository, "texts", asked)
    larger = {blob for blob, text in texts.items() if len(text) > 1_000}
    with FactStore(tmp_path / "facts.db") as store:
        report = build(path, store, dict.fromkeys(texts, ".java"), 1)
        assert report == BuildReport(added=40, known=0, missing=0, fallback=0, large=len(larger))
        assert set(read) == texts.keys() - larger
        table = read_facts(path, store, dict.fromkeys(sorted(larger), ".java"))
    assert not table.parsed.any()
    assert not table.lines.any()
    assert len(table.terms) == 0
