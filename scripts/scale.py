"""Measure what size costs, with a row for each repository and each part of the work.

    scale.py GIT_DIR... --work FOLDER [--json]

Each part runs in a process of its own, on one core. A row has its processor time, git's included,
and the peak of the memory of all its processes together, measured every 20 ms. ``own`` is memory
that is not backed by files; ``with files`` also counts the pages of mapped files, which the system
takes back when it needs room.

facts
    ``tosloc index`` of the parent of HEAD, as far as the cache in FOLDER lacks its facts. If the
    cache is empty, this is the first index.
version
    The parent of HEAD made ready for queries from its facts and its commits, and kept.
commit
    HEAD made ready from that and from what is new, facts included, and kept.
opening
    The kept HEAD read, as a second question does; ``wall`` is then a user's time, if the file is in
    memory.
question
    HEAD opened by a process of its own, as the second ``tosloc localize`` does, and one report
    answered: ten files with reasons and functions. The report is 56 words of one file of the
    version.
questions
    The same for 21 such reports of 21 files, one after the other: one more costs a twentieth of the
    difference.

A row of sizes follows: bytes of packs, of the store and of the kept HEAD. FOLDER is the cache, so
that facts are made once; kept versions are made anew.
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

from scripts.timing import compile_package, measure_command
from tosloc.cli.guard import run_guarded
from tosloc.code.text import words
from tosloc.core.errors import ToslocError
from tosloc.git.repository import Repository, decode_text
from tosloc.localize.localizer import Localizer
from tosloc.storage.cache import CacheEntry
from tosloc.storage.repository import IndexedRepository

PARTS: Final = ("facts", "version", "commit", "opening", "question", "questions")
REPORTS: Final = 21
"""Reports of the part ``questions``."""
REPORT_WORDS: Final = 56
SUMMARY_WORDS: Final = 6
MIN_WORD_CHARACTERS: Final = 4
MIB: Final = 2**20


def run_part(part: str, path: Path) -> None:
    """Run one part in this process."""
    if part.startswith("question"):
        answer_reports(path, REPORTS if part == "questions" else 1)
        return
    with Repository(path) as repo, closing(IndexedRepository(repo, jobs=1)) as indexed:
        if part == "facts":
            indexed.build_facts([indexed.source_snapshot("HEAD~1")])
        else:
            indexed.index_version("HEAD~1" if part == "version" else "HEAD")


def answer_reports(path: Path, number: int) -> None:
    """Answer this number of reports, whose words are drawn from files of HEAD."""
    rng = random.Random(7)
    with Localizer.open(path) as localizer:
        assert localizer.repository is not None
        snapshot = localizer.prepare().snapshot
        blobs = [snapshot.blob(rng.randrange(len(snapshot))) for _ in range(REPORTS)]
        for _, data in localizer.repository.texts(blobs[:number]):
            text_words = words(decode_text(data or b""))
            long_words = [word for word in text_words if len(word) >= MIN_WORD_CHARACTERS]
            drawn = long_words or ["nothing"]
            rng.shuffle(drawn)
            summary = " ".join(drawn[:SUMMARY_WORDS])
            description = " ".join(drawn[SUMMARY_WORDS:REPORT_WORDS])
            localizer.localize(f"{summary}\n\n{description}")


def measure(path: Path, folder: Path, parts: Sequence[str]) -> dict[str, Any]:
    """Return all parts of one repository, each run in a process of its own, and sizes.

    Raises ToslocError if a part fails.
    """
    os.environ |= {"TOSLOC_CACHE": str(folder), "OMP_NUM_THREADS": "1"}
    with Repository(path) as repo:
        files = len(IndexedRepository(repo).source_snapshot("HEAD"))
        head = repo.resolve("HEAD")
        store = CacheEntry.of(repo).store
    versions = store.with_name("facts.versions")
    if "version" in parts:
        shutil.rmtree(versions, ignore_errors=True)
    rows = []
    for part in parts:
        command: list[str | Path] = ["-m", "scripts.scale", "--only", part, "--work", folder, path]
        usage = measure_command(*command, PYTHONPATH=".")
        print(f"{path.name} {part}: {usage.processor:.2f} s", file=sys.stderr)
        rows.append({"part": part, **usage._asdict()})
    sizes = {
        "pack": sum(file.stat().st_size for file in path.glob("objects/pack/*.pack")),
        "store": store.stat().st_size,
        "kept": sum(file.stat().st_size for file in versions.glob(f"*-{head}.safetensors")),
    }
    return {"repository": path.name, "files": files, "parts": rows, "bytes": sizes}


def table(result: dict[str, Any]) -> str:
    """Return a line for each part of a repository, and one of sizes."""
    name = f"{result['repository']:<12} {result['files']:>9,} files  "
    lines = []
    for row in result["parts"]:
        times = f"{row['processor']:9.2f} s processor {row['wall']:9.2f} s wall"
        memory = f"own {row['own'] / MIB:8.0f} MiB  with files {row['whole'] / MIB:8.0f} MiB"
        lines.append(f"{name}{row['part']:<9} {times}  {memory}")
    sizes = [f"{what} {size / MIB:,.0f} MiB" for what, size in result["bytes"].items()]
    lines.append(name + ", ".join(sizes))
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure repositories and print the results."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repositories", type=Path, nargs="+", metavar="GIT_DIR")
    parser.add_argument(
        "--work", type=Path, required=True, metavar="FOLDER", help="folder for the cache of facts"
    )
    parser.add_argument(
        "--parts", default=",".join(PARTS), help="parts to measure, separated by commas"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--only", choices=PARTS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    parts = options.parts.split(",")
    folder = options.work.absolute()
    unknown = sorted(set(parts) - set(PARTS))
    if unknown:
        raise ToslocError(
            f"--parts: there is no part {unknown[0]!r}; choose from {', '.join(PARTS)}"
        )
    if not folder.is_dir():
        raise ToslocError(f"{options.work}: no such folder; create it first")
    paths = [path.absolute() for path in options.repositories]
    if options.only:
        run_part(options.only, paths[0])
        return 0
    compile_package()
    results = [measure(path, folder, parts) for path in paths]
    print(json.dumps(results, indent=1) if options.json else "\n".join(map(table, results)))
    return 0


if __name__ == "__main__":
    raise SystemExit(run_guarded(main))
