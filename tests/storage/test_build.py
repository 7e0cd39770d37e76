"""Filling a store from a repository, also when processes are killed while doing so."""

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
from tosloc.paths.classify import FileClass
from tosloc.retrieval.texts.corpus import Corpus, pack_facts
from tosloc.storage import build as module
from tosloc.storage.build import BuildReport, build
from tosloc.storage.facts import FunctionReader
from tosloc.storage.store import FactStore

SCRIPT = """
import sys
from tosloc.git.repository import Repository
from tosloc.storage import build as module
from tosloc.storage.store import FactStore
module.BATCH_BLOBS = 4
if __name__ == "__main__":
    repo = Repository(sys.argv[1])
    blobs = dict.fromkeys(sys.argv[3:], ".java")
    with FactStore(sys.argv[2]) as store:
        print(module.build(repo, store, blobs, jobs=2))
"""


@pytest.fixture(scope="module")
def repo_and_texts(tmp_path_factory):
    """Return a repository of 40 Java files, and the text of each blob."""
    folder = tmp_path_factory.mktemp("shop")
    repository = GitRepository.new(folder / "repo.git", bare=True)
    texts = {}
    for number in range(40):
        steps = []
        for step in range(5 * number):
            name = f"step{number}Of{step}"
            steps.append(f"    int {name}(int a) {{ return a > {step} ? 1 : 2; }}\n")
        head = f"package shop;\n/** Number {number}. */\nclass Shop{number} {{\n"
        texts[f"Shop{number}.java"] = f"{head}{''.join(steps)}}}\n"
    repository.commit(texts)
    text_by_blob = {}
    for line in repository.git("ls-tree", "-r", "main").splitlines():
        _, _, blob, path = line.split()
        text_by_blob[blob] = texts[path]
    return Repository(repository.path), text_by_blob


@pytest.fixture
def repo(repo_and_texts):
    return repo_and_texts[0]


@pytest.fixture
def texts(repo_and_texts):
    return repo_and_texts[1]


def build_in_program(repo, texts, folder, customization):
    """Build a store in a program whose processes start with some lines of code."""
    (folder / "sitecustomize.py").write_text(customization)
    (folder / "program.py").write_text(SCRIPT)
    search_path = f"{folder}{os.pathsep}{Path(module.__file__).parents[2]}"
    return subprocess.run(
        [sys.executable, folder / "program.py", repo.path, folder / "facts.db", *texts],
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, "PYTHONPATH": search_path},
        check=False,
    )


def is_same(corpus, other):
    left = to_arrays({"": corpus})
    right = to_arrays({"": other})
    return all(np.array_equal(left[name], right[name]) for name in left | right)


@pytest.fixture(params=[1, pytest.param(2, marks=pytest.mark.slow)], ids=["1 job", "2 jobs"])
def jobs(request, monkeypatch):
    """Return a number of jobs, with batches small enough for both."""
    monkeypatch.setattr(module, "BATCH_BLOBS", 8)
    return request.param


def test_a_build_adds_the_facts_of_all_blobs(repo, texts, tmp_path, jobs):
    """A blob that the repository lacks is counted as missing, and has no facts."""
    wanted = dict.fromkeys(texts, ".java") | {"f" * 40: ".java"}
    with FactStore(tmp_path / "facts.db") as store:
        report = build(repo, store, wanted, jobs)
        read = store.read_facts(wanted)
    assert report == BuildReport(added=40, known=0, missing=1, fallback=0)
    payloads = [pack_facts(analyse(text, ".java")) for text in texts.values()]
    assert is_same(read, Corpus.from_rows(list(wanted), [*payloads, None]))


def test_a_build_reports_its_progress(repo, texts, tmp_path, jobs):
    calls = []
    wanted = dict.fromkeys(texts, ".java") | {"f" * 40: ".java"}
    with FactStore(tmp_path / "facts.db") as store:
        build(repo, store, wanted, jobs, lambda what, done, total: calls.append((done, total)))
    assert calls[0] == (0, 41)
    assert calls[-1] == (41, 41)


def test_a_second_build_adds_nothing(repo, texts, tmp_path, jobs):
    """The suffix may be written in capitals."""
    with FactStore(tmp_path / "facts.db") as store:
        build(repo, store, dict.fromkeys(texts, ".java"), jobs)
        report = build(repo, store, dict.fromkeys(texts, ".JAVA"), jobs)
    assert report == BuildReport(0, known=40, missing=0, fallback=0)


KILLED_BY_A_BLOB = """\
import os
import tosloc.code.facts as facts
real = facts.analyse
def analyse(text, suffix, *, parse=True, **more):
    if parse and 'class Shop17 ' in text:
        os._exit(9)
    return real(text, suffix, parse=parse, **more)
facts.analyse = analyse
"""


@pytest.mark.slow
def test_a_blob_that_kills_its_worker_loses_no_other(repo, texts, tmp_path):
    bad = next(blob for blob, text in texts.items() if "class Shop17 " in text)
    done = build_in_program(repo, texts, tmp_path, KILLED_BY_A_BLOB)
    report = "BuildReport(added=40, known=0, missing=0, fallback=1, large=0)"
    assert report in done.stdout, done.stderr
    assert f"the parser crashes on the file content {bad}" in done.stderr
    with FactStore(tmp_path / "facts.db") as store:
        corpus = store.read_facts(dict.fromkeys(texts, ".java"))
    pairs = zip(corpus.blobs, corpus.parsed, strict=True)
    assert [blob for blob, parsed in pairs if not parsed] == [bad]


def kill_first_processes(folder, deaths):
    """Return code that kills the first processes of a build, whatever they read."""
    return (
        "import os, sys\n"
        "if any('perform_calls' in argument for argument in sys.orig_argv):\n"
        f"    with open({str(folder / 'started')!r}, 'a') as started:\n"
        "        started.write('x')\n"
        "        started.flush()\n"
        f"    if os.path.getsize(started.name) <= {deaths}:\n"
        "        os.kill(os.getpid(), 9)\n"
    )


@pytest.mark.slow
def test_no_file_is_blamed_for_the_death_of_a_few_processes(repo, texts, tmp_path):
    """Both workers and the process after them are killed; the next one reads all files."""
    done = build_in_program(repo, texts, tmp_path, kill_first_processes(tmp_path, 3))
    with FactStore(tmp_path / "facts.db") as store:
        corpus = store.read_facts(dict.fromkeys(texts, ".java"))
    assert done.returncode == 0, done.stderr
    assert corpus.parsed.all()


@pytest.mark.slow
def test_a_build_ends_if_every_process_is_killed(repo, texts, tmp_path):
    done = build_in_program(repo, texts, tmp_path, kill_first_processes(tmp_path, 1_000))
    with FactStore(tmp_path / "facts.db") as store:
        corpus = store.read_facts(dict.fromkeys(texts, ".java"))
    assert done.returncode == 1
    assert len(corpus.terms) == 0
    assert "every process that reads files is killed" in done.stderr


def test_a_file_that_is_too_large_is_not_read(repo, texts, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "MAX_SOURCE_BYTES", 1_000)
    large = {blob for blob, text in texts.items() if len(text) > 1_000}
    blobs = dict.fromkeys(texts, ".java")
    with FactStore(tmp_path / "facts.db") as store:
        assert build(repo, store, blobs, 1) == BuildReport(40, 0, 0, 0, large=len(large))
        assert build(repo, store, blobs, 1).known == 40
        corpus = store.read_facts(blobs)
    pairs = zip(corpus.blobs, corpus.lines, strict=True)
    assert {blob for blob, lines in pairs if not lines} == large


QT = '<?xml version="1.0"?><!DOCTYPE TS><TS version="2.1"><source>Show the pane</source></TS>'
MINIFIED = "/*! a */\n" + "function(e,t){return e+t},n=" * 99


@pytest.mark.parametrize(
    ("suffix", "text", "file_class", "parsed"),
    [
        (".ts", QT, FileClass.TRANSLATION, False),
        (".js", MINIFIED, FileClass.MINIFIED, False),
        (".js", "// Code generated by a. DO NOT EDIT.\nf();", FileClass.GENERATED, True),
        (".js", "f();", FileClass.SOURCE, True),
    ],
    ids=["qt", "minified", "generated", "source"],
)
def test_class_of_a_text_is_a_fact(make_repository, tmp_path, suffix, text, file_class, parsed):
    made = make_repository("classes")
    made.commit({f"a{suffix}": text})
    blob = made.git("rev-parse", f"HEAD:a{suffix}")
    with Repository(made.path) as repo, FactStore(tmp_path / "facts.db") as store:
        build(repo, store, {blob: f"a{suffix}"}, 1)
        corpus = store.read_facts({blob: f"a{suffix}"})
    assert corpus.file_class.tolist() == [file_class]
    assert corpus.parsed.tolist() == [parsed]


def test_qt_translation_is_read_as_text_of_markup(make_repository, tmp_path):
    made = make_repository("classes")
    made.commit({"a.ts": QT})
    blob = made.git("rev-parse", "HEAD:a.ts")
    with Repository(made.path) as repo, FactStore(tmp_path / "facts.db") as store:
        build(repo, store, {blob: "a.ts"}, 1)
        assert "pane" in store.read_facts({blob: "a.ts"}).terms
        [functions] = FunctionReader(repo, store).read({blob: "a.ts"}).values()
    assert len(functions) == 0
