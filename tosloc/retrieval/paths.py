"""What paths alone say: words of folders and file names, tests and what they test; which files of a version are meant.

Letters in shapes: N paths known to the table, F files of a version, P postings.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain, takewhile
from typing import Final

import numpy as np

from tosloc.code import text
from tosloc.code.languages import language_name
from tosloc.core.records import BoolArray, FloatArray, IntArray, LongArray
from tosloc.paths.classify import which_are_tests
from tosloc.retrieval.formulas import K1, B, idf, length_norm, saturate_tf
from tosloc.retrieval.postings import Postings, group_starts, group_sum, known_terms, row_sums

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
_INSTALLED: Final = re.compile(
    r"(?:^|/)(?:site-packages|dist-packages|node_modules)/(?:[^/]{1,200}\.egg/|@[^/]{1,200}/)?"
)
"""Folders of installed packages: what follows is a path within one of them."""
_FOREIGN: Final = re.compile(
    r"(?:^|/)[Ll]ib/python[\d.]{0,5}/|conda\d?/[Ll]ib/|/[Pp]ython[\d.]{0,5}/[Ll]ib/|/usr/local/go/src/|/rustc/"
    r"|^(?:node:)?internal/|<frozen "
)
"""Folders of a language's own library."""


def file_stem(path: str) -> str:
    """A file's name without its suffix.

    >>> file_stem("a/Foo.java"), file_stem(".rc"), file_stem("a."), file_stem("a.b.c")
    ('Foo', '.rc', 'a.', 'a.b')
    """
    name = path.rpartition("/")[2]
    dot = name.rfind(".")
    return name[:dot] if 0 < dot < len(name) - 1 else name


@dataclass(frozen=True, eq=False)
class PathTable:
    """Terms and folders of N paths; rows are the numbers that snapshots give their paths. All arrays are (N,)."""

    paths: Sequence[str]
    directory: IntArray  # number of each path's folder
    counterpart_group: (
        IntArray  # number that a file, its tests and what it tests share: Foo, FooTest and TestFoo
    )
    language: IntArray  # number that files of the same language share
    test: BoolArray
    compound_stem: BoolArray  # whether the file name is made of two or more words (StandardContext, not Display)
    examples: BoolArray  # whether a path stands among examples, documentation or benchmarks
    vendored: (
        BoolArray  # whether a path stands below a folder of what was taken over from other projects
    )
    setup: BoolArray  # whether it is the name of a file that installs, builds or configures
    term_ids: Mapping[str, int]
    postings: Postings  # paths of each term, with (P, 2) how many times it stands in the folder and in the file name

    @classmethod
    def of(cls, paths: Sequence[str]) -> PathTable:
        """The table of some paths."""
        folders, names = (
            [path.rpartition("/")[0] for path in paths],
            [path.rpartition("/")[2] for path in paths],
        )
        stems = list(map(file_stem, paths))
        numbers: defaultdict[str, int] = defaultdict(lambda: len(numbers))
        terms_of = cache(lambda part: [numbers[term] for term in text.terms(part)])
        # of each path the folder, then the name
        said = [terms_of(part) for pair in zip(folders, stems, strict=True) for part in pair]
        part = np.repeat(np.arange(len(said), dtype=np.int64), list(map(len, said)))
        # a term of a path once, with how many times it stands in the folder and in the name
        terms = np.fromiter(chain.from_iterable(said), dtype=np.int64)
        keys, places = np.unique(terms * max(len(paths), 1) + part // 2, return_inverse=True)
        counts = np.stack(
            [group_sum(places, part % 2 == which, len(keys)) for which in (0, 1)], axis=1
        )
        term, row = np.divmod(keys, max(len(paths), 1))
        return cls(
            paths=paths,
            directory=_numbered(folders),
            counterpart_group=_numbered(_TEST_MARK.sub("", stem) or stem for stem in stems),
            language=_numbered(map(language_name, names)),
            test=which_are_tests(paths),
            compound_stem=_marked(text.compounds(stem) for stem in stems),
            examples=_marked(map(cache(lambda folder: _EXAMPLE.search(f"{folder}/")), folders)),
            vendored=_marked(map(cache(lambda folder: _VENDORED.search(f"{folder}/")), folders)),
            setup=_marked(name in _SETUP or ".config." in name for name in names),
            term_ids=dict(numbers),
            postings=Postings(
                group_starts(np.bincount(term, minlength=len(numbers))),
                row.astype(np.int32),
                counts,
            ),
        )

    def __len__(self) -> int:
        return len(self.paths)

    @cached_property
    def rows_by_stem(self) -> Mapping[str, list[int]]:
        """File name, without its suffix -> rows of the files with it, in order."""
        found: defaultdict[str, list[int]] = defaultdict(list)
        for row, path in enumerate(self.paths):
            found[file_stem(path)].append(row)
        return dict(found)

    @cached_property
    def name_terms(self) -> tuple[IntArray, IntArray]:
        """Path and term of each (path, file-name term) pair, by term."""
        in_name = self.postings.values[:, 1] > 0
        return self.postings.rows[in_name], self.postings.terms[in_name]


def _numbered(names: Iterable[str]) -> IntArray:
    """(N,) number that equal names share, in order of first appearance."""
    numbers: defaultdict[str, int] = defaultdict(lambda: len(numbers))
    return np.array([numbers[name] for name in names], dtype=np.int32)


def _marked(values: Iterable[object]) -> BoolArray:
    """(N,) whether each value is one that counts as true."""
    return np.fromiter(map(bool, values), dtype=np.bool_)


class PathView:
    """The paths of one version within a table, with this version's document frequencies."""

    def __init__(self, table: PathTable, path_ids: IntArray) -> None:
        self.table, self.path_ids = table, path_ids
        self.present: BoolArray = np.zeros(len(table), dtype=bool)
        self.present[path_ids] = True

    @property
    def files(self) -> int:
        """F, the number of files."""
        return len(self.path_ids)

    def find_by_stem(self, stem: str) -> list[int]:
        """Rows of this version's files with a file name, without its suffix."""
        return [row for row in self.table.rows_by_stem.get(stem, ()) if self.present[row]]

    def find_by_class(self, qualified: str) -> list[int]:
        """Rows of the files that a qualified class name (``org.x.Outer$Inner``) can mean, by path suffix."""
        outer = qualified.split("$", 1)[0]
        *packages, name = outer.split(".")
        # an inner class may also be written with dots: org.x.Outer.Inner
        rows = self.find_by_stem(name)
        while name and not rows and packages and packages[-1][:1].isupper():
            name = packages.pop()
            rows = self.find_by_stem(name)
        if not packages:
            return rows
        folder = "/".join(packages)
        return [
            row
            for row in rows
            if f"/{self.table.paths[row]}".rpartition("/")[0].endswith(f"/{folder}")
        ]

    def find_by_frame_path(self, spelled: str) -> list[int]:
        """Rows of the files that a path in a stack frame can mean: same name, and as many equal folders as any has."""
        written = [part for part in spelled.replace("\\", "/").split("/") if part not in ("", ".")]
        rows = self.find_by_stem(file_stem(written[-1])) if written else []
        return _best({row: _common(self.table.paths[row].split("/"), written) for row in rows})

    def find_by_location(self, spelled: str, qualified: bool = False) -> list[int]:
        """Rows of the project's own files that a written path can mean: those that agree with it best from the end.

        A file agrees where its path ends with the written one or the other way round, and less where the two part
        after two names or more. A path into an installed package must be all of it; one into a language's library
        is none of the project's. ``qualified``: all written folders must agree.
        """
        installed = list(_INSTALLED.finditer(spelled))
        if installed:
            spelled = spelled[installed[-1].end() :]
        elif _FOREIGN.search(spelled):
            return []
        written = [part for part in spelled.split("/") if part not in ("", ".", "..", "~")]
        rows = self.find_by_stem(file_stem(written[-1])) if written else []
        owns = {row: self.table.paths[row].split("/") for row in rows}
        return _best(
            {row: _agreed(written, own, qualified, bool(installed)) for row, own in owns.items()}
        )

    def bm25(self, weights: Mapping[str, float], *, names: bool = True) -> FloatArray:
        """(F,) BM25 of the words of the path, or of its folders alone."""
        table = self.table
        terms, weight = known_terms(table.term_ids, weights)
        chosen = table.postings.select(terms)
        rows, counts = chosen.rows, chosen.values
        frequency = counts[:, 0] + counts[:, 1] if names else counts[:, 0]
        values = saturate_tf(frequency, self.norm[int(names)].take(rows), K1) * self.present[rows]
        held = row_sums(values > 0, group_starts(chosen.sizes)).astype(np.int64)
        by_term = weight * idf(self.files, held)
        return group_sum(rows, values * chosen.expand(by_term), len(table))[self.path_ids]

    @cached_property
    def norm(self) -> FloatArray:
        """(2, N) what the length of a path's folder, and of the whole path, does to frequencies."""
        lists = self.table.postings
        lengths = np.cumsum(
            [group_sum(lists.rows, counts, len(self.table)) for counts in lists.values.T], axis=0
        )
        averages = np.maximum(
            lengths[:, self.path_ids].mean(axis=1) if self.files else np.zeros(2), 1e-9
        )
        return length_norm(lengths, averages[:, None], K1, B)

    @cached_property
    def name_frequency(self) -> LongArray:
        """(terms,) in how many of this version's file names every path term stands."""
        rows, terms = self.table.name_terms
        return np.bincount(terms[self.present[rows]], minlength=len(self.table.term_ids)).astype(
            np.int64
        )

    @cached_property
    def name_idf(self) -> FloatArray:
        """(terms,) IDF of every path term as a part of this version's file names."""
        return idf(self.files, self.name_frequency)

    def name_coverage(self, words: frozenset[str]) -> FloatArray:
        """(F,) share of the IDF of a file name's terms that the words contain."""
        held = np.zeros(len(self.table.term_ids))
        held[known_terms(self.table.term_ids, dict.fromkeys(words, 1.0))[0]] = 1.0
        return (self.name_sum(held) / np.maximum(self.name_weight, 1e-9))[self.path_ids]

    @cached_property
    def name_weight(self) -> FloatArray:
        """(N,) sum of the IDF of each file name's terms."""
        return self.name_sum(np.ones(len(self.table.term_ids)))

    def name_sum(self, of_terms: FloatArray) -> FloatArray:
        """(N,) sum over each file name's terms of their IDF x a value of the term."""
        rows, terms = self.table.name_terms
        return group_sum(rows, (self.name_idf * of_terms)[terms], len(self.table))

    def directory_sum(self, of_files: FloatArray) -> FloatArray:
        """(F,) for each file the sum over the files of its folder, divided by the root of their number."""
        folder = self.table.directory[self.path_ids]
        return (group_sum(folder, of_files, 0) / np.sqrt(np.maximum(np.bincount(folder), 1)))[
            folder
        ]


def _best(agreed: Mapping[int, float]) -> list[int]:
    """The rows that agree most, if any does."""
    most = max(agreed.values(), default=0)
    return [row for row, value in agreed.items() if value == most > 0]


def _agreed(written: Sequence[str], own: Sequence[str], qualified: bool, installed: bool) -> float:
    """How many names, counted from the end, a written path and a file's have in common; 0 where they contradict."""
    common = _common(written, own)
    whole = common == len(written)
    if qualified:
        return common if whole else 0
    if installed:
        return common if whole and (common > 1 or len(own) < 3) else 0
    if whole or common == len(own):
        return common
    return common - 0.5 if common > 1 else 0


def _common(names: Sequence[str], others: Sequence[str]) -> int:
    """How many names, counted from the end, are the same."""
    pairs = zip(reversed(names), reversed(others), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
