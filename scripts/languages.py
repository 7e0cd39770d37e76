"""Prints the table of docs/languages.md: what is parsed of each language.

``languages.py GIT ...`` reads the source files of each repository's HEAD, at most ``--sample`` of a language in each:
the share that a grammar parses (the others fall to the lexer) and the functions that are found.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tosloc.cli.guard import guarded
from tosloc.cli.printing import Table, markdown
from tosloc.code.facts import outline_of
from tosloc.code.functions import functions_of
from tosloc.code.languages import SOURCE_SUFFIXES, has_grammar, language_named, language_of
from tosloc.git.repository import Repository, decode


@dataclass
class Counted:
    """What was found of a language."""

    repositories: int = 0
    files: int = 0
    """In all versions read."""
    read: int = 0
    """Those of them that were taken apart."""
    parsed: int = 0
    functions: int = 0

    def cells(self, language: str) -> list[str]:
        """A row of the table."""
        grammar = " ".join(language_named(language).release) or "lexer"
        suffixes = " ".join(language_named(language).suffixes)
        shares = [f"{self.parsed / self.read:.3f}", f"{self.functions / self.read:.1f}"] if self.read else ["", ""]
        of_grammar = shares if has_grammar(language) else ["", "none"]
        return [language, suffixes, grammar, str(self.repositories), str(self.files), *of_grammar]


def count(repositories: Iterable[Path], sample: int) -> dict[str, Counted]:
    """Language -> what the repositories' HEAD holds of it. Raises RepositoryError."""
    found: defaultdict[str, Counted] = defaultdict(Counted)
    for place in repositories:
        with Repository(place) as repository:
            snapshot = repository.snapshot("HEAD", SOURCE_SUFFIXES)
            blobs: defaultdict[str, dict[str, str]] = defaultdict(dict)
            for path, blob in zip(snapshot.paths, snapshot.blobs, strict=True):
                suffix = PurePosixPath(path).suffix.lower()
                found[language_of(suffix)].files += 1
                blobs[language_of(suffix)][blob] = suffix
            for language, suffixes in blobs.items():
                counted = found[language]
                counted.repositories += 1
                if not has_grammar(language):
                    continue
                for blob, data in repository.texts(sorted(suffixes)[:sample]):  # by content: as good as by chance
                    if data is not None:
                        text = decode(data)
                        counted.read += 1
                        counted.parsed += outline_of(text.encode("utf-8", "replace"), language).parsed
                        counted.functions += len(functions_of(text, suffixes[blob]))
        print(f"{place}: {len(snapshot)} source files", file=sys.stderr)
    return dict(found)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="+", type=Path, metavar="GIT")
    parser.add_argument("--sample", type=int, default=30, help="files of a language of a repository that are parsed")
    options = parser.parse_args(argv)
    found = count(options.repositories, options.sample)
    order = sorted(found, key=lambda language: (not has_grammar(language), -found[language].files))
    header = ["language", "suffixes", "grammar", "repositories", "files", "parsed", "functions a file"]
    print(markdown(Table(header, [found[language].cells(language) for language in order])), end="")
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
