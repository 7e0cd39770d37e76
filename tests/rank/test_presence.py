"""The model of whether a report is about the searched project, and its fit."""

import numpy as np
import pytest

from tosloc.rank.model.presence import PresenceModel


@pytest.fixture
def signals():
    """Return signals of 200 reports: the first half knows the names, the rest does not."""
    rows = np.random.default_rng(3).normal(size=(200, len(PresenceModel.SIGNALS)))
    rows[:100, PresenceModel.SIGNALS.index("known_names")] += 3
    return rows


AT_HOME = np.arange(200) < 100


def test_fitted_model_tells_home_from_abroad(signals):
    model = PresenceModel.fit(signals, AT_HOME, np.ones(200))
    probabilities = model.probabilities(signals)
    assert probabilities[AT_HOME].mean() > 0.8
    assert probabilities[~AT_HOME].mean() < 0.2


def test_mean_probability_is_the_weight_of_reports_at_home(signals):
    model = PresenceModel.fit(signals, AT_HOME, np.where(AT_HOME, 0.9, 0.1))
    mean = np.average(model.probabilities(signals), weights=np.where(AT_HOME, 0.9, 0.1))
    assert mean == pytest.approx(0.9, abs=0.01)


def test_written_model_has_a_weight_for_each_signal():
    assert tuple(PresenceModel.shipped().weights) == PresenceModel.SIGNALS
