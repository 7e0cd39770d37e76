"""Making facts: of a version, and of one commit more."""

from __future__ import annotations

import sqlite3
import time
from typing import TYPE_CHECKING

from benchmark.timing import Row, say, seconds
from benchmark.version import Bench

if TYPE_CHECKING:
    pass


def first_index(bench: Bench) -> list[Row]:
    """Building against parsing alone."""
    if not bench.sample:
        say("no file's language has a grammar: no row for the first index")
        return []
    return [Row("first index / tree-sitter", *bench.first)]


def add_one_commit(bench: Bench) -> list[Row]:
    """One more commit against building."""
    parents = bench.repo.commit(bench.commit).parents
    if not parents:
        say("the version has no parent: no row for adding one commit")
        return []
    whole = bench.parent_seconds
    assert bench.indexed
    before = set(bench.project.snapshot(parents[0]).blobs)
    new = [blob for blob in bench.snapshot.blobs if blob not in before]
    if whole is None:
        sizes = {blob: len(data or b"") for blob, data in bench.repo.texts(bench.snapshot.blobs)}
        share = sum(sizes[blob] for blob, _ in bench.sample) / max(sum(sizes.values()), 1)
        whole = bench.first[0] / max(share, 1e-9)
    copied = bench.work / "copy.sqlite"
    with sqlite3.connect(bench.store) as source, sqlite3.connect(copied) as target:
        source.backup(target)
    say(f"adding one commit of {len(new)} files")
    times = []
    for _ in range(7):
        with sqlite3.connect(copied) as database:
            database.executemany("DELETE FROM facts WHERE blob = ?", [(blob,) for blob in new])
        times.append(seconds(lambda: bench.index(bench.commit, copied), time.process_time))
    # the least: it takes so little that what else runs on the machine shows
    return [Row("add one commit / build", min(times), whole)]
