"""Find issues that a text mentions, and how: by a closing keyword, as an issue, or by number only.

This module also reads a report's own id.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import StrEnum
from typing import Final

from tosloc.core.patterns import lazy_pattern
from tosloc.core.reports import BugReport
from tosloc.reports.trackers import TRACKERS


class Mention(StrEnum):
    """The way in which a text mentions an issue; the surest kinds come first."""

    CLOSES = "closing keyword"
    NAMES = "issue named"
    NUMBER = "number in the first line"
    BODY = "number further down"
    REFERRED = "referred to"
    """The text refers to the issue, but is not about it. ``find_mentions`` leaves it out."""


_KINDS: Final = tuple(Mention)
MAX_TEXT_LENGTH: Final = 20_000
"""Largest number of characters of a text that are read.

Longer texts list the contents of a release or a merge.
"""
_CONTEXT_LENGTH: Final = 60
"""Number of characters before a reference that are read."""
_MIN_BARE_DIGITS: Final = 4
"""Smallest number of digits of a bare number that can be an issue."""
_MIN_BARE_DIGITS_IN_LIST: Final = 5
"""The same limit within a list that begins with a number, instead of a word such as issue."""

_REFERENCE: Final = lazy_pattern(
    r"""(?ix)
      (?:\[\#?\d{1,9}\]\()?  # a link in Markdown, whose address says which project is meant
      (?:"""
    + "|".join(dict.fromkeys(tracker.link for tracker in TRACKERS if tracker.link))
    + r""")
    | (?<![\w./-])(?P<other>[\w.-]{1,100}/[\w.-]{1,100})\#(?P<elsewhere>\d{1,9})\b
    # not a frame of a debugger's stack
    | (?<![\w&/])(?:\#|gh-)(?P<hash>\d{1,9})\b(?![/-]\w|[ \t]{1,3}0x)
    | \b(?:issue|bug|bugzilla|bz|defect|ticket|pr)s?\b(?:[ ](?:id|no|number|report)\b)?
      [ \t]{0,2}[:=.\#-]?[ \t]{0,2}\#?(?P<named>\d{1,9})\b(?![.]\d|/)
    | (?<![\w-])(?P<jira>(?-i:[A-Z][A-Z0-9_]{0,30}-[1-9]\d{0,8}))\b
    | (?P<bare>(?<![\w.\#-])\d{3,9}\b(?![.]\d|/))
    """
)
_ID_GROUPS: Final = tuple(
    name for name in _REFERENCE.groupindex if name not in ("project", "other", "page", "comment")
)
_CLOSING: Final = lazy_pattern(
    r"""(?ix)
      (?:^|(?<=[^\w-]))
      (?: clos(?:e[sd]?|ing) | fix(?:e[sd]|ing)? | resolv(?:e[sd]?|ing)
        | (?:bug|hot)fix(?:es)?(?:[ ]for)? )
      (?:[ ]for)?[\s:(\[]{1,4}
      (?:(?:the|this|our)[ ])?(?:(?:github|gitlab|jira|reported)[ ])?
      (?:issues?|bugs?|tickets?|defects?|bugzilla|bz)?
      [\s:(\[.-]{0,3}\Z"""
)
_REFERS: Final = lazy_pattern(
    r"""(?ix)\b(?: see(?:[ ]also)? | ref(?:s|erences?)? | relat(?:ed|es|ing)(?:[ ]to)?
      | similar(?:[ ]to)? | part[ ]of | follow(?:s|ing)?[- ]?up(?:[ ](?:to|on|of|for))? | since
      | introduced[ ](?:in|by|with) | caused[ ]by | like | per | after | before
      | revert(?:s|ed|ing)? | due[ ]to | work(?:around)?[ ](?:on|for|towards) | supersedes
      | (?:pull|merge)[ ]requests? | (?:motivated|inspired|prompted)[ ]by
      | look(?:ing)?[ ](?:at|into) | investigating | debugging | tests?(?:[ ]cases?)?[ ]for
      | from | in | on )
      \b[\s:.(\[]{0,4}(?:(?:the|github)[ ])?(?:issues?|bugs?|tickets?)?[\s:(\[]{0,3}\Z"""
)
# The white space at its beginning starts once only, so that matching takes linear time.
_CONTINUES_LIST: Final = lazy_pattern(r"(?i)(?<!\s)\s*(?:[,;&+/]|\band\b|\bor\b|,\s*and\b)\s*\#?\Z")
_LEADS: Final = lazy_pattern(r"[\W_]*(?:\w{1,12}\b[^\w(]{1,3})?\Z")
"""Text that may come before a reference at the beginning of the first line.

It is empty, or one word such as fix or a component's name.
"""

_ID_NUMBER: Final = r"[1-9]\d{0,8}"
_TRACKER_ID: Final = r"[A-Z][A-Z0-9_]{0,30}-[1-9]\d{0,8}"
_OWN_ID: Final = lazy_pattern(rf"(?:(?i:\#|gh-)?(?P<number>{_ID_NUMBER}))|(?P<issue>{_TRACKER_ID})")
"""The id that a tracker gave to a report."""
_TITLE_WITH_ID: Final = lazy_pattern(
    rf"""(?x)
      \A[\W_]{{0,5}}(?i:\#|gh-|(?:bug|issue|ticket)[ ]{{1,2}}\#?)(?P<number>{_ID_NUMBER})\b
    | \A\W{{0,5}}(?P<issue>{_TRACKER_ID})\b
    | [ ]·[ ]Issue[ ]\#(?P<page>{_ID_NUMBER})\b
    """
)
"""A report's own id in its title: "#12: It fails", "Bug 12 - It fails", "It fails · Issue #12"."""


def find_mentions(
    text: str, ids: Collection[str], projects: Collection[str] | None, *, bare: bool = False
) -> dict[str, Mention]:
    """Return id -> surest kind of mention, for the issues in ``ids`` that a text mentions.

    The text is a commit message, or another text with a title. ``projects`` are OWNER/NAME in lower
    case: references to issues of other projects are skipped; None allows all projects. With
    ``bare``, as for Bugzilla, bare numbers at the beginning also count.

    >>> mentions = find_mentions("Fix #3, #4 and bug 5 (#6)\\n\\nsee #7, #8", set("345678"), ())
    >>> [(number, str(kind)) for number, kind in mentions.items() if number in "56"]
    [('5', 'closing keyword'), ('6', 'number in the first line')]
    """
    text = text[:MAX_TEXT_LENGTH].lstrip()
    first_line_length = len(text.partition("\n")[0])
    mentions: dict[str, Mention] = {}
    previous_end = 0
    kind: Mention | None = None
    began_with_word = False
    for match in _REFERENCE.finditer(text):
        begin = match.start()
        if kind and _CONTINUES_LIST.fullmatch(text[previous_end:begin]):
            # The references of a list have the kind of its first one.
            is_short = match["bare"] and len(match["bare"]) < _MIN_BARE_DIGITS_IN_LIST
            if is_short and not began_with_word:
                kind = None
        else:
            before = text[max(0, begin - _CONTEXT_LENGTH) : begin]
            kind = _kind(match, before, begin < first_line_length, bare)
            began_with_word = match["named"] is not None
        previous_end = match.end()
        number = _issue_id(match, projects)
        if kind and kind != Mention.REFERRED and number in ids:
            mentions[number] = min(kind, mentions.get(number, kind), key=_KINDS.index)
    return mentions


def own_id(report: BugReport) -> str:
    """Return the number or id, such as PROJ-7, that a tracker gave to a report; "" if none.

    >>> [own_id(BugReport(name, "It fails", "", None)) for name in ("12", "#12", "PROJ-7", "bug")]
    ['12', '12', 'PROJ-7', '']
    >>> titles = ("#12: It fails", "It fails · Issue #12 · a/b", "404 for /a", "It fails like #12")
    >>> [own_id(BugReport("report", title, "", None)) for title in titles]
    ['12', '12', '', '']
    """
    match = _OWN_ID.fullmatch(report.id) or _TITLE_WITH_ID.search(report.summary)
    if match is None:
        return ""
    return next(group for group in match.groups() if group)


def _issue_id(match: re.Match[str], projects: Collection[str] | None) -> str:
    """Return the id of the issue that a reference means; "" for an issue of another project."""
    project = (match["project"] or match["other"] or "").lower()
    page = (match["page"] or "issues").lower()
    if project and page != "issues":
        return ""
    if project and projects is not None and project not in projects:
        return ""
    return next(match[group].upper() for group in _ID_GROUPS if match[group])


def _kind(match: re.Match[str], before: str, in_first_line: bool, bare: bool) -> Mention | None:
    """Return the kind of a mention, by the text before it; None for a number that is no issue."""
    is_long_enough = not match["bare"] or len(match["bare"]) >= _MIN_BARE_DIGITS
    if _CLOSING.search(before):
        return Mention.CLOSES if is_long_enough else None
    if match["bare"]:
        leads = in_first_line and not before.strip(" [(#")
        return Mention.NAMES if bare and leads and is_long_enough else None
    # In Bugzilla PR is a problem report, elsewhere a pull request.
    is_pull = match["named"] and not bare and match[0][:2].lower() == "pr"
    if is_pull or match["comment"] or _REFERS.search(before):
        return Mention.REFERRED
    if in_first_line:
        names_issue = match["named"] or match["jira"] or _LEADS.fullmatch(before)
        return Mention.NAMES if names_issue else Mention.NUMBER
    leads_line = before.rstrip(" \t[(-*").endswith("\n")
    return Mention.NAMES if leads_line and not match["hash"] else Mention.BODY
