"""Features of the places that a report names, in frames, links and paths, and of what kind of place a file is.

Shapes: F files of the version, N paths.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from tosloc.index.context import QueryContext
from tosloc.index.postings import leaders
from tosloc.records import FloatArray

LEADING_FILES: Final = 100
"""How many files of the first guess lend their score to files of the same name."""
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


# What the report names


def own_frame(context: QueryContext) -> FloatArray:
    """1/rank among the project's own files of a trace, innermost first, by the root of the trace's number."""
    scores = np.zeros(context.all_paths)
    for number, trace in enumerate(context.own_frames, start=1):
        for rank, rows in enumerate(trace, start=1):
            _raise(scores, rows, 1 / (rank * math.sqrt(number)))
    return context.to_files(scores)


def linked(context: QueryContext) -> FloatArray:
    """1/sqrt(rank) among the files to whose lines on the web the report links, or that it shows from there."""
    links = (place.path for place in context.query.places.links)
    return _in_order(context, map(context.version.paths.rows_of_place, links), 0.5)


def written_path(context: QueryContext) -> FloatArray:
    """1/rank among the files that the report names by path or name, but for those that it only runs."""
    paths = (place.path for place in context.query.places.paths)
    return _in_order(context, map(context.version.paths.rows_of_place, paths), 1.0)


def _in_order(context: QueryContext, places: Iterable[Sequence[int]], power: float) -> FloatArray:
    """(F,) 1/rank^power among the places that are the project's own, divided among the files that each can mean."""
    scores = np.zeros(context.all_paths)
    own = dict.fromkeys(tuple(rows) for rows in places if rows)
    for rank, rows in enumerate(own, start=1):
        _raise(scores, rows, 1 / rank**power)
    return context.to_files(scores)


def _raise(scores: FloatArray, rows: Sequence[int], value: float) -> None:
    """Give each of some files its part of a value, where it has no more yet."""
    for row in rows:
        scores[row] = max(scores[row], value / len(rows))


# What kind of place a file is


def example(context: QueryContext) -> FloatArray:
    """1 for a file among examples, documentation or benchmarks."""
    return _in_folders(context, _EXAMPLE)


def vendored(context: QueryContext) -> FloatArray:
    """1 for a file that was taken over from another project, by its folder."""
    return _in_folders(context, _VENDORED)


def setup(context: QueryContext) -> FloatArray:
    """1 for a file that installs, builds or configures: ``setup.py``, ``conftest.py``, ``webpack.config.js``."""
    names = (path.rpartition("/")[2] for path in context.version.text.snapshot.paths)
    return np.fromiter((name in _SETUP or ".config." in name for name in names), dtype=np.float64, count=context.files)


def _in_folders(context: QueryContext, pattern: re.Pattern[str]) -> FloatArray:
    """(F,) 1 for the files of folders whose path, with a slash at its end, holds the pattern."""
    paths = context.version.paths
    _, first, places = np.unique(paths.table.directory[paths.path_ids], return_index=True, return_inverse=True)
    folders = (paths.table.paths[row].rpartition("/")[0] + "/" for row in paths.path_ids[first].tolist())
    found = np.array([pattern.search(folder) is not None for folder in folders], dtype=np.float64)
    return found[places]


# Related files


def namesake(context: QueryContext, shares: FloatArray) -> FloatArray:
    """p of the likeliest other file of the same name in another folder; weighs negatively: only one is meant."""
    best: dict[str, list[tuple[float, int]]] = {}
    paths = context.version.text.snapshot.paths
    for file in leaders(shares, LEADING_FILES).tolist():
        best.setdefault(paths[file].rpartition("/")[2], []).append((float(shares[file]), file))
    scores = np.zeros(context.files)
    for file, path in enumerate(paths):
        same = best.get(path.rpartition("/")[2])
        if same is not None:
            scores[file] = max((share for share, other in same if other != file), default=0.0)
    return scores
