"""Compute the ids that contents of files have as blobs, and decode their text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator


def decode_text(data: bytes) -> str:
    r"""Return the text of a file without its byte order mark; never fails.

    The text is decoded as UTF-8 if possible, otherwise as UTF-16 if it begins with a byte order
    mark of UTF-16, otherwise as Latin-1.

    >>> decode_text(b"\xef\xbb\xbfna\xc3\xafve"), decode_text(b"na\xefve")
    ('naïve', 'naïve')
    >>> decode_text("naïve".encode("utf-16"))
    'naïve'
    """
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.removeprefix(b"\xef\xbb\xbf").decode("latin-1")


def blob_id(content: bytes, hash_name: str) -> str:
    """Return the id that git gives to a content as a blob."""
    header = b"blob %d\0" % len(content)
    return hashlib.new(hash_name, header + content, usedforsecurity=False).hexdigest()


def possible_blob_ids(content: bytes, hash_name: str) -> Iterator[str]:
    """Yield the blob ids that a file on disk may have: as it is, and with converted line ends.

    Git converts line ends when it checks files out, and again when they are added.
    """
    yield blob_id(content, hash_name)
    if b"\r\n" in content:
        yield blob_id(content.replace(b"\r\n", b"\n"), hash_name)
