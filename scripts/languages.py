"""Prints the table of docs/languages.md: what is parsed of each language.

``languages.py GIT ...`` reads the source files of each repository's HEAD, at most ``--sample`` of a language in each:
the share that a grammar parses (the others fall to the lexer) and the functions that are found.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from tosloc.cli.guard import run_guarded
from tosloc.cli.printing import Table, markdown_table
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


def count(repositories: Iterable[Path], sample: int) -> dict[str, Counter[str]]:
    """Language -> what the repositories' HEAD holds of it, of which some is ``read``. Raises RepositoryError."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for place in repositories:
        with Repository(place) as repository:
            snapshot = repository.snapshot("HEAD", SOURCE_SUFFIXES)
            blobs: defaultdict[str, dict[str, str]] = defaultdict(dict)
            for path, blob in zip(snapshot.paths, snapshot.blobs, strict=True):
                found[language_name(path)]["files"] += 1
                blobs[language_name(path)][blob] = path
            for language, paths in blobs.items():
                found[language]["repositories"] += 1
                chosen = (
                    sorted(paths)[:sample] if has_grammar(language) else []
                )  # by content: as good as by chance
                for blob, data in repository.texts(chosen):
                    if data is not None:
                        text = decode_text(data)
                        parsed = outline_source(text.encode("utf-8", "replace"), language).parsed
                        functions = len(find_functions(text, paths[blob]))
                        found[language].update(read=1, parsed=parsed, functions=functions)
        print(f"{place}: {len(snapshot)} source files", file=sys.stderr)
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repositories", nargs="+", type=Path, metavar="GIT")
    parser.add_argument(
        "--sample", type=int, default=30, help="files of a language of a repository that are parsed"
    )
    options = parser.parse_args(argv)
    found = count(options.repositories, options.sample)
    rows = []
    for language in sorted(
        found, key=lambda language: (not has_grammar(language), -found[language]["files"])
    ):
        counted = found[language]
        parsed, functions = (
            counted[what] / max(counted["read"], 1) for what in ("parsed", "functions")
        )
        shares = [f"{parsed:.3f}", f"{functions:.1f}"] if has_grammar(language) else ["", "none"]
        numbers = [str(counted[what]) for what in ("repositories", "files")]
        grammar = with_grammar_release(language, "").removeprefix("+") or "lexer"
        rows.append(
            [language, " ".join(get_language(language).suffixes), grammar, *numbers, *shares]
        )
    header = [
        "language",
        "suffixes",
        "grammar",
        "repositories",
        "files",
        "parsed",
        "functions a file",
    ]
    print(markdown_table(Table(header, rows)), end="")
    return 0


if __name__ == "__main__":
    sys.exit(run_guarded(main))
