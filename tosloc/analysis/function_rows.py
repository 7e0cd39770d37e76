"""Function facts, and what the facts store keeps of those of one blob: known without loading a parser.

Packed they are the numbers of functions, terms and pairs and the lengths of both texts; the arrays; names and terms,
a line each; compressed.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from tosloc.analysis.grammars import grammar_release
from tosloc.analysis.text import identifier_terms
from tosloc.records import FloatArray, IntArray, LongArray

KINDS: Final = ("function", "method", "class")
FUNCTIONS_VERSION: Final = 2
"""Goes up when what ``tosloc.analysis.functions`` computes changes."""

_HEAD: Final = struct.Struct("<5I")
_LONGEST: Final = 1 << 28
"""Bytes of one blob's function facts, unpacked; more is no such thing."""


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
        rows: LongArray = np.repeat(np.arange(len(self)), np.diff(self.offsets))
        return rows

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
        places = self.term_places
        for term, value in values.items():
            place = places.get(term)
            if place is not None:
                found[place] = value
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

    @cached_property
    def named_by(self) -> Mapping[str, list[int]]:
        """Term -> the functions whose names have it, in order."""
        found: dict[str, list[int]] = {}
        for number, terms in enumerate(self.name_terms):
            for term in terms:
                found.setdefault(term, []).append(number)
        return found


@cache
def functions_analyser_of(language: str) -> str:
    """The version of the function facts of the language called so, for store keys."""
    return "+".join((f"functions{FUNCTIONS_VERSION}", *grammar_release(language)))


def pack_functions(facts: FunctionFacts) -> bytes:
    """``facts`` as bytes."""
    names, terms = "\n".join(facts.names).encode(), "\n".join(facts.terms).encode()
    head = _HEAD.pack(len(facts), len(facts.terms), len(facts.places), len(names), len(terms))
    sizes = np.diff(facts.offsets)
    steps = np.diff(facts.places, prepend=np.int32(0))
    first = facts.offsets[:-1][sizes > 0]
    steps[first] = facts.places[first]
    parts = (
        head,
        facts.kinds.tobytes(),
        facts.starts.astype("<i4").tobytes(),
        facts.ends.astype("<i4").tobytes(),
        sizes.astype("<u4").tobytes(),
        steps.astype("<u4").tobytes(),
        facts.code.tobytes(),
        facts.comments.tobytes(),
        names,
        terms,
    )
    return zlib.compress(b"".join(parts), 1)


def unpack_functions(payload: bytes) -> FunctionFacts:
    """What ``pack_functions`` packed. Raises ValueError and zlib.error for bytes that it did not make."""
    data = zlib.decompressobj().decompress(payload, _LONGEST)
    if len(data) < _HEAD.size:
        raise ValueError("too short")
    N, T, Q, name_bytes, term_bytes = _HEAD.unpack_from(data)
    lengths = (N, 4 * N, 4 * N, 4 * N, 4 * Q, Q, Q, name_bytes, term_bytes)
    if len(data) != _HEAD.size + sum(lengths):
        raise ValueError("of another length")
    parts, place = [], _HEAD.size
    for length in lengths:
        parts.append(data[place : place + length])
        place += length
    offsets = np.zeros(N + 1, dtype=np.int64)
    offsets[1:] = np.cumsum(np.frombuffer(parts[3], dtype="<u4"), dtype=np.int64)
    names = tuple(parts[7].decode().split("\n")) if N else ()
    terms = tuple(parts[8].decode().split("\n")) if T else ()
    kinds = np.frombuffer(parts[0], dtype=np.uint8)
    if (len(names), len(terms), offsets[-1]) != (N, T, Q) or (kinds >= len(KINDS)).any():
        raise ValueError("its numbers do not fit")
    steps = np.frombuffer(parts[4], dtype="<u4").astype(np.int64)
    # each function starts again from zero
    running = np.concatenate(([0], np.cumsum(steps)))
    places = running[1:] - np.repeat(running[offsets[:-1]], np.diff(offsets))
    if Q and not 0 <= places.min() <= places.max() < T:
        raise ValueError("a term has no such number")
    return FunctionFacts(
        names,
        kinds,
        np.frombuffer(parts[1], dtype="<i4"),
        np.frombuffer(parts[2], dtype="<i4"),
        terms,
        offsets,
        places.astype(np.int32),
        np.frombuffer(parts[5], dtype=np.uint8),
        np.frombuffer(parts[6], dtype=np.uint8),
    )
