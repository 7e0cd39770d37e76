"""Names of projects, in texts and as paths on the web."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_NO_WORD: Final = re.compile(r"[\W_]+")
_SEPARATORS: Final = re.compile(r"[-_. ]+")
"""Characters that may separate the words of a project's name."""


def normalize_name(name: str) -> str:
    """Return a name without separators, in lower case.

    >>> normalize_name("_pytest"), normalize_name("XcodeGen.git")
    ('pytest', 'xcodegen')
    """
    return _NO_WORD.sub("", name.lower().removesuffix(".git"))


def project_name(project: str) -> str:
    """Return the last part of a project's path on the web, without separators.

    >>> project_name("pallets/Flask.git")
    'flask'
    """
    return normalize_name(project.rpartition("/")[2])


def without_name(source: str, projects: Sequence[str]) -> str:
    """Return a text with blanks for the projects' names where these are separate words.

    Many files may have the project's name in their names, and reports contain it wherever the bug
    is. Longer names that contain it, such as modules and paths, stay.
    """
    for project in projects:
        name = _name_pattern(project)
        source = re.sub(rf"(?i)(?<![\w/.$@:-]){name}(?![\w/(]|[-.:]\w|::)", " ", source)
    return source


def contains_name(source: str, projects: Sequence[str]) -> bool:
    """Return whether a text contains a project's name, also as part of a longer name."""
    for project in projects:
        if re.search(rf"(?i)(?<![a-z])(?:{_name_pattern(project)})(?![a-z])", source):
            return True
    return False


def _name_pattern(project: str) -> str:
    """Return a pattern of a project's name, with or without separators between its words."""
    words = _SEPARATORS.split(project.rpartition("/")[2].removesuffix(".git"))
    return "[-_. ]?".join(map(re.escape, words))
