"""Facts of blobs, read from the store, and their functions; no parser is loaded for what is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from typing import Final, TypeAlias

from tosloc.code.functions import FunctionFacts, functions_of
from tosloc.code.languages import analyser_of, functions_analyser_of, language_of
from tosloc.errors import StoreError
from tosloc.git.repository import Repository, decode
from tosloc.index.corpus import Corpus
from tosloc.index.store import FactStore, pack, unpack

REMEMBERED: Final = 1_000  # files whose functions are remembered: about 50 MB

Remembered: TypeAlias = dict[tuple[str, str], FunctionFacts]  # (blob, analyser) -> the functions that were found there


def analysers_of(blobs: Mapping[str, str], *, lizard: bool = False) -> dict[str, str]:
    """Blob -> analyser of blobs (id -> suffix)."""
    return {blob: analyser_of(language_of(suffix), lizard) for blob, suffix in blobs.items()}


def read_facts(store: FactStore, blobs: Mapping[str, str], *, lizard: bool = False) -> Corpus:
    """Facts of blobs (id -> suffix), in their order; one that has none, since it could not be read, has one empty
    chunk.
    """
    return Corpus.from_rows(list(blobs), store.read(analysers_of(blobs, lizard=lizard)))


def functions_of_files(
    repo: Repository, store: FactStore, files: Sequence[tuple[str, str]], remembered: Remembered | None = None
) -> list[FunctionFacts]:
    """Functions of (blob, suffix) files, in their order; none of a blob that cannot be read.

    Those that the store lacks are made, and kept there; one that cannot be written costs time, not the answer. What is
    ``remembered`` is not read, and what is read is, up to so many files. Raises StoreError and RepositoryError.
    """
    known: Remembered = {} if remembered is None else remembered
    if len(known) > REMEMBERED:
        known.clear()
    keys = [(blob, functions_analyser_of(language_of(suffix))) for blob, suffix in files]
    wanted = {key: suffix for key, (_, suffix) in zip(keys, files, strict=True) if key not in known}
    if wanted:
        asked = dict(wanted.keys())
        read = zip(asked.items(), store.read(asked), strict=True)
        known |= {key: FunctionFacts(*unpack(row)) for key, row in read if row is not None}
        missing = [key for key in wanted if key not in known]
        texts = zip(missing, repo.texts(blob for blob, _ in missing), strict=True)
        made = {key: functions_of(decode(data), wanted[key]) for key, (_, data) in texts if data is not None}
        known |= made
        with suppress(StoreError):
            names = [field.name for field in fields(FunctionFacts)]
            store.write((*key, pack(*(getattr(facts, name) for name in names))) for key, facts in made.items())
    return [known.get(key, FunctionFacts()) for key in keys]
