"""How sure an answer is: a softmax over its first files, with a temperature that makes the first share a probability.

The event is "the fix changed the first file": of the answers whose first file has a share of .3, three in ten should be
right, so that "say nothing under .3" means something. Shares of one list sum to 1 while a fix may change several files;
so those below the first are parts of what is left to its being wrong, not probabilities of their own. Temperature
scaling: Guo et al., On Calibration of Modern Neural Networks, ICML 2017.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from tosloc.core.records import FloatArray

CALIBRATED_FILES: Final = 10
"""First files that the softmax is over. Of 3, 5, 10, 20, 50, 150 and all files 10 has the least mean loss on 18
validation parts (docs/evaluation.md); a few files do not depend on how many the version has."""
DEFAULT_TEMPERATURE: Final = 1.0  # the temperature where none was fitted
TEMPERATURE_KEY: Final = (
    "temperature"  # key of a run's header under which the temperature of its shares stands
)
MIN_TEMPERATURE, MAX_TEMPERATURE = 0.01, 100.0
"""Between these a fitted temperature lies."""
_STEPS: Final = 24
_WIDEST: Final = (
    10.0  # times the known temperature, and the same part of it: between these a match is searched
)
_HALVINGS: Final = 40  # of the searched range, which leave less than the four digits that are kept


class JudgedAnswer(NamedTuple):
    """What is compared of one answer to a labelled report."""

    scores: FloatArray  # (F,) best first; more than the first LISTED are not looked at
    right: bool  # whether the fix changed the first file; no, where it changed none that the version has


def shares(scores: FloatArray, temperature: float) -> FloatArray:
    """(F,) shares of the files of one list: of the first ``CALIBRATED_FILES`` together 1, of all others 0.

    A file that is not to be counted has the score -inf. Equal scores keep their order.

    >>> shares(np.array([0.0, 2.0, -np.inf]), 2.0).round(3).tolist()
    [0.269, 0.731, 0.0]
    """
    found = np.zeros(len(scores))
    first = np.argsort(-scores, kind="stable")[:CALIBRATED_FILES]
    if not len(first) or scores[first[0]] == -np.inf:
        return found
    powers = np.exp((scores[first] - scores[first[0]]) / temperature)
    found[first] = powers / powers.sum()
    return found


def fit_temperature(answers: Sequence[JudgedAnswer], counts: FloatArray | float = 1.0) -> float:
    """The temperature under which the first shares fit best to whether the first files were right.

    Greatest likelihood of the events, times a prior: ln temperature is standard normal, so that ``DEFAULT_TEMPERATURE`` is what
    comes out without any answer, and a few, all right or all wrong, do not make a list as sure as can be.
    The answers' reports must not have been learned from. ``counts`` says how many answers each stands for.

    >>> flat, steep = np.array([1.0, 0.0]), np.array([3.0, 0.0])
    >>> fit_temperature([JudgedAnswer(flat, True), JudgedAnswer(flat, False), JudgedAnswer(steep, True)] * 50)
    1.427
    """
    from scipy.optimize import minimize_scalar

    gaps = _gaps(answers)
    right = np.array([answer.right for answer in answers], dtype=np.bool_)

    def loss(log_temperature: float) -> float:
        others = np.exp(gaps[:, 1:] / math.exp(log_temperature)).sum(
            axis=1
        )  # beside the first file's 1
        wrong = np.log(np.maximum(others, 1e-12))
        likelihood = np.where(right, 0.0, wrong) - np.log1p(others)
        return float(log_temperature**2 / 2 - (likelihood * counts).sum())

    # the loss may have more than one valley: a look at all of the range, then closer where it is lowest
    tried = np.linspace(math.log(MIN_TEMPERATURE), math.log(MAX_TEMPERATURE), _STEPS)
    best = int(np.argmin(list(map(loss, tried.tolist()))))
    around = float(tried[max(best - 1, 0)]), float(tried[min(best + 1, _STEPS - 1)])
    found = minimize_scalar(loss, bounds=around, method="bounded", options={"xatol": 1e-5})
    return float(f"{math.exp(float(found.x)):.4g}")


def match_temperature(
    answers: Sequence[JudgedAnswer], known: Sequence[JudgedAnswer], temperature: float
) -> float:
    """Return the temperature at which ``answers`` are on average as sure as the ``known`` ones at theirs.

    Both answer the same reports, with different weights. Whether they are right is not looked at: reports that are
    easier than users' reports must make nothing surer, and the weights' scale must not either. Searched are
    temperatures of a tenth to ten times the known one; that one is the result where it already fits.

    >>> flat, steep = np.array([1.0, 0.0]), np.array([3.0, 0.0])
    >>> match_temperature([JudgedAnswer(steep, True)], [JudgedAnswer(flat, False)], 1.1)
    3.3
    """
    gaps = _gaps(answers)
    wanted = _mean_first_share(_gaps(known), temperature)
    if math.isclose(_mean_first_share(gaps, temperature), wanted, rel_tol=1e-9):
        return temperature
    low = max(temperature / _WIDEST, MIN_TEMPERATURE)
    high = min(temperature * _WIDEST, MAX_TEMPERATURE)
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        if _mean_first_share(gaps, middle) > wanted:
            low = middle
        else:
            high = middle
    return float(f"{high:.4g}")


def _gaps(answers: Sequence[JudgedAnswer]) -> FloatArray:
    """Return (N, LISTED) scores of the first files below the first one's; -inf where an answer has fewer files."""
    gaps = np.full((len(answers), CALIBRATED_FILES), -np.inf)
    for row, answer in zip(gaps, answers, strict=True):
        first = answer.scores[:CALIBRATED_FILES]
        row[: len(first)] = first - first[:1]
    return gaps


def _mean_first_share(gaps: FloatArray, temperature: float) -> float:
    """Return the mean share of the first files; 0 without any answer."""
    if not len(gaps):
        return 0.0
    others = np.exp(gaps[:, 1:] / temperature).sum(axis=1)
    return float((1 / (1 + others)).mean())
