"""Strings that stay as bytes in arrays until one of them is asked for: those of a version that is mapped."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import overload

import numpy as np
import numpy.typing as npt

from tosloc.arrays import Array, Arrays, pack_strings, prefixed
from tosloc.records import IntArray


class PackedNames(Sequence[str]):
    """The strings of ``pack_strings``, each decoded when it is asked for.

    >>> names = PackedNames.of(["b", "äh", ""])
    >>> names[1], len(names), list(names), names[-1:]
    ('äh', 3, ['b', 'äh', ''], ('',))
    """

    def __init__(self, packed: Array, ends: Array) -> None:
        self.packed, self.ends = packed, ends

    @classmethod
    def of(cls, names: Sequence[str]) -> PackedNames:
        """These strings."""
        if isinstance(names, PackedNames):
            return names
        arrays = pack_strings(names)
        return cls(arrays["bytes"], arrays["ends"])

    @classmethod
    def read(cls, arrays: Mapping[str, Array], name: str) -> PackedNames:
        """Those that ``to_arrays`` put under ``name``."""
        return cls(arrays[f"{name}.bytes"], arrays[f"{name}.ends"])

    def to_arrays(self, name: str) -> Arrays:
        """The arrays under ``name``, for ``read``."""
        return prefixed(name, {"bytes": self.packed, "ends": self.ends})

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        if isinstance(place, slice):
            return tuple(self[one] for one in range(len(self))[place])
        number = range(len(self))[place]
        start = int(self.ends[number - 1]) if number else 0
        return self.packed[start : int(self.ends[number])].tobytes().decode("utf-8", "surrogateescape")

    def __iter__(self) -> Iterator[str]:
        joined = self.packed.tobytes()
        bounds = pairwise([0, *self.ends.tolist()])
        if joined.isascii():  # as good as all paths and terms: decoded at once
            text = joined.decode("ascii")
            return iter([text[start:end] for start, end in bounds])
        return iter([joined[start:end].decode("utf-8", "surrogateescape") for start, end in bounds])


class PackedLists(Sequence[tuple[str, ...]]):
    """Lists of strings without line ends that stay packed until one of them is asked for.

    >>> lists = PackedLists(PackedNames.of(["b\\nc", "", "a"]))
    >>> lists[0], lists[1:], len(lists)
    (('b', 'c'), ((), ('a',)), 3)
    """

    def __init__(self, joined: PackedNames) -> None:
        self.joined = joined

    @classmethod
    def of(cls, lists: Sequence[Sequence[str]]) -> PackedLists:
        """These lists."""
        return lists if isinstance(lists, PackedLists) else cls(PackedNames.of(["\n".join(one) for one in lists]))

    def __len__(self) -> int:
        return len(self.joined)

    @overload
    def __getitem__(self, place: int) -> tuple[str, ...]: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[tuple[str, ...], ...]: ...
    def __getitem__(self, place: int | slice) -> tuple[str, ...] | tuple[tuple[str, ...], ...]:
        if isinstance(place, slice):
            return tuple(self[one] for one in range(len(self))[place])
        return _split(self.joined[place])

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return map(_split, self.joined)


def _split(joined: str) -> tuple[str, ...]:
    return tuple(joined.split("\n")) if joined else ()


class Vocabulary(Mapping[str, int]):
    """Different strings numbered from 0, found by binary search among sorted hashes: ready as soon as it is mapped.

    >>> numbers = Vocabulary.of(["b", "äh", "a"])
    >>> numbers["a"], numbers.get("c"), numbers.get("äh"), list(numbers)
    (2, None, 1, ['b', 'äh', 'a'])
    """

    def __init__(self, names: PackedNames, hashes: npt.NDArray[np.int64], numbers: IntArray) -> None:
        self.names, self._hashes, self._numbers = names, hashes, numbers
        self._asked: dict[str, int] = {}

    @classmethod
    def of(cls, names: Sequence[str]) -> Vocabulary:
        """These strings, by their places."""
        hashes = np.array([_hash(name) for name in names], dtype=np.int64)
        order = np.argsort(hashes, kind="stable")
        return cls(PackedNames.of(names), hashes[order], order.astype(np.int32))

    @classmethod
    def read(cls, arrays: Mapping[str, Array], name: str) -> Vocabulary:
        """Those that ``to_arrays`` put under ``name``."""
        hashes, numbers = arrays[f"{name}.hashes"], arrays[f"{name}.numbers"]
        return cls(PackedNames.read(arrays, name), hashes, numbers)  # type: ignore[arg-type]

    def to_arrays(self, name: str) -> Arrays:
        """The arrays under ``name``, for ``read``."""
        return self.names.to_arrays(name) | prefixed(name, {"hashes": self._hashes, "numbers": self._numbers})

    def __getitem__(self, name: str) -> int:
        number = self._asked.get(name)
        if number is None:  # reports share their terms: what was asked for is remembered
            number = self._asked[name] = self._find(name)
        if number < 0:
            raise KeyError(name)
        return number

    def _find(self, name: str) -> int:
        wanted = _hash(name)
        place = int(np.searchsorted(self._hashes, wanted))
        while place < len(self._hashes) and self._hashes[place] == wanted:
            number = int(self._numbers[place])
            if self.names[number] == name:
                return number
            place += 1
        return -1

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def _hash(name: str) -> int:
    digest = hashlib.blake2b(name.encode("utf-8", "surrogateescape"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def by_number(numbers: Mapping[str, int]) -> Sequence[str]:
    """Strings that are numbered from 0, in the order of their numbers.

    >>> list(by_number({"b": 0, "a": 1})), list(by_number(Vocabulary.of(["b", "a"])))
    (['b', 'a'], ['b', 'a'])
    """
    return numbers.names if isinstance(numbers, Vocabulary) else sorted(numbers, key=numbers.__getitem__)


def vocabulary_of(numbers: Mapping[str, int]) -> Vocabulary:
    """Strings that are numbered from 0 in the order in which they stand, as a vocabulary."""
    return numbers if isinstance(numbers, Vocabulary) else Vocabulary.of(list(numbers))
