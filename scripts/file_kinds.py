"""Count the kinds of files that fixes change, and show how each kind is treated.

``file_kinds.py --git GIT ...`` reads the commits of each repository that fix a bug, by their
messages; ``file_kinds.py --reports FILE ...`` reads the fixed files of labelled reports. Tests and
hidden classes, such as generated files, are left out. A kind is a language, or what follows the
last dot of a name.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tosloc.cli.guard import run_guarded
from tosloc.code.languages import OTHER_SUFFIXES, SOURCE_SUFFIXES, has_grammar, language_name
from tosloc.git.fixes import is_fix_message
from tosloc.git.history import History
from tosloc.git.repository import Repository, suffix_matcher
from tosloc.paths.classify import classify_paths, is_hidden_class, which_are_tests
from tosloc.terminal.printing import Table

_MAX_FILES_OF_FIX = 20
"""A commit with more files is a clean-up rather than a fix."""


class FixedFiles:
    """Counts of the files that fixes change, by kind."""

    def __init__(self) -> None:
        self.fixes = 0
        self.files: Counter[str] = Counter()
        """Number of changed files of each kind; a file that two fixes change counts twice."""
        self.fixes_of_kind: Counter[str] = Counter()
        """Number of fixes that change a file of the kind."""
        self.fixes_by_kind_alone: Counter[str] = Counter()
        """Number of fixes that change files of the kind and of no other one."""
        self.projects: defaultdict[str, set[str]] = defaultdict(set)
        self.treatments: dict[str, str] = {}

    def add(self, project: str, paths: Sequence[str]) -> None:
        """Count a fix by the paths of the files that it changes."""
        hidden = is_hidden_class(classify_paths(paths)) | which_are_tests(paths)
        kinds: Counter[str] = Counter()
        for path, is_hidden in zip(paths, hidden.tolist(), strict=True):
            if not is_hidden:
                kind = kind_name(path)
                kinds[kind] += 1
                self.treatments[kind] = treatment(path)
        if not kinds:
            return
        self.fixes += 1
        self.files.update(kinds)
        self.fixes_of_kind.update(kinds.keys())
        for kind in kinds:
            self.projects[kind].add(project)
        if len(kinds) == 1:
            self.fixes_by_kind_alone.update(kinds.keys())


def kind_name(path: str) -> str:
    """Return the kind of a file: its language, or its ending if that stands for no language."""
    language = language_name(path)
    name = path.rpartition("/")[2]
    if language != "text" and _IS_SOURCE(path.encode("utf-8", "surrogateescape")):
        return language
    stem, _, suffix = name.rpartition(".")
    if not stem:
        return name.lower() if len(name) < 20 else "(no suffix)"
    return f".{suffix.lower()}"


_IS_SOURCE = suffix_matcher(SOURCE_SUFFIXES)
_IS_OTHER = suffix_matcher(OTHER_SUFFIXES)


def treatment(path: str) -> str:
    """Return how files like this one are treated: parsed, lexed, other, or by their path alone."""
    path_bytes = path.encode("utf-8", "surrogateescape")
    if _IS_SOURCE(path_bytes):
        return "parsed" if has_grammar(language_name(path)) else "lexed"
    return "other file" if _IS_OTHER(path_bytes) else "path alone"


def fixes_of_repository(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the changed paths of each fix in the history of a repository's HEAD.

    Raises RepositoryError.
    """
    with Repository(path) as repository:
        history = History.read(repository, "HEAD", [""])
        name = path.parent.name if path.name == "repo" else path.name
        for message, touched in zip(history.messages, history.touched, strict=True):
            if len(touched) <= _MAX_FILES_OF_FIX and is_fix_message(message):
                yield name, [history.path_names.names[file] for file in touched]


def fixes_of_reports(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the project and the fixed files of each labelled report of a JSONL file."""
    for line in path.read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        yield record.get("project", path.stem), record["fixed"]


def count(fixes: Iterable[tuple[str, list[str]]]) -> FixedFiles:
    """Return the counts of fixes, each a project and the changed paths."""
    counts = FixedFiles()
    for project, paths in fixes:
        counts.add(project, paths)
    return counts


def kinds_table(counts: FixedFiles, min_files: int) -> Table:
    """Return a row for each kind with at least ``min_files`` changed files, most of them first."""
    header = ["kind", "treated as", "projects", "files", "share", "fixes with it", "fixes of it"]
    total = max(sum(counts.files.values()), 1)
    fixes = max(counts.fixes, 1)
    rows = []
    for kind, files in counts.files.most_common():
        if files < min_files:
            break
        rows.append(
            [
                kind,
                counts.treatments[kind],
                str(len(counts.projects[kind])),
                str(files),
                f"{files / total:.3f}",
                f"{counts.fixes_of_kind[kind] / fixes:.3f}",
                f"{counts.fixes_by_kind_alone[kind] / fixes:.3f}",
            ]
        )
    return Table(header, rows)


def main(argv: Sequence[str] | None = None) -> int:
    """Count repositories or reports and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--git", nargs="+", type=Path, default=[], metavar="GIT")
    parser.add_argument("--reports", nargs="+", type=Path, default=[], metavar="FILE")
    parser.add_argument(
        "--min-files", type=int, default=10, help="leave out kinds with fewer changed files"
    )
    options = parser.parse_args(argv)

    def all_fixes() -> Iterator[tuple[str, list[str]]]:
        for path in options.git:
            yield from fixes_of_repository(path)
        for path in options.reports:
            yield from fixes_of_reports(path)

    counts = count(all_fixes())
    print(f"{counts.fixes} fixes", file=sys.stderr)
    print(kinds_table(counts, options.min_files).markdown(), end="")
    return 0


if __name__ == "__main__":
    sys.exit(run_guarded(main))
