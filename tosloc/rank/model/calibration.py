"""Turn the scores of an answer's first files into shares; the first share is a probability.

The shares are a softmax of the scores with a fitted temperature. The predicted event is "the fix
changed the first file": of the answers whose first file has a share of .3, three in ten should be
right, so that a user can choose to see nothing below .3. Shares of one list sum to 1, but a fix may
change several files. The shares of the other files are therefore not probabilities: they divide the
chance that the first file is wrong.

``tosloc.rank.model.presence`` multiplies all shares by the probability that the report is about the
searched project.

Temperature scaling: Guo et al., On Calibration of Modern Neural Networks, ICML 2017.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple, Self

import numpy as np

from tosloc.core.arrays import FloatArray
from tosloc.retrieval.texts import top_k

CALIBRATED_FILES: Final = 10
"""Number of first files that the softmax covers; all other files have the share 0.

Of 3, 5, 10, 20, 50, 150 and all files, 10 had the smallest mean loss on 18 validation parts
(docs/evaluation.md). A fixed number does not depend on the size of the version.
"""
DEFAULT_TEMPERATURE: Final = 1.0
"""Temperature that is used if none was fitted."""
TEMPERATURE_KEY: Final = "temperature"
"""Key of the temperature in a run's header."""
TEMPERATURES: Final = (0.01, 100.0)
"""Lowest and highest fitted temperature."""
_GRID_POINTS: Final = 24
"""Number of temperatures in the first, coarse search."""
_MAX_FACTOR: Final = 10.0
"""Largest factor by which a matching temperature may be above or below the known one."""
_HALVINGS: Final = 40
"""Number of steps of the bisection; the remaining range is smaller than the four digits kept."""


class JudgedAnswer(NamedTuple):
    """The first scores of an answer to a labelled report, and whether its first file is right."""

    scores: FloatArray
    """(n,) scores, best first; only the first ``CALIBRATED_FILES`` are used."""
    right: bool
    """Whether the fix changed the first file; False if it changed no file of the version."""

    @classmethod
    def of(cls, scores: FloatArray, right: bool) -> Self:
        """Return the answer with these scores (F,) of all files, in any order."""
        return cls(scores[top_k(scores, CALIBRATED_FILES)], right)


def shares(scores: FloatArray, temperature: float) -> FloatArray:
    """Return the share (F,) of each file of one list.

    The shares of the ``CALIBRATED_FILES`` files with the highest scores sum to 1; all other files
    have 0. A file with the score -inf gets no share. Equal scores keep their order.

    >>> shares(np.array([0.0, 2.0, -np.inf]), 2.0).round(3).tolist()
    [0.269, 0.731, 0.0]
    """
    result = np.zeros(len(scores))
    first = top_k(scores, CALIBRATED_FILES)
    if not len(first) or scores[first[0]] == -np.inf:
        return result
    powers = np.exp((scores[first] - scores[first[0]]) / temperature)
    result[first] = powers / powers.sum()
    return result


def fit_temperature(answers: Sequence[JudgedAnswer], counts: FloatArray | float = 1.0) -> float:
    """Return the temperature at which first shares predict best whether first files are right.

    It maximises the likelihood of these events times a prior, under which ln temperature is
    standard normal. Without answers the result is ``DEFAULT_TEMPERATURE``. A few answers that are
    all right or all wrong do not lead to extreme shares. Pass only reports that nothing was learned
    from. ``counts`` is the number of answers that each answer stands for.

    >>> flat, steep = np.array([1.0, 0.0]), np.array([3.0, 0.0])
    >>> answers = [JudgedAnswer(flat, True), JudgedAnswer(flat, False), JudgedAnswer(steep, True)]
    >>> fit_temperature(answers * 50)
    1.427
    """
    from scipy.optimize import minimize_scalar

    gaps = _score_gaps(answers)
    right = np.array([answer.right for answer in answers], dtype=np.bool_)

    def loss(log_temperature: float) -> float:
        # The first file's term of the softmax is 1.
        others = np.exp(gaps[:, 1:] / math.exp(log_temperature)).sum(axis=1)
        wrong = np.log(np.maximum(others, 1e-12))
        likelihood = np.where(right, 0.0, wrong) - np.log1p(others)
        return float(log_temperature**2 / 2 - (likelihood * counts).sum())

    # The loss may have several minima, so that a grid finds the range of the lowest one first.
    grid = np.linspace(math.log(TEMPERATURES[0]), math.log(TEMPERATURES[1]), _GRID_POINTS)
    best = int(np.argmin([loss(point) for point in grid.tolist()]))
    low = float(grid[max(best - 1, 0)])
    high = float(grid[min(best + 1, _GRID_POINTS - 1)])
    result = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 1e-5})
    return float(f"{math.exp(float(result.x)):.4g}")


def match_temperature(
    answers: Sequence[JudgedAnswer], known: Sequence[JudgedAnswer], temperature: float
) -> float:
    """Return the temperature that gives ``answers`` the mean confidence of the ``known`` answers.

    Both answer the same reports, with different weights. ``temperature`` is used for the known
    answers. Only the mean confidence is matched, not how often answers are right, because labelled
    reports may be easier than users' reports. The search covers a tenth to ten times
    ``temperature``, which is returned itself if it already fits.

    >>> flat, steep = np.array([1.0, 0.0]), np.array([3.0, 0.0])
    >>> match_temperature([JudgedAnswer(steep, True)], [JudgedAnswer(flat, False)], 1.1)
    3.3
    """
    gaps = _score_gaps(answers)
    wanted = _mean_first_share(_score_gaps(known), temperature)
    if math.isclose(_mean_first_share(gaps, temperature), wanted, rel_tol=1e-9):
        return temperature
    low = max(temperature / _MAX_FACTOR, TEMPERATURES[0])
    high = min(temperature * _MAX_FACTOR, TEMPERATURES[1])
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        if _mean_first_share(gaps, middle) > wanted:
            low = middle
        else:
            high = middle
    return float(f"{high:.4g}")


def _score_gaps(answers: Sequence[JudgedAnswer]) -> FloatArray:
    """Return (n, CALIBRATED_FILES) scores minus the best score; -inf if there is no file."""
    gaps = np.full((len(answers), CALIBRATED_FILES), -np.inf)
    for row, answer in zip(gaps, answers, strict=True):
        first = answer.scores[:CALIBRATED_FILES]
        row[: len(first)] = first - first[:1]
    return gaps


def _mean_first_share(gaps: FloatArray, temperature: float) -> float:
    """Return the mean confidence in the first file at a temperature; 0 if there is no answer."""
    if not len(gaps):
        return 0.0
    others = np.exp(gaps[:, 1:] / temperature).sum(axis=1)
    return float((1 / (1 + others)).mean())
