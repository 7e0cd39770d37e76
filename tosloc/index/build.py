"""Fill a facts store from a repository: blobs analysed in parallel, written batch by batch, resumable at any moment."""

from __future__ import annotations

import os
import warnings
from collections import defaultdict
from collections.abc import Generator, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Final, TypeAlias

from joblib import delayed, effective_n_jobs
from joblib.externals.loky.process_executor import BrokenProcessPool as BrokenLoky

from tosloc.code.facts import analyse, analyse_all
from tosloc.code.languages import analyser_of, language_of
from tosloc.errors import StoreWarning, ToslocError
from tosloc.git.repository import Repository, decode
from tosloc.index.corpus import NO_FACTS, FactTable, pack_facts
from tosloc.index.store import FactStore
from tosloc.processes import Worker, executor, parallel
from tosloc.records import Progress, silent

BATCH_BLOBS: Final = 64
BATCH_BYTES: Final = 1_000_000
"""A batch ends at either: small enough that no worker is left alone with a long one at the end."""
LARGEST_SOURCE: Final = 10_000_000
"""Bytes of a file that is read; a larger one is known by its path alone."""
_ROWS_AT_ONCE: Final = 4096
"""Rows that are read from the store together."""


_Batch: TypeAlias = dict[str, str]
"""Blobs to analyse -> their suffixes."""
_Result: TypeAlias = list[tuple[str, bytes | None, bool]]
"""Each blob with its payload, None for one that is missing, and whether it was read without a parser."""


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What ``build`` did, in blobs."""

    added: int
    known: int
    """Were in the store already."""
    missing: int
    """Are not in the repository, or damaged there."""
    fallback: int
    """Of the added ones, those that no parser could read, or has no grammar for."""
    large: int = 0
    """Of the added ones, those of more than ``LARGEST_SOURCE`` bytes, which were not read."""


def build(
    repo_path: str | os.PathLike[str],
    store: FactStore,
    blobs: Mapping[str, str],
    jobs: int = -1,
    progress: Progress = silent,
    *,
    lizard: bool = False,
) -> BuildReport:
    """Put the facts of ``blobs``, blob id -> suffix, into ``store``; those that it has are skipped.

    ``jobs`` as joblib counts them: -1 is every core. Interrupted at any instant, the store is consistent and a second
    call goes on from there. A blob that brings workers down is analysed by regular expressions alone.
    Raises RepositoryError and StoreError, and ToslocError where workers die whatever they do.
    """
    analysers = {
        blob: analyser
        for analyser, wanted in _by_analyser(blobs, lizard).items()
        for blob in store.missing(wanted, analyser)
    }
    request = "".join(f"{blob}\n" for blob in analysers).encode()
    with (
        Repository(repo_path) as repository,
        repository.stream(["cat-file", "--batch-check=%(objectsize)"], request) as answers,
    ):  # one that is missing has no size
        sizes = {blob: int(line) if line[:-1].isdigit() else 0 for blob, line in zip(analysers, answers, strict=True)}
    large = [blob for blob, size in sizes.items() if size > LARGEST_SOURCE]
    store.write((blob, analysers[blob], NO_FACTS) for blob in large)
    batches = _batches({blob: blobs[blob].lower() for blob in analysers}, sizes)
    known, added, missing, fallback = len(blobs) - len(analysers), len(large), 0, 0
    progress("analysing", known + added, len(blobs))
    with closing(_run(str(repo_path), batches, effective_n_jobs(jobs), lizard)) as results:
        for result in results:
            rows = [(blob, analysers[blob], payload) for blob, payload, _ in result if payload is not None]
            store.write(rows)
            added += len(rows)
            missing += len(result) - len(rows)
            fallback += sum(unparsed for _, _, unparsed in result)
            progress("analysing", known + added + missing, len(blobs))
    return BuildReport(added, known, missing, fallback, len(large))


def read_facts(
    repo_path: str | os.PathLike[str], store: FactStore, blobs: Mapping[str, str], *, lizard: bool = False
) -> FactTable:
    """Facts of blobs (id -> suffix), in their order; where a row is damaged all are made again.

    One that has none, since it could not be read, has one empty chunk.
    """
    try:
        return FactTable.from_rows(list(blobs), _payloads(store, blobs, lizard))
    except ValueError:
        store.remove_analysers(_by_analyser(blobs, lizard))
        build(repo_path, store, blobs, lizard=lizard)
        return FactTable.from_rows(list(blobs), _payloads(store, blobs, lizard))


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


def _batches(suffixes: _Batch, sizes: Mapping[str, int]) -> list[_Batch]:
    """Blobs in their order, in batches of about as many blobs and bytes each; without those that are too large."""
    batches: list[_Batch] = []
    size = 0
    for blob, suffix in suffixes.items():
        if sizes[blob] > LARGEST_SOURCE:
            continue
        if not batches or len(batches[-1]) == BATCH_BLOBS or size + sizes[blob] > BATCH_BYTES:
            batches.append({})
            size = 0
        batches[-1][blob] = suffix
        size += sizes[blob]
    return batches


def _run(path: str, batches: Sequence[_Batch], jobs: int, lizard: bool) -> Generator[_Result, None, None]:
    """Results of all batches, in any order. After the death of a worker one process does the rest, batch by batch."""
    away = executor() is not None
    if len(batches) < 2 or (jobs == 1 and not away):
        yield from (_analyse_batch(path, batch, lizard) for batch in batches)
        return
    path = os.path.abspath(path)
    left = {next(iter(batch)): batch for batch in batches}
    # joblib balances long batches by itself: at most two wait for each worker
    options = {"return_as": "generator_unordered", "pre_dispatch": "2*n_jobs"}
    try:
        calls = [delayed(_analyse_batch)(path, batch, lizard) for batch in batches]
        with parallel(calls, jobs, **options) as results:
            for result in results:
                batch = left.pop(result[0][0])
                if away and any(payload is None for _, payload, _ in result):  # there; see in our own repository
                    result = _analyse_batch(path, batch, lizard)
                yield result
    except (BrokenLoky, BrokenProcessPool):
        with closing(Worker()) as worker:
            for batch in left.values():
                yield _carefully(worker, path, batch, lizard)


@lru_cache(maxsize=1)
def _repository(path: str) -> Repository:
    """The worker's own repository, kept from batch to batch."""
    return Repository(path)


def _analyse_batch(path: str, batch: _Batch, lizard: bool) -> _Result:
    texts = {blob: decode(data) for blob, data in _repository(path).texts(batch) if data is not None}
    made = analyse_all([(text, batch[blob]) for blob, text in texts.items()], lizard=lizard)
    packed = {blob: (blob, pack_facts(facts), not facts.parsed) for blob, facts in zip(texts, made, strict=True)}
    return [packed.get(blob, (blob, None, False)) for blob in batch]


def _carefully(worker: Worker, path: str, batch: _Batch, lizard: bool) -> _Result:
    """The batch, in a process that may die: then blob by blob. One at which it dies twice is not parsed."""
    for _ in range(2 if len(batch) == 1 else 1):
        with suppress(BrokenProcessPool):
            return worker.call(_analyse_batch, path, batch, lizard)  # type: ignore[no-any-return]
    if len(batch) > 1:
        return [done for blob in batch for done in _carefully(worker, path, {blob: batch[blob]}, lizard)]
    try:
        worker.call(_analyse_batch, path, {}, lizard)
    except BrokenProcessPool:
        raise ToslocError(
            f"{path}: the processes that read files are killed whatever they read, so no facts are made;"
            " see what kills them (most likely too little memory) and run the same command again to go on"
        ) from None
    [(blob, suffix)] = batch.items()
    why = f"{path}: file content {blob} brings down what parses it; it is read word by word"
    warnings.warn(why, StoreWarning, stacklevel=2)
    text = decode(next(data for _, data in _repository(path).texts([blob])) or b"")
    return [(blob, pack_facts(analyse(text, suffix, parse=False)), True)]
