"""Prints the tables of docs/languages.md: what is parsed, and how reports of each language are answered.

``languages.py GIT ...`` reads the source files of each repository's HEAD, at most ``--sample`` of a language in each:
the share that a grammar parses (the others fall to the lexer) and the functions that are found.

``languages.py --runs OURS BM25`` compares two folders that hold one run a project under the same names. A report is of
the language of most files that its fix changed; means are over the projects of a language, each counting the same.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tosloc.analysis.functions import functions_of
from tosloc.analysis.grammars import grammar_release, has_grammar
from tosloc.analysis.languages import SOURCE_SUFFIXES, language_named, language_of
from tosloc.analysis.syntax import outline_of
from tosloc.cli.printing import markdown_table
from tosloc.data.git import Repository, decode
from tosloc.errors import ToslocError
from tosloc.evaluation.evaluate import Evaluation, ReportScores
from tosloc.evaluation.run_paths import read_scored

FAMILIES = {"jsx": "javascript", "tsx": "typescript"}
"""Languages that reports are counted with."""

CELLS = [(measure, side) for measure in ("reciprocal_rank", "average_precision") for side in (0, 1)]
"""Of the second table: a measure of our run, then of the other."""


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
        """A row of the first table."""
        grammar = " ".join(grammar_release(language)) or "lexer"
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


def language_of_fix(fixed: Sequence[str]) -> str | None:
    """Language of most of the files; of those with as many, that of the first. None if none is source.

    >>> language_of_fix(["a.md", "b.tsx", "c.py", "d.ts"])
    'typescript'
    """
    suffixes = [suffix for path in fixed if (suffix := PurePosixPath(path).suffix.lower()) in SOURCE_SUFFIXES]
    languages = Counter(FAMILIES.get(language, language) for language in map(language_of, suffixes))
    return max(languages, key=languages.__getitem__) if languages else None


def by_language(evaluation: Evaluation) -> dict[str, list[ReportScores]]:
    """Language -> scores of the reports whose fix was of it; reports without a fixed file are of none."""
    found: defaultdict[str, list[ReportScores]] = defaultdict(list)
    for one in evaluation.per_report:
        language = language_of_fix(one.judgement.fixed)
        if language is not None:
            found[language].append(one)
    return dict(found)


def compared(ours: Path, theirs: Path, split: str) -> Iterator[list[str]]:
    """Rows of the second table, the language with the most reports first. Raises RunError."""
    found: defaultdict[str, list[tuple[int, list[float]]]] = defaultdict(list)
    for name in sorted({place.name for place in ours.iterdir()} & {place.name for place in theirs.iterdir()}):
        own, others = (read_scored(folder / name, split).evaluation() for folder in (ours, theirs))
        for language, scores in by_language(own).items():
            pairs = [(one, others.by_report[one.report]) for one in scores if one.report in others.by_report]
            values = [
                sum(getattr(pair[side], measure) for pair in pairs) / max(len(pairs), 1) for measure, side in CELLS
            ]
            if pairs:
                found[language].append((len(pairs), values))
    for language, projects in sorted(found.items(), key=lambda item: -sum(number for number, _ in item[1])):
        means = [sum(column) / len(projects) for column in zip(*(values for _, values in projects), strict=True)]
        cells = [f"{value:.3f}" for value in means]
        yield [language, str(len(projects)), str(sum(number for number, _ in projects)), *cells]


def main(argv: Sequence[str] | None = None) -> int:
    """0, or 2 with a sentence; the tables on standard output."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", nargs="*", type=Path, metavar="GIT")
    parser.add_argument("--sample", type=int, default=30, help="files of a language of a repository that are parsed")
    parser.add_argument("--runs", nargs=2, type=Path, metavar=("OURS", "BM25"), help="folders of runs by project")
    parser.add_argument("--split", default="all", help="of these runs (default: all)")
    options = parser.parse_args(argv)
    try:
        if options.repositories:
            found = count(options.repositories, options.sample)
            order = sorted(found, key=lambda language: (not has_grammar(language), -found[language].files))
            header = ["language", "suffixes", "grammar", "repositories", "files", "parsed", "functions a file"]
            print(markdown_table(header, [found[language].cells(language) for language in order]))
        if options.runs:
            ours, theirs = options.runs
            header = ["fixed files", "projects", "reports", "MRR", "BM25's MRR", "MAP", "BM25's MAP"]
            print(markdown_table(header, list(compared(ours, theirs, options.split))))
    except ToslocError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
