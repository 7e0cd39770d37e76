"""A version that is made where another one is known answers as one that is made from nothing, to the last bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.conftest import HOUR, GitRepository
from tosloc.git.repository import Repository
from tosloc.index import repository as module
from tosloc.index.context import QueryContext
from tosloc.index.query import Query
from tosloc.index.repository import IndexedRepository, PreparedVersion
from tosloc.rank import features
from tosloc.rank.stage_one import StageOne, StageOneAnswer
from tosloc.records import BugReport

STAGE = StageOne(features.ALL, np.linspace(0.5, 1.5, len(features.ALL)))
REPORT = BugReport(
    "r",
    "Parser loses the first byte of a socket",
    "ParserService fails with a ledger since #4003. at org.app.core.ParserService.open(ParserService.java:3)",
    None,
)
WORDS = "parser socket ledger reader writer widget cookie planet rocket violin first byte loses open close".split()


def source(seed: int, name: str = "X") -> str:
    """A class of some of the words."""
    rng = np.random.default_rng(seed)
    lines = [f"    void {word}{name}() {{ {rng.choice(WORDS)}(); }}" for word in rng.choice(WORDS, 4)]
    return "\n".join([f"/** The {rng.choice(WORDS)}. */", f"class {name} {{", *lines, "}"]) + "\n"


@pytest.fixture
def grown(repository: GitRepository) -> GitRepository:
    """Fourteen commits, some of one second, some that fix."""
    files = {
        f"src/org/app/p{n % 3}/{word.title()}Service.java": source(n, word.title()) for n, word in enumerate(WORDS)
    }
    repository.commit(files, "Start")
    for number in range(13):
        path = list(files)[(5 * number) % len(files)]
        said = f"Fix bug {4000 + number}: " if number % 3 == 0 else ""
        when = 1_000_000_000 + HOUR * (number // 2)
        repository.commit({path: source(100 + number)}, f"{said}{WORDS[number]} {WORDS[number - 3]}", when=when)
    return repository


def indexed(repository: GitRepository, store: Path) -> IndexedRepository:
    return IndexedRepository(Repository(repository.path), store, {".java"}, jobs=1)


def answers(version: PreparedVersion) -> list[bytes]:
    """Features and scores of every file, at several times."""
    found = []
    first = version.snapshot.committed_at
    for at in (first + 1.0, first - 1.5 * HOUR, first - 4.0 * HOUR):
        context = QueryContext(Query(REPORT), version.index, version.history.as_of(at))
        answer = StageOneAnswer.of(context, STAGE)
        found += [answer.scores.tobytes(), *(values.tobytes() for values in answer.columns.values())]
        assert context.shares_words
    return found


def compared(repository: GitRepository, tmp_path: Path, before: str, after: str) -> PreparedVersion:
    """A version made where another one is known, read back, and made from nothing; the first of them."""
    warm, cold = (indexed(repository, tmp_path / name / "facts.sqlite") for name in ("warm", f"cold {after}"))
    warm.prepared(before)
    made = warm.prepared(after)
    read = warm.prepared(after)
    whole = cold.prepared(after)
    for one in (made, read):
        assert (one.snapshot.paths, one.snapshot.blobs) == (whole.snapshot.paths, whole.snapshot.blobs)
        assert list(one.commit_ids) == list(whole.commit_ids)
        assert list(one.index.paths.table.paths) == list(whole.index.paths.table.paths)
        assert sorted(one.index.text.corpus.term_ids) == sorted(whole.index.text.corpus.term_ids)
    assert answers(made) == answers(read) == answers(whole)
    for one in (warm, cold):
        one.close()
        one.repo.close()
    return made


def test_one_commit_more(grown: GitRepository, tmp_path: Path) -> None:
    grown.commit({"src/org/app/p1/NewService.java": source(77, "New")}, "Fix #12: a new ledger, and xylophone")
    made = compared(grown, tmp_path, "HEAD~1", "HEAD")
    assert len(made.commit_ids) == 15
    assert "xylophon" in "".join(made.history.commits.vocabulary)


@pytest.mark.parametrize(("before", "after"), [("HEAD~3", "HEAD"), ("HEAD", "HEAD~2"), ("HEAD~1", "HEAD~1")])
def test_forth_and_back(grown: GitRepository, tmp_path: Path, before: str, after: str) -> None:
    compared(grown, tmp_path, before, after)


def test_files_that_go_and_move(grown: GitRepository, tmp_path: Path) -> None:
    gone, moved = "src/org/app/p0/ParserService.java", "src/org/app/p1/SocketService.java"
    grown.commit({gone: None, moved: None, "a/Socket.java": source(1, "Socket"), "z.java": source(1, "Socket")}, "Move")
    made = compared(grown, tmp_path, "HEAD~1", "HEAD")
    assert gone not in made.snapshot.paths
    assert gone in made.index.paths.table.paths


def test_a_merge_of_an_older_branch(grown: GitRepository, tmp_path: Path) -> None:
    head, old = grown.made[-1], grown.made[-5]
    side = grown.commit({"src/Side.java": source(5)}, "Fix a side", parents=[old], when=1_000_000_000 + 4 * HOUR)
    merge = grown.commit({"src/Side.java": source(5)}, "Merge", parents=[head, side])
    grown.commit({"src/Side.java": source(6)}, "Resolved: 5511", when=1_000_000_000 + 4 * HOUR)
    for after in (merge, "HEAD"):
        compared(grown, tmp_path, head, after)


def test_a_rewritten_history(grown: GitRepository, tmp_path: Path) -> None:
    head, parent = grown.made[-1], grown.made[-2]
    amended = grown.commit({"src/Other.java": source(9)}, "Amended", parents=[parent])
    compared(grown, tmp_path, head, amended)


def test_only_what_is_new_is_read(grown: GitRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = indexed(grown, tmp_path / "one.sqlite")
    project.prepared("HEAD")
    grown.commit({"src/New.java": source(77, "New")}, "One more")
    asked: list[str] = []

    def counted(repo: Repository, ids: list[str], *rest: object) -> object:
        asked.extend(ids)
        return read(repo, ids, *rest)  # type: ignore[arg-type]

    read = module.read_commits
    monkeypatch.setattr(module, "read_commits", counted)
    monkeypatch.setattr(module, "read_history", None)
    assert len(project.prepared("HEAD").commit_ids) == 15
    assert asked == grown.made[-1:]


def test_commits_that_are_damaged_are_made_again(grown: GitRepository, tmp_path: Path) -> None:
    project = indexed(grown, tmp_path / "facts.sqlite")
    first = project.prepared("HEAD")
    [analyser] = [name for name in project.store.analysers() if name.startswith("commits")]
    project.store.write([(grown.made[2], analyser, b"damaged")])
    for path in (tmp_path / "facts.versions").iterdir():
        path.unlink()
    assert answers(project.prepared("HEAD")) == answers(first)
