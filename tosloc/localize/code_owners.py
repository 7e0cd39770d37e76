"""Read CODEOWNERS files, which say who is responsible for a path."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from tosloc.git.repository import Repository, decode_text
from tosloc.localize.globs import Glob, GlobError

_CODE_OWNERS: Final = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
"""Paths at which GitHub and GitLab look for a CODEOWNERS file, in this order."""
LONGEST_FILE: Final = 3_000_000
"""Largest number of characters of a CODEOWNERS file; GitHub reads files below 3 MB."""
_FIELD: Final = re.compile(r"(?:\\.|[^\\\s])++")
"""A pattern or an owner; a backslash escapes a blank within a pattern."""


def read_code_owners(repo: Repository, commit: str) -> str:
    """Return the text of a version's CODEOWNERS file; empty if there is none."""
    contents = repo.git.objects([f"{commit}:{path}" for path in _CODE_OWNERS], b"blob")
    return decode_text(next((content for _, content in contents if content is not None), b""))


def owners_of(rules: str, path: str) -> Sequence[str]:
    r"""Return the owners of a path by the text of a CODEOWNERS file.

    These are the owners of the last pattern that matches. Lines that are not rules are skipped,
    such as sections of GitLab and patterns that are not globs.

    >>> owners_of("* @all\n/docs/ @writers a@b.org  # prose\n*.md", "docs/a.txt")
    ['@writers', 'a@b.org']
    >>> owners_of("* @all\n*.md", "README.md"), owners_of("", "a")
    ([], [])
    >>> owners_of("apps/My\\ App/ @team", "apps/My App/main.c")
    ['@team']
    """
    for line in reversed(rules[:LONGEST_FILE].split("\n")):
        pattern, *owners = _FIELD.findall(line.partition("#")[0]) or [""]
        if not pattern or pattern[0] in "[^!":
            continue
        try:
            matches = Glob(pattern).matches(path)
        except GlobError:
            continue
        if matches:
            return owners
    return []
