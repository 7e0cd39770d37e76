"""The head of a ranking that a second stage reads."""

import numpy as np

from tosloc.config import Config
from tosloc.localizer import Localizer
from tosloc.records import Ranking


def test_the_first_fifty_are_candidates_by_default():
    ranking = Ranking.from_scores("r", [f"{number:03}.java" for number in range(80)], np.arange(80.0))
    assert Localizer().candidates(ranking) == tuple(f"{number:03}.java" for number in range(79, 29, -1))


def test_the_configuration_says_how_many():
    ranking = Ranking.from_scores("r", ["a.java", "b.java", "c.java"], [1.0, 3.0, 2.0])
    few = Config.of({"stage_one": {"candidates": 2}}, "here")
    assert Localizer(few).candidates(ranking) == ("b.java", "c.java")
