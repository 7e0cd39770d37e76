import pytest

from tests.index_fixtures import make_context, make_table
from tosloc.rank import stage_one

__all__ = ["make_context", "make_table", "small_trees"]


@pytest.fixture
def small_trees(monkeypatch):
    """Heads of 6 files, ten rounds of trees, small leaves."""
    small = {"num_leaves": 6, "min_data_in_leaf": 2, "lambda_l2": 0.1, "feature_fraction": 1.0}
    for name, value in {
        "HEAD_DEPTH": 6,
        "NUM_TREES": 10,
        "LIGHTGBM_PARAMETERS": stage_one.LIGHTGBM_PARAMETERS | small,
    }.items():
        monkeypatch.setattr(stage_one, name, value)
