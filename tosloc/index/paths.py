"""What paths alone say: words of folders and file names, test files, test counterparts, packages.

Letters in shapes: N paths known to the table, F files of a version, U distinct file-name terms.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any, Final, overload

import numpy as np
import numpy.typing as npt

from tosloc.analysis import text
from tosloc.analysis.languages import language_of
from tosloc.arrays import Array, Arrays, check_numbers, check_starts, checked
from tosloc.index.names import NameNumbers, PackedNames, by_number
from tosloc.index.postings import (
    K1,
    LARGEST_KEPT,
    QUERIES_BEFORE_ALL,
    B,
    Postings,
    Selection,
    idf,
    known_terms,
    row_sums,
    stable_order,
    starts_of,
    summed,
)
from tosloc.records import BoolArray, FloatArray, IntArray, LongArray
from tosloc.reports.test_paths import which_are_tests

INSTALLED: Final = re.compile(
    r"(?:^|/)(?:site-packages|dist-packages|node_modules)/(?:[^/]{1,200}\.egg/|@[^/]{1,200}/)?"
)
"""Folders of installed packages: what follows is a path within one of them."""
FOREIGN: Final = re.compile(
    r"(?:^|/)[Ll]ib/python[\d.]{0,5}/|conda\d?/[Ll]ib/|/[Pp]ython[\d.]{0,5}/[Ll]ib/|/usr/local/go/src/|/rustc/"
    r"|^(?:node:)?internal/|<frozen "
)
"""Folders of a language's own library."""
_EXAMPLE: Final = re.compile(
    r"(?i)(?:^|/)(?:examples?|demos?|tutorials?|samples?|notebooks?|playground|recipes|docs?|website|benchmarks?)/"
)
_VENDORED: Final = re.compile(
    r"(?i)(?:^|/)(?:third[_-]?party|3rd[_-]?party|vendor|vendors|vendored|externals?|extern|node_modules"
    r"|bower_components)/"
)
_SETUP: Final = frozenset(
    """setup.py conf.py conftest.py version.py _version.py __version__.py versioneer.py noxfile.py tasks.py hubconf.py
    gulpfile.js gulpfile.ts Gruntfile.js karma.conf.js AssemblyInfo.cs""".split()
)
TEST_MARK = re.compile(r"^(?:Test_?|test_)|(?:_?Tests?|TestCase|_test|\.test|\.spec)$")


def stem_of(name: str) -> str:
    """A file's name without its suffix.

    >>> stem_of("Foo.java"), stem_of(".rc"), stem_of("a."), stem_of("a.b.c")
    ('Foo', '.rc', 'a.', 'a.b')
    """
    dot = name.rfind(".")
    return name[:dot] if 0 < dot < len(name) - 1 else name


def counterpart_stem(path: str) -> str:
    """File name without what marks it as a test: Foo, FooTest and TestFoo share it."""
    stem = stem_of(path.rpartition("/")[2])
    return TEST_MARK.sub("", stem) or stem


class PathTable:
    """Terms and folders of paths; rows are the numbers that snapshots give their paths."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = paths
        folders = [path.rpartition("/")[0] for path in paths]
        directories = {folder: number for number, folder in enumerate(dict.fromkeys(folders))}
        self.directories = len(directories)
        self.directory: IntArray = np.array([directories[folder] for folder in folders], dtype=np.int32)
        """(N,) number of each path's folder."""
        numbers: dict[str, int] = {}
        said: list[int] = []  # terms of each path's folder, then of its name
        sizes = []
        of_folder: dict[str, list[int]] = {}
        for folder, stem in zip(folders, self.stems, strict=True):
            if folder not in of_folder:
                of_folder[folder] = [numbers.setdefault(term, len(numbers)) for term in text.terms(folder)]
            in_folder = of_folder[folder]
            in_name = [numbers.setdefault(term, len(numbers)) for term in text.terms(stem)]
            said += in_folder
            said += in_name
            sizes += [len(in_folder), len(in_name)]
        self.term_ids: Mapping[str, int] = numbers
        # a term of a path once, with how many times it stands in the folder and in the name
        row = np.repeat(np.arange(len(paths), dtype=np.int64).repeat(2), sizes)
        in_a_name = np.repeat(np.tile([False, True], len(paths)), sizes)
        keys, places = np.unique(row * max(len(numbers), 1) + np.array(said, dtype=np.int64), return_inverse=True)
        row, term = np.divmod(keys, max(len(numbers), 1))
        self.starts = starts_of(np.bincount(row, minlength=len(paths)))
        self.terms: IntArray = term.astype(np.int32)
        self.row_counts = np.stack([summed(places, in_a_name == which, len(keys)) for which in (False, True)])
        """(2, terms of all paths) how many times each term stands in its path's folder and file name."""
        self.postings = Postings.invert(self.starts, self.terms, len(self.term_ids))
        self.counts = self.row_counts[:, self.postings.origin]
        """(2, P) the same of the postings."""

    def __len__(self) -> int:
        return len(self.paths)

    # ---- as arrays

    def to_arrays(self) -> Arrays:
        """Plain arrays, for ``from_arrays``."""
        arrays: Arrays = {name: getattr(self, name) for name in _ARRAYS}
        numbers, paths = self.term_ids, self.paths
        if self._stem_lists is None:
            stems: dict[str, int] = {}
            stem_of_row = np.array([stems.setdefault(stem, len(stems)) for stem in self.stems], dtype=np.int32)
            lists = Postings.invert(np.arange(len(self) + 1, dtype=np.int64), stem_of_row, len(stems))
            stem_numbers = NameNumbers.of(list(stems))
        else:
            stem_numbers, lists = self._stem_lists
        return {
            **arrays,
            **(paths if isinstance(paths, PackedNames) else PackedNames.of(paths)).to_arrays("paths"),
            "test_file": self.test,
            **(numbers if isinstance(numbers, NameNumbers) else NameNumbers.of(list(numbers))).to_arrays("term_ids"),
            **stem_numbers.to_arrays("stems"),
            "stems.starts": lists.starts,
            "stems.rows": lists.rows,
            "postings.starts": self.postings.starts,
            "postings.rows": self.postings.rows,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> PathTable:
        """A table from ``to_arrays``. Raises KeyError or ValueError when the arrays are no table."""
        made = cls.__new__(cls)
        made.paths = PackedNames.read(arrays, "paths")
        N = len(made.paths)
        names = NameNumbers.read(arrays, "term_ids")
        made.term_ids, U = names, len(names)
        for name, (dtype, *shape) in _ARRAYS.items():
            vars(made)[name] = checked(arrays, name, dtype, *(N if size is Ellipsis else size for size in shape))
        made.directories = int(made.directory.max(initial=-1)) + 1
        stems = NameNumbers.read(arrays, "stems")
        lists = []
        for where, number in (("postings", U), ("stems", len(stems))):
            rows: npt.NDArray[np.int32] = checked(arrays, f"{where}.rows", np.int32, None)  # type: ignore[assignment]
            starts: npt.NDArray[np.int64] = checked(arrays, f"{where}.starts", np.int64, number + 1)  # type: ignore[assignment]
            check_starts(starts, len(rows), where)
            check_numbers(rows, N, where)
            lists.append(Postings(starts, rows))
        made.postings, made._stem_lists = lists[0], (stems, lists[1])
        check_starts(made.starts, len(made.terms), "starts")
        if {made.row_counts.shape[1], made.counts.shape[1], len(made.postings.rows)} != {len(made.terms)}:
            raise ValueError("terms of paths are counted wrongly")
        for array, below in ((made.terms, U), (names.numbers, U), (stems.numbers, len(stems)), (made.directory, N)):
            check_numbers(array, below, "paths")
        for name in ("counterpart_group", "name_group", "language"):
            check_numbers(vars(made)[name], N, name)
        made.test = checked(arrays, "test_file", np.bool_, N)  # type: ignore[assignment]
        return made

    _stem_lists: tuple[NameNumbers, Postings] | None = None
    """Of kept tables: file name without suffix -> rows."""

    def rows_of_stem(self, stem: str) -> list[int]:
        """Rows of the files with this name, without its suffix, in order."""
        if self._stem_lists is None:
            return self._rows_of_stem.get(stem, [])
        names, lists = self._stem_lists
        number = names.get(stem)
        if number is None:
            return []
        rows: list[int] = lists.rows[int(lists.starts[number]) : int(lists.starts[number + 1])].tolist()
        return rows

    @cached_property
    def stems(self) -> Sequence[str]:
        """(N,) names of the files without suffix."""
        return _Stems(self.paths)

    @cached_property
    def _rows_of_stem(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for row, stem in enumerate(self.stems):
            found.setdefault(stem, []).append(row)
        return found

    @cached_property
    def name_rows(self) -> LongArray:
        """Path of each (path, file-name term) pair."""
        rows: LongArray = np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.starts))[self.row_counts[1] > 0]
        return rows

    @cached_property
    def name_term_list(self) -> IntArray:
        """Term of each (path, file-name term) pair."""
        terms: IntArray = self.terms[self.row_counts[1] > 0]
        return terms

    @cached_property
    def vocabulary(self) -> Sequence[str]:
        """Terms by number."""
        return by_number(self.term_ids)

    @cached_property
    def test(self) -> BoolArray:
        """(N,) whether each path is a test."""
        return which_are_tests(self.paths)

    @cached_property
    def counterpart_group(self) -> IntArray:
        """(N,) number that a file, its tests and what it tests share."""
        groups: dict[str, int] = {}
        return np.array([groups.setdefault(counterpart_stem(path), len(groups)) for path in self.paths], dtype=np.int32)

    @cached_property
    def examples(self) -> BoolArray:
        """(N,) whether a path stands among examples, documentation or benchmarks."""
        return self._in_folders(_EXAMPLE)

    @cached_property
    def vendored(self) -> BoolArray:
        """(N,) whether a path stands below a folder of what was taken over from other projects."""
        return self._in_folders(_VENDORED)

    @cached_property
    def setup(self) -> BoolArray:
        """(N,) whether it is the name of a file that installs, builds or configures."""
        names = (path.rpartition("/")[2] for path in self.paths)
        return np.fromiter((name in _SETUP or ".config." in name for name in names), dtype=np.bool_, count=len(self))

    def _in_folders(self, pattern: re.Pattern[str]) -> BoolArray:
        """(N,) whether the folder of a path, with a slash at the end, holds the pattern."""
        _, first, folder = np.unique(self.directory, return_index=True, return_inverse=True)
        folders = (self.paths[row].rpartition("/")[0] + "/" for row in first.tolist())
        found = np.array([pattern.search(name) is not None for name in folders], dtype=np.bool_)
        return found[folder]

    @cached_property
    def name_group(self) -> IntArray:
        """(N,) number that files of the same name share."""
        names: dict[str, int] = {}
        return np.array([names.setdefault(path.rpartition("/")[2], len(names)) for path in self.paths], dtype=np.int32)

    @cached_property
    def language(self) -> IntArray:
        """(N,) number that files of the same language share."""
        numbers: dict[str, int] = {}
        suffixes = (path.rpartition("/")[2].rpartition(".")[2] for path in self.paths)
        named = (language_of(f".{suffix}") for suffix in suffixes)
        return np.array([numbers.setdefault(name, len(numbers)) for name in named], dtype=np.int32)

    @cached_property
    def compound_stem(self) -> BoolArray:
        """(N,) whether the file name is made of two or more words (``StandardContext``, not ``Display``)."""
        return np.array([bool(text.compounds(stem)) for stem in self.stems], dtype=bool)

    @cached_property
    def lengths(self) -> FloatArray:
        """(2, N) terms in folder and in file name."""
        found, filled = np.zeros((2, len(self))), np.flatnonzero(np.diff(self.starts))
        if len(filled):
            found[:, filled] = np.add.reduceat(self.row_counts, self.starts[filled], axis=1)
        return found


class _Stems(Sequence[str]):
    """Made when they are asked for: mostly one, among many thousands."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._paths = paths

    def __len__(self) -> int:
        return len(self._paths)

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            return [stem_of(path.rpartition("/")[2]) for path in self._paths[row]]
        return stem_of(self._paths[row].rpartition("/")[2])

    def __iter__(self) -> Iterator[str]:
        return iter(self[:])


_ARRAYS: Final[Mapping[str, tuple[Any, ...]]] = {
    "directory": (np.int32, ...),
    "starts": (np.int64, None),
    "terms": (np.int32, None),
    "row_counts": (np.float64, 2, None),
    "counts": (np.float64, 2, None),
    "counterpart_group": (np.int32, ...),
    "compound_stem": (np.bool_, ...),
    "examples": (np.bool_, ...),
    "vendored": (np.bool_, ...),
    "setup": (np.bool_, ...),
    "name_group": (np.int32, ...),
    "language": (np.int32, ...),
}
"""Arrays that are kept as they are: the type of the numbers, and the sizes of all dimensions, N where it is ``...``."""


class FileGroups:
    """Groups of a version's files: those of one name, or those that test each other."""

    def __init__(self, of_file: IntArray) -> None:
        self.of_file = of_file
        """(F,) number of each file's group."""
        number = int(of_file.max(initial=-1)) + 1
        self._order = stable_order(of_file, number)
        self._starts = starts_of(np.bincount(of_file, minlength=number))

    def files(self, group: int) -> list[int]:
        """The files of a group, in order."""
        files: list[int] = self._order[int(self._starts[group]) : int(self._starts[group + 1])].tolist()
        return files


class PathView:
    """The paths of one version within a table, with this version's document frequencies."""

    def __init__(self, table: PathTable, path_ids: IntArray, resident: bool = False) -> None:
        self.table, self.path_ids = table, path_ids
        self.resident = resident
        """Many queries will be asked of this version: what does not depend on the query is kept."""
        self._saturations: dict[bool, tuple[FloatArray, LongArray]] = {}
        self._averages: dict[bool, float] = {}
        self._queries = 0
        self.present: BoolArray = np.zeros(len(table), dtype=bool)
        self.present[path_ids] = True

    @property
    def files(self) -> int:
        """F, the number of files."""
        return len(self.path_ids)

    def rows_of_stem(self, stem: str) -> list[int]:
        """Rows of this version's files with a file name, without its suffix."""
        return [row for row in self.table.rows_of_stem(stem) if self.present[row]]

    def rows_of_class(self, qualified: str) -> list[int]:
        """Rows of the files that a qualified class name (``org.x.Outer$Inner``) can mean, by path suffix."""
        outer = qualified.split("$", 1)[0]
        *packages, name = outer.split(".")
        # an inner class may also be written with dots: org.x.Outer.Inner
        rows = self.rows_of_stem(name)
        while name and not rows and packages and packages[-1][:1].isupper():
            name = packages.pop()
            rows = self.rows_of_stem(name)
        if not packages:
            return rows
        folder = "/".join(packages)
        return [row for row in rows if f"/{self.table.paths[row]}".rpartition("/")[0].endswith(f"/{folder}")]

    def rows_of_file(self, spelled: str) -> list[int]:
        """Rows of the files that a path in a stack frame can mean: same name, and as many equal folders as any has."""
        folders = PurePosixPath(spelled.replace("\\", "/")).parts
        if not folders:
            return []
        best: list[int] = []
        longest = 0
        for row in self.rows_of_stem(PurePosixPath(folders[-1]).stem):
            common = 0
            for own, other in zip(
                reversed(PurePosixPath(self.table.paths[row]).parts), reversed(folders), strict=False
            ):
                if own != other:
                    break
                common += 1
            if common >= max(longest, 1):
                best = [*best, row] if common == longest else [row]
                longest = common
        return best

    def rows_of_location(self, spelled: str, qualified: bool = False) -> list[int]:
        """Rows of the project's own files that a written path can mean: those that agree with it best from the end.

        A file agrees where its path ends with the written one or the other way round, and less where the two part
        after two names or more. A path into an installed package must be all of it; one into a language's library
        is none of the project's. ``qualified``: all written folders must agree.
        """
        installed = list(INSTALLED.finditer(spelled))
        if installed:
            spelled = spelled[installed[-1].end() :]
        elif FOREIGN.search(spelled):
            return []
        written = [part for part in spelled.split("/") if part not in ("", ".", "..", "~")]
        if not written:
            return []
        best: list[int] = []
        most = 0.0
        for row in self.rows_of_stem(stem_of(written[-1])):
            own = self.table.paths[row].split("/")
            agreed = _agreed(written, own, qualified, bool(installed))
            if agreed > most:
                best, most = [row], agreed
            elif agreed and agreed == most:
                best.append(row)
        return best

    def bm25(self, weights: Mapping[str, float], *, names: bool = True) -> FloatArray:
        """(F,) BM25 of the words of the path, or of its folders alone."""
        terms, weight = known_terms(self.table.term_ids, weights)
        lists = self.table.postings
        chosen = lists.select(terms)
        self._queries += 1
        often = self.resident and self._queries > 2 * QUERIES_BEFORE_ALL  # each asks with and without names
        if chosen.many:
            return self._term_by_term(terms, weight, names)
        if often and len(lists.rows) <= LARGEST_KEPT:
            if names not in self._saturations:
                everything = lists.select(np.arange(len(self.table.term_ids), dtype=np.int64))
                self._saturations[names] = self._saturate(everything, names)
            saturations, frequencies = self._saturations[names]
            saturation, frequency = chosen.take(saturations), frequencies[terms]
        else:
            saturation, frequency = self._saturate(chosen, names)
        value = saturation * chosen.spread(weight * idf(self.files, frequency))
        return summed(chosen.take(lists.rows), value, len(self.table))[self.path_ids]

    def _term_by_term(self, terms: LongArray, weight: FloatArray, names: bool) -> FloatArray:
        """(F,) the same of very many postings, added in the same order: a term stands once in a path's list."""
        lists = self.table.postings
        alone = [lists.select(term) for term in terms[:, None]]
        frequency = np.array([self._saturate(one, names)[1][0] for one in alone])
        total = np.zeros(len(self.table))
        for one, by_term in zip(alone, weight * idf(self.files, frequency), strict=True):
            total[one.take(lists.rows)] += self._saturate(one, names)[0] * by_term
        return total[self.path_ids]

    def _average(self, names: bool) -> float:
        """Mean length of the version's paths, or of their folders alone."""
        if names not in self._averages:
            length = self.table.lengths.sum(axis=0) if names else self.table.lengths[0]
            self._averages[names] = max(float(length[self.path_ids].mean()) if self.files else 0.0, 1e-9)
        return self._averages[names]

    def _saturate(self, chosen: Selection, names: bool) -> tuple[FloatArray, LongArray]:
        """(P,) saturated frequency of each posting, 0 outside this version, and (T,) files of each term."""
        rows = chosen.take(self.table.postings.rows)
        frequency, length = chosen.take(self.table.counts[0]), self.table.lengths[0][rows]
        if names:
            frequency, length = frequency + chosen.take(self.table.counts[1]), length + self.table.lengths[1][rows]
        seen = self.present[rows] & (frequency > 0)
        value = frequency * (K1 + 1) / (frequency + K1 * (1 - B + B * length / self._average(names)))
        return value * seen, row_sums(seen, starts_of(chosen.sizes)).astype(np.int64)

    @cached_property
    def counterparts(self) -> FileGroups:
        """Files with their tests and what they test."""
        return FileGroups(self.table.counterpart_group[self.path_ids])

    @cached_property
    def namesakes(self) -> FileGroups:
        """Files of the same name."""
        return FileGroups(self.table.name_group[self.path_ids])

    @cached_property
    def name_frequency(self) -> LongArray:
        """(terms,) in how many of this version's file names every path term stands."""
        chosen = self.table.terms[np.repeat(self.present, np.diff(self.table.starts)) & (self.table.row_counts[1] > 0)]
        return np.bincount(chosen, minlength=len(self.table.term_ids)).astype(np.int64)

    @cached_property
    def name_terms(self) -> BoolArray:
        """(terms,) whether a path term stands in a file name of this version."""
        return self.name_frequency > 0

    @cached_property
    def name_idf(self) -> FloatArray:
        """(terms,) IDF of every path term as a part of this version's file names."""
        return idf(self.files, self.name_frequency)

    def name_coverage(self, words: frozenset[str]) -> FloatArray:
        """(F,) share of the IDF of a file name's terms that the words contain."""
        table = self.table
        terms = np.array(sorted(table.term_ids[word] for word in words if word in table.term_ids), dtype=np.int64)
        chosen = table.postings.select(terms)
        values = chosen.spread(self.name_idf[terms]) * (chosen.take(table.counts[1]) > 0)
        covered = summed(chosen.take(table.postings.rows), values, len(table))
        share: FloatArray = (covered / np.maximum(self.name_weight, 1e-9))[self.path_ids]
        return share

    @cached_property
    def name_weight(self) -> FloatArray:
        """(N,) sum of the IDF of each file name's terms."""
        return self.name_sum(np.ones(len(self.table.term_ids)))

    def name_sum(self, of_terms: FloatArray) -> FloatArray:
        """(N,) sum over each file name's terms of their IDF x a value of the term."""
        return summed(self.table.name_rows, (self.name_idf * of_terms)[self.table.name_term_list], len(self.table))

    def directory_sum(self, of_files: FloatArray) -> FloatArray:
        """(F,) for each file the sum over the files of its folder, divided by the root of their number."""
        folder = self.table.directory[self.path_ids]
        total = summed(folder, of_files, self.table.directories)
        size = np.bincount(folder, minlength=self.table.directories)
        value: FloatArray = (total / np.sqrt(np.maximum(size, 1)))[folder]
        return value


def _agreed(written: Sequence[str], own: Sequence[str], qualified: bool, installed: bool) -> float:
    """How many names, counted from the end, a written path and a file's have in common; 0 where they contradict."""
    common = 0
    for one, other in zip(reversed(written), reversed(own), strict=False):
        if one != other:
            break
        common += 1
    whole = common == len(written)
    if qualified:
        return common if whole else 0
    if installed:
        return common if whole and (common > 1 or len(own) < 3) else 0
    if whole or common == len(own):
        return common
    return common - 0.5 if common > 1 else 0
