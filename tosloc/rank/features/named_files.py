"""Find the files that a report names: in stack frames, by paths and links, and by their names.

A path row is the number of a path in the version's path table.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from tosloc.reports.text import CompoundName
from tosloc.reports.traces import Frame, Place
from tosloc.retrieval.paths import VersionPaths
from tosloc.retrieval.query import Query

Rows: TypeAlias = tuple[int, ...]
"""Path rows that a name or location can mean."""
MAX_FILES_OF_NAME: Final = 3
"""Largest number of files that a name of several words may mean; other names are ignored."""


class FilesOfName(NamedTuple):
    """The files that a name of several words means, in any spelling."""

    name: CompoundName
    rows: Rows
    """Path rows of these files."""
    share: float
    """Share of the summed IDF of the file name's words that ``name`` contains; 1 for all."""


class NamedFiles:
    """The files of a version that a report names."""

    def __init__(self, query: Query, paths: VersionPaths) -> None:
        self._query = query
        self._paths = paths

    @cached_property
    def in_frames(self) -> tuple[tuple[str, int, Rows], ...]:
        """Class, part of the trace, and path rows of each stack frame that names files."""
        frames = []
        for frame in self._query.text.frames:
            if frame.type:
                rows = self._paths.find_by_class(frame.type)
                if not rows and frame.path:  # the namespaces of .NET need not be its folders
                    rows = self._paths.find_by_location(frame.path.replace("\\", "/"))
            else:
                rows = self._paths.find_by_frame_path(frame.path or frame.file)
            if rows:
                frames.append((frame.class_or_file, frame.cause, tuple(rows)))
        return tuple(frames)

    @cached_property
    def mentioned_rows(self) -> tuple[list[int], ...]:
        """Path rows of the files with each file name in the report, in the order of the report.

        Several files may have the same name.
        """
        mentioned = []
        for word in self._query.names.mentions:
            if self._is_mention(word):
                rows = self._paths.find_by_stem(word)
                if rows:
                    mentioned.append(rows)
        return tuple(mentioned)

    @staticmethod
    def _is_mention(word: str) -> bool:
        """Return whether a word may be a file's name, because it does not look like a word."""
        return word[:1].isupper() or "_" in word

    def find_rows(self, place: Frame | Place) -> Rows:
        """Return the path rows of the project's own files that a place in the report can mean."""
        return tuple(self._paths.find_by_place(place))

    @cached_property
    def by_compound_name(self) -> tuple[FilesOfName, ...]:
        """Files that names of several words mean in any spelling, in the order of the names.

        ``new-window``, ``new_window`` and ``newWindow`` mean ``cmd-new-window.c``: the words of the
        name follow each other in the name of the file. Of several such files the name means the
        files whose other words have the smallest IDF. Names of more than MAX_FILES_OF_NAME files,
        and names in ``mentioned_rows``, are left out.
        """
        files = []
        for name in self._query.names.compound_names:
            if self._is_mention(name.written) and self._paths.find_by_stem(name.written):
                continue
            shares = self._paths.names.find_by_words(name.words)
            share = max(shares.values(), default=0.0)
            rows = tuple(row for row in shares if shares[row] == share)
            if 0 < len(rows) <= MAX_FILES_OF_NAME:
                files.append(FilesOfName(name, rows, share))
        return tuple(files)

    @cached_property
    def project_frames(self) -> tuple[tuple[Rows, ...], ...]:
        """Path rows of the project's frames in each trace, innermost first, without repetitions."""
        traces = []
        for trace in self._query.places.locations.traces:
            rows = map(self.find_rows, trace)
            frames = tuple(dict.fromkeys(filter(None, rows)))
            if frames:
                traces.append(frames)
        return tuple(traces)

    @cached_property
    def files(self) -> list[int]:
        """Files that the report names by path, link or name, or in a frame that is not in a test.

        A name of several words counts only if it is the whole name of the file.
        """
        are_tests = self._paths.table.test
        rows: set[int] = set()
        for place in (*self._query.places.locations.links, *self._query.places.locations.paths):
            rows.update(self.find_rows(place))
        in_frames = [files for trace in self.project_frames for files in trace]
        by_name = [item.rows for item in self.by_compound_name if item.share == 1]
        for files in (*in_frames, *by_name):
            rows.update(row for row in files if not are_tests[row])
        is_named = np.isin(self._paths.path_ids, sorted(rows))
        return [int(file) for file in np.flatnonzero(is_named)]
