"""Show where a question on the command line spends its processor time, and what code it enters.

    python -m scripts.profile_question GIT_DIR... [--commit HEAD] [--report FILE]... [--json]
    python -m scripts.profile_question GIT_DIR --rank --report LABELLED
    python -m scripts.profile_question GIT_DIR --entered

Each question is asked twice of ``tosloc localize``, in fresh processes on one core: cold, with an
empty cache, and warm, once the version is kept. The report is a file, one for each repository, or
the message of the newest commit that fixes a bug; it is asked about that commit's parent.

The tables of cold and of warm questions have a column for each repository and a row for each part
of the work, in percent of the question's processor time. That time is what ``time`` would print:
user and system time of the process and of all programs that it starts. Rows with at least 1 % in
some column are shown. The last rows are the seconds of processor time, and the peak of memory in
MiB of all processes together, without what could be read from disk again.

These are the parts:

git COMMAND
    The programs of git that run this command, whole. ``git cat-file`` finds and inflates files,
    ``git log`` and ``git rev-list`` commits, and ``git diff-tree`` compares their trees.
the parser's process
    The process that makes syntax trees, whole: its start, its imports, parsing and queries.
program NAME
    Another program, whole. ``sh`` is the guard that ends all programs when the process ends.
starting Python
    The time until ``tosloc`` begins to be imported.
imports
    Importing modules, those of libraries among them.
compiling regular expressions
    Compiling patterns, also those of modules that are being imported.
starting programs
    Starting git and the parser, and waiting for their end.
a row of PARTS
    Modules of the package: the process is sampled every 2 ms of its processor time, and a sample
    counts for the innermost module on the stack that ``PARTS`` lists, unless it belongs to one of
    the three rows above. Threads count for what the main thread does.
everything else
    Samples without such a module.
ending Python
    The time after the last sample; it is the difference of the total and all other parts.

With ``--rank``, ``tosloc rank`` ranks all reports of a labelled file, each of them in its own
version, in place of the question.

``--entered`` prints how many modules and functions of the package a cold question enters. A
function counts once, however often it is called; the bodies of modules and classes count as
functions, because a reader has to follow them as well.
"""

from __future__ import annotations

import argparse
import atexit
import json
import os
import resource
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

PACKAGE: Final = str(Path(__file__).parents[1] / "tosloc") + os.sep
SAMPLE_SECONDS: Final = 0.002
SHOWN_SHARE: Final = 0.01
"""Least share of some question's processor time that gets a row."""
MIB: Final = 2**20
PARSER_MODULE: Final = "tosloc.code.trees"
"""Module that only the parser's process names in its command."""
PARSER: Final = "the parser's process"
START: Final = "starting Python"
END: Final = "ending Python"
IMPORTS: Final = "imports"
PATTERNS: Final = "compiling regular expressions"
PROGRAMS: Final = "starting programs"
OTHER: Final = "everything else"
PARTS: Final = {
    "code/parse": "asking the parser and lexing",
    "code/trees": "asking the parser and lexing",
    "code/functions": "functions",
    "code/": "facts of files",
    "storage/store": "SQLite",
    "storage/mapped_arrays": "kept arrays",
    "core/arrays": "kept arrays",
    "storage/build": "facts of files",
    "storage/facts": "facts of files",
    "storage/": "the cache",
    "git/": "reading what git prints",
    "retrieval/history": "history",
    "retrieval/texts/payloads": "facts of files",
    "retrieval/": "text indexes",
    "rank/explain/functions": "functions",
    "rank/explain": "reasons",
    "rank/suspects": "suspects",
    "rank/": "features and ranking",
    "reports/": "reading the report",
    "paths/": "classes of files",
    "localize/": "composing the answer",
    "cli/": "command line and printing",
    "terminal/": "command line and printing",
}
"""Beginning of a module's path in the package -> part of the work; the first that fits counts."""


class Sampler:
    """Counts processor time by parts of the work, of this process and of the programs it starts."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._last = 0.0
        self._last_of_children = 0.0

    def start(self) -> None:
        """Sample from now on."""
        self._count(START)
        signal.signal(signal.SIGPROF, self._sample)
        signal.setitimer(signal.ITIMER_PROF, SAMPLE_SECONDS, SAMPLE_SECONDS)
        handle_end = subprocess.Popen._handle_exitstatus  # type: ignore[attr-defined]

        def counted_end(process: subprocess.Popen[bytes], *arguments: Any) -> Any:
            self._count_children(_command_name(process.args))
            return handle_end(process, *arguments)

        # It is called for each program that has ended, however its end is noticed.
        subprocess.Popen._handle_exitstatus = counted_end  # type: ignore[attr-defined]

    def stop(self) -> None:
        """Stop, and count what is left."""
        signal.setitimer(signal.ITIMER_PROF, 0)
        self._count(OTHER)

    def record(self) -> dict[str, Any]:
        """Return the seconds of each part."""
        return {"seconds": dict(self.seconds)}

    def _sample(self, _: int, frame: FrameType | None) -> None:
        """Count the time since the last sample for the part that the stack shows."""
        self._count(_part(frame))

    def _count(self, part: str) -> None:
        now = time.process_time()
        self.seconds[part] += now - self._last
        self._last = now

    def _count_children(self, part: str) -> None:
        """Count the time of the programs that have ended since the last call."""
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        now = usage.ru_utime + usage.ru_stime
        self.seconds[part] += now - self._last_of_children
        self._last_of_children = now


def _command_name(arguments: Any) -> str:
    """Return the part of a program: its name and, for git, its command."""
    words = [str(word) for word in arguments]
    if any(PARSER_MODULE in word for word in words):
        return PARSER
    name = Path(words[0]).name
    if name != "git":
        return f"program {name}"
    settings = {position + 1 for position, word in enumerate(words) if word in ("-c", "-C")}
    for position, word in enumerate(words[1:], 1):
        if position not in settings and not word.startswith("-"):
            return f"git {word}"
    return "git"


def _part(frame: FrameType | None) -> str:
    """Return the part of the work that a stack belongs to."""
    part = ""
    while frame is not None:
        file = frame.f_code.co_filename
        if file.endswith(("/re/_parser.py", "/re/_compiler.py")):
            return PATTERNS
        if file.startswith("<frozen importlib"):
            return IMPORTS
        if file.endswith("/subprocess.py"):
            return PROGRAMS
        if not part and file.startswith(PACKAGE):
            module = file.removeprefix(PACKAGE)
            for beginning, name in PARTS.items():
                if module.startswith(beginning):
                    part = name
                    break
        frame = frame.f_back
    return part or OTHER


class Entries:
    """Collects the code of the package that is entered."""

    def __init__(self) -> None:
        self.codes: set[CodeType] = set()

    def start(self) -> None:
        """Collect from now on, in all threads."""
        threading.setprofile(self._enter)
        sys.setprofile(self._enter)

    def _enter(self, frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGE):
            self.codes.add(frame.f_code)

    def stop(self) -> None:
        """Stop collecting."""
        sys.setprofile(None)
        threading.setprofile(None)

    def record(self) -> dict[str, Any]:
        """Return the numbers of modules and functions, and the functions by module."""
        by_module: dict[str, set[str]] = {}
        for code in self.codes:
            module = code.co_filename.removeprefix(PACKAGE)
            by_module.setdefault(module, set()).add(f"{code.co_qualname}:{code.co_firstlineno}")
        return {
            "modules": len(by_module),
            "functions": sum(map(len, by_module.values())),
            "names": {module: sorted(names) for module, names in sorted(by_module.items())},
        }


def run_inside(file: Path, kind: str, arguments: Sequence[str]) -> None:
    """Run ``tosloc`` in this process with its arguments, and write what was collected to a file."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    sys.argv = ["tosloc", *arguments]
    collector: Sampler | Entries = Sampler() if kind == "profile" else Entries()

    def write_record() -> None:
        collector.stop()
        file.write_text(json.dumps(collector.record()), encoding="utf-8")

    # The function that is registered first is called last: after the one that ends the parser.
    atexit.register(write_record)
    collector.start()
    runpy.run_module("tosloc", run_name="__main__", alter_sys=True)


def ask(kind: str, cache: Path, arguments: Sequence[str]) -> dict[str, Any]:
    """Ask a question in a process of its own and return what was collected.

    A profile also has the time after the last sample, and the peak of memory in bytes.
    """
    # The process that is profiled must import neither NumPy nor the package here.
    from scripts.timing import measure_command

    with tempfile.TemporaryDirectory(prefix="tosloc-profile-") as folder:
        file = Path(folder, "record.json")
        command: list[str | Path] = [__file__, "--inside", kind, file, *arguments]
        usage = measure_command(*command, TOSLOC_CACHE=str(cache), OMP_NUM_THREADS="1")
        record: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    if kind == "profile":
        seconds = record["seconds"]
        seconds[END] = usage.processor - sum(seconds.values())
        record["peak"] = usage.own
    return record


def write_report(repository: Path, revision: str, folder: Path) -> tuple[Path, str]:
    """Write the message of the newest commit that fixes a bug; return the file and its parent."""
    from tosloc.git.fixes import is_fix_message
    from tosloc.git.repository import Repository

    command = ["log", "--no-merges", "--max-count=2000", "--format=%H %P%x00%B%x01", revision]
    output = subprocess.run(
        ["git", "-C", str(repository), *command], stdout=subprocess.PIPE, check=True
    ).stdout.decode("utf-8", "replace")
    file = folder / "report.md"
    with Repository(repository) as repo:
        parent = repo.resolve(revision)
    file.write_text("Something is wrong", encoding="utf-8")
    for entry in output.split("\1"):
        ids, _, message = entry.strip().partition("\0")
        if len(ids.split()) == 2 and is_fix_message(message):
            parent = ids.split()[1]
            file.write_text(message, encoding="utf-8")
            break
    return file, parent


def question(repository: Path, commit: str, report: Path) -> list[str]:
    """Return the arguments of ``tosloc``."""
    arguments = ["localize", str(report), "--repo", str(repository), "--commit", commit]
    return [*arguments, "--checkpoint", "none", "--json"]


def ranking(repository: Path, reports: Path, out: Path) -> list[str]:
    """Return the arguments of ``tosloc`` that rank all labelled reports of a file."""
    arguments = ["rank", "--reports", str(reports), "--repo", str(repository), "--out", str(out)]
    return [*arguments, "--split", "all", "--checkpoint", "none"]


def table(state: str, columns: dict[str, dict[str, Any]]) -> str:
    """Return a Markdown table of what was collected, with a column for each repository."""
    totals = {name: sum(column["seconds"].values()) for name, column in columns.items()}
    shares: dict[str, dict[str, float]] = {}
    for name, column in columns.items():
        for part, seconds in column["seconds"].items():
            shares.setdefault(part, {})[name] = seconds / totals[name]
    lines = [
        f"| {state}, % of processor time | {' | '.join(columns)} |",
        f"|---|{'---:|' * len(columns)}",
    ]
    for part in sorted(shares, key=lambda part: -sum(shares[part].values())):
        if max(shares[part].values()) >= SHOWN_SHARE:
            cells = [f"{100 * shares[part].get(name, 0):.0f}" for name in columns]
            lines.append(f"| {part} | {' | '.join(cells)} |")
    seconds = [f"{totals[name]:.1f}" for name in columns]
    lines.append(f"| seconds of processor time | {' | '.join(seconds)} |")
    peaks = [f"{column['peak'] / MIB:,.0f}" for column in columns.values()]
    lines.append(f"| peak of memory, MiB | {' | '.join(peaks)} |")
    return "\n".join(lines)


def create_parser() -> argparse.ArgumentParser:
    """Return the parser of the script's arguments."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repositories", type=Path, nargs="+", metavar="GIT_DIR")
    parser.add_argument("--commit", default="HEAD", help="newest version to ask about")
    parser.add_argument(
        "--report",
        type=Path,
        action="append",
        help="file of a report; repeat it for each repository; default: past fixes",
    )
    parser.add_argument("--rank", action="store_true", help="rank the labelled reports of a file")
    parser.add_argument("--entered", action="store_true", help="count the code that is entered")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Profile the questions and print the result."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["--inside"]:
        _, kind, file, *command = arguments
        run_inside(Path(file), kind, command)
        return 0
    parser = create_parser()
    options = parser.parse_args(arguments)
    reports: list[Path | None] = options.report or [None] * len(options.repositories)
    if len(reports) != len(options.repositories) or (options.rank and None in reports):
        parser.error("--report: name one file for each repository")
    from scripts.timing import compile_package  # The process that is profiled must not import it.

    compile_package()
    tables: dict[str, dict[str, dict[str, Any]]] = {}
    for repository, report in zip(options.repositories, reports, strict=True):
        path = repository.absolute()
        name = path.name.removesuffix(".git")
        with tempfile.TemporaryDirectory(prefix="tosloc-profile-") as folder:
            work = Path(folder)
            states = ("entered",) if options.entered else ("cold", "warm")
            for state in states:
                kind = "entered" if options.entered else "profile"
                if options.rank and report is not None:
                    command = ranking(path, report.absolute(), work / state)
                else:
                    fix, commit = write_report(path, options.commit, work)
                    command = question(path, commit, (report or fix).absolute())
                record = ask(kind, work / "cache", command)
                tables.setdefault(state, {})[name] = record
    if options.json:
        print(json.dumps(tables, indent=1))
    elif options.entered:
        for name, entered in tables["entered"].items():
            print(f"{name}: {entered['modules']} modules, {entered['functions']} functions")
    else:
        print("\n\n".join(table(state, columns) for state, columns in tables.items()))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
