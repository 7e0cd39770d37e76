"""Names of projects, in texts and as paths on the web."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Final

_NO_WORD: Final = re.compile(r"[\W_]+")
_SEPARATORS: Final = re.compile(r"[-_. ]+")
"""Characters that may separate the words of a project's name."""
_SCOPED_PACKAGE: Final = re.compile(r"@[\w.-]{1,60}/[\w.-]{1,80}")
_PLATFORMS: Final = frozenset(
    """android arch alpine bash bazel bun cargo centos chrome chromium clang cmake conda cpython
    cuda debian deno docker dotnet edge fedora firefox freebsd gcc go golang gradle ios java
    javascript jdk jre jvm kotlin linux lua mac macos maven msvc node nodejs npm openjdk osx perl
    php pip pnpm powershell pypy python rails ruby rust rustc safari scala swift typescript ubuntu
    windows xcode yarn""".split()
)
"""Names of languages, systems, browsers and tools, which are also names of folders."""


def is_scoped_package(name: str) -> bool:
    """Return whether a name is that of a scoped npm package.

    >>> is_scoped_package("@reduxjs/toolkit"), is_scoped_package("reduxjs/redux-toolkit")
    (True, False)
    """
    return _SCOPED_PACKAGE.fullmatch(name) is not None


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


def is_own_name(name: str, projects: Sequence[str], folders: Collection[str]) -> bool:
    """Return whether a name means a project: its path on the web, its name, or an npm package.

    ``projects`` are the project's paths on the web. Parts of a project have the names of its
    ``folders``, which are normalized. But a language, a system or a tool is meant itself, unless it
    is the project or its owner. A scoped package is a folder of a project or the whole project.

    >>> own = ["reduxjs/redux-toolkit"]
    >>> is_own_name("Redux-Toolkit", own, ()), is_own_name("@reduxjs/toolkit", own, ())
    (True, True)
    >>> is_own_name("other/redux-toolkit", own, ()), is_own_name("@types/node", own, {"node"})
    (False, False)
    >>> is_own_name("Python", ["python/cpython"], ()), is_own_name("Python", own, {"python"})
    (True, False)
    """
    if is_scoped_package(name):
        return _is_own_package(name.lower(), projects, folders)
    if "/" in name and projects:
        return name.lower() in (own.lower() for own in projects)
    last = project_name(name)
    if last in map(project_name, projects):
        return True
    if last in _PLATFORMS:
        return last in (normalize_name(own.rpartition("/")[0]) for own in projects)
    return last in folders


def _is_own_package(package: str, projects: Sequence[str], folders: Collection[str]) -> bool:
    """Return whether a scoped npm package is a folder of a project or the whole project.

    Its scope must be in the name of the project or of its owner: @vue/compiler of vuejs/core.
    """
    scope, _, name = package.removeprefix("@").partition("/")
    owner = normalize_name(scope)
    written = {normalize_name(name), owner + normalize_name(name)}
    is_folder = not written.isdisjoint(folders)
    if not projects:
        return is_folder
    for own in projects:
        if owner not in normalize_name(own.rpartition("/")[0]) and owner not in project_name(own):
            continue
        words = set(_SEPARATORS.split(own.rpartition("/")[2].lower()))
        if is_folder or project_name(own) in written or words.issuperset(_SEPARATORS.split(name)):
            return True
    return False


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
