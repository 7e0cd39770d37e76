"""Read reports that are written as Markdown: a title, followed by a description."""

from __future__ import annotations

import re
from datetime import tzinfo
from typing import Final

from tosloc.core.inputs import time_of
from tosloc.core.reports import BugReport
from tosloc.reports.text.markup import without_pictures

_FRONT_MATTER: Final = re.compile(
    r"\A---[ \t]*\n(?=[\w-]+[ \t]*:)(.*?\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL
)
_HEADING: Final = re.compile(r"\A\s*\#{1,6}[ \t]+|[ \t]\#+\s*\Z")
"""Marks around a heading. Marks after it count only after a blank, because of names such as C#."""
_UNDERLINE: Final = re.compile(r"\A(?:=+|-{2,})[ \t]*(?:\n|\Z)")
_COMMENTS: Final = re.compile(r"\A(?:(?><!--.*?-->)\s*+)++", re.DOTALL)


def parse_markdown(text: str, name: str, zone: tzinfo) -> BugReport:
    """Return the report in a text or in Markdown.

    The first line that contains more than pictures and comments is the summary; the rest is the
    description.
    """
    facts: dict[str, str] = {}
    if front := _FRONT_MATTER.match(text):
        text = text[front.end() :]
        pairs = (line.partition(":") for line in front[1].splitlines())
        facts = {key.strip().casefold(): value.strip().strip("\"'") for key, _, value in pairs}
    summary = facts.get("summary") or facts.get("title") or ""
    text = text.strip("\ufeff \t\n")
    if not summary:
        # Comments of a form tell people how to fill it in.
        summary, text = _split_summary(_COMMENTS.sub("", text))
    opened = time_of(facts["opened"], zone, name) if facts.get("opened") else None
    return BugReport(facts.get("id", ""), summary.strip(), text.strip(), opened)


def _split_summary(text: str) -> tuple[str, str]:
    """Return the summary of a Markdown text, and the rest; "" if the summary is only pictures."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        summary = without_pictures(_HEADING.sub("", line)).strip()
        if summary:
            below = _UNDERLINE.sub("", "\n".join(lines[number + 1 :]))
            return summary, "\n".join([*lines[:number], below])
    return "", text
