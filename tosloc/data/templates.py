"""Reports that are a form which nobody has filled in: what trackers put into a new issue, and nothing beside it."""

from __future__ import annotations

import re
from typing import Final

_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FORM: Final = re.compile(
    r"""(?ix)
      \W*                                                                   # blank, a rule, an empty list item
    | \#{1,6}\s.* | (?:=+|-{2,})                                              # a heading
    | [-*+]?\s* (?:\*\*|__) [^*_]+ (?:\*\*|__) \s*:?                          # **Describe the bug**
    | [-*+]\s+\[[\sx]?\]\s.*                                                  # a box to tick
    | [-*+]?\s* [^:]{1,40} : \s* (?:\[?e\.?g\.?.*)?                            # - OS: [e.g. iOS]
    | [-*+]?\s* [\w\s]{1,20} \[e\.?g\.?[^\]]*\] \s*                           # - Browser [e.g. chrome]
    | _?no\ response_? | n/?a | none | tbd
    | ```.*
    """
)
"""Lines that a form has before anybody has written into it."""
_SENTENCES: Final = re.compile(
    r"""(?ix)
      a\ clear\ and\ concise\ description\ of\ .*
    | steps\ to\ reproduce\ .*
    | \d\.\s* (?:go\ to|click\ on|scroll\ down\ to)\ ['"].*
    | \d\.\s* see\ error
    | if\ applicable,?\ add\ .*
    | add\ any\ other\ context\ .*
    | (?:please\ )?(?:describe|explain|include|provide|paste|fill\ in|tell\ us|enter|replace\ this)\b.*
    | (?:what\ (?:happened|did\ you\ expect.*|version.*|is\ the\ (?:bug|issue|problem)))\ *\?*
    """
)
"""Sentences of the forms that GitHub and GitLab offer, and of those that ask."""
_TITLES: Final = re.compile(
    r"""(?ix) \W* (?: (?:new\ )?(?:bug|issue|problem|defect)(?:[-_ ]?(?:report|title|summary|template|description))?
      | title | summary | description | untitled | (?:short|brief)\ (?:summary|description|title)(?:\ .*)?
      | (?:describe|description\ of|summary\ of|about)\ (?:the|your)\ (?:bug|issue|problem)
      | steps\ to\ reproduce | expected\ behaviou?r | what\ happened ) \W*"""
)
"""What stands for a summary in a form."""


def is_unfilled(summary: str, description: str) -> bool:
    """Whether a report holds only a form: its comments, headings, boxes and examples.

    >>> form = "**Describe the bug**\\nA clear and concise description of what the bug is.\\n\\n- OS: [e.g. iOS]"
    >>> is_unfilled("Bug report", form), is_unfilled("Crash on save", form), is_unfilled("Bug", form + "\\nIt hangs")
    (True, False, False)
    """
    title = _COMMENT.sub("", summary).strip()
    if title and not _TITLES.fullmatch(title):
        return False
    return all(map(_is_form, _COMMENT.sub("", description).splitlines()))


def _is_form(line: str) -> bool:
    line = line.strip()
    return _FORM.fullmatch(line) is not None or _SENTENCES.fullmatch(line.strip("*_ ")) is not None
