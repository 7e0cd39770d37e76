"""What a facts store weighs: ``store_size.py GIT ... [--commits 1000 --step 10] [--compression] [--json]``.

For each repository, bytes for each kind of content and for each source file of the version: facts, terms, functions (of
every file, where ``tosloc localize`` makes those of the first files alone) and the version that is kept ready. With
``--commits`` the growth of the store while the repository grows commit by commit on its first line of parents: indexed
first as it was so many commits ago, then every commit (or every ``--step``-th), in a store that is closed each time, as
a command does it. With ``--compression`` what the facts would weigh, and how long packing and unpacking takes, at
other levels and windows of zlib.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
import tempfile
import time
import zlib
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from tosloc.cli.guard import guarded
from tosloc.cli.printing import print_table
from tosloc.data.git import Repository
from tosloc.errors import ToslocError
from tosloc.index.corpus import blobs_of
from tosloc.index.function_facts import functions_of_files
from tosloc.index.repository import IndexedRepository

KINDS = {"facts": ("facts",), "terms": ("terms", "term_batches"), "functions": ("functions",)}
LEVELS = ((1, 12), (1, 15), (6, 12), (6, 15), (9, 15))
"""Levels of zlib with the binary logarithm of the window; the first is the store's own."""


def pages_of(database: sqlite3.Connection) -> dict[str, int]:
    """Bytes of the pages of each kind of content, indexes among them, and of the free ones."""
    try:
        pages = dict(database.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name"))
    except sqlite3.OperationalError as error:
        raise ToslocError(f"this Python's SQLite does not tell of its pages ({error})") from error
    found = {
        kind: sum(size for name, size in pages.items() if name.removeprefix("sqlite_autoindex_").rstrip("_1") in tables)
        for kind, tables in KINDS.items()
    }
    [[free]], [[size]] = database.execute("PRAGMA freelist_count"), database.execute("PRAGMA page_size")
    return found | {"free": free * size}


def sizes(git: Path, work: Path) -> dict[str, Any]:
    """Bytes of each kind for the newest version of a repository, in a store of its own."""
    store = work / "facts.sqlite"
    with Repository(git) as repo:
        project = IndexedRepository(repo, store, jobs=1)
        snapshot = project.sources("HEAD")
        say(f"{repo.name}: indexing {len(snapshot):,} files")
        project.prepared(snapshot.commit)
        [version] = [path.stat().st_size for path in store.with_name("facts.versions").iterdir()]
        blobs = blobs_of([snapshot], project.suffixes)
        say(f"{repo.name}: finding all functions")
        functions_of_files(repo, store, list(blobs.items()))
        project.close()
        source = sum(len(data or b"") for _, data in repo.texts(list(blobs)))
        commits = len(rev_list(repo, snapshot.commit))
        name = repo.name
    with closing(sqlite3.connect(store)) as database:
        made = {"repository": name, "files": len(snapshot), "commits": commits, "source": source}
        return made | pages_of(database) | {"version": version}


def rev_list(repo: Repository, *arguments: str) -> list[str]:
    """Commits, the newest first."""
    with repo.stream(["rev-list", *arguments, "--"]) as lines:
        return [line.decode().strip() for line in lines]


def growth(git: Path, commits: int, step: int, work: Path) -> list[dict[str, Any]]:
    """Size of a store while a repository grows, about ten rows of it; the last two are a vacuum and a fresh store."""
    store = work / "grown.sqlite"
    rows: list[dict[str, Any]] = []
    with Repository(git) as repo:
        line = rev_list(repo, "--first-parent", f"--max-count={commits + 1}", repo.resolve("HEAD"))[::-1]
        line = [*line[:-1:step], line[-1]]
        shown = {round(place * (len(line) - 1) / 10) for place in range(11)}
        log = 0
        for number, commit in enumerate(line):
            started = time.process_time()
            project = IndexedRepository(repo, store, jobs=1)
            snapshot = project.snapshot(commit)
            project.index([snapshot], check=False)
            log = max(log, file_size(store.with_name(f"{store.name}-wal")))
            project.close()
            if number in shown:
                row = {"commit": commit[:12], "commits": min(number * step, commits), "files": len(snapshot)}
                rows.append(row | state_of(store) | {"log": log})
                say(f"{row['commits']:,} commits: {rows[-1]['bytes']:,} bytes, {time.process_time() - started:.2f} s")
                log = 0
        with closing(sqlite3.connect(store)) as database:
            database.execute("VACUUM")
        rows.append(rows[-1] | {"commit": "vacuum"} | state_of(store) | {"log": 0})
        fresh = work / "fresh.sqlite"
        project = IndexedRepository(repo, fresh, jobs=1)
        project.index([project.snapshot(line[-1])], check=False)
        project.close()
        rows.append(rows[-1] | {"commit": "fresh"} | state_of(fresh) | {"log": 0})
    return rows


def state_of(store: Path) -> dict[str, int]:
    """Rows and bytes of a store that nobody writes to."""
    with closing(sqlite3.connect(store)) as database:
        [[blobs]] = database.execute("SELECT count(*) FROM facts")
        return {"blobs": blobs, "bytes": file_size(store)} | pages_of(database)


def file_size(path: Path) -> int:
    """Bytes of a file; 0 for none."""
    return path.stat().st_size if path.exists() else 0


def compression(store: Path) -> list[dict[str, Any]]:
    """Bytes of all rows' payloads, and processor time of packing and unpacking them, beside the store's own way."""
    with closing(sqlite3.connect(store)) as database:
        payloads = [zlib.decompress(payload) for (payload,) in database.execute("SELECT payload FROM facts")]
    rows = []
    for level, window in LEVELS:
        started = time.process_time()
        packed = [zlib.compress(payload, level, window) for payload in payloads]
        between = time.process_time()
        for one in packed:
            zlib.decompress(one)
        took = (between - started, time.process_time() - between)
        rows.append({"level": level, "window": 2**window, "bytes": sum(map(len, packed)), "times": took})
    first = rows[0]
    return [
        {
            "level": row["level"],
            "window": row["window"],
            "bytes": row["bytes"] / first["bytes"],
            "packing": row["times"][0] / first["times"][0],
            "unpacking": row["times"][1] / first["times"][1],
        }
        for row in rows
    ]


def cell(value: Any) -> str:
    """A value for people."""
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}" if isinstance(value, float) else str(value)


def say(text: str) -> None:
    """Progress, on standard error."""
    print(f"store_size: {text}", file=sys.stderr, flush=True)


def parser() -> argparse.ArgumentParser:
    """What the script takes."""
    made = argparse.ArgumentParser(description="What a facts store weighs.")
    made.add_argument("repositories", nargs="+", type=Path, metavar="GIT", help="git repository")
    made.add_argument("--commits", type=int, help="growth over so many commits instead")
    made.add_argument("--step", type=int, default=1, help="index every commit or every so-manieth; default: 1")
    made.add_argument("--compression", action="store_true", help="what other compression would give, too")
    made.add_argument("--work", type=Path, help="folder for the stores; default: a temporary one")
    made.add_argument("--json", action="store_true", help="print JSON")
    return made


def run(argv: Sequence[str] | None = None) -> int:
    """0; the guard turns errors into exit code 2."""
    arguments = parser().parse_args(argv)
    if arguments.step < 1 or (arguments.commits is not None and arguments.commits < 1):
        raise ToslocError("--commits and --step: 1 or more of each")
    rows: list[dict[str, Any]] = []
    for git in arguments.repositories:
        with ExitStack() as stack:
            work = arguments.work or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tosloc-store-")))
            work = work / git.resolve().parent.name
            work.mkdir(parents=True, exist_ok=True)
            if arguments.commits is not None:
                rows += growth(git, arguments.commits, arguments.step, work)
                continue
            rows.append(sizes(git, work))
            if arguments.compression:
                rows[-1]["compression"] = compression(work / "facts.sqlite")
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return 0
    tables = [row.pop("compression") for row in rows if "compression" in row]
    per_file = [
        row | {kind: f"{row[kind] / row['files']:,.0f}" for kind in ("source", *KINDS, "version") if kind in row}
        for row in rows
        if arguments.commits is None
    ]
    for table in (per_file or rows, *tables):
        print_table(list(table[0]), [[cell(value) for value in row.values()] for row in table])
    return 0


if __name__ == "__main__":
    sys.exit(guarded(run))
