"""The arrays of an indexed version, in the cache and in checkpoints.

Rankings do not depend on whether a version was built or read from arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from tosloc.code.languages import FIELDS
from tosloc.core.arrays import (
    Arrays,
    from_arrays,
    to_arrays,
    unpack_words,
    validate_array,
    validate_starts,
)
from tosloc.core.reports import VALID_TIMES
from tosloc.core.versions import Snapshot, StringTable
from tosloc.git.history import NO_LIMITS, HistoryLimits
from tosloc.reports.text import SharedLines, check_shared_lines
from tosloc.retrieval.history import HistoryIndex, Releases, Renames, check_releases, check_renames
from tosloc.retrieval.paths import PathTable
from tosloc.retrieval.texts import Corpus, Documents, check_documents, positions_by_name
from tosloc.retrieval.version_index import VersionIndex

_MAX_CHUNKS: Final = 1 << 24
"""Most chunks of an untrusted version."""


def version_to_arrays(version: VersionIndex) -> Arrays:
    """Return the plain arrays of a version, for ``version_from_arrays``."""
    snapshot = version.snapshot
    return to_arrays(
        {
            "commit": [snapshot.commit],
            "committed_at": np.array([snapshot.committed_at], dtype=np.int64),
            "commit_ids": version.commit_ids,
            "submodules": version.submodules,
            "template": version.template,
            "made_of": version.made_of,
            "limits": np.array(version.limits, dtype=np.int64),
            "blob_names": snapshot.blob_names.names,
            "rows": snapshot.blob_ids,
            "text": version.corpus,
            "paths": version.table,
            "commits": version.history.commits,
            "reports": version.history.reports,
            "renames": version.history.renames,
            "merges": version.history.merges,
            "large": version.history.large,
            "releases": version.history.releases,
            "shared_lines": version.history.shared_lines,
        }
    )


def version_from_arrays(arrays: Mapping[str, Any]) -> VersionIndex:
    """Return the version of ``version_to_arrays``; numbers are not checked."""
    [commit] = unpack_words(arrays["commit"])
    [committed_at] = arrays["committed_at"].tolist()
    # A checkpoint of an older version of TosLoc has neither classes of files nor literals.
    absent: Arrays = {
        "text.file_class": np.zeros(len(arrays["text.parsed"]), dtype=np.uint8),
        "text.literal_pairs": np.zeros(0, dtype=np.uint64),
        "text.literal_rows": np.zeros(0, dtype=np.int32),
    }
    corpus = from_arrays(Corpus, absent | dict(arrays), "text")
    table = from_arrays(PathTable, arrays, "paths")
    path_names = StringTable(list(table.paths), positions_by_name(table.paths))
    # In a checkpoint of an older version of TosLoc, the numbers are rows of the corpus; a file
    # without facts has row -1, and so the last name.
    blobs = [*corpus.blobs, ""]
    if "blob_names" in arrays:
        blobs = unpack_words(arrays["blob_names"])
    blob_names = StringTable(blobs, positions_by_name(blobs))
    blob_ids = arrays["rows"]
    path_ids = np.arange(len(blob_ids), dtype=np.int32)
    snapshot = Snapshot(commit, committed_at, path_names, blob_names, path_ids, blob_ids)
    commits = from_arrays(Documents, arrays, "commits")
    reports = from_arrays(Documents, arrays, "reports")
    history = HistoryIndex(commits, reports)
    # A checkpoint of an older version of TosLoc lacks renames, large commits, shared lines,
    # submodules, issue forms, limits and kinds that the version is made of.
    if "renames.commits" in arrays:
        renames = from_arrays(Renames, arrays, "renames")
        merges = from_arrays(Documents, arrays, "merges")
        releases = from_arrays(Releases, arrays, "releases")
        history = HistoryIndex(commits, reports, renames, merges, releases)
    if "large.times" in arrays:
        history = replace(history, large=from_arrays(Documents, arrays, "large"))
    if "shared_lines.times" in arrays:
        shared_lines = from_arrays(SharedLines, arrays, "shared_lines")
        history = replace(history, shared_lines=shared_lines)
    submodules = unpack_words(arrays["submodules"]) if "submodules" in arrays else ()
    template = unpack_words(arrays["template"]) if "template" in arrays else ()
    made_of = unpack_words(arrays["made_of"]) if "made_of" in arrays else ()
    limits = NO_LIMITS
    if "limits" in arrays:
        limits = HistoryLimits(*arrays["limits"].tolist())
    return VersionIndex(
        corpus,
        snapshot,
        table,
        history=history,
        commit_ids=unpack_words(arrays["commit_ids"]),
        submodules=submodules,
        template=template,
        limits=limits,
        made_of=made_of,
    )


def load_untrusted_version(arrays: Arrays) -> VersionIndex:
    """Return the version of arrays that anyone may have made.

    What depends on paths alone is computed again. Raises KeyError or ValueError if the arrays are
    no version.
    """
    blobs = len(set(unpack_words(arrays["text.blobs"])))
    terms = len(set(unpack_words(arrays["text.terms"])))
    paths = len(set(unpack_words(arrays["paths.paths"])))
    [commit] = unpack_words(arrays["commit"])
    # The commit is printed, and becomes a part of addresses.
    if not (commit.isascii() and commit.isalnum()):
        raise ValueError("the commit has no name that git gives")
    files = len(arrays["rows"])
    starts = validate_array(arrays, "text.chunk_starts", np.int64, blobs + 1)
    has_valid_chunks = starts[0] == 0 and (np.diff(starts) >= 1).all() and starts[-1] <= _MAX_CHUNKS
    if not 0 < files <= paths or not has_valid_chunks:
        raise ValueError("files of the version are counted wrongly")
    validate_array(
        arrays, "committed_at", np.int64, 1, least=VALID_TIMES.start, below=VALID_TIMES.stop
    )
    validate_array(arrays, "text.lengths", np.float64, blobs, len(FIELDS) + 1, below=np.inf)
    validate_array(arrays, "text.parsed", np.bool_, blobs)
    if "text.file_class" in arrays:
        validate_array(arrays, "text.file_class", np.uint8, blobs)
    if "text.literal_pairs" in arrays:
        keys = validate_array(arrays, "text.literal_pairs", np.uint64, None)
        if (keys[1:] < keys[:-1]).any():
            raise ValueError("the pairs of words in literals are in no order")
        validate_array(arrays, "text.literal_rows", np.int32, len(keys), below=blobs)
    validate_array(arrays, "text.complexity", np.int32, blobs)
    validate_array(arrays, "text.lines", np.int32, blobs)
    check_documents(arrays, "commits", paths)
    check_documents(arrays, "reports", paths)
    if "renames.commits" in arrays:
        check_renames(arrays, "renames", paths)
        check_documents(arrays, "merges", paths)
        check_releases(arrays, "releases")
    if "large.times" in arrays:
        check_documents(arrays, "large", paths)
    if "shared_lines.times" in arrays:
        check_shared_lines(arrays, "shared_lines")
    if "limits" in arrays:
        validate_array(arrays, "limits", np.int64, len(HistoryLimits._fields), below=np.inf)
    chunks = int(starts[-1])
    for name, rows, kind, width in (
        ("text.postings", blobs, np.uint16, (len(FIELDS),)),
        ("text.chunk_postings", chunks, np.uint8, ()),
    ):
        size = len(arrays[f"{name}.rows"])
        validate_starts(arrays, f"{name}.starts", terms, size)
        validate_array(arrays, f"{name}.rows", np.int32, size, below=rows)
        validate_array(arrays, f"{name}.values", kind, size, *width, below=np.inf)
    table = PathTable.of(unpack_words(arrays["paths.paths"]))
    return version_from_arrays(arrays | to_arrays({"paths": table}))
