"""What paths alone say: words of folders and file names, test files, test counterparts, packages.

Letters in shapes: N paths known to the table, F files of a version, U distinct file-name terms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np

from tosloc.arrays import Arrays
from tosloc.code import text
from tosloc.code.languages import language_of
from tosloc.index.names import PackedNames, Vocabulary, by_number, vocabulary_of
from tosloc.index.postings import Postings, starts_of, summed
from tosloc.records import BoolArray, FloatArray, IntArray, LongArray
from tosloc.reports.test_paths import which_are_tests

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
_TEST_MARK: Final = re.compile(r"^(?:Test_?|test_)|(?:_?Tests?|TestCase|_test|\.test|\.spec)$")


def stem_of(path: str) -> str:
    """A file's name without its suffix.

    >>> stem_of("a/Foo.java"), stem_of(".rc"), stem_of("a."), stem_of("a.b.c")
    ('Foo', '.rc', 'a.', 'a.b')
    """
    name = path.rpartition("/")[2]
    dot = name.rfind(".")
    return name[:dot] if 0 < dot < len(name) - 1 else name


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
        for folder, path in zip(folders, paths, strict=True):
            if folder not in of_folder:
                of_folder[folder] = [numbers.setdefault(term, len(numbers)) for term in text.terms(folder)]
            in_folder = of_folder[folder]
            in_name = [numbers.setdefault(term, len(numbers)) for term in text.terms(stem_of(path))]
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

    def to_arrays(self) -> Arrays:
        """Plain arrays, for ``from_arrays``."""
        numbers, paths, (stems, rows) = self.term_ids, self.paths, self._stems
        return {
            **{name: getattr(self, name) for name in _ARRAYS},
            **PackedNames.of(paths).to_arrays("paths"),
            **vocabulary_of(numbers).to_arrays("term_ids"),
            **stems.to_arrays("stems"),
            "stems.starts": rows.starts,
            "stems.rows": rows.rows,
            "postings.starts": self.postings.starts,
            "postings.rows": self.postings.rows,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Any]) -> PathTable:
        """A table from ``to_arrays``. Raises KeyError or ValueError when the arrays are no table."""
        made = cls.__new__(cls)
        made.paths, made.term_ids = PackedNames.read(arrays, "paths"), Vocabulary.read(arrays, "term_ids")
        vars(made).update({name: arrays[name] for name in _ARRAYS})
        made.directories = int(made.directory.max(initial=-1)) + 1
        made.postings, rows = (
            Postings(arrays[f"{name}.starts"], arrays[f"{name}.rows"]) for name in ("postings", "stems")
        )
        made._stems = Vocabulary.read(arrays, "stems"), rows
        return made

    @cached_property
    def _stems(self) -> tuple[Vocabulary, Postings]:
        """File name without suffix -> number, and the rows of each."""
        stems: dict[str, int] = {}
        of_row = np.array([stems.setdefault(stem, len(stems)) for stem in map(stem_of, self.paths)], dtype=np.int32)
        return Vocabulary.of(list(stems)), Postings.invert(np.arange(len(self) + 1), of_row, len(stems))

    def rows_of_stem(self, stem: str) -> list[int]:
        """Rows of the files with this name, without its suffix, in order."""
        names, lists = self._stems
        number = names.get(stem)
        if number is None:
            return []
        rows: list[int] = lists.rows[int(lists.starts[number]) : int(lists.starts[number + 1])].tolist()
        return rows

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

    def _numbered(self, names: Iterable[str]) -> IntArray:
        """(N,) number that paths of the same name share."""
        numbers: dict[str, int] = {}
        return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int32)

    @cached_property
    def counterpart_group(self) -> IntArray:
        """(N,) number that a file, its tests and what it tests share: Foo, FooTest and TestFoo."""
        stems = map(stem_of, self.paths)
        return self._numbered(_TEST_MARK.sub("", stem) or stem for stem in stems)

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
        return self._numbered(path.rpartition("/")[2] for path in self.paths)

    @cached_property
    def language(self) -> IntArray:
        """(N,) number that files of the same language share."""
        suffixes = (path.rpartition("/")[2].rpartition(".")[2] for path in self.paths)
        return self._numbered(language_of(f".{suffix}") for suffix in suffixes)

    @cached_property
    def compound_stem(self) -> BoolArray:
        """(N,) whether the file name is made of two or more words (``StandardContext``, not ``Display``)."""
        return np.array([bool(text.compounds(stem)) for stem in map(stem_of, self.paths)], dtype=bool)

    @cached_property
    def lengths(self) -> FloatArray:
        """(2, N) terms in folder and in file name."""
        found, filled = np.zeros((2, len(self))), np.flatnonzero(np.diff(self.starts))
        if len(filled):
            found[:, filled] = np.add.reduceat(self.row_counts, self.starts[filled], axis=1)
        return found


_ARRAYS: Final = (
    *("directory", "starts", "terms", "row_counts", "counts", "test", "counterpart_group", "compound_stem"),
    *("examples", "vendored", "setup", "name_group", "language"),
)
"""What is kept as it is."""
