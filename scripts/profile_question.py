"""Show where a question on the command line spends its processor time, and what code it enters.

    profile_question.py GIT_DIR... [--commit HEAD] [--report FILE] [--json]
    profile_question.py GIT_DIR --entered

Each question is asked twice of ``tosloc localize``, in fresh processes on one core: cold, with an
empty cache, and warm, once the version is kept. The report is a file, or the message of the newest
commit that fixes a bug, asked about that commit's parent.

The table has a column for each question and a row for each part of the work, in percent of the
question's processor time. The process is sampled every 2 ms of its processor time; a sample counts
for the innermost module of the package on the stack that ``PARTS`` lists, unless a module is being
imported or a regular expression compiled. Programs that the question starts are counted as a whole,
git by its commands. Rows with at least 1 % in some column are shown. The last rows are the seconds
of processor time, and the peak of memory in MiB of the process and of its largest child.

``--entered`` prints how many modules and functions of the package a cold question enters. A
function counts once, however often it is called; the bodies of modules and classes count as
functions, because a reader has to follow them as well.
"""

from __future__ import annotations

import argparse
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
IMPORTS: Final = "imports"
PATTERNS: Final = "compiling regular expressions"
OTHER: Final = "everything else"
PARTS: Final = {
    "code/": "parsing and lexing files",
    "storage/store": "SQLite",
    "storage/version_files": "kept arrays",
    "core/arrays": "kept arrays",
    "git/": "reading what git prints",
    "retrieval/history": "history",
    "retrieval/": "text indexes",
    "rank/explain/functions": "functions",
    "rank/explain": "reasons",
    "rank/suspects": "suspects",
    "rank/": "features and ranking",
    "reports/": "reading the report",
    "paths/": "classes of files",
    "storage/": "facts and the cache",
    "localize/": "composing the answer",
    "cli/": "command line and printing",
    "terminal/": "command line and printing",
}
"""Beginning of a module's path in the package -> part of the work; the first that fits counts."""


class Sampler:
    """Counts processor time by parts of the work, of this process and of the programs it starts."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._last = time.process_time()
        self._lock = threading.Lock()

    def start(self) -> None:
        """Sample from now on."""
        signal.signal(signal.SIGPROF, self._sample)
        signal.setitimer(signal.ITIMER_PROF, SAMPLE_SECONDS, SAMPLE_SECONDS)
        wait = subprocess.Popen._try_wait  # type: ignore[attr-defined]

        def counted_wait(process: subprocess.Popen[bytes], *arguments: Any) -> Any:
            with self._lock:
                before = _children_seconds()
                result = wait(process, *arguments)
                self.seconds[_command_name(process.args)] += _children_seconds() - before
            return result

        subprocess.Popen._try_wait = counted_wait  # type: ignore[attr-defined]

    def stop(self) -> None:
        """Stop, and count what is left."""
        signal.setitimer(signal.ITIMER_PROF, 0)
        self._count(OTHER)

    def _sample(self, _: int, frame: FrameType | None) -> None:
        """Count the time since the last sample for the part that the stack shows."""
        self._count(_part(frame))

    def _count(self, part: str) -> None:
        now = time.process_time()
        self.seconds[part] += now - self._last
        self._last = now


def _children_seconds() -> float:
    """Return the processor time of the programs that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _command_name(arguments: Any) -> str:
    """Return the name of a program and, of git, its command."""
    words = [str(word) for word in arguments]
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
    collector.start()
    try:
        runpy.run_module("tosloc", run_name="__main__", alter_sys=True)
    except SystemExit as stop:
        if stop.code:
            raise
    finally:
        collector.stop()
    if isinstance(collector, Sampler):
        usage = [
            resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        ]
        record: dict[str, Any] = {
            "seconds": dict(collector.seconds),
            "peak": sum(part.ru_maxrss for part in usage) * 1024,
        }
    else:
        record = collector.record()
    file.write_text(json.dumps(record), encoding="utf-8")


def ask(kind: str, cache: Path, arguments: Sequence[str]) -> dict[str, Any]:
    """Ask a question in a process of its own and return what was collected."""
    with tempfile.TemporaryDirectory(prefix="tosloc-profile-") as folder:
        file = Path(folder, "record.json")
        environment = os.environ | {"TOSLOC_CACHE": str(cache), "OMP_NUM_THREADS": "1"}
        subprocess.run(
            [sys.executable, "-P", __file__, "--inside", kind, str(file), *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            check=True,
        )
        record: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
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


def table(columns: dict[str, dict[str, Any]]) -> str:
    """Return a Markdown table of what was collected, with a column for each question."""
    totals = {name: sum(column["seconds"].values()) for name, column in columns.items()}
    shares: dict[str, dict[str, float]] = {}
    for name, column in columns.items():
        for part, seconds in column["seconds"].items():
            shares.setdefault(part, {})[name] = seconds / totals[name]
    lines = [f"| % of processor time | {' | '.join(columns)} |", f"|---|{'---:|' * len(columns)}"]
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
    parser.add_argument("--report", type=Path, help="file of the report; default: a past fix")
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
    options = create_parser().parse_args(arguments)
    columns: dict[str, dict[str, Any]] = {}
    for repository in options.repositories:
        path = repository.absolute()
        name = path.name if path.name != "repo" else path.parent.name.rpartition("+")[2]
        with tempfile.TemporaryDirectory(prefix="tosloc-profile-") as folder:
            work = Path(folder)
            report, commit = write_report(path, options.commit, work)
            command = question(path, commit, (options.report or report).absolute())
            if options.entered:
                columns[name] = ask("entered", work / "cache", command)
                continue
            columns[f"{name}, cold"] = ask("profile", work / "cache", command)
            columns[f"{name}, warm"] = ask("profile", work / "cache", command)
    if options.json:
        print(json.dumps(columns, indent=1))
    elif options.entered:
        for name, entered in columns.items():
            print(f"{name}: {entered['modules']} modules, {entered['functions']} functions")
    else:
        print(table(columns))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
