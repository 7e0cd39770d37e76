"""Which files each version has, on disk as ``searched.jsonl.gz``: what a ranking must hold, no more and no less.

A line is ``{"version", "like", "with", "without"}``: the files of version ``like`` (of none if it is null) without some
and with others. Consecutive versions differ by little, so thousands of them are small. Lines may stand in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pydantic import Field

from tosloc.errors import RunError
from tosloc.evaluate.jsonl import Line, json_line, json_lines, packed_file
from tosloc.records import BoolArray, IntArray, Names

FILE_LISTS_FILE = "searched.jsonl.gz"


@dataclass(frozen=True, eq=False)
class FileLists:
    """The files of versions, as numbers into one table of names."""

    names: Names
    versions: Mapping[str, IntArray]
    """Version -> numbers of its files, ascending."""
    where: str = "file lists"

    def files(self, version: str) -> frozenset[str]:
        """Paths of a version's files. Raises RunError for a version that is not here."""
        return frozenset(self.names.names[number] for number in self._of(version).tolist())

    def count(self, version: str) -> int:
        """Number of a version's files. Raises RunError for a version that is not here."""
        return len(self._of(version))

    def numbers_of(self, paths: Sequence[str]) -> IntArray:
        """(N,) number of each path, one past the last for a path that no version has."""
        none = len(self.names)
        return np.array([self.names.ids.get(path, none) for path in paths], dtype=np.int32)

    def holds(self, version: str) -> BoolArray:
        """(P + 1,) whether the version has each of the P named files; the last, for unknown paths, is False."""
        mask = np.zeros(len(self.names) + 1, dtype=np.bool_)
        mask[self._of(version)] = True
        return mask

    def _of(self, version: str) -> IntArray:
        try:
            return self.versions[version]
        except KeyError:
            raise RunError(f"{self.where}: no list of the files of version {version}") from None


def write_file_lists(path: str | Path, versions: Iterable[tuple[str, Sequence[str]]]) -> None:
    """Write the files of versions; one that comes again is skipped. The file appears only when it is whole."""
    before: tuple[str, frozenset[str]] | None = None
    seen: set[str] = set()
    with packed_file(Path(path)) as file:
        for version, paths in versions:
            if version in seen:
                continue
            seen.add(version)
            now = frozenset(paths)
            like, old = before if before is not None else (None, frozenset[str]())
            line = {"version": version, "like": like, "with": sorted(now - old), "without": sorted(old - now)}
            file.write(json_line(line))
            before = version, now


def read_file_lists(path: str | Path) -> FileLists:
    """Versions of a file. Raises RunError for a damaged one, and for a version like one that is not there."""
    lines: dict[str, _Line] = {}
    followers: dict[str | None, list[str]] = {}
    for where, value in json_lines(path):
        line = _Line.of(value, where)
        if line.version in lines:
            raise RunError(f"{where}: version {line.version} comes twice")
        lines[line.version] = line
        followers.setdefault(line.like, []).append(line.version)
    names, versions = Names(), dict[str, IntArray]()
    waiting = [(version, frozenset[int]()) for version in sorted(followers.get(None, []))]
    while waiting:
        version, before = waiting.pop()
        gone, new = ({names.id(name) for name in some} for some in (lines[version].without, lines[version].new))
        files = before - gone | new
        versions[version] = np.array(sorted(files), dtype=np.int32)
        waiting.extend((follower, files) for follower in sorted(followers.get(version, [])))
    if len(versions) < len(lines):
        lost = min(lines.keys() - versions.keys())
        raise RunError(f"{path}: version {lost} is like {lines[lost].like}, of which no line tells")
    return FileLists(names, versions, str(path))


class _Line(Line):
    version: str
    like: str | None
    new: list[str] = Field(alias="with")
    without: list[str]
