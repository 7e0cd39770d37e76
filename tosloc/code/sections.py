"""Find the sections of configuration, which answers list as they list functions.

The sections of YAML are the keys of the first two levels that have a block below them
(``jobs.build``), and the items of lists that begin with a name (``- name: Install packages``), such
as the tasks of Ansible and the steps of workflows. The sections of TOML and INI are the parts below
lines like ``[section]``.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final, NamedTuple

_YAML: Final = (".yml", ".yaml")
_SECTIONED: Final = (".toml", ".ini", ".cfg", ".conf")
MAX_LEVELS: Final = 2
"""Number of levels of YAML, from the first, whose keys are sections."""
_KEY: Final = re.compile(
    r""" *+(?P<item>- ++)?["']?(?P<key>[^\s:'"\#|>&!-][^:'"\#]{0,119}+)["']?:"""
    r"(?: ++(?P<value>\S.*))?$"
)
_BLOCK_TEXT: Final = re.compile(r"(?:!\S+ +)?[|>][-+0-9]*(?: +#.*)?$")
"""The value of a key whose text is on the lines below it."""
_HEADER: Final = re.compile(r"\[{1,2}([^\[\]\n]{1,120})\]{1,2}\s*(?:[#;].*)?$")
_MAX_NAME: Final = 100


class Section(NamedTuple):
    """A section with its lines, numbered from 0."""

    start: int
    end: int
    """The line after the section's last line."""
    name: str
    """The section's own name, without dots."""


def find_sections(text: str, path: str) -> list[Section]:
    """Return the sections of a text in order, outer ones first; only the path's suffix is used.

    >>> text = "jobs:\\n  build:\\n    steps:\\n    - name: Run tests\\n      run: make\\n"
    >>> [section.name for section in find_sections(text, "a.yml")]
    ['jobs', 'build', 'Run tests']
    """
    lowered = path.lower()
    if lowered.endswith(_YAML):
        return _sections_of_yaml(text.split("\n"))
    if lowered.endswith(_SECTIONED):
        return _sections_of_headers(text.split("\n"))
    return []


def _sections_of_headers(lines: list[str]) -> list[Section]:
    """Return the parts below the lines of the form ``[section]``."""
    headers: list[tuple[int, str]] = []
    for number, line in enumerate(lines):
        match = _HEADER.match(line)
        if match is not None:
            headers.append((number, match[1]))
    sections = []
    for (start, name), (end, _) in pairwise([*headers, (len(lines), "")]):
        sections.append(Section(start, _last_written(lines, start, end), _plain_name(name)))
    return sections


class _OpenSection(NamedTuple):
    """A section of YAML whose end is not known yet."""

    start: int
    indent: int
    name: str
    is_item: bool


def _sections_of_yaml(lines: list[str]) -> list[Section]:
    """Return the sections of YAML, by the indentation of its lines."""
    sections: list[Section] = []
    open_sections: list[_OpenSection] = []
    text_indent = -1
    """Indentation of the key whose text the lines are; -1 for none."""

    def close(indent: int, number: int, *, at_item: bool = False) -> None:
        while open_sections:
            section = open_sections[-1]
            # The items of a list may be as far to the left as the key that has them.
            has_line = at_item and not section.is_item and section.indent == indent
            if section.indent < indent or has_line:
                break
            open_sections.pop()
            end = _last_written(lines, section.start, number)
            if section.is_item or end - section.start > 1:
                sections.append(Section(section.start, end, section.name))

    for number, line in enumerate(lines):
        bare = line.strip()
        if not bare or bare.startswith("#"):
            continue
        indent = len(line) - len(line.lstrip(" "))
        if text_indent >= 0:
            if indent > text_indent:
                continue
            text_indent = -1
        if bare in ("---", "..."):
            close(0, number)
            continue
        match = _KEY.match(line.rstrip())
        close(indent, number, at_item=bare.startswith("- ") or bare == "-")
        if match is None:
            continue
        value = match["value"] or ""
        if _BLOCK_TEXT.match(value):
            text_indent = indent
        name = ""
        if match["item"]:
            name = _plain_name(value) if match["key"].strip() == "name" else ""
        elif not value or value.startswith(("#", "&", "!")) or text_indent >= 0:
            levels = sum(not section.is_item for section in open_sections)
            in_item = len(open_sections) > levels
            name = match["key"] if levels < MAX_LEVELS and not in_item else ""
        if name:
            section = _OpenSection(number, indent, _plain_name(name), bool(match["item"]))
            open_sections.append(section)
    close(0, len(lines))
    return sorted(sections, key=lambda section: (section.start, -section.end))


def _last_written(lines: list[str], start: int, end: int) -> int:
    """Return the line after the last line that is not blank."""
    while end > start + 1 and not lines[end - 1].strip():
        end -= 1
    return end


def _plain_name(written: str) -> str:
    """Return a name without quotes, comments and dots; dots separate the names of sections."""
    bare = written.partition(" #")[0].strip(" \t\"'").replace(".", " ")
    return " ".join(bare.split())[:_MAX_NAME]
