"""Names under which people refer to a commit: numbers of requests and of issues."""

from __future__ import annotations

import re
from typing import Final

from tosloc.git.fixes import bug_ids

_DIGIT: Final = re.compile(r"[1-9]")
_PLAIN_MERGE: Final = re.compile(r"Merge pull request #([1-9]\d{0,6}) from [^\d#!]*\Z")
"""What GitHub writes into the first line of most merges, which has no other name."""
_MARKS: Final = ("#", "-", "bug", "bz", "defect", "fix", "issue", "ticket", "pr", "pull")
"""What a first line must have, one of them, that names a bug; in lower case."""
_IN_SUBJECT: Final = re.compile(
    r"(?i)(?<![\w&/])(?:\#|gh-|(?:pr|pull[ -]request|issue|ticket)s?[ :]{1,2}\#?)([1-9]\d{0,6})\b"
)
"""A number that the first line of a message names."""
_CLOSES: Final = re.compile(
    r"(?i)\b(?:fix(?:es|ed)?|close[sd]?|resolve[sd]?)\b:?[ ]{1,3}"
    r"(?:issue[ ]|bug[ ])?(?:[\w.-]{1,60}/[\w.-]{1,60})?(?:\#|gh-)([1-9]\d{0,6})\b"
)
"""A number that any line of a message closes."""
_CLOSED_LINK: Final = re.compile(
    r"(?i)\b(?:fix(?:es|ed)?|close[sd]?|resolve[sd]?)\b:?[ ]{1,3}https?://[^\s/]{1,100}/"
    r"[^\s\#?]{1,200}/(?:issues|pull)/([1-9]\d{0,6})\b"
)
"""A link to an issue that any line of a message closes."""
_MERGE_REQUEST: Final = re.compile(
    r"(?i)(?:see[ ]merge[ ]request[ ]\S{0,200}?|(?<!\w))!([1-9]\d{0,6})\b"
)
"""A merge request of GitLab, which is counted apart from issues."""
_MAX_BODY: Final = 20_000
"""Characters of a message that are read; longer ones list many commits."""


def change_names(message: str) -> tuple[str, ...]:
    """Return the names under which people refer to a commit, in order, each once.

    They are the numbers that its first line contains, and those that any line closes: "#123" for
    issues, pull requests and bugs, "!45" for merge requests of GitLab, "PROJ-7" for Jira's issues.

    >>> change_names("Merge pull request #391 from x/y\\n\\nFixes #12, see #13")
    ('#391', '#12')
    >>> change_names("PROJ-7: Escape names (#99)\\n\\nSee merge request group/project!45")
    ('PROJ-7', '#99', '!45')
    >>> change_names("Fix bug 56663: NPE\\n\\ncloses https://github.com/x/y/issues/8")
    ('#56663', '#8')
    """
    text = message[:_MAX_BODY]
    if not _DIGIT.search(text):
        return ()
    subject = text.strip().partition("\n")[0]
    names: dict[str, None] = {}
    merged = _PLAIN_MERGE.match(subject)
    if merged:
        names[f"#{merged[1]}"] = None
    elif _may_name_bug(subject):
        for name in bug_ids(subject):
            number = name.removeprefix("GH-")
            names[f"#{number}" if number.isdigit() else name] = None
        for match in _IN_SUBJECT.finditer(subject):
            names[f"#{match[1]}"] = None
    lowered = text.lower()
    if "fix" in lowered or "close" in lowered or "solve" in lowered:
        for match in _CLOSES.finditer(text):
            names[f"#{match[1]}"] = None
        for match in _CLOSED_LINK.finditer(text) if "://" in text else ():
            names[f"#{match[1]}"] = None
    if "!" in text:
        for match in _MERGE_REQUEST.finditer(text):
            names[f"!{match[1]}"] = None
    return tuple(names)


def _may_name_bug(subject: str) -> bool:
    """Return whether a first line may name a bug; this is faster than to look for the name."""
    if not _DIGIT.search(subject):
        return False
    lowered = subject.lower()
    return not lowered[0].isalpha() or any(mark in lowered for mark in _MARKS)
