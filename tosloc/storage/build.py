"""Fill a facts store from a repository.

Blobs are analysed in parallel and written batch by batch, so that an interrupted build can
continue.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from tosloc.code.facts import analyse
from tosloc.core.errors import ToslocError
from tosloc.core.processes import Worker, count_workers, current_executor, run_in_parallel
from tosloc.core.progress import Progress, ignore_progress
from tosloc.git.process import MAX_SOURCE_BYTES
from tosloc.git.repository import Repository, decode_text
from tosloc.paths.classify import FileClass
from tosloc.retrieval.texts import NO_FACTS, pack_facts
from tosloc.storage.facts import classify_text
from tosloc.storage.store import FactStore, analysers_by_blob

BATCH_BLOBS: Final = 32
"""Number of blobs in a batch, so small that no worker has to finish a long batch alone."""
_MAX_TRIES: Final = 3
"""Number of times that a blob may crash its process before it is read without a parser."""

_Batch: TypeAlias = dict[str, str]
"""Blob id -> path, for the blobs of a batch that have to be analysed."""


class _AnalysedBlob(NamedTuple):
    """The result of analysing a blob."""

    blob: str
    payload: bytes | None
    """Payload of the blob's facts; None if the blob is missing."""
    unparsed: bool
    """Whether the blob was read without a parser."""


_Result: TypeAlias = list[_AnalysedBlob]


@dataclass(frozen=True, slots=True)
class BuildReport:
    """Numbers of blobs in one call of ``build``."""

    added: int
    """Number of blobs whose facts were added."""
    known: int
    """Number of blobs whose facts the store already had."""
    missing: int
    """Number of blobs that are missing or damaged in the repository."""
    fallback: int
    """Number of added blobs read without a parser, because it failed or there is no grammar."""
    large: int = 0
    """Number of added blobs larger than MAX_SOURCE_BYTES, which were not read."""


def build(
    repo: Repository,
    store: FactStore,
    blobs: Mapping[str, str],
    jobs: int = -1,
    progress: Progress = ignore_progress,
    *,
    lizard: bool = False,
) -> BuildReport:
    """Add the facts of ``blobs``, id -> path, to ``store``, except for facts that it already has.

    ``jobs`` is the number of processes; -1 means one for every core. The store stays consistent if
    the build is interrupted, and a second call continues it. A blob that crashes workers is
    analysed by regular expressions alone.

    Raises RepositoryError and StoreError, and ToslocError if workers crash on whatever they read.
    """
    analysers = analysers_by_blob(blobs, lizard=lizard)
    new = store.find_missing(analysers)
    sizes = repo.git.sizes(new)
    large = [blob for blob, size in sizes.items() if size > MAX_SOURCE_BYTES]
    store.write((blob, analysers[blob], NO_FACTS) for blob in large)
    readable = {blob: blobs[blob] for blob in new if sizes[blob] <= MAX_SOURCE_BYTES}
    known = len(blobs) - len(new)
    added = len(large)
    missing = 0
    fallback = 0
    progress("indexing files", known + added, len(blobs))
    call = partial(_analyse_batch, repo, lizard=lizard)
    with closing(_run(call, _split_batches(readable), count_workers(jobs))) as results:
        for result in results:
            rows = []
            for blob, payload, unparsed in result:
                if payload is None:
                    missing += 1
                else:
                    rows.append((blob, analysers[blob], payload))
                fallback += unparsed
            store.write(rows)
            added += len(rows)
            progress("indexing files", known + added + missing, len(blobs))
    return BuildReport(added, known, missing, fallback, len(large))


def _split_batches(blobs: _Batch) -> list[_Batch]:
    """Divide blobs into batches of at most BATCH_BLOBS."""
    items = list(blobs.items())
    return [dict(items[start : start + BATCH_BLOBS]) for start in range(0, len(items), BATCH_BLOBS)]


def _run(
    call: partial[_Result], batches: Sequence[_Batch], jobs: int
) -> Generator[_Result, None, None]:
    """Yield the results of all batches, in any order.

    If a worker dies, a single process analyses the remaining batches, blob by blob.
    """
    on_cluster = current_executor() is not None
    if len(batches) < 2 or (jobs == 1 and not on_cluster):
        yield from map(call, batches)
        return
    batch_by_first_blob = {next(iter(batch)): batch for batch in batches}
    try:
        calls = [partial(call, batch) for batch in batches]
        with run_in_parallel(calls, jobs, ordered=False) as results:
            for result in results:
                batch = batch_by_first_blob.pop(result[0].blob)
                if on_cluster and any(analysed.payload is None for analysed in result):
                    # The other machine's repository lacks a blob, which this one may have.
                    result = call(batch)
                yield result
    except BrokenProcessPool:
        with closing(Worker()) as worker:
            for batch in batch_by_first_blob.values():
                result = []
                for blob, path in batch.items():
                    result += _analyse_isolated(worker, call, {blob: path})
                yield result


def _analyse_batch(repo: Repository, batch: _Batch, *, lizard: bool, parse: bool = True) -> _Result:
    """Return the facts of each blob in a batch, in the order of the batch."""
    # All are read first, so that git does not wait for the analysis.
    texts = {blob: decode_text(data) for blob, data in repo.texts(batch) if data is not None}
    analysed: dict[str, _AnalysedBlob] = {}
    for blob, text in texts.items():
        path, file_class = classify_text(text, batch[blob])
        is_parsed = parse and file_class != FileClass.MINIFIED
        facts = analyse(text, path, parse=is_parsed, lizard=lizard and is_parsed)
        payload = pack_facts(facts, file_class)
        analysed[blob] = _AnalysedBlob(blob, payload, not facts.parsed)
    return [analysed.get(blob, _AnalysedBlob(blob, None, False)) for blob in batch]


def _analyse_isolated(worker: Worker, call: partial[_Result], batch: _Batch) -> _Result:
    """Analyse a batch of one blob in a process that may die.

    A blob at which the process dies three times is not parsed. Raises ToslocError if the process
    also dies without a blob.
    """
    for _ in range(_MAX_TRIES):
        with suppress(BrokenProcessPool):
            return worker.call(call, batch)  # type: ignore[no-any-return]
    [repo] = call.args
    [blob] = batch
    try:
        worker.call(call, {})
    except BrokenProcessPool:
        raise ToslocError(
            f"{repo.path}: every process that reads files is killed, so the repository cannot be"
            " indexed; find out what kills them (most likely too little memory), and run the same"
            " command again to continue"
        ) from None
    why = (
        f"{repo.path}: the parser crashes on the file content {blob}, which is therefore read word"
        " by word"
    )
    warnings.warn(why, stacklevel=2)
    return _analyse_batch(repo, batch, lizard=False, parse=False)
