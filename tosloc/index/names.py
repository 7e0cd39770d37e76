"""Strings that stay as bytes in arrays until one of them is asked for: what a kept version is read from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, TypeVar, overload

import numpy as np
import numpy.typing as npt

from tosloc.arrays import Array, Arrays, check_starts, checked, pack_strings, prefixed
from tosloc.records import IntArray

_Default = TypeVar("_Default")
MOST_REMEMBERED: Final = 200_000
"""Strings whose numbers are remembered once they were asked for: reports share their terms."""


class PackedNames(Sequence[str]):
    """The strings of ``pack_strings``, each decoded when it is asked for.

    >>> names = PackedNames.of(["b", "äh", ""])
    >>> names[1], len(names), list(names), names[-1:]
    ('äh', 3, ['b', 'äh', ''], ('',))
    """

    def __init__(self, packed: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]) -> None:
        self.packed, self.ends = packed, ends

    @classmethod
    def of(cls, names: Sequence[str]) -> PackedNames:
        """These strings."""
        arrays: Mapping[str, npt.NDArray[Any]] = pack_strings(names)
        return cls(arrays["bytes"], arrays["ends"])

    @classmethod
    def read(cls, arrays: Mapping[str, Array], name: str) -> PackedNames:
        """Those that ``to_arrays`` put under ``name``. Raises KeyError or ValueError when they are not there."""
        packed: npt.NDArray[Any] = checked(arrays, f"{name}.bytes", np.uint8, None)
        ends: npt.NDArray[Any] = checked(arrays, f"{name}.ends", np.int64, None)
        check_starts(np.concatenate((np.zeros(1, dtype=np.int64), ends)), len(packed), f"{name}.ends")
        return cls(packed, ends)

    def to_arrays(self, name: str) -> Arrays:
        """The arrays under ``name``, for ``read``."""
        return prefixed(name, {"bytes": self.packed, "ends": self.ends})

    def encoded(self, place: int) -> bytes:
        """The bytes of one string."""
        return self.packed[int(self.ends[place - 1]) if place else 0 : int(self.ends[place])].tobytes()

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
        return self.encoded(number).decode("utf-8", "surrogateescape")

    def __iter__(self) -> Iterator[str]:
        joined = self.packed.tobytes()
        bounds = pairwise([0, *self.ends.tolist()])
        if joined.isascii():  # as good as all paths and terms: decoded at once
            text = joined.decode("ascii")
            return iter([text[start:end] for start, end in bounds])
        return iter([joined[start:end].decode("utf-8", "surrogateescape") for start, end in bounds])


class PackedLists(Sequence[tuple[str, ...]]):
    """Lists of strings that stay packed until one of them is asked for.

    >>> lists = PackedLists.of([("b", "c"), (), ("a",)])
    >>> lists[0], lists[1:], len(lists), list(lists)
    (('b', 'c'), ((), ('a',)), 3, [('b', 'c'), (), ('a',)])
    """

    def __init__(self, names: PackedNames, starts: npt.NDArray[np.int64]) -> None:
        self.names, self.starts = names, starts

    @classmethod
    def of(cls, lists: Sequence[Sequence[str]]) -> PackedLists:
        """These lists."""
        names = PackedNames.of([name for one in lists for name in one])
        return cls(names, np.cumsum([0, *map(len, lists)], dtype=np.int64))

    @classmethod
    def read(cls, arrays: Mapping[str, Array], name: str, lists: int) -> PackedLists:
        """Those that ``to_arrays`` put under ``name``. Raises KeyError or ValueError when they are not there."""
        names = PackedNames.read(arrays, name)
        starts: npt.NDArray[Any] = checked(arrays, f"{name}.starts", np.int64, lists + 1)
        check_starts(starts, len(names), f"{name}.starts")
        return cls(names, starts)

    def to_arrays(self, name: str) -> Arrays:
        """The arrays under ``name``, for ``read``."""
        return self.names.to_arrays(name) | {f"{name}.starts": self.starts}

    def __len__(self) -> int:
        return len(self.starts) - 1

    @overload
    def __getitem__(self, place: int) -> tuple[str, ...]: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[tuple[str, ...], ...]: ...
    def __getitem__(self, place: int | slice) -> tuple[str, ...] | tuple[tuple[str, ...], ...]:
        if isinstance(place, slice):
            return tuple(self[one] for one in range(len(self))[place])
        number = range(len(self))[place]
        return self.names[int(self.starts[number]) : int(self.starts[number + 1])]

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        names = list(self.names)  # all at once
        return iter([tuple(names[start:end]) for start, end in pairwise(self.starts.tolist())])


class NameNumbers(Mapping[str, int]):
    """String -> number, by binary search among the sorted bytes of the strings.

    >>> numbers = NameNumbers.of(["b", "äh", "a"])
    >>> numbers["a"], numbers.get("c"), numbers.get("äh"), list(numbers)
    (2, None, 1, ['a', 'b', 'äh'])
    """

    def __init__(self, names: PackedNames, numbers: IntArray) -> None:
        self.names, self.numbers = names, numbers
        self._asked: dict[str, int | None] = {}

    @classmethod
    def of(cls, names: Sequence[str]) -> NameNumbers:
        """The place of each of some different strings."""
        encoded = [name.encode("utf-8", "surrogateescape") for name in names]
        order = sorted(range(len(names)), key=encoded.__getitem__)
        return cls(PackedNames.of([names[place] for place in order]), np.array(order, dtype=np.int32))

    @classmethod
    def read(cls, arrays: Mapping[str, Array], name: str) -> NameNumbers:
        """Those that ``to_arrays`` put under ``name``. Raises KeyError or ValueError when they are not there."""
        names = PackedNames.read(arrays, name)
        numbers: npt.NDArray[Any] = checked(arrays, f"{name}.numbers", np.int32, len(names))
        return cls(names, numbers)

    def to_arrays(self, name: str) -> Arrays:
        """The arrays under ``name``, for ``read``."""
        return self.names.to_arrays(name) | {f"{name}.numbers": self.numbers}

    def place(self, name: str) -> int | None:
        """Where a string stands among the sorted ones."""
        wanted = name.encode("utf-8", "surrogateescape")
        packed, ends = self.names.packed.data, self.names.ends.data  # much faster by the element
        low, high = 0, len(self.names)
        while low < high:
            middle = (low + high) // 2
            if bytes(packed[ends[middle - 1] if middle else 0 : ends[middle]]) < wanted:
                low = middle + 1
            else:
                high = middle
        return low if low < len(self.names) and self.names.encoded(low) == wanted else None

    def _number(self, name: str) -> int | None:
        """The number of a string that was not asked for before; it is remembered, as is that there is none."""
        place = self.place(name)
        number = None if place is None else int(self.numbers[place])
        if len(self._asked) >= MOST_REMEMBERED:
            self._asked = {}
        self._asked[name] = number
        return number

    @overload
    def get(self, name: str, /) -> int | None: ...
    @overload
    def get(self, name: str, /, default: int | _Default) -> int | _Default: ...
    def get(self, name: str, /, default: int | _Default | None = None) -> int | _Default | None:
        """The number of a string, the default where it is none of these."""
        asked = self._asked
        number = asked[name] if name in asked else self._number(name)
        return default if number is None else number

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __getitem__(self, name: str) -> int:
        number = self.get(name)
        if number is None:
            raise KeyError(name)
        return number

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    @cached_property
    def by_number(self) -> Sequence[str]:
        """The strings in the order of their numbers, each decoded when it is asked for."""
        return _ByNumber(self)


class _ByNumber(Sequence[str]):
    def __init__(self, names: NameNumbers) -> None:
        self._names = names.names
        self._places = np.empty(len(names), dtype=np.int64)
        self._places[names.numbers] = np.arange(len(names))

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[str]:
        names = list(self._names)  # all at once
        return iter([names[place] for place in self._places.tolist()])

    @overload
    def __getitem__(self, number: int) -> str: ...
    @overload
    def __getitem__(self, number: slice) -> tuple[str, ...]: ...
    def __getitem__(self, number: int | slice) -> str | tuple[str, ...]:
        places = self._places[number]
        return self._names[int(places)] if places.ndim == 0 else tuple(self._names[place] for place in places.tolist())


def by_number(numbers: Mapping[str, int]) -> Sequence[str]:
    """Strings that are numbered from 0, in the order of their numbers.

    >>> by_number({"b": 0, "a": 1}), list(by_number(NameNumbers.of(["b", "a"])))
    (['b', 'a'], ['b', 'a'])
    """
    return numbers.by_number if isinstance(numbers, NameNumbers) else sorted(numbers, key=numbers.__getitem__)
