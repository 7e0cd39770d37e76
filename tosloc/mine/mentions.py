"""Issues that a text names, and how: closed by a keyword, called an issue or a bug, or only by their number."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from tosloc.core.errors import ConfigError
from tosloc.reports.issues import TRACKERS

CLOSES: Final = "closing keyword"
NAMES: Final = "issue named"
NUMBER: Final = "number in the first line"
BODY: Final = "number further down"
_ORDER: Final = (CLOSES, NAMES, NUMBER, BODY)
_REFERRED: Final = "referred to"  # of issues that a text is not about

LONGEST_TEXT: Final = 20_000
"""Characters of a text that are read: longer ones are lists of what a release or a merge holds."""

_REFERENCE: Final = re.compile(
    r"""(?ix)
      (?:\[\#?\d{1,9}\]\()?  # a link in Markdown, whose address says which project is meant
      (?:"""
    + "|".join(dict.fromkeys(tracker.link for tracker in TRACKERS if tracker.link))
    + r""")
    | (?<![\w./-])(?P<other>[\w.-]{1,100}/[\w.-]{1,100})\#(?P<elsewhere>\d{1,9})\b
    | (?<![\w&/])(?:\#|gh-)(?P<hash>\d{1,9})\b(?![/-]\w|[ \t]{1,3}0x)  # no frame of a debugger's stack
    | \b(?:issue|bug|bugzilla|bz|defect|ticket|pr)s?\b(?:[ ](?:id|no|number|report)\b)?[ \t]{0,2}[:=.\#-]?[ \t]{0,2}\#?
      (?P<named>\d{1,9})\b(?![.]\d|/)
    | (?<![\w-])(?P<jira>(?-i:[A-Z][A-Z0-9_]{0,30}-[1-9]\d{0,8}))\b
    | (?P<bare>(?<![\w.\#-])\d{3,9}\b(?![.]\d|/))
    """
)
_IDS: Final = tuple(
    name for name in _REFERENCE.groupindex if name not in ("project", "other", "page", "comment")
)
_CLOSING: Final = re.compile(
    r"""(?ix)
      (?:^|(?<=[^\w-]))(?:clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|(?:bug|hot)fix(?:es)?(?:[ ]for)?)
      (?:[ ]for)?[\s:(\[]{1,4}
      (?:(?:the|this|our)[ ])?(?:(?:github|gitlab|jira|reported)[ ])?(?:issues?|bugs?|tickets?|defects?|bugzilla|bz)?
      [\s:(\[.-]{0,3}\Z"""
)
_REFERS: Final = re.compile(
    r"""(?ix)\b(?: see(?:[ ]also)? | ref(?:s|erences?)? | relat(?:ed|es|ing)(?:[ ]to)? | similar(?:[ ]to)? | part[ ]of
      | follow(?:s|ing)?[- ]?up(?:[ ](?:to|on|of|for))? | since | introduced[ ](?:in|by|with) | caused[ ]by | like | per
      | after | before | revert(?:s|ed|ing)? | due[ ]to | work(?:around)?[ ](?:on|for|towards) | supersedes
      | (?:pull|merge)[ ]requests? | (?:motivated|inspired|prompted)[ ]by | look(?:ing)?[ ](?:at|into)
      | investigating | debugging | tests?(?:[ ]cases?)?[ ]for | from | in | on )
      \b[\s:.(\[]{0,4}(?:(?:the|github)[ ])?(?:issues?|bugs?|tickets?)?[\s:(\[]{0,3}\Z"""
)
_JOINED: Final = re.compile(
    r"(?i)(?<!\s)\s*(?:[,;&+/]|\band\b|\bor\b|,\s*and\b)\s*\#?\Z"
)  # blanks are begun with once
_LEADS: Final = re.compile(r"[\W_]*(?:\w{1,12}\b[^\w(]{1,3})?\Z")
"""Before what leads a first line: nothing, or one word such as fix or a component's name."""


def mentions(
    text: str, known: Collection[str], projects: Collection[str], *, bare: bool = False
) -> dict[str, str]:
    """Ids among ``known`` that a commit message, or another text with a title, names; id -> how, the surest way.

    ``projects`` are OWNER/NAME in lower case: what names another project's issue is not taken. With ``bare``, as for
    Bugzilla, numbers that stand alone at the beginning count.

    >>> mentions("Fix #3, #4 and bug 5 (#6)\\n\\nsee #7, #8", set("345678"), ())
    {'3': 'closing keyword', '4': 'closing keyword', '5': 'closing keyword', '6': 'number in the first line'}
    """
    text = text[:LONGEST_TEXT].lstrip()
    first_line = text.find("\n") % (len(text) + 1)
    found: dict[str, str] = {}
    end, how, was_named = 0, "", False
    for match in _REFERENCE.finditer(text):
        number = _number(match, projects)
        before = text[end if how else max(0, match.start() - 60) : match.start()]
        if not how or not _JOINED.fullmatch(before):
            how = _how(
                match,
                text[max(0, match.start() - 60) : match.start()],
                match.start() < first_line,
                bare,
            )
            was_named = match["named"] is not None
        elif match["bare"] and not (was_named or len(match["bare"]) > 4):
            how = ""
        end = match.end()
        if how in _ORDER and number in known:
            found[number] = min(how, found.get(number, how), key=_ORDER.index)
    return found


def _number(match: re.Match[str], projects: Collection[str]) -> str:
    """The id that a reference means; "" for one of another project."""
    project, page = (
        (match["project"] or match["other"] or "").lower(),
        (match["page"] or "issues").lower(),
    )
    if project and (project not in projects or page != "issues"):
        return ""
    return next(match[kind].upper() for kind in _IDS if match[kind])


def _how(match: re.Match[str], before: str, in_first_line: bool, bare: bool) -> str:
    """How a reference names its issue, by what stands before it; "" when it does not say that this is about it."""
    if _CLOSING.search(before):
        return CLOSES if not match["bare"] or len(match["bare"]) >= 4 else ""
    if match["bare"]:
        return (
            NAMES
            if bare and in_first_line and not before.strip(" [(#") and len(match["bare"]) >= 4
            else ""
        )
    is_pull = (
        match["named"] and not bare and match[0][:2].lower() == "pr"
    )  # a Bugzilla's PR is a problem report
    if is_pull or match["comment"] or _REFERS.search(before):
        return _REFERRED
    if in_first_line:
        return NAMES if match["named"] or match["jira"] or _LEADS.fullmatch(before) else NUMBER
    leads = before.rstrip(" \t[(-*").endswith("\n")
    return NAMES if leads and not match["hash"] else BODY


def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern of a project's own, whose first group is an issue's id. Raises ConfigError where it is none."""
    try:
        made = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ConfigError(
            f"{pattern!r} is no regular expression: {error}", about="pattern"
        ) from error
    if not made.groups:
        raise ConfigError(
            f"{pattern!r} has no group",
            hint=r"put the issue's id in a group, as in 'Bug:(\d+)'",
            about="pattern",
        )
    return made
