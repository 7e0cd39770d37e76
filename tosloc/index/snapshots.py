"""Versions as plain arrays, so that a checkpoint is read without unpickling anything."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tosloc.arrays import Array, Arrays, pack_strings, prefixed, unpack_strings
from tosloc.records import Names, Snapshot


def snapshot_to_arrays(snapshot: Snapshot) -> Arrays:
    """One version with names of its own."""
    return {
        "committed_at": np.array([snapshot.committed_at], dtype=np.int64),
        **prefixed("commit", pack_strings([snapshot.commit])),
        **prefixed("paths", pack_strings(snapshot.paths)),
        **prefixed("blobs", pack_strings(snapshot.blobs)),
    }


def snapshot_from_arrays(arrays: Mapping[str, Array], path_names: Names) -> Snapshot:
    """A version from ``snapshot_to_arrays``, its paths numbered by ``path_names``."""
    blobs = Names()
    return Snapshot(
        unpack_strings(arrays, "commit")[0],
        int(arrays["committed_at"][0]),
        path_names,
        blobs,
        np.array([path_names.id(path) for path in unpack_strings(arrays, "paths")], dtype=np.int32),
        np.array([blobs.id(blob) for blob in unpack_strings(arrays, "blobs")], dtype=np.int32),
    )
