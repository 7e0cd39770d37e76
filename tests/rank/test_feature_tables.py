"""Feature tables: which rows are kept, what they stand for, blocks that resume and never serve another project."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from tests import toy
from tests.rank.test_fitting import table
from tosloc.arrays import load_arrays, save_arrays
from tosloc.errors import CheckpointError, ToslocError
from tosloc.experiment import ExperimentContext
from tosloc.git.repository import Repository
from tosloc.rank import extract as module
from tosloc.rank.extract import sampled_table, tasks_of
from tosloc.rank.feature_tables import FeatureTable, StoredFeatureTables, block_bytes, read_block

NAMES = ("code", "near_reports", "popularity")
CONFIG = toy.config(0.5, 0.2)


@pytest.fixture(scope="module")
def experiment(project) -> Iterator[ExperimentContext]:
    with Repository(project.git.path) as repo:
        with ExperimentContext.set_up(CONFIG, repo, project.reports()) as made:
            yield made


def content(table: FeatureTable):
    arrays = (table.rows, table.fixed, table.weights, table.path_ids)
    return table.report, *(array.tolist() for array in arrays)


def sample(guess, fixed, number):
    whole = table("1", np.zeros((len(guess), 1)), fixed)
    kept = sampled_table(whole, {"code": np.array(guess)}, number, "v")
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


def test_another_history_makes_other_blocks(experiment, project, tmp_path):
    """A folder left by an interrupted run must not serve a run on other reports, nor with other settings of history."""
    cases = experiment.dataset.cases[-3:]
    tasks = tasks_of(cases, experiment.history, 0)
    extraction = experiment.extraction(tmp_path / "same", NAMES)
    before = [content(one) for one in extraction.tables(extraction.run(tasks, jobs=1))]
    records = [record | {"summary": "ribbon button slow"} for record in project.records[:9]] + project.records[9:]
    with Repository(project.git.path) as repo:
        other = ExperimentContext.set_up(CONFIG, repo, project.reports("other.jsonl", records))
        with other:
            again = other.extraction(tmp_path / "same", NAMES)
            after = [content(one) for one in again.tables(again.run(tasks, jobs=1))]
            fresh = other.extraction(tmp_path / "fresh", NAMES)
            expected = [content(one) for one in fresh.tables(fresh.run(tasks, jobs=1))]
    assert after == expected
    assert after != before


@pytest.mark.parametrize("content", [None, "{", '{"features": []}'])
def test_a_folder_that_keeps_nothing(tmp_path, content):
    (tmp_path / ".tosloc-work").mkdir()
    if content is not None:
        (tmp_path / ".tosloc-work/blocks.json").write_text(content)
    with pytest.raises(ToslocError, match="keeps no feature tables; train it with --keep-features"):
        StoredFeatureTables.read(tmp_path)


@pytest.mark.parametrize(
    ("name", "change"), [("rows", lambda a: a[:-1]), ("starts", lambda a: a[:-1]), ("reports", lambda a: a[:-1])]
)
def test_a_damaged_block_is_one_sentence(tmp_path, name, change):
    whole = table("1", np.ones((3, 2)), [True] * 3)
    path = tmp_path / "block.npz"
    path.write_bytes(block_bytes([whole, whole]))
    assert [content(one) for one in read_block(path)] == [content(whole)] * 2
    arrays = load_arrays(path)
    save_arrays(path, arrays | {name: change(arrays[name])})
    with pytest.raises(CheckpointError, match=r"block\.npz is damaged .* delete it and run the same command again"):
        list(read_block(path))
