"""Print the table of docs/languages.md: how much of each language is parsed.

``languages.py GIT ...`` reads the source files of each repository's HEAD, at most ``--sample`` of a
language in each: the share that a grammar parses (the lexer reads the others), the share of which a
grammar parses only a part, and the functions that are found. With ``--ctags`` it compares the names
of these functions with those that Universal Ctags finds.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from tosloc.cli.guard import run_guarded
from tosloc.code.facts import outline_source, split_component
from tosloc.code.functions import find_functions
from tosloc.code.languages import (
    SOURCE_SUFFIXES,
    get_language,
    has_grammar,
    language_name,
    with_grammar_release,
)
from tosloc.code.notebooks import readable_text
from tosloc.code.trees import best_tree
from tosloc.core.errors import ToslocError
from tosloc.git.repository import Repository, decode_text
from tosloc.terminal.printing import Table

CTAGS_KINDS: Final = frozenset(
    "class constructor enum enumerated func function generator getter instance interface macro"
    " method object protocol record setter singletonMethod struct structure subroutine trait"
    " union".split()
)
"""Kinds of Universal Ctags that are functions, methods and classes in all languages."""
MORE_CTAGS_KINDS: Final = {
    "csharp": {"property"},
    "elixir": {"module", "delegate", "guard"},
    "python": {"member"},
    "ruby": {"module"},
}
"""Kinds that are functions, methods or classes in one language."""
CTAGS_PATTERNS: Final = {
    "scala": (".scala", r"\b(def|class|object|trait)[ \t]+([A-Za-z_][A-Za-z0-9_]*)"),
    "swift": (
        ".swift",
        r"\b(func|class|struct|enum|protocol|actor)[ \t]+([A-Za-z_][A-Za-z0-9_]*)",
    ),
    "zig": (".zig", r"\b(fn)[ \t]+([A-Za-z_][A-Za-z0-9_]*)"),
}
"""Suffix and pattern of definitions in languages that ctags does not know."""


def count(
    repositories: Iterable[Path], sample: int, *, ctags: bool, shown: int
) -> dict[str, Counter[str]]:
    """Return the counts of each language in the repositories' HEAD.

    ``repositories`` and ``files`` are counted in all files; ``read``, ``parsed``, ``partly`` and
    ``functions`` in a sample. With ``ctags``, ``both`` is the number of names that both find,
    ``ours`` and ``theirs`` of those that one finds; ``shown`` differences of each repository and
    language are printed. Raises RepositoryError.
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
                if not has_grammar(language):
                    continue
                # The first files by content id are as good as a random sample.
                blobs = sorted(paths)[:sample]
                texts = _texts(repository, blobs, paths)
                counts[language] += _count_parsed(language, texts)
                if ctags:
                    counts[language] += _compare_names(language, texts, shown)
        print(f"{repository_path}: {len(snapshot)} source files", file=sys.stderr)
    return counts


def _texts(
    repository: Repository, blobs: Sequence[str], paths: Mapping[str, str]
) -> dict[str, str]:
    """Return the texts of files, by path."""
    texts: dict[str, str] = {}
    for blob, data in repository.texts(blobs):
        if data is not None:
            texts[paths[blob]] = decode_text(data)
    return texts


def _count_parsed(language: str, texts: Mapping[str, str]) -> Counter[str]:
    """Return how many files are read, parsed and parsed only in part, and their functions."""
    counts: Counter[str] = Counter()
    for path, text in texts.items():
        source = readable_text(text, path).encode("utf-8", "replace")
        parsed = outline_source(source, language).parsed
        functions = len(find_functions(text, path))
        counts.update(read=1, parsed=parsed, functions=functions)
        if parsed:
            if get_language(language).has_scripts:
                source = split_component(source)[0]
            _, tree, _ = best_tree(source, get_language(language).grammar)
            counts.update(partly=tree is not None and tree.has_error)
    return counts


def _compare_names(language: str, texts: Mapping[str, str], shown: int) -> Counter[str]:
    """Return how many names of functions TosLoc finds, ctags, and both."""
    counts: Counter[str] = Counter()
    sources = {path: _without_dropped(text, path, language) for path, text in texts.items()}
    theirs_by_path = _ctags_names(language, sources)
    for path, text in texts.items():
        facts = find_functions(text, path)
        ours = Counter(name for _, name in facts.last_names)
        theirs = theirs_by_path.get(path, Counter())
        counts.update(
            both=(ours & theirs).total(),
            ours=(ours - theirs).total(),
            theirs=(theirs - ours).total(),
        )
        for finder, names in (("TosLoc", ours - theirs), ("ctags", theirs - ours)):
            if names and shown > 0:
                shown -= 1
                print(f"{path}: only {finder} finds {', '.join(names)}", file=sys.stderr)
    return counts


def _without_dropped(text: str, path: str, language: str) -> bytes:
    """Return the source of a file without what TosLoc drops, such as the tests inside it."""
    source = bytearray(readable_text(text, path).encode("utf-8", "replace"))
    for span in outline_source(bytes(source), language).spans:
        if span.kind == "drop":
            dropped = source[span.start : span.end]
            source[span.start : span.end] = re.sub(rb"[^\n]", b" ", dropped)
    return bytes(source)


def _ctags_names(language: str, sources: Mapping[str, bytes]) -> dict[str, Counter[str]]:
    """Return the names of functions that ctags finds in each source. Raises ToslocError."""
    command = ["ctags", "--options=NONE", "--output-format=json", "--fields=NFKS", "--sort=no"]
    kinds = CTAGS_KINDS | MORE_CTAGS_KINDS.get(language, set())
    if language in CTAGS_PATTERNS:
        suffix, pattern = CTAGS_PATTERNS[language]
        command += [f"--langdef={language}x", f"--map-{language}x={suffix}"]
        command += [f"--regex-{language}x=/{pattern}/\\2/f,function/"]
    with tempfile.TemporaryDirectory() as folder:
        for path, source in sources.items():
            file = Path(folder, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(source)
        result = subprocess.run(
            [*command, "-f", "-", "-L", "-"],
            input="\n".join(sources),
            cwd=folder,
            capture_output=True,
            check=False,
            encoding="utf-8",
            errors="replace",
        )
    if result.returncode:
        raise ToslocError(f"ctags failed: {result.stderr.strip()}")
    names: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for line in result.stdout.splitlines():
        tag = json.loads(line)
        # Constants of C are macros without arguments.
        is_constant = tag.get("kind") == "macro" and "signature" not in tag
        name = re.split(r"[.:]", tag.get("name", ""))[-1]
        is_nameless = name.startswith(("<", "__anon", "AnonymousFunction"))
        if tag.get("kind") in kinds and not is_constant and not is_nameless:
            names[tag["path"]][name] += 1
    return names


def main(argv: Sequence[str] | None = None) -> int:
    """Count repositories and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("repositories", nargs="+", type=Path, metavar="GIT")
    parser.add_argument(
        "--sample", type=int, default=30, help="files of a language of a repository that are parsed"
    )
    parser.add_argument("--ctags", action="store_true", help="compare names with Universal Ctags")
    parser.add_argument(
        "--show",
        type=int,
        default=0,
        metavar="N",
        help="with --ctags: print differences of N files of each language and repository",
    )
    options = parser.parse_args(argv)
    if options.ctags and shutil.which("ctags") is None:
        raise ToslocError("--ctags needs Universal Ctags; install it, for example by apt")
    counts = count(options.repositories, options.sample, ctags=options.ctags, shown=options.show)

    def sort_key(language: str) -> tuple[bool, int]:
        """Sort languages with a grammar first, then by their number of files."""
        return (not has_grammar(language), -counts[language]["files"])

    header = ["language", "suffixes", "grammar", "repositories", "files", "parsed", "in part"]
    header.append("functions per file")
    if options.ctags:
        header += ["names of ctags that are found", "names that ctags finds"]
    rows = []
    for language in sorted(counts, key=sort_key):
        rows.append(_row(language, counts[language], ctags=options.ctags))
    print(Table(header, rows).markdown(), end="")
    return 0


def _row(language: str, counts: Counter[str], *, ctags: bool) -> list[str]:
    """Return the cells of a language."""
    grammar = with_grammar_release(language, "").removeprefix("+").replace("+", " ") or "lexer"
    suffixes = " ".join(get_language(language).suffixes)
    cells = [language, suffixes, grammar, str(counts["repositories"]), str(counts["files"])]
    if not has_grammar(language):
        return [*cells, "", "", "none", *(["", ""] if ctags else [])]
    read = max(counts["read"], 1)
    cells.append(f"{counts['parsed'] / read:.3f}")
    cells.append(f"{counts['partly'] / read:.3f}")
    cells.append(f"{counts['functions'] / read:.1f}")
    if ctags:
        for others in ("theirs", "ours"):
            all_names = counts["both"] + counts[others]
            cells.append(f"{counts['both'] / all_names:.3f}" if counts["both"] else "")
    return cells


if __name__ == "__main__":
    sys.exit(run_guarded(main))
