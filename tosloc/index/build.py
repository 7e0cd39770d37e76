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
from tosloc.errors import DamagedFacts, StoreWarning, ToslocError
from tosloc.git.repository import Repository, decode
from tosloc.index.fact_table import ROWS_AT_ONCE, FactTable, pack_facts
from tosloc.index.store import FactStore
from tosloc.processes import Worker, executor, parallel
from tosloc.records import Progress, silent

BATCH_BLOBS: Final = 64
BATCH_BYTES: Final = 1_000_000
"""A batch ends at either: small enough that no worker is left alone with a long one at the end."""
DEATHS: Final = 2
"""So often a process may die at a blob alone before it is taken for the blob's fault."""
LARGEST_SOURCE: Final = 10_000_000
"""Bytes of a file that is read; a larger one is known by its path alone."""


class _Task(NamedTuple):
    """A blob to analyse as a file of a language."""

    blob: str
    suffix: str
    language: str


class _Analysed(NamedTuple):
    """What became of a task."""

    blob: str
    language: str
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
    suffixes: defaultdict[str, dict[str, str]] = defaultdict(dict)
    """Language -> blob -> suffix."""
    for blob, suffix in blobs.items():
        suffixes[language_of(suffix)][blob] = suffix.lower()
    tasks = [
        _Task(blob, wanted[blob], language)
        for language, wanted in suffixes.items()
        for blob in store.missing(wanted, analyser_of(language, lizard))
    ]
    known = len(blobs) - len(tasks)
    with Repository(repo_path) as repository:
        sizes = _sizes(repository, [task.blob for task in tasks])
    large = [task for task, size in zip(tasks, sizes, strict=True) if size > LARGEST_SOURCE]
    missing = fallback = 0
    unread = pack_facts(Facts(parsed=False))
    store.write((task.blob, analyser_of(task.language, lizard), unread) for task in large)
    added = len(large)
    batches = _batches(tasks, sizes)
    done = known + len(large)
    progress("analysing", done, len(blobs))
    with closing(_run(str(repo_path), batches, effective_n_jobs(jobs), lizard)) as results:
        for result in results:
            rows = [
                (one.blob, analyser_of(one.language, lizard), one.payload) for one in result if one.payload is not None
            ]
            store.write(rows)
            added += len(rows)
            missing += len(result) - len(rows)
            fallback += sum(one.payload is not None and not one.parsed for one in result)
            done += len(result)
            progress("analysing", done, len(blobs))
    return BuildReport(added, known, missing, fallback, len(large))


def read_facts(
    repo_path: str | os.PathLike[str], store: FactStore, blobs: Mapping[str, str], *, lizard: bool = False
) -> FactTable:
    """Facts of blobs (id -> suffix), in their order; those whose rows are damaged are made again.

    One that has none, since it could not be read, has one empty chunk.
    """
    try:
        return FactTable.from_rows(list(blobs), _payloads(store, blobs, lizard))
    except DamagedFacts as error:
        damaged = {blob: blobs[blob] for blob in error.blobs}
        for blob, suffix in damaged.items():
            store.remove([blob], analyser_of(language_of(suffix), lizard))
        build(repo_path, store, damaged, lizard=lizard)
        return FactTable.from_rows(list(blobs), _payloads(store, blobs, lizard))


def _payloads(store: FactStore, blobs: Mapping[str, str], lizard: bool) -> Iterator[bytes | None]:
    """Payload of each blob, some at a time: those of a million would not fit into memory."""
    waiting = iter(blobs.items())
    while part := list(islice(waiting, ROWS_AT_ONCE)):
        by_language: defaultdict[str, list[str]] = defaultdict(list)
        for blob, suffix in part:
            by_language[language_of(suffix)].append(blob)
        found: dict[str, bytes] = {}
        for language, some in by_language.items():
            found |= store.read(some, analyser_of(language, lizard))
        yield from [found.get(blob) for blob, _ in part]


def _sizes(repository: Repository, blobs: Sequence[str]) -> list[int]:
    """Bytes of each blob, 0 for one that is missing."""
    if not blobs:
        return []
    request = "".join(f"{blob}\n" for blob in blobs).encode()
    with repository.stream(["cat-file", "--batch-check=%(objectsize)"], request) as answers:
        return [int(line) if line.strip().isdigit() else 0 for line in answers]


def _batches(tasks: Sequence[_Task], sizes: Sequence[int]) -> list[_Batch]:
    """Tasks in their order, in batches of about as many blobs and bytes each; without those that are too large."""
    batches: list[_Batch] = []
    batch: list[_Task] = []
    size = 0
    for task, more in zip(tasks, sizes, strict=True):
        if more > LARGEST_SOURCE:
            continue
        if batch and (len(batch) == BATCH_BLOBS or size + more > BATCH_BYTES):
            batches.append(tuple(batch))
            batch, size = [], 0
        batch.append(task)
        size += more
    if batch:
        batches.append(tuple(batch))
    return batches


def _run(path: str, batches: Sequence[_Batch], jobs: int, lizard: bool) -> Generator[_Result, None, None]:
    """Results of all batches, in any order. What was in flight when a worker died is done again, blob by blob."""
    away = executor() is not None
    if len(batches) < 2 or (jobs == 1 and not away):
        for batch in batches:
            yield _analyse_batch(path, batch, lizard)
        return
    if away:
        path = os.path.abspath(path)
    left = dict(enumerate(batches))
    while left:
        started: list[int] = []

        def calls(started: list[int] = started) -> Iterator[object]:
            for number, batch in tuple(left.items()):
                started.append(number)
                yield delayed(_analyse_numbered)(path, number, batch, lizard)

        try:
            # joblib balances long batches by itself: at most two wait for each worker
            options = {"return_as": "generator_unordered", "pre_dispatch": "2*n_jobs"}
            with parallel(calls(), jobs, **options) as results:
                for number, result in results:
                    batch = left.pop(number)
                    if away and any(one.payload is None for one in result):  # of a worker's repository: see in our own
                        result = _analyse_batch(path, batch, lizard)
                    yield result
            return
        except (BrokenLoky, BrokenProcessPool):
            for number in started:
                if number in left:
                    yield _one_by_one(path, left.pop(number), lizard)


def _analyse_numbered(path: str, number: int, batch: _Batch, lizard: bool) -> tuple[int, _Result]:
    return number, _analyse_batch(path, batch, lizard)


@lru_cache(maxsize=1)
def _repository(path: str) -> Repository:
    """The worker's own repository, kept from batch to batch."""
    return Repository(path)


def _analyse_batch(path: str, batch: _Batch, lizard: bool) -> _Result:
    contents = [data for _, data in _repository(path).texts([task.blob for task in batch])]
    found = [(task, decode(data)) for task, data in zip(batch, contents, strict=True) if data is not None]
    made = iter(analyse_all([(text, task.suffix) for task, text in found], lizard=lizard))
    return [
        _Analysed(task.blob, task.language, None) if data is None else _packed(task, next(made))
        for task, data in zip(batch, contents, strict=True)
    ]


def _packed(task: _Task, facts: Facts) -> _Analysed:
    return _Analysed(task.blob, task.language, pack_facts(facts), facts.parsed)


def _one_by_one(path: str, batch: _Batch, lizard: bool) -> _Result:
    """The batch, each blob in a process that may die; one at which it does again and again is not parsed."""
    result: _Result = []
    with Worker() as worker:
        for task in batch:
            for _ in range(DEATHS):
                with suppress(BrokenProcessPool):
                    result += worker.call(_analyse_batch, path, (task,), lizard)
                    break
            else:
                try:
                    worker.call(_analyse_batch, path, (), lizard)
                except BrokenProcessPool:
                    raise ToslocError(
                        f"{path}: the processes that read files are killed whatever they read, so no facts are made;"
                        " see what kills them (most likely too little memory) and run the same command again to go on"
                    ) from None
                why = f"{path}: file content {task.blob} brings down what parses it; it is read word by word"
                warnings.warn(why, StoreWarning, stacklevel=2)
                text = decode(next(data for _, data in _repository(path).texts([task.blob])) or b"")
                result.append(_packed(task, analyse(text, task.suffix, parse=False)))
    return result
