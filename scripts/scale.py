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
import shutil
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from scripts.timing import watched
from tosloc.cli.guard import run_guarded
from tosloc.code.text import words
from tosloc.core.errors import ToslocError
from tosloc.git.repository import Repository, decode_text
from tosloc.localize.localizer import Localizer
from tosloc.storage.cache import default_store
from tosloc.storage.repository import IndexedRepository

PARTS: Final = ("facts", "version", "commit", "opening", "question", "questions")
REPORTS: Final = 21
WORDS: Final = 56


def work(part: str, path: Path) -> None:
    """One part, in this process."""
    if part.startswith("question"):
        ask(path, REPORTS if part == "questions" else 1)
        return
    with Repository(path) as repo, closing(IndexedRepository(repo, jobs=1)) as indexed:
        if part == "facts":
            indexed.build_facts([indexed.source_snapshot("HEAD~1")])
        else:
            indexed.prepare("HEAD~1" if part == "version" else "HEAD")


def ask(path: Path, number: int) -> None:
    """Answer so many reports, which are drawn from files of HEAD."""
    rng = random.Random(7)
    with Localizer.open(path) as localizer:
        assert localizer.repository is not None
        snapshot = localizer.version().snapshot
        blobs = [snapshot.blob(rng.randrange(len(snapshot))) for _ in range(REPORTS)][:number]
        for _, data in localizer.repository.texts(blobs):
            said = [word for word in words(decode_text(data or b"")) if len(word) > 3] or [
                "nothing"
            ]
            rng.shuffle(said)
            localizer.localize(" ".join(said[:6]) + "\n\n" + " ".join(said[6:WORDS]))


def measure(path: Path, folder: Path, parts: Sequence[str]) -> dict[str, Any]:
    """All parts of one repository, each in a process of its own, and sizes. Raises ToslocError when one fails."""
    os.environ |= {"TOSLOC_CACHE": str(folder), "OMP_NUM_THREADS": "1"}
    with Repository(path) as repo:
        files, head, store = (
            len(IndexedRepository(repo).source_snapshot("HEAD")),
            repo.resolve("HEAD"),
            default_store(repo),
        )
    versions = store.with_name("facts.versions")
    if "version" in parts:
        shutil.rmtree(versions, ignore_errors=True)
    rows = []
    for part in parts:
        used = watched(
            "-m", "scripts.scale", "--only", part, "--work", folder, path, PYTHONPATH="."
        )
        print(f"{path.name} {part}: {used.processor:.2f} s", file=sys.stderr)
        rows.append({"part": part, **used._asdict()})
    sizes = {
        "pack": sum(file.stat().st_size for file in path.glob("objects/pack/*.pack")),
        "store": store.stat().st_size,
        "kept": sum(file.stat().st_size for file in versions.glob(f"*-{head}.safetensors")),
    }
    return {"repository": path.name, "files": files, "parts": rows, "bytes": sizes}


def table(found: dict[str, Any]) -> str:
    """A line a part, and one of sizes."""
    name, mib = f"{found['repository']:<12} {found['files']:>9,} files  ", 2**20
    lines = [
        f"{name}{row['part']:<9} {row['processor']:9.2f} s processor {row['wall']:9.2f} s wall"
        f"  own {row['own'] / mib:8.0f} MiB  with files {row['whole'] / mib:8.0f} MiB"
        for row in found["parts"]
    ]
    return "\n".join(
        [
            *lines,
            name + ", ".join(f"{of} {size / mib:,.0f} MiB" for of, size in found["bytes"].items()),
        ]
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repositories", type=Path, nargs="+", metavar="GIT_DIR")
    parser.add_argument(
        "--work", type=Path, required=True, metavar="FOLDER", help="cache of the facts"
    )
    parser.add_argument(
        "--parts", default=",".join(PARTS), help="some of them alone, with commas between them"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--only", choices=PARTS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    parts, folder = options.parts.split(","), options.work.absolute()
    if unknown := sorted(set(parts) - set(PARTS)):
        raise ToslocError(f"--parts has {unknown[0]!r}, which is none of {', '.join(PARTS)}")
    if not folder.is_dir():
        raise ToslocError(f"{options.work}: no such folder; make it first")
    paths = [path.absolute() for path in options.repositories]
    if options.only:
        work(options.only, paths[0])
        return 0
    found = [measure(path, folder, parts) for path in paths]
    print(json.dumps(found, indent=1) if options.json else "\n".join(map(table, found)))
    return 0


if __name__ == "__main__":
    raise SystemExit(run_guarded(main))
