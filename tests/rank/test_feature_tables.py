"""Feature tables: which rows are kept, what they stand for, blocks that resume and never serve another project."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests import toy
from tosloc.arrays import load_arrays, save_arrays
from tosloc.errors import CheckpointError
from tosloc.experiment import ExperimentContext
from tosloc.git.repository import Repository
from tosloc.index.corpus import blobs_of, suffix_of
from tosloc.lab.agreement.term_bounds import TermBounds
from tosloc.rank import extract as module
from tosloc.rank.extract import sampled_table, tasks_of
from tosloc.rank.feature_tables import FeatureTable, block_bytes, ranking_lists, read_block
from tosloc.records import Snapshot

NAMES = ("code", "near_reports", "popularity")
CONFIG = toy.config(0.5, 0.2)


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> toy.Toy:
    return toy.grow(tmp_path_factory.mktemp("toy"), bugs=12, themes=12)


@pytest.fixture(scope="module")
def experiment(project) -> Iterator[ExperimentContext]:
    with Repository(project.git.path) as repo:
        made = ExperimentContext.set_up(CONFIG, repo, project.reports(), project.store)
        yield made
        made.indexed.close()


def content(table: FeatureTable):
    arrays = (table.rows, table.fixed, table.weights, table.path_ids)
    return table.report, *(array.tolist() for array in arrays)


# Which rows are kept


def sample(guess, fixed, number, version="v"):
    size = len(guess)
    ones, ids = np.ones(size, dtype=np.float32), np.arange(size, dtype=np.int32)
    whole = FeatureTable("1", np.zeros((size, 1), np.float32), np.array(fixed), ones, ids)
    kept = sampled_table(whole, {"code": np.array(guess)}, number, version)
    return dict(zip(kept.path_ids.tolist(), kept.weights.tolist(), strict=True))


def test_sample_by_hand():
    """Files by the guess: 2, 4, 0, 1, 3, 5; fixed: 4 and 5. Of 4 wrong files 3: 2, 0 and one of 1, 3 for both."""
    kept = sample([0.3, 0.2, 0.9, 0.1, 0.5, 0.0], [False, False, False, False, True, True], 3)
    assert kept in ({0: 1, 1: 2, 2: 1, 4: 1, 5: 1}, {0: 1, 2: 1, 3: 2, 4: 1, 5: 1})


@pytest.mark.parametrize("number", [1, 4, 40, 97])
def test_kept_rows_stand_for_all_files(number):
    rng = np.random.default_rng(1)
    guess, fixed = rng.random(100), rng.random(100) < 0.03
    fixed[7] = True
    kept = sample(guess, fixed, number)
    assert sum(kept.values()) == pytest.approx(100)
    assert all(kept[file] == 1 for file in np.flatnonzero(fixed))
    assert len(kept) == min(100, number + fixed.sum())
    hard = [file for file in np.argsort(-guess) if not fixed[file]][: int(number * module.HARD_SHARE)]
    assert set(hard) <= kept.keys()
    assert sample(guess, fixed, number) == kept


def test_lists_leave_out_reports_without_a_fixed_file():
    def table(name, rows, fixed):
        size = len(rows)
        ones = np.ones(size, dtype=np.float32)
        return FeatureTable(
            name, np.array(rows, dtype=np.float32), np.array(fixed), ones, np.arange(size, dtype=np.int32)
        )

    made = ranking_lists(
        iter([table("a", [[1], [2]], [True, False]), table("b", [[3]], [False]), table("c", [[4]], [True])])
    )
    assert len(made) == 2
    assert made.rows.ravel().tolist() == [1, 2, 4]
    assert made.starts.tolist() == [0, 2, 3]


# Which files are asked for


def test_suffixes_and_blobs():
    suffixes = frozenset({".java", ".d.ts", ".ts"})
    assert [suffix_of(path, suffixes) for path in ("a/B.JAVA", "a/b.d.ts", "c.ts")] == [".java", ".d.ts", ".ts"]
    one = Snapshot.of("v", 0, {"a.java": "1" * 40, "b.ts": "2" * 40, "c.java": "1" * 40})
    two = Snapshot.of("w", 0, {"b.ts": "3" * 40, "x.ts": "2" * 40})
    expected = {"1" * 40: ".java", "2" * 40: ".ts", "3" * 40: ".ts"}
    assert blobs_of([one, two], suffixes) == expected


# Blocks


def test_blocks_round_trip(tmp_path):
    rng = np.random.default_rng(0)
    tables = [
        FeatureTable(
            name,
            rng.random((size, 3)).astype(np.float32),
            rng.random(size) < 0.5,
            np.ones(size, dtype=np.float32),
            np.arange(size, dtype=np.int32),
        )
        for name, size in (("ü 1", 4), ("none", 0), ("3", 2))
    ]
    (tmp_path / "block.npz").write_bytes(block_bytes(tables))
    assert [content(table) for table in read_block(tmp_path / "block.npz")] == [content(table) for table in tables]


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(module, "BLOCK_REPORTS", 5)


def test_tables_of_all_files(experiment, tmp_path, small_blocks):
    extraction = experiment.extraction(tmp_path, NAMES)
    cases = experiment.dataset.cases
    blocks = extraction.run(tasks_of(cases, experiment.history, 0), jobs=1)
    assert len(blocks) == 3
    tables = list(extraction.tables(blocks))
    assert [table.report for table in tables] == [case.report.id for case in cases]
    names = experiment.indexed.repo.path_names.names
    for table, case in zip(tables, cases, strict=True):
        paths = [names[number] for number in table.path_ids]
        assert paths == list(experiment.indexed.snapshot(case.version).paths)
        assert [path for path, hit in zip(paths, table.fixed, strict=True) if hit] == list(case.fixed)
        assert (table.weights == 1).all()
        assert table.rows.shape == (len(paths), len(NAMES))


def test_sampled_tables_are_rows_of_the_full_ones(experiment, tmp_path):
    extraction = experiment.extraction(tmp_path, NAMES)
    cases = experiment.dataset.cases
    full = list(extraction.tables(extraction.run(tasks_of(cases, experiment.history, 0), jobs=1)))
    some = list(extraction.tables(extraction.run(tasks_of(cases, experiment.history, 4), jobs=1)))
    for whole, part in zip(full, some, strict=True):
        assert len(part.rows) == 5
        assert part.weights.sum() == pytest.approx(len(whole.rows))
        place = {number: row for row, number in enumerate(whole.path_ids.tolist())}
        rows = [place[number] for number in part.path_ids.tolist()]
        assert part.rows.tolist() == whole.rows[rows].tolist()
        assert part.fixed.sum() == whole.fixed.sum()


def test_other_term_bounds_make_other_blocks(experiment, tmp_path):
    extraction = experiment.extraction(tmp_path, NAMES)
    tasks = tasks_of(experiment.dataset.cases[-3:], experiment.history, 0)
    whole = extraction.run(tasks, jobs=1)
    extraction.term_bounds = TermBounds(least=10**6)
    none = extraction.run(tasks, jobs=1)
    assert set(none).isdisjoint(whole)
    code = NAMES.index("code")
    assert all(table.rows[:, code].any() for table in extraction.tables(whole))
    assert not any(table.rows[:, code].any() for table in extraction.tables(none))
    extraction.term_bounds = None
    assert extraction.run(tasks, jobs=1) == whole


def test_an_interrupted_extraction_goes_on(experiment, tmp_path, small_blocks, monkeypatch):
    extraction = experiment.extraction(tmp_path, NAMES)
    tasks = tasks_of(experiment.dataset.cases, experiment.history, 0)
    real, made = module.written_whole, []

    def broken(path):
        if len(made) == 2:
            raise RuntimeError("killed")
        made.append(path)
        return real(path)

    monkeypatch.setattr(module, "written_whole", broken)
    with pytest.raises(RuntimeError, match="killed"):
        extraction.run(tasks, jobs=1)
    assert sorted(tmp_path.glob("block-*")) == sorted(made)
    first = {path: path.stat().st_mtime_ns for path in made}
    made.clear()
    monkeypatch.setattr(module, "written_whole", lambda path: made.append(path) or real(path))
    steps = []
    blocks = extraction.run(tasks, jobs=1, progress=lambda what, done, total: steps.append((done, total)))
    assert made == blocks[2:]
    assert {path: path.stat().st_mtime_ns for path in blocks[:2]} == first
    assert steps == [(10, 12), (12, 12)]
    whole = experiment.extraction(tmp_path / "whole", NAMES)
    expected = [content(table) for table in whole.tables(whole.run(tasks, jobs=1))]
    assert [content(table) for table in extraction.tables(blocks)] == expected


def test_another_history_makes_other_blocks(experiment, project, tmp_path):
    """A folder left by an interrupted run must not serve a run on other reports, nor with other settings of history."""
    cases = experiment.dataset.cases[-3:]
    tasks = tasks_of(cases, experiment.history, 0)
    extraction = experiment.extraction(tmp_path / "same", NAMES)
    before = [content(table) for table in extraction.tables(extraction.run(tasks, jobs=1))]
    records = [record | {"summary": "ribbon button slow"} for record in project.records[:9]] + project.records[9:]
    with Repository(project.git.path) as repo:
        other = ExperimentContext.set_up(CONFIG, repo, project.reports("other.jsonl", records), project.store)
        try:
            again = other.extraction(tmp_path / "same", NAMES)
            after = [content(table) for table in again.tables(again.run(tasks, jobs=1))]
            fresh = other.extraction(tmp_path / "fresh", NAMES)
            expected = [content(table) for table in fresh.tables(fresh.run(tasks, jobs=1))]
        finally:
            other.indexed.close()
    assert after == expected
    assert after != before


# Blocks that are damaged


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("rows", lambda a: a[:-1]),
        ("rows", lambda a: a.astype(np.float64)),
        ("starts", lambda a: a[::-1].copy()),
        ("starts", lambda a: a[:-1]),
        ("weights", lambda a: a[:, None]),
        ("reports", lambda a: a[:-1]),
    ],
)
def test_a_damaged_block_is_one_sentence(tmp_path, name, change):
    table = FeatureTable(
        "1", np.ones((3, 2), np.float32), np.ones(3, np.bool_), np.ones(3, np.float32), np.arange(3, dtype=np.int32)
    )
    path = tmp_path / "block.npz"
    path.write_bytes(block_bytes([table, table]))
    assert [content(one) for one in read_block(path)] == [content(table)] * 2
    arrays = load_arrays(path)
    save_arrays(path, arrays | {name: change(arrays[name])})
    with pytest.raises(CheckpointError, match=r"block\.npz is damaged .* delete it and run the same command again"):
        list(read_block(path))
