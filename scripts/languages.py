"""Print the table of docs/languages.md: how much of each language is parsed.

``languages.py GIT ...`` reads the source files of each repository's HEAD, at most ``--sample`` of a
language in each: the share that a grammar parses (the lexer reads the others) and the functions
that are found.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tosloc.cli.guard import run_guarded
from tosloc.code.facts import outline_source
from tosloc.code.functions import find_functions
from tosloc.code.languages import (
    SOURCE_SUFFIXES,
    get_language,
    has_grammar,
    language_name,
    with_grammar_release,
)
from tosloc.git.repository import Repository, decode_text
from tosloc.terminal.printing import Table


def count(repositories: Iterable[Path], sample: int) -> dict[str, Counter[str]]:
    """Return the counts of each language in the repositories' HEAD.

    ``repositories`` and ``files`` are counted in all files; ``read``, ``parsed`` and ``functions``
    in a sample. Raises RepositoryError.
    """
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for repository_path in repositories:
        with Repository(repository_path) as repository:
            snapshot = repository.snapshot("HEAD", SOURCE_SUFFIXES)
            paths_by_language: defaultdict[str, dict[str, str]] = defaultdict(dict)
            for path, blob in zip(snapshot.paths, snapshot.blobs, strict=True):
                language = language_name(path)
                counts[language]["files"] += 1
                paths_by_language[language][blob] = path
            for language, paths in paths_by_language.items():
                counts[language]["repositories"] += 1
                if has_grammar(language):
                    counts[language] += _count_parsed(repository, language, paths, sample)
        print(f"{repository_path}: {len(snapshot)} source files", file=sys.stderr)
    return counts


def _count_parsed(
    repository: Repository, language: str, paths: Mapping[str, str], sample: int
) -> Counter[str]:
    """Return how many of a sample of files are read and parsed, and their functions."""
    counts: Counter[str] = Counter()
    # The first files by content id are as good as a random sample.
    for blob, data in repository.texts(sorted(paths)[:sample]):
        if data is None:
            continue
        text = decode_text(data)
        parsed = outline_source(text.encode("utf-8", "replace"), language).parsed
        functions = len(find_functions(text, paths[blob]))
        counts.update(read=1, parsed=parsed, functions=functions)
    return counts


def main(argv: Sequence[str] | None = None) -> int:
    """Count repositories and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repositories", nargs="+", type=Path, metavar="GIT")
    parser.add_argument(
        "--sample", type=int, default=30, help="files of a language of a repository that are parsed"
    )
    options = parser.parse_args(argv)
    counts = count(options.repositories, options.sample)

    def sort_key(language: str) -> tuple[bool, int]:
        """Sort languages with a grammar first, then by their number of files."""
        return (not has_grammar(language), -counts[language]["files"])

    rows = [_row(language, counts[language]) for language in sorted(counts, key=sort_key)]
    header = [
        "language",
        "suffixes",
        "grammar",
        "repositories",
        "files",
        "parsed",
        "functions per file",
    ]
    print(Table(header, rows).markdown(), end="")
    return 0


def _row(language: str, counts: Counter[str]) -> list[str]:
    """Return the cells of a language."""
    suffixes = " ".join(get_language(language).suffixes)
    grammar = with_grammar_release(language, "").removeprefix("+") or "lexer"
    shares = ["", "none"]
    if has_grammar(language):
        read = max(counts["read"], 1)
        shares = [f"{counts['parsed'] / read:.3f}", f"{counts['functions'] / read:.1f}"]
    return [language, suffixes, grammar, str(counts["repositories"]), str(counts["files"]), *shares]


if __name__ == "__main__":
    sys.exit(run_guarded(main))
