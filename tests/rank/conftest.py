import pytest

from tests.index_fixtures import make_context, make_corpus
from tosloc.rank.model import stage_one

__all__ = ["make_context", "make_corpus", "small_trees"]


@pytest.fixture
def small_trees(monkeypatch):
    """Set heads of 6 files, ten rounds of trees and small leaves."""
    small = {"num_leaves": 6, "min_data_in_leaf": 2, "lambda_l2": 0.1, "feature_fraction": 1.0}
    monkeypatch.setattr(stage_one, "HEAD_DEPTH", 6)
    monkeypatch.setattr(stage_one, "NUM_TREES", 10)
    monkeypatch.setattr(stage_one, "LIGHTGBM_PARAMETERS", stage_one.LIGHTGBM_PARAMETERS | small)
