"""Versions as plain arrays, so that a checkpoint is read without unpickling anything."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tosloc.arrays import Array, Arrays, checked, pack_strings, prefixed, unpack_strings
from tosloc.records import TIMES, Names, Snapshot


def snapshot_to_arrays(snapshot: Snapshot) -> Arrays:
    """One version with names of its own."""
    return {
        "committed_at": np.array([snapshot.committed_at], dtype=np.int64),
        **prefixed("commit", pack_strings([snapshot.commit])),
        **prefixed("paths", pack_strings(snapshot.paths)),
        **prefixed("blobs", pack_strings(snapshot.blobs)),
    }


def snapshot_from_arrays(arrays: Mapping[str, Array], path_names: Names) -> Snapshot:
    """A version from ``snapshot_to_arrays``, its paths numbered by ``path_names``.

    Raises KeyError or ValueError when the arrays are no version.
    """
    blobs = Names()
    [commit], [committed_at] = unpack_strings(arrays, "commit"), checked(arrays, "committed_at", np.int64, 1).tolist()
    if not (commit.isascii() and commit.isalnum()):  # it is printed, and part of addresses
        raise ValueError("the commit has no name that git gives")
    if committed_at not in TIMES:
        raise ValueError("the commit has a time that no date has")
    paths, blob_ids = unpack_strings(arrays, "paths"), unpack_strings(arrays, "blobs")
    if not paths or len(paths) != len(blob_ids) or len(set(paths)) < len(paths):
        raise ValueError("files of the version are counted wrongly")
    return Snapshot(
        commit,
        committed_at,
        path_names,
        blobs,
        np.array([path_names.id(path) for path in paths], dtype=np.int32),
        np.array([blobs.id(blob) for blob in blob_ids], dtype=np.int32),
    )
