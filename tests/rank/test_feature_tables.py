"""Feature tables: which rows are kept, what they stand for, blocks that resume and never serve another project."""

import numpy as np
import pytest

from tests import toy
from tests.rank.test_fitting import table
from tosloc.arrays import load_arrays, save_arrays
from tosloc.errors import CheckpointError, ToslocError
from tosloc.experiment import ExperimentContext
from tosloc.git.repository import Repository
from tosloc.rank.extract import HARD_SHARE, sampled_table, tasks_of
from tosloc.rank.feature_tables import FeatureTable, StoredFeatureTables, block_bytes, read_block


def content(table: FeatureTable):
    arrays = (table.rows, table.fixed, table.weights, table.path_ids)
    return table.report, *(array.tolist() for array in arrays)


def sample(guess, fixed, number):
    whole = table("1", np.zeros((len(guess), 1)), fixed)
    kept = sampled_table(whole, {"code": np.array(guess)}, number, "v")
    return dict(zip(kept.path_ids.tolist(), kept.weights.tolist(), strict=True))


def test_kept_rows_stand_for_all_files():
    """Files by the guess: 2, 4, 0, 1, 3, 5; fixed: 4 and 5. Of 4 wrong files 3: 2, 0 and one of 1, 3 for both."""
    kept = sample([0.3, 0.2, 0.9, 0.1, 0.5, 0.0], [False, False, False, False, True, True], 3)
    assert kept in ({0: 1, 1: 2, 2: 1, 4: 1, 5: 1}, {0: 1, 2: 1, 3: 2, 4: 1, 5: 1})
    rng = np.random.default_rng(1)
    guess, fixed = rng.random(100), rng.random(100) < 0.03
    for number in (1, 40, 97):
        kept = sample(guess, fixed, number)
        assert sum(kept.values()) == pytest.approx(100)
        assert all(kept[file] == 1 for file in np.flatnonzero(fixed))
        assert len(kept) == min(100, number + fixed.sum())
        hard = [file for file in np.argsort(-guess) if not fixed[file]][: int(number * HARD_SHARE)]
        assert set(hard) <= kept.keys()
        assert sample(guess, fixed, number) == kept


def test_blocks_hold_rows_of_all_files_and_serve_no_other_history(project, tmp_path):
    """A folder left by an interrupted run must not serve a run on other reports."""

    def tables(records, folder, most):
        with Repository(project.git.path) as repo:
            reports = project.reports(f"{folder}.jsonl", records)
            with ExperimentContext.set_up(toy.config(0.5, 0.2), repo, reports) as experiment:
                extraction = experiment.extraction(tmp_path / folder, ("code", "near_reports", "popularity"))
                tasks = tasks_of(experiment.dataset.cases[-4:], experiment.history, most)
                return list(extraction.tables(extraction.run(tasks, jobs=1)))

    full, some = tables(None, "same", 0), tables(None, "same", 4)
    for whole, part in zip(full, some, strict=True):
        assert len(part.rows) == 5
        assert part.weights.sum() == pytest.approx(len(whole.rows))
        rows = [whole.path_ids.tolist().index(number) for number in part.path_ids.tolist()]
        assert part.rows.tolist() == whole.rows[rows].tolist()
        assert part.fixed.sum() == whole.fixed.sum()
    other = [record | {"summary": "ribbon button slow"} for record in project.records[:9]] + project.records[9:]
    after, fresh = ([content(one) for one in tables(other, folder, 0)] for folder in ("same", "fresh"))
    assert after == fresh != [content(one) for one in full]


def test_what_is_missing_or_damaged_is_one_sentence(tmp_path):
    for kept in (None, "{", '{"features": []}'):
        if kept is not None:
            (tmp_path / ".tosloc-work").mkdir(exist_ok=True)
            (tmp_path / ".tosloc-work/blocks.json").write_text(kept)
        with pytest.raises(ToslocError, match="keeps no feature tables; train it with --keep-features"):
            StoredFeatureTables.read(tmp_path)
    whole, path = table("1", np.ones((3, 2)), [True] * 3), tmp_path / "block.npz"
    path.write_bytes(block_bytes([whole, whole]))
    assert [content(one) for one in read_block(path)] == [content(whole)] * 2
    arrays = load_arrays(path)
    for name in ("rows", "starts", "reports"):
        save_arrays(path, arrays | {name: arrays[name][:-1]})
        with pytest.raises(CheckpointError, match=r"block\.npz is damaged .* delete it and run the same command again"):
            list(read_block(path))
