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
from typing import Final, NamedTuple, TypeAlias

from joblib import delayed, effective_n_jobs
from joblib.externals.loky.process_executor import BrokenProcessPool as BrokenLoky

from tosloc.code.facts import analyse, analyse_all
from tosloc.code.languages import analyser_of, language_of
from tosloc.code.terms import Facts
from tosloc.errors import StoreWarning, ToslocError
from tosloc.git.repository import Repository, decode
from tosloc.index.corpus import FactTable, pack_facts
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


class _Task(NamedTuple):
    """A blob to analyse as a file of a language."""

    blob: str
    suffix: str
    analyser: str


class _Analysed(NamedTuple):
    """What became of a task."""

    blob: str
    analyser: str
    payload: bytes | None
    """None for an object that is missing."""
    parsed: bool = False


_Batch: TypeAlias = tuple[_Task, ...]
_Result: TypeAlias = list[_Analysed]


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
    tasks = [
        _Task(blob, blobs[blob].lower(), analyser)
        for analyser, wanted in _by_analyser(blobs, lizard).items()
        for blob in store.missing(wanted, analyser)
    ]
    with Repository(repo_path) as repository:
        sizes = _sizes(repository, tasks)
    large = [task for task, size in zip(tasks, sizes, strict=True) if size > LARGEST_SOURCE]
    unread = pack_facts(Facts(parsed=False))
    store.write((task.blob, task.analyser, unread) for task in large)
    known, added, missing, fallback = len(blobs) - len(tasks), len(large), 0, 0
    progress("analysing", known + added, len(blobs))
    with closing(_run(str(repo_path), _batches(tasks, sizes), effective_n_jobs(jobs), lizard)) as results:
        for result in results:
            rows = [(done.blob, done.analyser, done.payload) for done in result if done.payload is not None]
            store.write(rows)
            added += len(rows)
            missing += len(result) - len(rows)
            fallback += sum(done.payload is not None and not done.parsed for done in result)
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


def _sizes(repository: Repository, tasks: Sequence[_Task]) -> list[int]:
    """Bytes of each blob, 0 for one that is missing."""
    if not tasks:
        return []
    request = "".join(f"{task.blob}\n" for task in tasks).encode()
    with repository.stream(["cat-file", "--batch-check=%(objectsize)"], request) as answers:
        return [int(line) if line.strip().isdigit() else 0 for line in answers]


def _batches(tasks: Sequence[_Task], sizes: Sequence[int]) -> list[_Batch]:
    """Tasks in their order, in batches of about as many blobs and bytes each; without those that are too large."""
    batches: list[list[_Task]] = []
    size = 0
    for task, more in zip(tasks, sizes, strict=True):
        if more > LARGEST_SOURCE:
            continue
        if not batches or len(batches[-1]) == BATCH_BLOBS or size + more > BATCH_BYTES:
            batches.append([])
            size = 0
        batches[-1].append(task)
        size += more
    return list(map(tuple, batches))


def _run(path: str, batches: Sequence[_Batch], jobs: int, lizard: bool) -> Generator[_Result, None, None]:
    """Results of all batches, in any order. After the death of a worker one process does the rest, batch by batch."""
    away = executor() is not None
    if len(batches) < 2 or (jobs == 1 and not away):
        yield from (_analyse_batch(path, batch, lizard) for batch in batches)
        return
    path = os.path.abspath(path)
    left = {batch[0].blob: batch for batch in batches}
    # joblib balances long batches by itself: at most two wait for each worker
    options = {"return_as": "generator_unordered", "pre_dispatch": "2*n_jobs"}
    try:
        calls = [delayed(_analyse_batch)(path, batch, lizard) for batch in batches]
        with parallel(calls, jobs, **options) as results:
            for result in results:
                batch = left.pop(result[0].blob)
                if away and any(done.payload is None for done in result):  # of a worker's repository: see in our own
                    result = _analyse_batch(path, batch, lizard)
                yield result
    except (BrokenLoky, BrokenProcessPool):
        with Worker() as worker:
            for batch in left.values():
                yield _carefully(worker, path, batch, lizard)


@lru_cache(maxsize=1)
def _repository(path: str) -> Repository:
    """The worker's own repository, kept from batch to batch."""
    return Repository(path)


def _analyse_batch(path: str, batch: _Batch, lizard: bool) -> _Result:
    contents = [data for _, data in _repository(path).texts([task.blob for task in batch])]
    found = [(decode(data), task.suffix) for task, data in zip(batch, contents, strict=True) if data is not None]
    made = iter(analyse_all(found, lizard=lizard))
    return [
        _Analysed(task.blob, task.analyser, None) if data is None else _packed(task, next(made))
        for task, data in zip(batch, contents, strict=True)
    ]


def _packed(task: _Task, facts: Facts) -> _Analysed:
    return _Analysed(task.blob, task.analyser, pack_facts(facts), facts.parsed)


def _carefully(worker: Worker, path: str, batch: _Batch, lizard: bool) -> _Result:
    """The batch, in a process that may die: then blob by blob. One at which it dies twice is not parsed."""
    for _ in range(2 if len(batch) == 1 else 1):
        with suppress(BrokenProcessPool):
            return worker.call(_analyse_batch, path, batch, lizard)  # type: ignore[no-any-return]
    if len(batch) > 1:
        return [done for task in batch for done in _carefully(worker, path, (task,), lizard)]
    try:
        worker.call(_analyse_batch, path, (), lizard)
    except BrokenProcessPool:
        raise ToslocError(
            f"{path}: the processes that read files are killed whatever they read, so no facts are made;"
            " see what kills them (most likely too little memory) and run the same command again to go on"
        ) from None
    why = f"{path}: file content {batch[0].blob} brings down what parses it; it is read word by word"
    warnings.warn(why, StoreWarning, stacklevel=2)
    text = decode(next(data for _, data in _repository(path).texts([batch[0].blob])) or b"")
    return [_packed(batch[0], analyse(text, batch[0].suffix, parse=False))]
