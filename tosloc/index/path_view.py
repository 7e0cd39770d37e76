"""The paths of one version: which files a report means by a name, and what their words say.

Shapes: N paths known to the table, F files of the version, P postings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from pathlib import PurePosixPath
from typing import Final

import numpy as np

from tosloc.index.bm25 import length_norm, saturated
from tosloc.index.paths import PathTable, stem_of
from tosloc.index.postings import K1, B, idf, known_terms, row_sums, starts_of, summed
from tosloc.records import BoolArray, FloatArray, IntArray, LongArray

_INSTALLED: Final = re.compile(
    r"(?:^|/)(?:site-packages|dist-packages|node_modules)/(?:[^/]{1,200}\.egg/|@[^/]{1,200}/)?"
)
"""Folders of installed packages: what follows is a path within one of them."""
_FOREIGN: Final = re.compile(
    r"(?:^|/)[Ll]ib/python[\d.]{0,5}/|conda\d?/[Ll]ib/|/[Pp]ython[\d.]{0,5}/[Ll]ib/|/usr/local/go/src/|/rustc/"
    r"|^(?:node:)?internal/|<frozen "
)
"""Folders of a language's own library."""


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

    def rows_of_stem(self, stem: str) -> list[int]:
        """Rows of this version's files with a file name, without its suffix."""
        return [row for row in self.table.rows_of_stem.get(stem, ()) if self.present[row]]

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
            common = _common(PurePosixPath(self.table.paths[row]).parts, folders)
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
        installed = list(_INSTALLED.finditer(spelled))
        if installed:
            spelled = spelled[installed[-1].end() :]
        elif _FOREIGN.search(spelled):
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
        table, postings = self.table, self.table.postings
        terms, weight = known_terms(table.term_ids, weights)
        chosen = postings.select(terms)
        rows, counts = chosen.take(postings.rows), chosen.take(postings.values)
        frequency = counts[:, 0] + counts[:, 1] if names else counts[:, 0]
        values = saturated(frequency, self.norm[int(names)].take(rows), K1) * self.present[rows]
        held = row_sums(values > 0, starts_of(chosen.sizes)).astype(np.int64)
        by_term = weight * idf(self.files, held)
        return summed(rows, values * chosen.spread(by_term), len(table))[self.path_ids]

    @cached_property
    def norm(self) -> FloatArray:
        """(2, N) what the length of a path's folder, and of the whole path, does to frequencies."""
        lengths = np.cumsum([row_sums(counts, self.table.starts) for counts in self.table.counts.T], axis=0)
        averages = np.maximum(lengths[:, self.path_ids].mean(axis=1) if self.files else np.zeros(2), 1e-9)
        value: FloatArray = length_norm(lengths, averages[:, None], K1, B)
        return value

    @cached_property
    def name_frequency(self) -> LongArray:
        """(terms,) in how many of this version's file names every path term stands."""
        rows, terms = self.table.name_terms
        return np.bincount(terms[self.present[rows]], minlength=len(self.table.term_ids)).astype(np.int64)

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
        values = chosen.spread(self.name_idf[terms]) * (chosen.take(table.postings.values)[:, 1] > 0)
        covered = summed(chosen.take(table.postings.rows), values, len(table))
        share: FloatArray = (covered / np.maximum(self.name_weight, 1e-9))[self.path_ids]
        return share

    @cached_property
    def name_weight(self) -> FloatArray:
        """(N,) sum of the IDF of each file name's terms."""
        return self.name_sum(np.ones(len(self.table.term_ids)))

    def name_sum(self, of_terms: FloatArray) -> FloatArray:
        """(N,) sum over each file name's terms of their IDF x a value of the term."""
        rows, terms = self.table.name_terms
        return summed(rows, (self.name_idf * of_terms)[terms], len(self.table))

    def directory_sum(self, of_files: FloatArray) -> FloatArray:
        """(F,) for each file the sum over the files of its folder, divided by the root of their number."""
        folder = self.table.directory[self.path_ids]
        value: FloatArray = (summed(folder, of_files, 0) / np.sqrt(np.maximum(np.bincount(folder), 1)))[folder]
        return value


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
