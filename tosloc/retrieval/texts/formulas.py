"""Formulas of BM25 that are used for texts, paths and histories.

Source: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009),
equations 3.15 and 3.22.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from tosloc.core.arrays import FloatArray

Fractions: TypeAlias = npt.NDArray[np.floating[Any]]

K1: Final = 1.2
"""Default saturation of term frequencies (k1)."""
B: Final = 0.5
"""Default strength of length normalisation (b)."""


def idf(documents: int, frequency: npt.NDArray[np.integer[Any]]) -> FloatArray:
    """Return BM25's IDF, ln(1 + (n - df + .5) / (df + .5)), of terms in n ``documents``.

    ``frequency`` contains the terms' document frequencies df.
    """
    return np.log1p((documents - frequency + 0.5) / (frequency + 0.5))


def length_norm(
    lengths: Fractions, average: Fractions | float, k1: float, b: float
) -> npt.NDArray[Any]:
    """Return k1 (1 - b + b length / average), the normalisation of term frequencies by length."""
    return k1 * (1 - b + b * lengths / average)


def saturate_tf(frequency: Fractions, norm: Fractions | float, k1: float) -> npt.NDArray[Any]:
    """Return frequency (k1 + 1) / (frequency + norm), the saturated term frequency."""
    return frequency * (k1 + 1) / (frequency + norm)
