"""Facts of blobs, read from the store; no parser is loaded for what is there."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from tosloc.code.languages import analyser_of, language_of
from tosloc.index.corpus import Corpus
from tosloc.index.store import FactStore

_ROWS_AT_ONCE: Final = 4096
"""Rows that are read from the store together."""


def missing_facts(store: FactStore, blobs: Mapping[str, str], *, lizard: bool = False) -> dict[str, str]:
    """Blob -> analyser of those blobs (id -> suffix) whose facts the store lacks."""
    return {
        blob: analyser
        for analyser, wanted in _by_analyser(blobs, lizard).items()
        for blob in store.missing(wanted, analyser)
    }


def read_facts(
    repo_path: str | os.PathLike[str],
    store: FactStore,
    blobs: Mapping[str, str],
    *,
    lizard: bool = False,
    on_disk: Mapping[str, str] | None = None,
) -> Corpus:
    """Facts of blobs (id -> suffix), in their order; where a row is damaged all are made again.

    One that has none, since it could not be read, has one empty chunk.
    """
    try:
        return Corpus.from_rows(list(blobs), _payloads(store, blobs, lizard))
    except ValueError:
        from tosloc.index.build import build

        store.remove_analysers(_by_analyser(blobs, lizard))
        build(repo_path, store, blobs, lizard=lizard, on_disk=on_disk)
        return Corpus.from_rows(list(blobs), _payloads(store, blobs, lizard))


def _by_analyser(blobs: Mapping[str, str], lizard: bool) -> Mapping[str, list[str]]:
    """Analyser -> those of the blobs (id -> suffix) that are its."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for blob, suffix in blobs.items():
        found[analyser_of(language_of(suffix), lizard)].append(blob)
    return found


def _payloads(store: FactStore, blobs: Mapping[str, str], lizard: bool) -> Iterator[bytes | None]:
    """Payload of each blob, some at a time: those of a million would not fit into memory."""
    waiting = iter(blobs.items())
    while part := dict(islice(waiting, _ROWS_AT_ONCE)):
        found: dict[str, bytes] = {}
        for analyser, some in _by_analyser(part, lizard).items():
            found |= store.read(some, analyser)
        yield from map(found.get, part)
