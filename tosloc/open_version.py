"""One version made ready for queries: the files, the history, what reasons and functions are read from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self, TypeAlias

from tosloc import checkpoint
from tosloc.arrays import load_arrays, prefixed, save_arrays, under
from tosloc.errors import StoreError
from tosloc.git.repository import Repository, decode
from tosloc.git.web_pages import WebPages
from tosloc.index.context import VersionIndex
from tosloc.index.corpus import Corpus, suffix_of
from tosloc.index.history_index import HistoryIndex
from tosloc.index.live import LiveRepository
from tosloc.index.prepared import PreparedVersion
from tosloc.index.snapshots import snapshot_from_arrays, snapshot_to_arrays
from tosloc.rank.reasons import Sources
from tosloc.records import Names, Snapshot
from tosloc.reports.globs import Chosen, PathFilter
from tosloc.rerank.base import RerankingContext, TextSource, facts_in_corpus

if TYPE_CHECKING:
    from tosloc.code.function_rows import FunctionFacts
    from tosloc.index.function_facts import Remembered

FunctionSource: TypeAlias = "Callable[[Sequence[tuple[str, str]]], Sequence[FunctionFacts]]"
"""(path, blob) of files -> the functions of each."""
_SUBJECTS: Final = 20_000
"""Commits whose first lines are remembered."""


@dataclass(eq=False)
class OpenVersion:
    """One version made ready for queries, with the history of its files."""

    snapshot: Snapshot
    index: VersionIndex
    history: HistoryIndex
    notes: tuple[str, ...] = ()
    reranking: RerankingContext | None = None
    """What a reranker reads; None where stage one is alone."""
    sources: Sources = field(default_factory=Sources)
    """What reasons read of the repository; nothing of a version that a checkpoint carries."""
    functions: FunctionSource | None = None
    """Where functions of files come from; None of a version that a checkpoint carries."""
    _chosen: dict[PathFilter, Chosen] = field(default_factory=dict)

    @classmethod
    def of(cls, prepared: PreparedVersion, notes: tuple[str, ...] = (), history: HistoryIndex | None = None) -> Self:
        """A version that is ready, with another ``history`` than its own where one is given."""
        return cls(prepared.snapshot, prepared.index, history or prepared.history, notes + prepared.notes)

    @property
    def newest(self) -> datetime:
        """Right after the version's own commit: when a report without a date is taken to be opened.

        Not after the newest commit of its history, where one wrong clock would make all the others old.
        """
        return time_of_seconds(max(self.snapshot.committed_at, 0) + 1)

    def choose(self, wanted: PathFilter) -> Chosen:
        """Which of its files an answer may name. Raises ToslocError for a glob that matches nothing."""
        found = self._chosen.get(wanted)
        if found is None:
            paths = self.index.paths
            found = wanted.choose(paths.table.test[paths.path_ids], lambda: self.snapshot.paths)
            self._chosen = {wanted: found}
        return found

    def functions_of(self, files: Sequence[int]) -> dict[int, FunctionFacts]:
        """The functions of each of some files; of none where they cannot be read."""
        if self.functions is None or not files:
            return {}
        snapshot, wanted = self.snapshot, list(dict.fromkeys(files))
        found = self.functions([(snapshot.path(file), snapshot.blob(file)) for file in wanted])
        return dict(zip(wanted, found, strict=True))

    def for_reranking(self, texts: TextSource | None = None, vectors: Path | None = None) -> RerankingContext:
        """What a reranker may read of the version."""
        return RerankingContext(
            facts_in_corpus(self.index.text.corpus),
            self.history,
            len(self.index.paths.table),
            texts=texts,
            vectors=vectors,
        )


def time_of_seconds(seconds: int) -> datetime:
    """The time of so many seconds since 1970, in UTC."""
    return datetime.fromtimestamp(seconds, UTC)


def texts_of(repo: Repository | LiveRepository) -> TextSource:
    """Texts of a repository's blobs."""
    return lambda blobs: ((blob, None if data is None else decode(data)) for blob, data in repo.texts(blobs))


def sources_of(repo: Repository | LiveRepository) -> Sources:
    """What reasons may read of a repository; its remote is looked up when a commit is first told.

    First lines of messages are remembered: the same commits are told of many reports.
    """

    @cache
    def pages() -> WebPages | None:
        return WebPages.of(repo.remote_url())

    def commit_url(commit: str) -> str | None:
        found = pages()
        return None if found is None else found.commit(commit)

    known: dict[str, str] = {}

    def subjects(commits: Sequence[str]) -> Mapping[str, str]:
        found = {commit: subject for commit in commits if (subject := known.get(commit)) is not None}
        if unknown := [commit for commit in commits if commit not in found]:
            read = repo.subjects(unknown)
            if len(known) > _SUBJECTS:
                known.clear()
            known.update(read)
            found |= read
        return found

    return Sources(subjects, commit_url)


def vectors_path(store_path: Path) -> Path:
    """Where the vectors of a project's files lie: beside their facts."""
    return store_path.with_name(f"{store_path.stem}.vectors.sqlite")


def functions_source(repo: Repository | LiveRepository, store_path: Path, suffixes: frozenset[str]) -> FunctionSource:
    """Functions of (path, blob) files, made and kept where they are not known; those of the last are remembered."""
    remembered: Remembered = {}

    def functions(files: Sequence[tuple[str, str]]) -> Sequence[FunctionFacts]:
        from tosloc.index.function_facts import functions_of_files  # which loads a parser

        wanted = [(blob, suffix_of(path, suffixes)) for path, blob in files]
        return functions_of_files(repo, store_path, wanted, remembered=remembered)

    return functions


def write_version(path: Path, version: OpenVersion) -> None:
    """Keep a version with its facts and history as a file of a checkpoint, to localize in without a repository."""
    history = version.history.to_arrays(version.index.paths.table.paths)
    save_arrays(
        path,
        {
            **prefixed("version", snapshot_to_arrays(version.snapshot)),
            **prefixed("facts", version.index.text.corpus.table.to_arrays()),
            **prefixed("evidence", history),
        },
    )


def read_version(path: Path) -> OpenVersion:
    """The version that ``write_version`` kept. Raises CheckpointError for a damaged file."""
    from tosloc.index.fact_table import FactTable

    stored = load_arrays(path)
    try:
        snapshot = snapshot_from_arrays(under("version", stored), Names())
        history, paths = HistoryIndex.from_arrays(under("evidence", stored))
        table = FactTable.from_arrays(under("facts", stored))
        return OpenVersion.of(PreparedVersion.of(snapshot, Corpus(table), history, paths))
    except (*checkpoint.NOT_FITTING, StoreError) as error:
        raise checkpoint.damaged(path, error) from error
