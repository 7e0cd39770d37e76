"""What an agent reads of an answer, beside a search for the report's rarest words: ``agents.py GIT=REPORTS ...``.

Each report is asked as an agent asks it, through the server's own client, shipped weights, the before-fix version. Of
the text answer: its characters, and whether a fixed file and a changed function are named in it. Beside it, what
``rg -l`` of the report's rarest words lists, those that the fewest source files of the version hold: the paths of the
files that hold one of three words, and one of ten; their characters, and whether a fixed file is among them.

``agents.py GIT ...``, without reports, asks for the subjects of eight commits, twice, and prints the processor time of
this process and of the one that answers, server and client, for each question after the first.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio
from mcp import Client

from tosloc.cli.guard import guarded
from tosloc.cli.printing import Table, print_table
from tosloc.code.languages import SOURCE_SUFFIXES
from tosloc.errors import ToslocError
from tosloc.git.repository import Repository
from tosloc.mcp.server import Settings, server
from tosloc.records import Case
from tosloc.reports.labelled import load_dataset

WORDS = (3, 10)
"""Rarest words that are searched for."""
SEARCHES = [name for words in WORDS for name in (f"files of\n{words} words", "characters", "file in it")]
HEADS = ("report", "text", "structured", "file", "first", "function", *SEARCHES)
"""Characters of the text and of the structured content; whether a fixed file is in the answer, is the first, and a
changed function of it is there; of each search files, characters of their list, whether a fixed file is among them."""
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,}")


def holders(git: Path, case: Case) -> list[set[str]]:
    """Of each word of a report that any source file of its version holds, the files; rarest first, then by word."""
    words = sorted(set(_WORD.findall(f"{case.report.summary}\n{case.report.description}")))
    found: dict[str, set[str]] = {}
    for start in range(0, len(words), 400):
        patterns = [argument for word in words[start : start + 400] for argument in ("-e", word)]
        for line in grep(git, "-o", "-w", *patterns, case.version):
            _, path, word = line.split(":", 2)
            found.setdefault(word, set()).add(path)
    return [found[word] for word in sorted(found, key=lambda word: (len(found[word]), word))]


def grep(git: Path, *arguments: str) -> list[str]:
    """Lines of ``git grep`` in source files."""
    globs = [f"*{suffix}" for suffix in SOURCE_SUFFIXES]
    command = ["git", "-C", str(git), "grep", "-F", "-I", *arguments, "--", *globs]
    done = subprocess.run(command, capture_output=True, text=True, errors="surrogateescape", check=False)
    if done.returncode > 1:
        raise ToslocError(f"git grep in {git}: {done.stderr.strip()}")
    return done.stdout.splitlines()


def reports_of(git: Path, reports: Path, number: int) -> Iterator[tuple[Case, dict[str, set[str]]]]:
    """The latest reports with a changed function: each with the names of the changed functions by file."""
    with Repository(git) as repo:
        dataset = load_dataset(repo, reports, zone="UTC", suffixes=SOURCE_SUFFIXES)
    cases = [case for case in dataset.cases if dataset.labelled[case.report.id].functions]
    for case in cases[-number:]:
        names: dict[str, set[str]] = {}
        for one in dataset.labelled[case.report.id].functions:
            names.setdefault(one.path, set()).add(one.name)
        yield case, names


async def rows_of(git: Path, reports: Path, number: int, budget: int) -> dict[str, list[int]]:
    """Numbers of each of the latest reports of a project, as ``HEADS`` has them."""
    rows = {}
    async with Client(server(Settings((git,)))) as client:
        for case, changed in reports_of(git, reports, number):
            text = f"{case.report.summary}\n\n{case.report.description}"
            arguments = {"report": text, "commit": case.version, "budget": budget}
            result = await client.call_tool("localize_bug", arguments)
            [block] = result.content
            if result.is_error or block.type != "text" or result.structured_content is None:
                raise ToslocError(f"{case.report.id}: {block}")
            lines = [(line, path) for line in block.text.splitlines() for path in case.fixed if f". {path} (" in line]
            held = holders(git, case)
            lists = [set().union(*held[:number]) for number in WORDS]
            found = [
                len(block.text),
                len(json.dumps(result.structured_content, ensure_ascii=False)),
                bool(lines),
                any(line.startswith("1. ") for line, _ in lines),
                any(f" {name}:" in line for line, path in lines for name in changed.get(path, ())),
            ]
            for one in lists:
                found += [len(one), len("\n".join(one)), not one.isdisjoint(case.fixed)]
            rows[case.report.id] = list(map(int, found))
    return rows


def processor_seconds() -> float:
    """Of this process and of those that it has started."""
    ticks = 0
    for child in multiprocessing.active_children():
        fields = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


async def warm(git: Path) -> None:
    """Print how many processor seconds questions take when the version is ready."""
    command = ["git", "-C", str(git), "log", "--no-merges", "--format=%s", "-n", "400"]
    lines = subprocess.run(command, capture_output=True, text=True, errors="replace", check=True).stdout.splitlines()
    subjects = [line for line in dict.fromkeys(lines) if len(line.split()) > 4][::40][:8]
    seconds: list[float] = []
    searched = 0
    async with Client(server(Settings((git,)))) as client:
        for subject in subjects * 2:
            began = processor_seconds()
            result = await client.call_tool("localize_bug", {"report": subject})
            seconds.append(processor_seconds() - began)
            if result.is_error or result.structured_content is None:
                raise ToslocError(f"{git}: {result.content}")
            searched = result.structured_content["searched"]
    for name, some in (("new", seconds[1 : len(subjects)]), ("again", seconds[len(subjects) :])):
        print(f"{git} {searched} files, {name}: median {statistics.median(some):.3f} s, longest {max(some):.3f} s")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the rows and their sums."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("projects", nargs="+", metavar="GIT[=REPORTS]")
    parser.add_argument("--reports", type=int, default=10, help="latest reports of a project")
    parser.add_argument("--budget", type=int, default=1500, help="characters of an answer")
    given = parser.parse_args(arguments)
    rows: dict[str, list[int]] = {}
    for project in given.projects:
        git, _, reports = project.partition("=")
        if not reports:
            anyio.run(warm, Path(git).resolve())
            continue
        rows |= anyio.run(rows_of, Path(git).resolve(), Path(reports), given.reports, given.budget)
    if not rows:
        return 0
    columns = list(zip(*rows.values(), strict=True))
    table = rows | {"sum": list(map(sum, columns)), "median": list(map(statistics.median, columns))}
    cells = [[name, *(f"{value:g}" for value in row)] for name, row in table.items()]
    print_table(Table(HEADS, cells, f"{len(rows)} reports"))
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
