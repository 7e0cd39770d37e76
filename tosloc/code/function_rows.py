"""Function facts of one blob: known without loading a parser."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from tosloc.code.text import identifier_terms
from tosloc.records import FloatArray, IntArray, LongArray

KINDS: Final = ("function", "method", "class")


@dataclass
class FunctionFacts:
    """The functions and classes of one text, in the order of their beginnings. N functions, T terms, Q pairs."""

    names: tuple[str, ...] = ()
    """(N,) qualified names, ``Class.method``; overloads have the same."""
    kinds: npt.NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, dtype=np.uint8))
    """(N,) places in ``KINDS``."""
    starts: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    """(N,) first lines, from 1."""
    ends: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    """(N,) last lines."""
    terms: tuple[str, ...] = ()
    """(T,) distinct terms, sorted."""
    offsets: LongArray = field(default_factory=lambda: np.zeros(1, dtype=np.int64))
    """(N + 1,) function n holds pairs ``offsets[n]:offsets[n + 1]``."""
    places: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    """(Q,) places in ``terms``, ascending in a function."""
    code: npt.NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, dtype=np.uint8))
    """(Q,) how often the term stands in the function's code and strings, at most 255."""
    comments: npt.NDArray[np.uint8] = field(default_factory=lambda: np.zeros(0, dtype=np.uint8))
    """(Q,) how often it stands in its comments and documentation, at most 255."""

    def __len__(self) -> int:
        return len(self.names)

    # what questions share, each made when it is first wanted

    @cached_property
    def rows(self) -> LongArray:
        """(Q,) the function of each pair."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @cached_property
    def lengths(self) -> FloatArray:
        """(N,) how many terms each function has."""
        counts = self.code.astype(np.float64) + self.comments
        return np.bincount(self.rows, weights=counts, minlength=len(self)).astype(np.float64, copy=False)

    @cached_property
    def term_places(self) -> Mapping[str, int]:
        """Term -> its place in ``terms``."""
        return {term: place for place, term in enumerate(self.terms)}

    def of_terms(self, values: Mapping[str, float]) -> FloatArray:
        """(T,) the value of each term, 0 for those that have none."""
        found = np.zeros(len(self.terms))
        for term in values.keys() & self.term_places.keys():
            found[self.term_places[term]] = values[term]
        return found

    @cached_property
    def simple_names(self) -> list[str]:
        """(N,) the last part of each name."""
        return [name.rpartition(".")[2] for name in self.names]

    @cached_property
    def outer_names(self) -> list[str]:
        """(N,) what each stands in, by the last part of its name; "" where it stands alone."""
        return [name.rpartition(".")[0].rpartition(".")[2] for name in self.names]

    @cached_property
    def name_terms(self) -> list[tuple[str, ...]]:
        """(N,) distinct terms of the last part of each name, in order."""
        return [tuple(dict.fromkeys(identifier_terms(name))) for name in self.simple_names]
