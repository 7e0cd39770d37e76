"""Choose the code that an answer shows: the lines that match the report best, or a function's body.

``files`` are the numbers of the files that ``hits`` are about, in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from tosloc.code.notebooks import readable_text
from tosloc.core.answers import Hit
from tosloc.git.repository import decode_text
from tosloc.localize.question import Code
from tosloc.localize.searchable_version import SearchableVersion
from tosloc.rank.explain import ReportLines
from tosloc.rank.features import QueryContext

Bodies: TypeAlias = Sequence[tuple[str, Sequence[tuple[int, str]], Sequence[float]]]
"""Code of a file, most suspicious first: function, numbered lines and the lines' weights."""
FILES_WITH_CODE: Final = 5
"""Number of files, from the first, that have lines of code."""


def add_code(
    version: SearchableVersion,
    context: QueryContext,
    files: Sequence[int],
    hits: Sequence[Hit],
    code: Code,
) -> list[Hit]:
    """Return the hits; the first of them get code: the lines that match best, or a function's body.

    With ``code`` "body", the first hit has the body of its first function. If it has no function,
    it gets the best matching lines like the other hits.
    """
    first_files = files[:FILES_WITH_CODE]
    evidence = ReportLines(context.query, version.index, first_files, context.messages)
    texts = _FileTexts(version, first_files)
    result: list[Hit] = []
    for file, hit in zip(first_files, hits, strict=False):
        body = code == "body" and not result
        lines = evidence.choose(file, hit.functions, texts.lines(file), body=body)
        result.append(replace(hit, code=lines))
    return [*result, *hits[len(first_files) :]]


def choose_bodies(
    version: SearchableVersion, context: QueryContext, files: Sequence[int], hits: Sequence[Hit]
) -> list[Bodies]:
    """Return for each file the code that matches the report best, the best code first."""
    evidence = ReportLines(context.query, version.index, files, context.messages)
    texts = _FileTexts(version, files)
    result: list[Bodies] = []
    for file, hit in zip(files, hits, strict=True):
        bodies: Bodies = evidence.cut_bodies(file, hit.functions, texts.lines(file))
        result.append(bodies)
    return result


class _FileTexts:
    """The texts of some files."""

    def __init__(self, version: SearchableVersion, files: Sequence[int]) -> None:
        self._snapshot = version.snapshot
        self._texts: dict[str, bytes | None] = {}
        if version.repository is not None:
            blobs = dict.fromkeys(map(version.snapshot.blob, files))
            self._texts = dict(version.repository.repo.texts(list(blobs)))

    def lines(self, file: int) -> list[str]:
        """Return a file's lines; empty if it cannot be read or there is no repository."""
        text = decode_text(self._texts.get(self._snapshot.blob(file)) or b"")
        return readable_text(text, self._snapshot.path(file)).splitlines()
