"""Pack lists of strings and arrays into the bytes of one row of a store."""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tosloc.core.errors import StoreError


def pack(*parts: Sequence[str] | npt.NDArray[Any]) -> bytes:
    """Pack lists of strings without NUL, and arrays of one dimension, into one payload.

    >>> unpack(pack(["a", "b"], [], np.arange(3, dtype=np.uint8)))
    [['a', 'b'], [], array([0, 1, 2], dtype=uint8)]
    """
    heads: list[tuple[str, int]] = []
    data: list[bytes] = []
    for part in parts:
        if isinstance(part, np.ndarray):
            kind: str = part.dtype.char
            encoded = part.tobytes()
        else:
            kind = ""
            encoded = "\0".join(part).encode("utf-8", "surrogateescape")
        heads.append((kind, len(encoded)))
        data.append(encoded)
    # A window of 4 KB suffices for what repeats, and takes half the time of zlib's 32 KB.
    return zlib.compress(b"".join((json.dumps(heads).encode(), b"\n", *data)), 1, 12)


def unpack(payload: bytes) -> list[Any]:
    """Return the parts that were passed to ``pack``. Raises StoreError for damaged bytes."""
    try:
        head, _, data = zlib.decompress(payload).partition(b"\n")
    except zlib.error as error:
        raise StoreError(
            f"the cache is damaged ({error}); remove it: tosloc cache prune --repo NAME"
        ) from error
    parts: list[Any] = []
    start = 0
    for kind, size in json.loads(head):
        part = data[start : start + size]
        start += size
        if kind:
            parts.append(np.frombuffer(part, kind))
        elif part:
            parts.append(part.decode("utf-8", "surrogateescape").split("\0"))
        else:
            parts.append([])
    return parts
