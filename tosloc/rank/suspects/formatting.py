"""Recognize commits that only format code or set a version, and therefore introduce no bug."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from typing import Final

from tosloc.core.patterns import lazy_pattern
from tosloc.git.patches import FilePatch
from tosloc.git.repository import Repository, decode_text
from tosloc.reports.text import normalize_name
from tosloc.retrieval.history import MAX_FILES

IGNORED_REVISIONS: Final = ".git-blame-ignore-revs"
"""File that lists the commits that git blame should ignore."""
MAX_IGNORED: Final = 10_000
"""Largest number of commits in such a file that are read."""
_MAX_SUBJECT: Final = 200
"""Largest number of characters of a commit's first line that are read."""
_TOOLS: Final = frozenset(
    """ktlint spotless detekt prettier eslint standardjs biome black isort autopep8 yapf ruff flake8
    pep8 pyupgrade gofmt gofumpt goimports golangci-lint rustfmt clang-format clang-tidy astyle
    uncrustify scalafmt scalafix checkstyle swiftformat swiftlint rubocop php-cs-fixer phpcs stylua
    shfmt ormolu fourmolu stylish-haskell editorconfig google-java-format palantir-java-format
    autofix pre-commit
    """.split()
)
"""Tools that format code or check its form."""
_FORM: Final = frozenset(
    """format formatted formatter formatting reformat reformatted reformatting autoformat lint
    linter linting whitespace indent indentation style codestyle
    """.split()
)
"""Words about the form of code."""
_OTHER_WORDS: Final = frozenset(
    """a add address adopt all and appease apply auto automated automatically autoupdate bump by
    change changes chore code codebase config configuration cs disable enable entire error errors
    everything everywhere failures file files fix fixed fixes for from in introduce issue issues
    java js kotlin latest com hooks mass new now of on only our pass plugin project python re
    re-enable remove repo rule rules run running satisfy set setup settings some source sources
    switch tests the to trailing trim update upgrade use using version violation violations warning
    warnings white whole with space strip clean cleanup up build deps ci
    """.split()
)
"""Words that do not say what code does."""
_WORD: Final = lazy_pattern(r"[a-z][a-z'-]*[a-z\d]|[a-z]")
_REVERT: Final = lazy_pattern(r'(?i)\A(?:revert|reapply|reland) "')
"""Beginning of the subject that git gives to the revert of a commit."""
_RELEASE: Final = lazy_pattern(
    r"(?i)\b(?:releas\w{1,3}|versions?|bump\w{0,3}|snapshot)\b|\Av?\d+\.\d"
)
"""Words in the subject of a commit that sets a version."""
_OF_VERSION: Final = lazy_pattern(
    r"(?i)version|major|minor|micro|patch|releas|snapshot|\d\.\d{1,9}\."
)
"""What a line with a version contains, unlike one with another number, such as a time limit."""
_NUMBER: Final = lazy_pattern(r"v?\d[\w.+-]*")
"""A version, or a part of one."""
_ID: Final = lazy_pattern(r"(?m)^[0-9a-f]{40}(?:[0-9a-f]{24})?\b")


def is_formatting(subject: str, files: float = 0, own_names: Collection[str] = ()) -> bool:
    """Return whether a commit only formats code, by its subject and the number of its files.

    ``own_names`` are the normalized names of the project. They do not count as tools, because the
    commits of a formatter's own project are about its code. To revert formatting is formatting.

    >>> subjects = "Re-enable ktlint indent rule", "Bump ktlint (#12)", "Format dates of invoices"
    >>> [is_formatting(subject) for subject in subjects]
    [True, True, False]
    """
    words = _WORD.findall(_REVERT.sub("", subject[:_MAX_SUBJECT]).lower())
    about_form = [word for word in words if word in _FORM or word in _TOOLS]
    if not about_form or any(normalize_name(word) in own_names for word in about_form):
        return False
    if words[0].startswith("reformat") or (words[0] in _FORM and files > MAX_FILES):
        return True
    return all(word in _FORM or word in _TOOLS or word in _OTHER_WORDS for word in words)


def sets_only_version(subject: str, patches: Iterable[FilePatch]) -> bool:
    """Return whether a commit only sets a version, by its subject and its changes of files.

    The subject alone does not show it, because some projects publish all changes of a release as
    one commit. The changed lines must be about a version, and the same but for numbers.
    """
    if not _RELEASE.search(subject[:_MAX_SUBJECT]):
        return False
    changes: Counter[str] = Counter()
    has_lines = False
    for patch in patches:
        for hunk in patch.hunks:
            for line in hunk.lines:
                if line[:1] in ("+", "-"):
                    if not _OF_VERSION.search(line):
                        return False
                    has_lines = True
                    changes[_NUMBER.sub("0", line[1:])] += 1 if line[0] == "+" else -1
    return has_lines and not any(changes.values())


def read_ignored_revisions(repository: Repository, commit: str) -> frozenset[str]:
    """Return the commits in the ``.git-blame-ignore-revs`` of a commit; empty without this file."""
    [(_, content)] = repository.git.objects([f"{commit}:{IGNORED_REVISIONS}"], b"blob")
    ids: list[str] = _ID.findall(decode_text(content or b""))
    return frozenset(ids[:MAX_IGNORED])
