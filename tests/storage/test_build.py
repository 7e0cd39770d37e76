"""Filling a store from a repository, and being stopped while doing so."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import GitRepository
from tosloc.code.facts import analyse
from tosloc.core.arrays import to_arrays
from tosloc.git.repository import Repository
from tosloc.retrieval.corpus import Corpus, pack_facts
from tosloc.storage import build as module
from tosloc.storage.build import BuildReport, build
from tosloc.storage.facts import read_facts
from tosloc.storage.store import FactStore

SCRIPT = """
import sys
from tosloc.git.repository import Repository
from tosloc.storage import build as module
from tosloc.storage.store import FactStore
module.BATCH_BLOBS = 4
if __name__ == "__main__":
    with FactStore(sys.argv[2]) as store:
        print(module.build(Repository(sys.argv[1]), store, dict.fromkeys(sys.argv[3:], ".java"), jobs=2))
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """A repository of 40 Java files; blob -> text."""
    folder = tmp_path_factory.mktemp("shop")
    made = GitRepository.new(folder / "repo.git", bare=True)
    texts = {}
    for i in range(40):
        body = "".join(
            f"    int step{i}Of{j}(int a) {{ return a > {j} ? 1 : 2; }}\n" for j in range(5 * i)
        )
        texts[f"Shop{i}.java"] = f"package shop;\n/** Number {i}. */\nclass Shop{i} {{\n{body}}}\n"
    made.commit(texts)
    listing = made.git("ls-tree", "-r", "main").splitlines()
    return Repository(made.path), {line.split()[2]: texts[line.split()[3]] for line in listing}


def built_by_program(repository, folder, customized):
    """What a program prints that builds a store, whose processes start with some lines of code; its exit code."""
    path, texts = repository[0].path, repository[1]
    (folder / "sitecustomize.py").write_text(customized)
    (folder / "program.py").write_text(SCRIPT)
    return subprocess.run(
        [sys.executable, str(folder / "program.py"), str(path), str(folder / "facts.db"), *texts],
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{Path(module.__file__).parents[2]}"},
        check=False,
    )


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_build(repository, tmp_path, jobs, monkeypatch):
    repo, texts = repository
    monkeypatch.setattr(module, "BATCH_BLOBS", 8)
    seen = []
    wanted = dict.fromkeys(texts, ".java") | {"f" * 40: ".java"}
    with FactStore(tmp_path / "facts.db") as store:
        report = build(
            repo, store, wanted, jobs, lambda what, done, total: seen.append((done, total))
        )
        assert report == BuildReport(added=40, known=0, missing=1, fallback=0)
        assert (seen[0], seen[-1]) == ((0, 41), (41, 41))
        made = [pack_facts(analyse(text, ".java")) for text in texts.values()]
        read, expected = read_facts(store, wanted), Corpus.from_rows(list(wanted), [*made, None])
        left, right = to_arrays({"": read}), to_arrays({"": expected})
        assert all(np.array_equal(left[name], right[name]) for name in left | right)
        assert build(repo, store, dict.fromkeys(texts, ".JAVA"), jobs) == BuildReport(
            0, known=40, missing=0, fallback=0
        )


@pytest.mark.slow
def test_a_blob_that_kills_its_worker_loses_nobody_else(repository, tmp_path):
    bad = next(blob for blob, text in repository[1].items() if "class Shop17 " in text)
    done = built_by_program(
        repository,
        tmp_path,
        "import os\n"
        "import tosloc.code.facts as facts\n"
        "real = facts.analyse\n"
        "def analyse(text, suffix, *, parse=True, **more):\n"
        "    if parse and 'class Shop17 ' in text:\n"
        "        os._exit(9)\n"
        "    return real(text, suffix, parse=parse, **more)\n"
        "facts.analyse = analyse\n",
    )
    assert "BuildReport(added=40, known=0, missing=0, fallback=1, large=0)" in done.stdout, (
        done.stderr
    )
    assert f"file content {bad} brings down what parses it" in done.stderr
    with FactStore(tmp_path / "facts.db") as store:
        table = read_facts(store, dict.fromkeys(repository[1], ".java"))
    assert [blob for blob, parsed in zip(table.blobs, table.parsed, strict=True) if not parsed] == [
        bad
    ]


@pytest.mark.slow
@pytest.mark.parametrize("deaths", [3, 1_000])
def test_no_file_is_blamed_for_the_death_of_what_reads_it(repository, tmp_path, deaths):
    """The first processes are killed whatever they do: both workers and the one after them, or all that there are."""
    texts = repository[1]
    done = built_by_program(
        repository,
        tmp_path,
        "import os, sys\n"
        "if any('perform_calls' in argument for argument in sys.orig_argv):\n"
        f"    with open({str(tmp_path / 'started')!r}, 'a') as started:\n"
        "        started.write('x')\n"
        "        started.flush()\n"
        f"    if os.path.getsize(started.name) <= {deaths}:\n"
        "        os.kill(os.getpid(), 9)\n",
    )
    with FactStore(tmp_path / "facts.db") as store:
        table = read_facts(store, dict.fromkeys(texts, ".java"))
    if deaths == 3:
        assert (done.returncode, table.parsed.all()) == (0, True), done.stderr
    else:
        assert (done.returncode, len(table.terms)) == (1, 0)
        assert "killed whatever they read" in done.stderr


def test_a_file_that_is_too_large_is_known_by_its_path_alone(repository, tmp_path, monkeypatch):
    repo, texts = repository
    monkeypatch.setattr(module, "MAX_SOURCE_BYTES", 1_000)
    larger = {blob for blob, text in texts.items() if len(text) > 1_000}
    with FactStore(tmp_path / "facts.db") as store:
        assert build(repo, store, dict.fromkeys(texts, ".java"), 1) == BuildReport(
            40, 0, 0, 0, large=len(larger)
        )
        assert build(repo, store, dict.fromkeys(texts, ".java"), 1).known == 40
        read = read_facts(store, dict.fromkeys(texts, ".java"))
    assert {blob for blob, lines in zip(read.blobs, read.lines, strict=True) if not lines} == larger
