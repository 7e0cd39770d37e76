"""What paths alone say: words of folders and file names, test files, test counterparts, packages.

Letters in shapes: N paths known to the table, F files of a version, U distinct file-name terms.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final

import numpy as np

from tosloc.arrays import Array, Arrays, pack_words, prefixed, under, unpack_words
from tosloc.code import text
from tosloc.code.languages import language_of
from tosloc.index.postings import Postings, numbered, starts_of, summed
from tosloc.records import BoolArray, IntArray, LongArray
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
        self.directory: IntArray = _numbered(folders)
        """(N,) number of each path's folder."""
        numbers: defaultdict[str, int] = defaultdict(lambda: len(numbers))
        said: list[int] = []  # terms of each path's folder, then of its name
        sizes = []
        of_folder: dict[str, list[int]] = {}
        for folder, path in zip(folders, paths, strict=True):
            if folder not in of_folder:
                of_folder[folder] = [numbers[term] for term in text.terms(folder)]
            in_name = [numbers[term] for term in text.terms(stem_of(path))]
            said += of_folder[folder] + in_name
            sizes += [len(of_folder[folder]), len(in_name)]
        self.term_ids: Mapping[str, int] = dict(numbers)
        # a term of a path once, with how many times it stands in the folder and in the name
        row = np.repeat(np.arange(len(paths), dtype=np.int64).repeat(2), sizes)
        in_a_name = np.repeat(np.tile([False, True], len(paths)), sizes)
        keys, places = np.unique(row * max(len(numbers), 1) + np.array(said, dtype=np.int64), return_inverse=True)
        row, term = np.divmod(keys, max(len(numbers), 1))
        self.starts = starts_of(np.bincount(row, minlength=len(paths)))
        self.terms: IntArray = term.astype(np.int32)
        self.counts = np.stack([summed(places, in_a_name == which, len(keys)) for which in (False, True)], axis=1)
        """(terms of all paths, 2) how many times each term stands in its path's folder and file name."""
        self.postings = Postings.invert(self.starts, self.terms, len(numbers), self.counts)
        """Paths of each term, with (P, 2) the same counts."""

    def __len__(self) -> int:
        return len(self.paths)

    def to_arrays(self) -> Arrays:
        """Plain arrays, for ``from_arrays``."""
        return {
            **{name: getattr(self, name) for name in _ARRAYS},
            **prefixed("postings", self.postings.to_arrays()),
            "paths": pack_words(self.paths, "\0"),
            "term_ids": pack_words(self.term_ids),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> PathTable:
        """A table from ``to_arrays``."""
        made = cls.__new__(cls)
        vars(made).update({name: arrays[name] for name in _ARRAYS})
        made.paths = unpack_words(arrays["paths"], "\0")
        made.term_ids = numbered(unpack_words(arrays["term_ids"]))
        made.postings = Postings.from_arrays(under("postings", arrays))
        return made

    @cached_property
    def rows_of_stem(self) -> Mapping[str, list[int]]:
        """File name, without its suffix -> rows of the files with it, in order."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for row, path in enumerate(self.paths):
            found[stem_of(path)].append(row)
        return dict(found)

    @cached_property
    def name_terms(self) -> tuple[LongArray, IntArray]:
        """Path and term of each (path, file-name term) pair."""
        rows = np.repeat(np.arange(len(self), dtype=np.int64), np.diff(self.starts))
        in_name = self.counts[:, 1] > 0
        return rows[in_name], self.terms[in_name]

    @cached_property
    def test(self) -> BoolArray:
        """(N,) whether each path is a test."""
        return which_are_tests(self.paths)

    @cached_property
    def counterpart_group(self) -> IntArray:
        """(N,) number that a file, its tests and what it tests share: Foo, FooTest and TestFoo."""
        return _numbered(_TEST_MARK.sub("", stem) or stem for stem in map(stem_of, self.paths))

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
        return np.array([name in _SETUP or ".config." in name for name in names], dtype=np.bool_)

    def _in_folders(self, pattern: re.Pattern[str]) -> BoolArray:
        """(N,) whether the folder of a path, with a slash at the end, holds the pattern."""
        folders = [path.rpartition("/")[0] for path in self.paths]
        found = {folder: pattern.search(f"{folder}/") is not None for folder in set(folders)}
        return np.array([found[folder] for folder in folders], dtype=np.bool_)

    @cached_property
    def name_group(self) -> IntArray:
        """(N,) number that files of the same name share."""
        return _numbered(path.rpartition("/")[2] for path in self.paths)

    @cached_property
    def language(self) -> IntArray:
        """(N,) number that files of the same language share."""
        suffixes = (path.rpartition("/")[2].rpartition(".")[2] for path in self.paths)
        return _numbered(language_of(f".{suffix}") for suffix in suffixes)

    @cached_property
    def compound_stem(self) -> BoolArray:
        """(N,) whether the file name is made of two or more words (``StandardContext``, not ``Display``)."""
        return np.array([bool(text.compounds(stem_of(path))) for path in self.paths], dtype=bool)


def _numbered(names: Iterable[str]) -> IntArray:
    """(N,) number that equal names share, in order of first appearance."""
    numbers: defaultdict[str, int] = defaultdict(lambda: len(numbers))
    return np.array([numbers[name] for name in names], dtype=np.int32)


_ARRAYS: Final = (
    *("directory", "starts", "terms", "counts", "test", "counterpart_group", "compound_stem"),
    *("examples", "vendored", "setup", "name_group", "language"),
)
"""What is kept as it is."""
