"""Facts of blobs, read from the store, and their functions; no parser is loaded for what is there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np

from tosloc.code.functions import NO_FUNCTIONS, FunctionFacts, functions_of
from tosloc.code.languages import analyser_of, functions_analyser_of, language_of
from tosloc.errors import StoreError
from tosloc.git.repository import Repository, decode
from tosloc.index.corpus import Corpus
from tosloc.index.postings import starts_of
from tosloc.index.store import FactStore, pack, places_of, steps_of, unpack

_ROWS_AT_ONCE: Final = 4096  # rows that are read from the store together
REMEMBERED: Final = 1_000  # files whose functions are remembered: about 50 MB

Remembered: TypeAlias = dict[tuple[str, str], FunctionFacts]  # (blob, analyser) -> the functions that were found there


def missing_facts(store: FactStore, blobs: Mapping[str, str], *, lizard: bool = False) -> dict[str, str]:
    """Blob -> analyser of those blobs (id -> suffix) whose facts the store lacks."""
    return {
        blob: analyser
        for analyser, wanted in _by_analyser(blobs, lizard).items()
        for blob in store.missing(wanted, analyser)
    }


def read_facts(repo: Repository, store: FactStore, blobs: Mapping[str, str], *, lizard: bool = False) -> Corpus:
    """Facts of blobs (id -> suffix), in their order; where a row is damaged all are made again.

    One that has none, since it could not be read, has one empty chunk.
    """
    try:
        return Corpus.from_rows(list(blobs), _payloads(store, blobs, lizard))
    except ValueError:
        from tosloc.index.build import build

        store.remove_analysers(_by_analyser(blobs, lizard))
        build(repo, store, blobs, lizard=lizard)
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


# ---- functions


def functions_of_files(
    repo: Repository, store_path: Path, files: Sequence[tuple[str, str]], remembered: Remembered | None = None
) -> list[FunctionFacts]:
    """Functions of (blob, suffix) files, in their order; none of a blob that cannot be read.

    Those that the store lacks are made, and kept there; one that cannot be written costs time, not the answer. It is
    opened here, so that several threads may ask. What is ``remembered`` is not read, and what is read is, up to so
    many files. Raises StoreError when the store cannot be read, and RepositoryError.
    """
    known: Remembered = {} if remembered is None else remembered
    if len(known) > REMEMBERED:
        known.clear()
    keys = [(blob, functions_analyser_of(language_of(suffix))) for blob, suffix in files]
    wanted = {key: suffix for key, (_, suffix) in zip(keys, files, strict=True) if key not in known}
    if wanted:
        with FactStore(store_path) as store:
            for analyser in {analyser for _, analyser in wanted}:
                for blob, row in store.read([blob for blob, other in wanted if other == analyser], analyser).items():
                    with suppress(ValueError):  # one that does not unpack is made again
                        known[blob, analyser] = _unpack_functions(row)
            missing = [key for key in wanted if key not in known]
            texts = zip(missing, repo.texts(blob for blob, _ in missing), strict=True)
            made = {key: functions_of(decode(data), wanted[key]) for key, (_, data) in texts if data is not None}
            known |= made
            with suppress(StoreError):
                store.write((*key, _pack_functions(facts)) for key, facts in made.items())
    return [known.get(key, NO_FUNCTIONS) for key in keys]


def _pack_functions(facts: FunctionFacts) -> bytes:
    """``facts`` as a row's payload."""
    sizes, steps = np.diff(facts.offsets), steps_of(facts.places, facts.offsets)
    of_pairs = sizes.astype(np.uint32), steps.astype(np.uint32), facts.code, facts.comments
    return pack([facts.names, facts.terms], [facts.kinds, facts.starts, facts.ends, *of_pairs])


def _unpack_functions(payload: bytes) -> FunctionFacts:
    """What ``_pack_functions`` packed. Raises ValueError for bytes that it did not make."""
    (names, terms), (kinds, starts, ends, sizes, steps, *counts) = unpack(payload, 2)
    offsets = starts_of(sizes)
    places = places_of(steps, offsets).astype(np.int32)
    return FunctionFacts(tuple(names), kinds, starts, ends, tuple(terms), offsets, places, *counts)
