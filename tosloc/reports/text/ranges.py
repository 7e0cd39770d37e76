"""Find ranges of commits or releases that a text blames: ``A..B``, or links to comparisons."""

from __future__ import annotations

import re
from typing import Final

from tosloc.core.patterns import lazy_pattern

_COMMIT: Final = "[0-9a-f]{7,40}"
_RELEASE: Final = r"(?:[A-Za-z][A-Za-z_]{0,30}[-_]?)?\d{1,5}(?:\.\d{1,8}){1,4}"
_RANGE: Final = lazy_pattern(
    rf"""(?x)
      https?://[\w.-]{{1,100}}/(?P<path>[\w.~/-]{{1,200}}?)(?:/-)?/compare/
        (?P<from>{_COMMIT}|{_RELEASE})\.\.\.?(?P<to>{_COMMIT}|{_RELEASE})(?![\w-]|\.\w)
    | (?<![\w./-])(?P<good>{_COMMIT})\.\.\.?(?P<bad>{_COMMIT})(?![\w-]|\.\w)"""
)
"""A comparison of GitHub, GitLab and Gitea, or a range as git writes it."""
_BEFORE: Final = 120
"""Number of characters before a range that are read."""
_BLAMES: Final = lazy_pattern(
    r"(?i)\b(?:regress|br[eo]ke?|introduc|caus|culprit|bisect|narrow|start(?:s|ed)\b|beg[aiu]n)"
    r"[^.!?\n]{0,80}(?:\n\s{0,9})?\Z"
)
"""Words of a sentence that accuses the range after them, or of a line that introduces it."""
_DENIES: Final = lazy_pattern(r"(?i)\b(?:not|never|cannot)\b|n['’]t\b")
_NUMBER: Final = lazy_pattern(r"\d{1,5}\.[\d.]{1,40}\Z")


def spell_out_ranges(text: str) -> str:
    """Return a text in which each blamed range is written as "between A and B".

    Something worked at the beginning of such a range, and fails at its end.

    >>> spell_out_ranges("It broke in https://github.com/x/y/compare/v1.2...v1.3")
    'It broke in between 1.2 and 1.3'
    >>> spell_out_ranges("It broke in 1abcdef..2abcdef")
    'It broke in between 1abcdef and 2abcdef'
    >>> spell_out_ranges("Updating 1abcdef..2abcdef")
    'Updating 1abcdef..2abcdef'
    """
    return _RANGE.sub(_in_words, text) if ".." in text else text


def _in_words(match: re.Match[str]) -> str:
    """Return a range as "between A and B" if the text before it blames it, otherwise unchanged."""
    before = match.string[max(0, match.start() - _BEFORE) : match.start()]
    blame = _BLAMES.search(before)
    if blame is None or _DENIES.search(before[max(0, blame.start() - 30) :]):
        return match[0]
    good = _name(match, match["from"] or match["good"])
    bad = _name(match, match["to"] or match["bad"])
    return f"between {good} and {bad}"


def _name(match: re.Match[str], end: str) -> str:
    """Return the end of a range as reports write it: 1.2 for v1.2, or x/y@1abcdef in a link."""
    number = _NUMBER.search(end)
    if number is not None:
        return number[0]
    path = match["path"]
    return f"{path}@{end}" if path and path.count("/") == 1 else end
