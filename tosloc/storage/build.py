"""Fill a facts store from a repository: blobs analysed in parallel, written batch by batch, resumable at any moment."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

from joblib import delayed, effective_n_jobs

from tosloc.code.facts import analyse
from tosloc.core.errors import ToslocError
from tosloc.core.processes import Worker, current_executor, run_in_parallel
from tosloc.core.records import Progress, ignore_progress
from tosloc.git.process import MAX_SOURCE_BYTES
from tosloc.git.repository import Repository, decode_text
from tosloc.retrieval.corpus import NO_FACTS, pack_facts
from tosloc.storage.facts import analysers_by_blob
from tosloc.storage.store import FactStore

BATCH_BLOBS: Final = 32  # few enough that no worker is left alone with a long batch at the end


_Batch: TypeAlias = dict[str, str]  # blobs to analyse -> their paths
_Result: TypeAlias = list[tuple[str, bytes | None, bool]]
"""Each blob with its payload, None for one that is missing, and whether it was read without a parser."""


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What ``build`` did, in blobs."""

    added: int
    known: int  # were in the store already
    missing: int  # are not in the repository, or damaged there
    fallback: int  # of the added ones, those that no parser could read, or has no grammar for
    large: int = (
        0  # of the added ones, those of more than LARGEST_SOURCE bytes, which were not read
    )


def build(
    repo: Repository,
    store: FactStore,
    blobs: Mapping[str, str],
    jobs: int = -1,
    progress: Progress = ignore_progress,
    *,
    lizard: bool = False,
) -> BuildReport:
    """Put the facts of ``blobs``, id -> path, into ``store``; those that it has are skipped.

    ``jobs`` as joblib counts them: -1 is every core. Interrupted at any instant, the store is consistent and a second
    call goes on from there. A blob that brings workers down is analysed by regular expressions alone.
    Raises RepositoryError and StoreError, and ToslocError where workers die whatever they do.
    """
    analysers = analysers_by_blob(blobs, lizard=lizard)
    new = store.find_missing(analysers)
    sizes = repo.sizes(new)
    large = [blob for blob, size in sizes.items() if size > MAX_SOURCE_BYTES]
    store.write((blob, analysers[blob], NO_FACTS) for blob in large)
    wanted = [(blob, blobs[blob]) for blob in new if sizes[blob] <= MAX_SOURCE_BYTES]
    batches = [
        dict(wanted[start : start + BATCH_BLOBS]) for start in range(0, len(wanted), BATCH_BLOBS)
    ]
    known, added, missing, fallback = len(blobs) - len(new), len(large), 0, 0
    progress("analysing", known + added, len(blobs))
    call = partial(_analyse_batch, repo, lizard=lizard)
    with closing(_run(call, batches, effective_n_jobs(jobs))) as results:
        for result in results:
            rows = [
                (blob, analysers[blob], payload)
                for blob, payload, _ in result
                if payload is not None
            ]
            store.write(rows)
            added += len(rows)
            missing += len(result) - len(rows)
            fallback += sum(unparsed for _, _, unparsed in result)
            progress("analysing", known + added + missing, len(blobs))
    return BuildReport(added, known, missing, fallback, len(large))


def _run(
    call: partial[_Result], batches: Sequence[_Batch], jobs: int
) -> Generator[_Result, None, None]:
    """Results of all batches, in any order. After the death of a worker one process does the rest, blob by blob."""
    away = current_executor() is not None
    if len(batches) < 2 or (jobs == 1 and not away):
        yield from map(call, batches)
        return
    left = {next(iter(batch)): batch for batch in batches}
    try:
        calls = [delayed(call)(batch) for batch in batches]
        with run_in_parallel(calls, jobs, ordered=False) as results:
            for result in results:
                batch = left.pop(result[0][0])
                if away and any(
                    payload is None for _, payload, _ in result
                ):  # there; see in our own repository
                    result = call(batch)
                yield result
    except BrokenProcessPool:
        with closing(Worker()) as worker:
            for batch in left.values():
                yield [
                    row for blob in batch for row in _carefully(worker, call, {blob: batch[blob]})
                ]


def _analyse_batch(repo: Repository, batch: _Batch, *, lizard: bool, parse: bool = True) -> _Result:
    texts = {blob: decode_text(data) for blob, data in repo.texts(batch) if data is not None}
    made = {
        blob: analyse(text, batch[blob], parse=parse, lizard=lizard) for blob, text in texts.items()
    }
    packed = {blob: (blob, pack_facts(facts), not facts.parsed) for blob, facts in made.items()}
    return [packed.get(blob, (blob, None, False)) for blob in batch]


def _carefully(worker: Worker, call: partial[_Result], batch: _Batch) -> _Result:
    """A batch of one blob, in a process that may die; one at which it dies three times is not parsed."""
    for _ in range(3):
        with suppress(BrokenProcessPool):
            return worker.call(call, batch)  # type: ignore[no-any-return]
    [repo], [blob] = call.args, batch
    try:
        worker.call(call, {})
    except BrokenProcessPool:
        raise ToslocError(
            f"{repo.path}: the processes that read files are killed whatever they read, so no facts are made;"
            " see what kills them (most likely too little memory) and run the same command again to go on"
        ) from None
    why = f"{repo.path}: file content {blob} brings down what parses it; it is read word by word"
    warnings.warn(why, stacklevel=2)
    return _analyse_batch(repo, batch, lizard=False, parse=False)
