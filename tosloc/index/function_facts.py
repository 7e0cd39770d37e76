"""Functions of chosen files of a version: read from the facts store, made and kept there where it lacks them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

from tosloc.analysis.function_rows import FunctionFacts
from tosloc.analysis.languages import language_of
from tosloc.analysis.store import FactStore
from tosloc.data.git import decode
from tosloc.errors import StoreError
from tosloc.records import Progress, silent


class BlobSource(Protocol):
    """A repository, as far as the contents of its files go."""

    def texts(self, blob_ids: Iterable[str]) -> Iterable[tuple[str, bytes | None]]:
        """Each blob's id and bytes, in the order asked; None for one that cannot be read."""


_BATCH: Final = 200
"""Files read and written together."""


def functions_of_files(
    repo: BlobSource, store_path: Path, files: Sequence[tuple[str, str]], progress: Progress = silent
) -> list[FunctionFacts]:
    """Functions of (blob, suffix) files, in their order; none of a blob that cannot be read.

    Opens the store for itself, so that several threads may call it. One that cannot be written costs time, not the
    answer. Raises StoreError when it cannot be read, and RepositoryError.
    """
    keys = [(blob, language_of(suffix)) for blob, suffix in files]
    suffix_of = {key: suffix for key, (_, suffix) in zip(keys, files, strict=True)}
    with FactStore(store_path) as store:
        found = store.functions(keys)
        missing = [key for key in dict.fromkeys(keys) if key not in found]
        if missing:
            from tosloc.analysis.functions import functions_of  # loads a parser
        for start in range(0, len(missing), _BATCH):
            batch = missing[start : start + _BATCH]
            texts = repo.texts([blob for blob, _ in batch])
            made = [
                (*key, functions_of(decode(data), suffix_of[key]))
                for key, (_, data) in zip(batch, texts, strict=True)
                if data is not None
            ]
            found |= {(blob, language): facts for blob, language, facts in made}
            with suppress(StoreError):
                store.put_functions(made)
            progress("finding functions", min(start + _BATCH, len(missing)), len(missing))
    return [found.get(key, FunctionFacts()) for key in keys]
