"""HistoryIndex and versions as plain arrays, so that a checkpoint or cache is read without unpickling anything."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tosloc.errors import CheckpointError
from tosloc.files import written_whole
from tosloc.index.documents import Documents
from tosloc.index.history_index import HistoryIndex
from tosloc.records import Names, Snapshot

Arrays = dict[str, npt.NDArray[np.generic]]


def pack(strings: Sequence[str]) -> Arrays:
    """Strings as one array of UTF-8 bytes and one of ends."""
    encoded = [string.encode("utf-8", "surrogateescape") for string in strings]
    return {
        "bytes": np.frombuffer(b"".join(encoded), dtype=np.uint8),
        "ends": np.cumsum([len(piece) for piece in encoded], dtype=np.int64),
    }


def unpack(arrays: Mapping[str, npt.NDArray[np.generic]], name: str) -> tuple[str, ...]:
    """Strings from the two arrays that ``pack`` made, stored under ``name``."""
    joined = arrays[f"{name}.bytes"].tobytes()
    ends = arrays[f"{name}.ends"].tolist()
    return tuple(joined[start:end].decode("utf-8", "surrogateescape") for start, end in pairwise([0, *ends]))


def prefixed(name: str, arrays: Mapping[str, npt.NDArray[np.generic]]) -> Arrays:
    """The arrays under ``name.``."""
    return {f"{name}.{key}": array for key, array in arrays.items()}


def under(name: str, arrays: Mapping[str, npt.NDArray[np.generic]]) -> Arrays:
    """The arrays that stand under ``name.``, without it."""
    return {key[len(name) + 1 :]: array for key, array in arrays.items() if key.startswith(f"{name}.")}


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
        **prefixed("ids", pack(documents.ids)),
        **prefixed("commit_ids", pack(documents.commit_ids)),
        **prefixed("vocabulary", pack(documents.vocabulary)),
        **prefixed("classes", pack(classes)),
    }


def documents_from(arrays: Mapping[str, npt.NDArray[np.generic]]) -> Documents:
    """Documents from ``documents_arrays``."""
    names = unpack(arrays, "classes")
    ends = np.cumsum(arrays["class_sizes"]).tolist()
    classes = tuple(names[start:end] for start, end in pairwise([0, *ends]))
    plain = {
        key: arrays[key] for key in ("times", "commits", "starts", "terms", "counts", "file_starts", "files", "sizes")
    }
    return Documents(
        ids=unpack(arrays, "ids"),
        commit_ids=unpack(arrays, "commit_ids"),
        vocabulary=unpack(arrays, "vocabulary"),
        classes=classes,
        **plain,  # type: ignore[arg-type]
    )


def history_arrays(evidence: HistoryIndex, paths: Sequence[str]) -> Arrays:
    """HistoryIndex with the paths that its numbers mean."""
    return {
        **prefixed("paths", pack(paths)),
        **prefixed("commits", documents_arrays(evidence.commits)),
        **prefixed("reports", documents_arrays(evidence.reports)),
    }


def history_from(arrays: Mapping[str, npt.NDArray[np.generic]]) -> tuple[HistoryIndex, tuple[str, ...]]:
    """HistoryIndex and its paths from ``history_arrays``."""
    return (
        HistoryIndex(documents_from(under("commits", arrays)), documents_from(under("reports", arrays))),
        unpack(arrays, "paths"),
    )


def snapshot_arrays(snapshot: Snapshot) -> Arrays:
    """One version with names of its own."""
    return {
        "committed_at": np.array([snapshot.committed_at], dtype=np.int64),
        **prefixed("commit", pack([snapshot.commit])),
        **prefixed("paths", pack(snapshot.paths)),
        **prefixed("blobs", pack(snapshot.blobs)),
    }


def snapshot_from(arrays: Mapping[str, npt.NDArray[np.generic]], path_names: Names) -> Snapshot:
    """A version from ``snapshot_arrays``, its paths numbered by ``path_names``."""
    blobs = Names()
    return Snapshot(
        unpack(arrays, "commit")[0],
        int(arrays["committed_at"][0]),
        path_names,
        blobs,
        np.array([path_names.id(path) for path in unpack(arrays, "paths")], dtype=np.int32),
        np.array([blobs.id(blob) for blob in unpack(arrays, "blobs")], dtype=np.int32),
    )


def save(path: Path, arrays: Mapping[str, npt.NDArray[np.generic]], level: int = 6) -> None:
    """Write arrays as a compressed .npz, whole or not at all; the same arrays give the same bytes."""
    with (
        written_whole(path) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive,
    ):
        for name in sorted(arrays):
            buffer = io.BytesIO()
            np.lib.format.write_array(buffer, np.ascontiguousarray(arrays[name]), allow_pickle=False)
            # a fixed date: the time of writing is no part of the content
            entry = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
            archive.writestr(entry, buffer.getvalue(), zipfile.ZIP_DEFLATED, compresslevel=level)


def load(path: Path) -> Arrays:
    """Arrays of an .npz. Raises CheckpointError when it is missing or damaged; never unpickles."""
    try:
        # opened here, because numpy leaves a damaged archive open
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except FileNotFoundError as error:
        raise CheckpointError(f"{path} is missing; train again, or copy the whole folder") from error
    except (OSError, ValueError, zipfile.BadZipFile, zlib.error, EOFError, KeyError, TypeError, RuntimeError) as error:
        raise CheckpointError(f"{path} is damaged ({error}); train again, or copy it anew") from error
