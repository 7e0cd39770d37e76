"""Words of folders and file names, tests, and the files that a written path means."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial, reduce
from itertools import chain
from typing import Final

import numpy as np

from tosloc.code import text
from tosloc.code.languages import language_name
from tosloc.core.arrays import BoolArray, FloatArray, IntArray, LongArray
from tosloc.paths.classify import ClassArray, FileClass, classify_paths
from tosloc.reports.traces import Frame, Place
from tosloc.retrieval.paths.written_paths import find_longest_end, find_written_path
from tosloc.retrieval.texts.formulas import K1, B, idf, length_norm, saturate_tf
from tosloc.retrieval.texts.postings import Postings, group_starts, group_sum, known_terms, row_sums

_TEST_MARK: Final = re.compile(r"^(?:Test_?|test_)|(?:_?Tests?|TestCase|_test|\.test|\.spec)$")
_SEPARATORS: Final = re.compile(r"[\W_]+")
MAX_KEPT_LOCATIONS: Final = 4096
"""Number of locations in reports whose files a version keeps in memory."""
_SHARE_WITHOUT_TERM: Final = 0.05
"""Share of file names that are assumed to contain a stop word; stop words are not counted."""
_FOLDER_COUNT: Final = 0
"""Column of path postings: how often the term occurs in the folder."""
_NAME_COUNT: Final = 1
"""Column of path postings: how often the term occurs in the file name."""


def file_stem(path: str) -> str:
    """Return a file's name without its last suffix.

    >>> file_stem("a/Foo.java"), file_stem(".rc"), file_stem("a."), file_stem("a.b.c")
    ('Foo', '.rc', 'a.', 'a.b')
    """
    name = path.rpartition("/")[2]
    dot = name.rfind(".")
    return name[:dot] if 0 < dot < len(name) - 1 else name


@dataclass(frozen=True, eq=False)
class PathTable:
    """Terms and folders of N paths; the row of a path is its number in snapshots.

    All arrays are (N,).
    """

    paths: Sequence[str]
    directory: IntArray
    """Number of the file's folder, the same for all files in it."""
    counterpart_group: IntArray
    """Number that a file shares with its tests, and with the file that it tests: Foo, FooTest."""
    language: IntArray
    """Number of the file's language, the same for all files in it."""
    test: BoolArray
    """Whether the file is a test."""
    compound_stem: BoolArray
    """Whether the file name consists of several words (StandardContext, not Display)."""
    file_class: ClassArray
    """``FileClass`` of the file by its path alone."""
    term_ids: Mapping[str, int]
    """Term -> its number."""
    postings: Postings
    """Paths of each term, with (P, 2) counts of the term in the folder and in the file name."""

    @classmethod
    def of(cls, paths: Sequence[str]) -> PathTable:
        """Return the table of some paths."""
        folders = [path.rpartition("/")[0] for path in paths]
        names = [path.rpartition("/")[2] for path in paths]
        stems = [file_stem(path) for path in paths]
        term_ids, postings = _index_paths(folders, stems)
        file_class = classify_paths(paths)
        return cls(
            paths=paths,
            directory=_number_equal(folders),
            counterpart_group=_number_equal(_TEST_MARK.sub("", stem) or stem for stem in stems),
            language=_number_equal(map(_language_family, names)),
            test=file_class == FileClass.TEST,
            compound_stem=_truth_values(text.compounds(stem) for stem in stems),
            file_class=file_class,
            term_ids=term_ids,
            postings=postings,
        )

    def __len__(self) -> int:
        return len(self.paths)

    @cached_property
    def rows_by_stem(self) -> Mapping[str, list[int]]:
        """File name without its suffix -> rows of the files with that name, in order."""
        rows: defaultdict[str, list[int]] = defaultdict(list)
        for row, path in enumerate(self.paths):
            rows[file_stem(path)].append(row)
        return dict(rows)

    @cached_property
    def _stem_words(self) -> dict[int, tuple[str, ...]]:
        """Row -> words of the file's name, for the files that ``stem_words`` was called with."""
        return {}

    def stem_words(self, row: int) -> tuple[str, ...]:
        """Return the words of a file's name without its suffix, in lower case."""
        words = self._stem_words.get(row)
        if words is None:
            words = text.name_words(file_stem(self.paths[row]))
            self._stem_words[row] = words
        return words

    @cached_property
    def name_terms(self) -> tuple[IntArray, IntArray]:
        """Row and term of each pair of a path and a term in its file name, ordered by term."""
        in_name = self.postings.values[:, _NAME_COUNT] > 0
        return self.postings.rows[in_name], self.postings.terms[in_name]


def _index_paths(folders: Sequence[str], stems: Sequence[str]) -> tuple[dict[str, int], Postings]:
    """Return the number of each term, and the paths of each term with (P, 2) counts.

    The two counts are the term's occurrences in the folder and in the file name.
    """
    numbers: defaultdict[str, int] = defaultdict(lambda: len(numbers))

    @cache
    def term_numbers(part: str) -> list[int]:
        return [numbers[term] for term in text.terms(part)]

    # The folder of each path, followed by its name.
    parts: list[list[int]] = []
    for folder, stem in zip(folders, stems, strict=True):
        parts.append(term_numbers(folder))
        parts.append(term_numbers(stem))
    part_numbers = np.repeat(np.arange(len(parts), dtype=np.int64), list(map(len, parts)))
    terms = np.fromiter(chain.from_iterable(parts), dtype=np.int64)
    width = max(len(stems), 1)
    keys, positions = np.unique(terms * width + part_numbers // 2, return_inverse=True)
    in_folder = group_sum(positions, part_numbers % 2 == _FOLDER_COUNT, len(keys))
    in_name = group_sum(positions, part_numbers % 2 == _NAME_COUNT, len(keys))
    term, row = np.divmod(keys, width)
    starts = group_starts(np.bincount(term, minlength=len(numbers)))
    counts = np.stack([in_folder, in_name], axis=1)
    return dict(numbers), Postings(starts, row.astype(np.int32), counts)


def _language_family(name: str) -> str:
    """Return the language of a file; C and C++ are the same, because they share their headers."""
    language = language_name(name)
    return "cpp" if language == "c" else language


def _number_equal(names: Iterable[str]) -> IntArray:
    """Return (n,) the number of each name; equal names have equal numbers, new ones the next."""
    numbers: defaultdict[str, int] = defaultdict(lambda: len(numbers))
    return np.array([numbers[name] for name in names], dtype=np.int32)


def _truth_values(values: Iterable[object]) -> BoolArray:
    """Return (n,) whether each value counts as true."""
    return np.fromiter(map(bool, values), dtype=np.bool_)


class FileNames:
    """The words of the file names of one version, with their document frequencies."""

    def __init__(self, table: PathTable, path_ids: LongArray, present: BoolArray) -> None:
        self._table = table
        self._path_ids = path_ids
        self._present = present

    def find_by_words(self, words: Sequence[str]) -> dict[int, float]:
        """Return this version's files whose names contain the words one after the other.

        The result maps rows, in order, to the share that ``words`` have in the summed IDF of the
        file name's words: 1 if the name has no other words. A word that many file names contain,
        such as a common prefix, therefore counts little.
        """
        rows = self._find_with_terms(words)
        wanted = tuple(words)
        shares: dict[int, float] = {}
        for row in rows:
            stem_words = self._table.stem_words(row)
            if stem_words == wanted:
                shares[row] = 1.0
            elif _contains(stem_words, wanted):
                weight = sum(map(self._word_idf, stem_words))
                shares[row] = min(sum(map(self._word_idf, wanted)) / weight, 1.0)
        return shares

    def _find_with_terms(self, words: Sequence[str]) -> list[int]:
        """Return the rows of this version's files whose names contain all terms of the words."""
        terms: list[int] = []
        for word in words:
            for term in text.identifier_terms(word):
                number = self._table.term_ids.get(term)
                if number is None or not self.frequency[number]:
                    return []
                terms.append(number)
        if not terms:
            return self._rows_with_joined("".join(words))
        terms.sort(key=lambda number: int(self.frequency[number]))
        rows, _ = self._table.name_terms
        starts = self._name_starts
        rows_of_terms = [rows[starts[number] : starts[number + 1]] for number in terms]
        # A term has each row once.
        common = reduce(partial(np.intersect1d, assume_unique=True), rows_of_terms)
        return [int(row) for row in common[self._present[common]]]

    def _rows_with_joined(self, joined: str) -> list[int]:
        """Return the rows of this version's files whose names contain some joined words.

        It serves names of stop words and keywords, such as try-catch, which have no terms.
        """
        if not joined:
            return []
        rows = []
        for row in map(int, self._path_ids):
            letters = _SEPARATORS.sub("", file_stem(self._table.paths[row])).lower()
            if joined in letters:
                rows.append(row)
        return rows

    def _word_idf(self, word: str) -> float:
        """Return the IDF of a word in this version's file names.

        A word that has no terms, such as a stop word, gets the IDF of a term that occurs in the
        share ``_SHARE_WITHOUT_TERM`` of the file names.
        """
        numbers = [self._table.term_ids.get(term) for term in text.identifier_terms(word)]
        weights = [float(self.idf[number]) for number in numbers if number is not None]
        if weights:
            return sum(weights)
        frequency = np.array([round(len(self._path_ids) * _SHARE_WITHOUT_TERM)])
        return float(idf(len(self._path_ids), frequency)[0])

    @cached_property
    def frequency(self) -> LongArray:
        """(V,) number of this version's file names that contain each path term."""
        rows, terms = self._table.name_terms
        present_terms = terms[self._present[rows]]
        counts = np.bincount(present_terms, minlength=len(self._table.term_ids))
        return counts.astype(np.int64)

    @cached_property
    def _name_starts(self) -> LongArray:
        """(V+1,) term v has the pairs of ``name_terms`` from starts[v] to starts[v+1]."""
        _, terms = self._table.name_terms
        return group_starts(np.bincount(terms, minlength=len(self._table.term_ids)))

    @cached_property
    def idf(self) -> FloatArray:
        """(V,) IDF of each path term in this version's file names."""
        return idf(len(self._path_ids), self.frequency)

    def coverage(self, words: frozenset[str]) -> FloatArray:
        """Return (F,) the share of each file name's summed IDF whose terms are among ``words``."""
        contained = np.zeros(len(self._table.term_ids))
        terms, _ = known_terms(self._table.term_ids, dict.fromkeys(words, 1.0))
        contained[terms] = 1.0
        share = self.weighted_sum(contained) / np.maximum(self.weight, 1e-9)
        return share[self._path_ids]

    @cached_property
    def weight(self) -> FloatArray:
        """(N,) summed IDF of each file name's terms."""
        return self.weighted_sum(np.ones(len(self._table.term_ids)))

    def weighted_sum(self, values: FloatArray) -> FloatArray:
        """Return (N,) the sum over a file name's terms of IDF x value; ``values`` are (V,)."""
        rows, terms = self._table.name_terms
        return group_sum(rows, (self.idf * values)[terms], len(self._table))


class VersionPaths:
    """The paths of one version as rows of a table, with this version's document frequencies."""

    def __init__(self, table: PathTable, path_ids: IntArray) -> None:
        self.table = table
        # NumPy converts indexes of other types at each use.
        self.path_ids: LongArray = path_ids.astype(np.int64)
        """(F,) row of each file."""
        self.present: BoolArray = np.zeros(len(table), dtype=bool)
        """(N,) whether each path is a file of the version."""
        self.present[path_ids] = True
        self._rows_by_location: dict[tuple[str, bool], list[int]] = {}

    @cached_property
    def names(self) -> FileNames:
        """Words of the file names."""
        return FileNames(self.table, self.path_ids, self.present)

    @property
    def files(self) -> int:
        """F, the number of files."""
        return len(self.path_ids)

    def find_by_stem(self, stem: str) -> list[int]:
        """Return the rows of this version's files whose name without its suffix is ``stem``."""
        return [row for row in self.table.rows_by_stem.get(stem, ()) if self.present[row]]

    def find_by_class(self, qualified: str) -> list[int]:
        """Return the rows of the files that a class name can mean, by the end of their paths.

        The name is qualified, such as ``org.x.Outer$Inner``.
        """
        outer = qualified.split("$", 1)[0]
        *packages, name = outer.split(".")
        rows = self.find_by_stem(name)
        # An inner class may also be written with dots: org.x.Outer.Inner.
        while name and not rows and packages and packages[-1][:1].isupper():
            name = packages.pop()
            rows = self.find_by_stem(name)
        if not packages:
            return rows
        folder = "/".join(packages)
        in_folder = []
        for row in rows:
            own_folder = f"/{self.table.paths[row]}".rpartition("/")[0]
            if own_folder.endswith(f"/{folder}"):
                in_folder.append(row)
        return in_folder

    def namesakes(self, file_name: str) -> Iterator[tuple[int, list[str]]]:
        """Yield row and path names of this version's files with a file name, whatever their suffix.

        Path names are the names of the folders and of the file.
        """
        for row in self.find_by_stem(file_stem(file_name)):
            yield row, self.table.paths[row].split("/")

    def find_by_frame_path(self, spelling: str) -> list[int]:
        """Return the rows of the files that a path in a stack frame can mean.

        These files have the same name as the path, and share most folders with it, counted from the
        end.
        """
        return find_longest_end(spelling, self.namesakes)

    def find_by_place(self, place: Frame | Place) -> list[int]:
        """Return the rows of the project's own files that a frame or place in a report can mean."""
        if isinstance(place, Frame):
            return self.find_by_location(place.full_path, place.qualified)
        return self.find_by_location(place.path)

    def find_by_location(self, spelling: str, qualified: bool = False) -> list[int]:
        """Return the rows of the project's own files that a written path can mean.

        These are the files whose paths agree best with it
        (``tosloc.retrieval.paths.written_paths``). If the path is ``qualified``, all its folders
        must agree.
        """
        # Features, functions and reasons ask for each location again.
        rows = self._rows_by_location.get((spelling, qualified))
        if rows is None:
            rows = find_written_path(spelling, self.namesakes, qualified)
            if len(self._rows_by_location) >= MAX_KEPT_LOCATIONS:
                self._rows_by_location.clear()
            self._rows_by_location[spelling, qualified] = rows
        return list(rows)

    def bm25(self, weights: Mapping[str, float]) -> tuple[FloatArray, FloatArray]:
        """Return (F,) BM25 of the words in each file's folders, and in its whole path."""
        table = self.table
        terms, query_weights = known_terms(table.term_ids, weights)
        selection = table.postings.select(terms)
        rows = selection.rows.astype(np.int64)
        # Only paths of this version count for IDF.
        present = self.present.take(rows)
        in_folder = selection.values[:, _FOLDER_COUNT]
        in_path = in_folder + selection.values[:, _NAME_COUNT]
        starts = group_starts(selection.sizes)
        scores = []
        for frequency, path_norm in zip((in_folder, in_path), self._norm, strict=True):
            values = saturate_tf(frequency, path_norm.take(rows), K1) * present
            document_frequency = row_sums(values > 0, starts).astype(np.int64)
            term_weights = query_weights * idf(self.files, document_frequency)
            by_path = group_sum(rows, values * selection.expand(term_weights), len(table))
            scores.append(by_path.take(self.path_ids))
        of_folders, of_paths = scores
        return of_folders, of_paths

    @cached_property
    def _norm(self) -> FloatArray:
        """(2, N) length normalisation of each path's folder, and of its whole path."""
        postings = self.table.postings
        folder_lengths, name_lengths = (
            group_sum(postings.rows, counts, len(self.table)) for counts in postings.values.T
        )
        lengths = np.stack([folder_lengths, folder_lengths + name_lengths])
        averages = lengths[:, self.path_ids].mean(axis=1) if self.files else np.zeros(2)
        return length_norm(lengths, np.maximum(averages, 1e-9)[:, None], K1, B)

    def directory_sum(self, values: FloatArray) -> FloatArray:
        """Return (F,) the sum of ``values`` in each file's folder / sqrt(number of its files)."""
        folder = self.table.directory[self.path_ids]
        sizes = np.maximum(np.bincount(folder), 1)
        sums = group_sum(folder, values, 0) / np.sqrt(sizes)
        return sums[folder]


def _contains(words: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
    """Return whether ``words`` contains the words ``wanted`` one after the other."""
    size = len(wanted)
    starts = range(len(words) - size + 1)
    return any(words[start : start + size] == wanted for start in starts)
