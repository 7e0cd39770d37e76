"""What size costs: ``scale.py GIT_DIR... --work FOLDER [--json]``, a row for each repository and each part of the work.

Each part runs in a process of its own, on one core; what it took is its processor time, git's included, and the peak of
its memory, that of all its processes together, looked at every 20 ms. ``own`` is what only memory can hold; ``with
files`` counts the pages of files that are mapped too, which the system takes back when it needs room.

facts
    ``tosloc index`` of the parent of HEAD, as far as the cache in FOLDER lacks its facts: none there, the first index.
version
    The parent of HEAD made ready for queries from its facts and its commits, and kept.
commit
    HEAD from it and from what is new, facts included, and kept.
opening
    HEAD read as it is kept, as a second question does; ``wall`` is then a user's time, if the file is in memory.
question
    HEAD opened by a process of its own, as the second ``tosloc localize`` does, and one report answered: ten files with
    reasons and functions. The report is 56 words of one file of the version.
questions
    The same for 21 such reports of 21 files, one after the other: what one more costs is a twentieth of the difference.

A row of sizes follows: bytes of packs, of the store and of the kept HEAD. FOLDER is the cache, so that facts are
made once; kept versions are made anew.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

from tosloc.cli.guard import guarded
from tosloc.code.text import words
from tosloc.errors import ToslocError
from tosloc.git.repository import Repository, decode
from tosloc.index.cache import cache_folder, default_store
from tosloc.index.repository import IndexedRepository
from tosloc.localizer import Localizer

PARTS: Final = ("facts", "version", "commit", "opening", "question", "questions")
REPORTS: Final = 21
WORDS: Final = 56
PAUSE: Final = 0.02


def work(part: str, path: Path) -> None:
    """One part, in this process."""
    if part.startswith("question"):
        ask(path, REPORTS if part == "questions" else 1)
        return
    with Repository(path) as repo:
        with closing(IndexedRepository(repo, jobs=1)) as indexed:
            if part == "facts":
                indexed.index([indexed.sources("HEAD~1")])
            else:
                indexed.prepared("HEAD~1" if part == "version" else "HEAD")


def ask(path: Path, number: int) -> None:
    """Answer so many reports, which are drawn from files of HEAD."""
    rng = random.Random(7)
    with Localizer.open(path) as localizer:
        assert localizer.version_ is not None
        assert localizer.repository is not None
        snapshot = localizer.version_.snapshot
        blobs = [snapshot.blob(rng.randrange(len(snapshot))) for _ in range(REPORTS)][:number]
        for _, data in localizer.repository.texts(blobs):
            said = [word for word in words(decode(data or b"")) if len(word) > 3] or ["nothing"]
            rng.shuffle(said)
            localizer.localize(" ".join(said[:6]) + "\n\n" + " ".join(said[6:WORDS]))


def _memory(root: int) -> tuple[int, int]:
    """Bytes of a process and all that it has started: what only memory can hold, and with pages of files."""
    own, whole, waiting = 0, 0, [root]
    while waiting:
        place = Path(f"/proc/{waiting.pop()}")
        with suppress(OSError):  # it has ended
            for tasks in place.glob("task/*/children"):
                waiting += map(int, tasks.read_text().split())
            fields = [line.split() for line in (place / "status").read_text().splitlines() if line.startswith("Rss")]
            own += sum(int(field[1]) << 10 for field in fields if field[0] == "RssAnon:")
            whole += sum(int(field[1]) << 10 for field in fields)
    return own, whole


def measured(part: str, path: Path, folder: Path) -> dict[str, Any]:
    """Seconds and bytes of one part, in a process of its own. Raises ToslocError when it fails."""
    command = [sys.executable, "-m", "scripts.scale", "--only", part, "--work", str(folder), str(path)]
    begun, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    own = whole = 0
    with subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1", "TOSLOC_CACHE": str(folder)}) as process:
        try:
            while process.poll() is None:
                now = _memory(process.pid)
                own, whole = max(own, now[0]), max(whole, now[1])
                time.sleep(PAUSE)
        except BaseException:
            process.kill()
            raise
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode:
        raise ToslocError(f"{path}: '{part}' failed; its words stand above")
    return {
        "part": part,
        "processor_s": used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime,
        "wall_s": time.monotonic() - begun,
        "own_bytes": own,
        "whole_bytes": whole,
    }


def measure(path: Path, folder: Path, parts: Sequence[str], shown: bool = True) -> dict[str, Any]:
    """All parts of one repository, and sizes."""
    with Repository(path) as repo:
        store = folder / default_store(repo).relative_to(cache_folder())
        files = len(IndexedRepository(repo).sources("HEAD"))
        head = repo.resolve("HEAD")
    versions = store.with_name("facts.versions")
    found: dict[str, Any] = {"repository": path.name, "files": files, "parts": []}
    if "version" in parts:
        shutil.rmtree(versions, ignore_errors=True)
    for part in parts:
        row = measured(part, path, folder)
        found["parts"].append(row)
        if shown:
            times = f"{row['processor_s']:9.2f} s processor {row['wall_s']:9.2f} s wall"
            memory = f"own {row['own_bytes'] / 2**20:8.0f} MiB  with files {row['whole_bytes'] / 2**20:8.0f} MiB"
            print(f"{path.name:<12} {files:>9,} files  {part:<8} {times}  {memory}", flush=True)
    packs = sum(file.stat().st_size for file in path.glob("objects/pack/*.pack"))
    kept = sum(file.stat().st_size for file in versions.glob(f"*-{head}.safetensors"))
    found |= {"pack_bytes": packs, "store_bytes": store.stat().st_size, "kept_bytes": kept}
    if shown:
        sizes = ", ".join(f"{name} {found[f'{name}_bytes'] / 2**20:,.0f} MiB" for name in ("pack", "store", "kept"))
        print(f"{path.name:<12} {files:>9,} files  {sizes}", flush=True)
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", type=Path, nargs="+", metavar="GIT_DIR")
    parser.add_argument("--work", type=Path, required=True, metavar="FOLDER", help="cache of the facts")
    parser.add_argument("--parts", default=",".join(PARTS), help="some of them alone, with commas between them")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--only", choices=PARTS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    parts = options.parts.split(",")
    if unknown := sorted(set(parts) - set(PARTS)):
        raise ToslocError(f"--parts has {unknown[0]!r}, which is none of {', '.join(PARTS)}")
    if not options.work.is_dir():
        raise ToslocError(f"{options.work}: no such folder; make it first")
    if options.only:
        [path] = options.repositories
        work(options.only, path)
        return 0
    found = [
        measure(path.absolute(), options.work.absolute(), parts, not options.json) for path in options.repositories
    ]
    if options.json:
        print(json.dumps(found, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(guarded(main))
