"""Read the facts and functions of blobs from a store; extract and store missing functions."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import astuple
from functools import lru_cache
from pathlib import PurePosixPath

from tosloc.code.functions import NO_FUNCTIONS, FunctionFacts, find_functions
from tosloc.code.languages import (
    FUNCTIONS_VERSION,
    language_name,
    with_grammar_release,
)
from tosloc.core.errors import StoreError
from tosloc.git.repository import Repository, decode_text
from tosloc.paths.classify import FileClass, classify_content
from tosloc.retrieval.texts import pack, unpack
from tosloc.storage.store import FactStore

CACHED_FILES = 1_000
"""Number of files whose functions are kept in memory."""


def classify_text(text: str, path: str) -> tuple[str, FileClass]:
    """Return the path whose suffix decides how a text is analysed, and the class of the text.

    A Qt translation is analysed as XML, whatever its suffix is.
    """
    file_class = classify_content(text, PurePosixPath(path).suffix.lower().removeprefix("."))
    return (".xml" if file_class == FileClass.TRANSLATION else path), file_class


class FunctionReader:
    """Functions of the files of one repository, read from a store and kept in memory.

    Consecutive questions ask for the same files. The names and terms that are computed for a file's
    functions are kept with them.
    """

    def __init__(self, repo: Repository, store: FactStore) -> None:
        self._repo = repo
        self._store = store
        self._unpack = lru_cache(maxsize=CACHED_FILES)(_unpack_functions)

    def read(self, blobs: Mapping[str, str]) -> dict[str, FunctionFacts]:
        """Return blob id -> functions, from blob id -> path; a blob that cannot be read has none.

        Functions that the store does not contain are extracted and stored. If the store cannot be
        written, they are extracted again for the next question. Raises StoreError and
        RepositoryError.
        """
        analysers = {
            blob: with_grammar_release(language_name(path), FUNCTIONS_VERSION)
            for blob, path in blobs.items()
        }
        functions: dict[str, FunctionFacts] = {}
        missing: list[str] = []
        for blob, payload in zip(blobs, self._store.read(analysers), strict=True):
            if payload is None:
                functions[blob] = NO_FUNCTIONS
                missing.append(blob)
            else:
                functions[blob] = self._unpack(payload)
        extracted: dict[str, FunctionFacts] = {}
        for blob, data in self._repo.texts(missing):
            if data is None:
                continue
            text = decode_text(data)
            path, file_class = classify_text(text, blobs[blob])
            is_minified = file_class == FileClass.MINIFIED
            extracted[blob] = NO_FUNCTIONS if is_minified else find_functions(text, path)
        with suppress(StoreError):
            self._store.write(
                (blob, analysers[blob], pack(*astuple(facts))) for blob, facts in extracted.items()
            )
        return functions | extracted


def _unpack_functions(payload: bytes) -> FunctionFacts:
    return FunctionFacts(*unpack(payload))
