"""HistoryIndex and versions as plain arrays, so that a checkpoint or cache is read without unpickling anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from tosloc.arrays import Array, Arrays, pack_strings, prefixed, under, unpack_strings
from tosloc.index.documents import Documents
from tosloc.index.history_index import HistoryIndex
from tosloc.records import Names, Snapshot


def documents_arrays(documents: Documents) -> Arrays:
    """Documents as arrays."""
    classes = [name for names in documents.classes for name in names]
    return {
        "times": documents.times,
        "commits": documents.commits,
        "starts": documents.starts,
        "terms": documents.terms,
        "counts": documents.counts,
        "file_starts": documents.file_starts,
        "sizes": documents.sizes,
        "files": documents.files,
        "class_sizes": np.array([len(names) for names in documents.classes], dtype=np.int32),
        **prefixed("ids", pack_strings(documents.ids)),
        **prefixed("commit_ids", pack_strings(documents.commit_ids)),
        **prefixed("vocabulary", pack_strings(documents.vocabulary)),
        **prefixed("classes", pack_strings(classes)),
    }


def documents_from(arrays: Mapping[str, Array]) -> Documents:
    """Documents from ``documents_arrays``."""
    names = unpack_strings(arrays, "classes")
    ends = np.cumsum(arrays["class_sizes"]).tolist()
    classes = tuple(names[start:end] for start, end in pairwise([0, *ends]))
    plain = {
        key: arrays[key] for key in ("times", "commits", "starts", "terms", "counts", "file_starts", "files", "sizes")
    }
    return Documents(
        ids=unpack_strings(arrays, "ids"),
        commit_ids=unpack_strings(arrays, "commit_ids"),
        vocabulary=unpack_strings(arrays, "vocabulary"),
        classes=classes,
        **plain,  # type: ignore[arg-type]
    )


def history_arrays(evidence: HistoryIndex, paths: Sequence[str]) -> Arrays:
    """HistoryIndex with the paths that its numbers mean."""
    return {
        **prefixed("paths", pack_strings(paths)),
        **prefixed("commits", documents_arrays(evidence.commits)),
        **prefixed("reports", documents_arrays(evidence.reports)),
    }


def history_from(arrays: Mapping[str, Array]) -> tuple[HistoryIndex, tuple[str, ...]]:
    """HistoryIndex and its paths from ``history_arrays``."""
    return (
        HistoryIndex(documents_from(under("commits", arrays)), documents_from(under("reports", arrays))),
        unpack_strings(arrays, "paths"),
    )


def snapshot_arrays(snapshot: Snapshot) -> Arrays:
    """One version with names of its own."""
    return {
        "committed_at": np.array([snapshot.committed_at], dtype=np.int64),
        **prefixed("commit", pack_strings([snapshot.commit])),
        **prefixed("paths", pack_strings(snapshot.paths)),
        **prefixed("blobs", pack_strings(snapshot.blobs)),
    }


def snapshot_from(arrays: Mapping[str, Array], path_names: Names) -> Snapshot:
    """A version from ``snapshot_arrays``, its paths numbered by ``path_names``."""
    blobs = Names()
    return Snapshot(
        unpack_strings(arrays, "commit")[0],
        int(arrays["committed_at"][0]),
        path_names,
        blobs,
        np.array([path_names.id(path) for path in unpack_strings(arrays, "paths")], dtype=np.int32),
        np.array([blobs.id(blob) for blob in unpack_strings(arrays, "blobs")], dtype=np.int32),
    )
