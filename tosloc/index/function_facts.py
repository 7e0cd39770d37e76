"""Functions of chosen files of a version: read from the facts store, made and kept there where it lacks them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np

from tosloc.code.function_rows import FunctionFacts
from tosloc.code.languages import functions_analyser_of, language_of
from tosloc.errors import StoreError
from tosloc.git.repository import Repository, decode
from tosloc.index.postings import starts_of
from tosloc.index.store import FactStore, pack, places_of, steps_of, unpack

_BATCH: Final = 200
"""Files read and written together."""
REMEMBERED: Final = 1_000
"""Files whose functions are remembered: about 50 MB."""

Remembered: TypeAlias = dict[tuple[str, str], FunctionFacts]
"""(blob, analyser) -> the functions that were found there."""


def functions_of_files(
    repo: Repository, store_path: Path, files: Sequence[tuple[str, str]], remembered: Remembered | None = None
) -> list[FunctionFacts]:
    """Functions of (blob, suffix) files, in their order; none of a blob that cannot be read.

    Opens the store for itself, so that several threads may call it. One that cannot be written costs time, not the
    answer. What is ``remembered`` is not read, and what is read is, up to so many files. Raises StoreError when the
    store cannot be read, and RepositoryError.
    """
    keys = [(blob, functions_analyser_of(language_of(suffix))) for blob, suffix in files]
    known = {} if remembered is None else remembered
    found = {key: facts for key in keys if (facts := known.get(key)) is not None}
    if wanted := {key: suffix for key, (_, suffix) in zip(keys, files, strict=True) if key not in found}:
        read = _read(repo, store_path, wanted)
        found |= read
        known |= read
        for key in list(known)[: max(len(known) - REMEMBERED, 0)]:
            known.pop(key, None)
    return [found.get(key, FunctionFacts()) for key in keys]


def _read(repo: Repository, store_path: Path, suffix_of: Mapping[tuple[str, str], str]) -> Remembered:
    """The functions of (blob, analyser) -> suffix, of those blobs that can be read."""
    found: Remembered = {}
    with FactStore(store_path) as store:
        for analyser in {analyser for _, analyser in suffix_of}:
            for blob, payload in store.read([blob for blob, other in suffix_of if other == analyser], analyser).items():
                with suppress(ValueError):  # a row that does not unpack is made again
                    found[blob, analyser] = unpack_functions(payload)
        missing = [key for key in suffix_of if key not in found]
        if missing:
            from tosloc.code.functions import functions_of  # loads a parser
        for start in range(0, len(missing), _BATCH):
            batch = missing[start : start + _BATCH]
            texts = zip(batch, repo.texts([blob for blob, _ in batch]), strict=True)
            made = {key: functions_of(decode(data), suffix_of[key]) for key, (_, data) in texts if data is not None}
            found |= made
            with suppress(StoreError):
                store.write((*key, pack_functions(facts)) for key, facts in made.items())
    return found


def pack_functions(facts: FunctionFacts) -> bytes:
    """``facts`` as a row's payload."""
    sizes, steps = np.diff(facts.offsets), steps_of(facts.places, facts.offsets)
    of_pairs = sizes.astype(np.uint32), steps.astype(np.uint32), facts.code, facts.comments
    return pack([facts.names, facts.terms], [facts.kinds, facts.starts, facts.ends, *of_pairs])


def unpack_functions(payload: bytes) -> FunctionFacts:
    """What ``pack_functions`` packed. Raises ValueError for bytes that it did not make."""
    (names, terms), (kinds, starts, ends, sizes, steps, *counts) = unpack(payload, 2)
    offsets = starts_of(sizes)
    places = places_of(steps, offsets).astype(np.int32)
    return FunctionFacts(tuple(names), kinds, starts, ends, tuple(terms), offsets, places, *counts)
