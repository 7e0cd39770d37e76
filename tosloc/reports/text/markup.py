"""Handle markup of reports: comments, pictures, tags, fences, quotation marks, rules, addresses.

Reports are Markdown, or text that has lost its Markdown: fences, marks of headings and backticks.
"""

from __future__ import annotations

import re
from typing import Final

COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
"""A comment in HTML; if it has no end, it continues to the end of the text."""
FENCE: Final = re.compile(r"```+|^~~~~+", re.MULTILINE)
"""The marks before and after a block of code."""
FENCE_TAG: Final = re.compile(r"[ \t]{0,9}([\w+#.\-]{0,30})[ \t]{0,9}\n")
"""The language of a block, directly after the fence that opens it."""
_CODE_OR_MARKUP: Final = re.compile(
    r"""(?ixms)
      (?P<code> (?:```+|^~~~~+) .*? (?:```+|^~~~~+|\Z) | `[^`\n]{1,300}` )
    | <!-- .*? (?:-->|\Z)
    | !\[ [^\]\n]{0,300} \] (?: \( [^)\n]{0,500} \) | \[ [^\]\n]{0,100} \] )?
    | ^\ {0,3} \[ [^\]\n]{1,100} \]: \ {1,9} \S{1,500} \.(?:png|jpe?g|gif|svg|webp|mp4|mov)\b
      [^\n]{0,100}
    | </? (?:a|abbr|b|blockquote|br|caption|center|cite|code|dd|del|details|div|dl|dt|em|figure
            |figcaption|font|h[1-6]|hr|i|img|ins|kbd|li|ol|p|picture|pre|q|s|small|source|span
            |strike|strong|sub|summary|sup|table|tbody|td|tfoot|th|thead|tr|tt|u|ul|video)
      (?: \s [^<>]{0,500} | /)? >"""
)
"""Code, which keeps its markup, or markup that readers of the page do not see as text.

The latter are comments, pictures with their captions and addresses, and HTML tags that the pages of
trackers render.
"""
_CODE_OR_PICTURE: Final = re.compile(
    r"""(?ixms)
      (?P<code> `[^`\n]{1,300}` )
    | [ \t]{0,9} (?P<picture>
        <!-- .*? (?:-->|\Z)
      | \[ !\[ [^\]\n]{0,300} \] \( [^)\n]{0,500} \) \] \( [^)\n]{0,500} \)
      | (?<!\w) !\[ [^\]\n]{0,300} \] (?: \( [^)\n]{0,500} \) | \[ [^\]\n]{0,100} \] )
      | <img \s [^<>]{0,500} > )"""
)
"""Code, or comments and pictures with the blanks before them.

A picture may be a link, as badges are. Macros of Rust, such as vec![0], are not pictures.
"""
NOT_BREAKS: Final = re.compile(r"[^\n]")
QUOTE: Final = re.compile(r"\s{0,3}(?:>\s?){1,9}")
"""Marks before a quoted line."""
DASHES: Final = re.compile(r"[\W_]*")
"""A line without letters and digits, such as a rule."""
_ADDRESS: Final = re.compile(
    r"""(?x)(?:https?://|www\.) (?:
      [^\s<>)"'`]+? /(?:blob|tree|raw|blame)/ [^\s<>)"'`/]*+ (?:/(?P<file>[^\s<>)"'`]*+))? |
        [^\s<>)"'`]+ )"""
)


def without_markup(source: str) -> str:
    """Return a text with comments, pictures and HTML tags replaced by blanks, except in code.

    Length and line breaks stay the same, so that offsets keep their meaning. Text between two tags
    stays as well.

    >>> without_markup('It <a href="x" target="_blank">hangs</a>: `<a>` ![cart](a.png)').split()
    ['It', 'hangs', ':', '`<a>`']
    """
    return _CODE_OR_MARKUP.sub(_blank_markup, source)


def _blank_markup(match: re.Match[str]) -> str:
    """Return code unchanged, and other markup as blanks, but keep the address of a link."""
    if match["code"]:
        return match[0]
    blanks = NOT_BREAKS.sub(" ", match[0])
    link = _ADDRESS.search(match[0]) if match[0][:2].lower() == "<a" else None
    if link is None:
        return blanks
    return blanks[: link.start()] + link[0] + blanks[link.end() :]


def without_pictures(source: str) -> str:
    """Return a text without its comments and pictures, except in code.

    >>> without_pictures("Crash ![shot](a.png) of vec![0](1) and `![]()`<!-- see above -->")
    'Crash of vec![0](1) and `![]()`'
    """
    return _CODE_OR_PICTURE.sub(lambda match: match["code"] or "", source)


def without_addresses(source: str) -> str:
    """Return a text without addresses of pages and pictures, but with the paths of linked files.

    >>> without_addresses("see https://x.org/a/b and https://github.com/a/b/blob/12ab/src/c.py#L7")
    'see   and  src/c.py#L7'
    """
    return _ADDRESS.sub(r" \g<file>", source)
