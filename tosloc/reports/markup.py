"""Markup of reports: comments, pictures, fences, quotation marks, rules and addresses.

Reports come as Markdown, and as text that was Markdown once: without fences, marks of headings and
back-ticks.
"""

from __future__ import annotations

import re
from typing import Final

COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
"""A comment in HTML; one that does not end goes on to the end of the text."""
PICTURE: Final = re.compile(
    r"!\[[^\]\n]{0,300}\](?:\([^)\n]{0,500}\))?|<(?:img|video|picture|source)\b[^<>\n]{0,500}>|</?(?:details|summary|br|p)\b[^<>\n]{0,100}>"
)
"""A picture in Markdown or HTML, with its caption, and tags that only fold or break text."""
FENCE: Final = re.compile(r"```+|^~~~~+", re.MULTILINE)
"""The marks before and after a block of code."""
FENCE_TAG: Final = re.compile(r"[ \t]{0,9}([\w+#.\-]{0,30})[ \t]{0,9}\n")
"""The language of a block, right after the fence that opens it."""
QUOTE: Final = re.compile(r"\s{0,3}(?:>\s?){1,9}")
"""The marks before a quoted line."""
DASHES: Final = re.compile(r"[\W_]*")
"""A line without letters and digits, such as a rule."""
_ADDRESS: Final = re.compile(
    r"""(?x)(?:https?://|www\.) (?:
      [^\s<>)"'`]+? /(?:blob|tree|raw|blame)/ [^\s<>)"'`/]*+ (?:/(?P<file>[^\s<>)"'`]*+))? |
        [^\s<>)"'`]+ )"""
)


def without_addresses(source: str) -> str:
    """Return a text without addresses of pages and pictures; paths of linked files stay.

    >>> without_addresses("see https://x.org/a/b and https://github.com/a/b/blob/12ab/src/c.py#L7")
    'see   and  src/c.py#L7'
    """
    return _ADDRESS.sub(r" \g<file>", source)
