"""The mean gain over projects."""

import numpy as np

from scripts.gain import mean_gain


def test_every_project_counts_alike() -> None:
    small, large = np.tile([0.4, 0.0], (10, 1)), np.tile([0.0, -0.2], (1000, 1))
    mean, interval, p = mean_gain([small, large])
    np.testing.assert_allclose(mean, [0.2, -0.1])
    np.testing.assert_allclose(interval, [[0.2, 0.2], [-0.1, -0.1]])
    assert p.tolist() == [0.0, 0.0]


def test_noise_is_no_gain() -> None:
    noise = np.random.default_rng(3).normal(0.0, 1.0, (400, 2))
    _, interval, p = mean_gain([noise - noise.mean(axis=0)])
    assert (interval[:, 0] < 0).all()
    assert (interval[:, 1] > 0).all()
    assert (p > 0.5).all()
