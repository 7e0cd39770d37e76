"""Issues that a text names, and how: closed by a keyword, called an issue or a bug, or only by their number."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from tosloc.errors import ConfigError
from tosloc.reports.issues import TRACKERS

CLOSES: Final = "closing keyword"
NAMES: Final = "issue named"
NUMBER: Final = "number in the first line"
BODY: Final = "number further down"
_REFERRED: Final = "referred to"
"""Of issues that a text is not about."""
PATTERN: Final = "pattern"

LONGEST_TEXT: Final = 20_000
"""Characters of a text that are read: longer ones are lists of what a release or a merge holds."""

_SEPARATORS: Final = r"\s*(?:,|;|&|\+|/|\band\b|\bor\b|,\s*and\b)\s*"
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
_CLOSING: Final = re.compile(
    r"""(?ix)
      (?:^|(?<=[^\w-]))(?:clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|(?:bug|hot)fix(?:es)?(?:[ ]for)?)
      (?:[ ]for)?[\s:(\[]{1,4}
      (?:(?:the|this|our)[ ])?(?:(?:github|gitlab|jira|reported)[ ])?(?:issues?|bugs?|tickets?|defects?|bugzilla|bz)?
      [\s:(\[.-]{0,3}\Z"""
)
_REFERS: Final = re.compile(
    r"""(?ix)\b(?: see(?:[ ]also)? | refs? | references? | referenc(?:ed|ing) | relat(?:ed|es|ing)(?:[ ]to)? | cf | like
      | unlike | similar(?:[ ]to)? | part[ ]of | follow(?:s|ing)?[- ]?up(?:[ ](?:to|on|of|for))? | follows | since
      | introduced[ ](?:in|by|with) | caused[ ]by | regression[ ](?:from|of|in) | after | before | revert(?:s|ed|ing)?
      | per | broken?[ ](?:by|in) | because[ ]of | due[ ]to | depends[ ]on | blocked(?:[ ]by)? | towards?
      | progress[ ]on | prepar\w+[ ]for | work(?:around)?[ ](?:on|for|towards) | not | discuss(?:ed|ion)[ ]in
      | comment[ ]in | pull | (?:pull|merge)[ ]requests? | frame | superse(?:de|ed)s
      | appl(?:y|ies)[ ]to | helps?(?:[ ]with)? | e[.]?g[.]? | (?:motivated|inspired|prompted)[ ]by
      | look(?:ing)?[ ](?:at|into) | investigating | debugging | reviewing | replaces | alternative[ ]to
      | instead[ ]of | from | in | on )
      \b[\s:.(\[]{0,4}(?:(?:the|github)[ ])?(?:issues?|bugs?|tickets?)?[\s:(\[]{0,3}\Z"""
)
_LINKED_WORDS: Final = re.compile(r"\[(?!\#?\d+\])[^\[\]\n]{1,50}\]\(\Z")
"""Before an address: words that are linked in Markdown, in passing, with what stands before them."""
_TESTED: Final = re.compile(r"(?i)\btests?(?:[ ]cases?)?[ ]for[ ](?:(?:issue|bug)[ ])?\Z")
_MERGE_OF: Final = re.compile(r"Merge (?P<project>[\w.-]{1,100}/[\w.-]{1,100})#\d")
"""A first line that says whose pull request was merged, as where several projects share a history."""
_SUBTREE: Final = re.compile(r"(?m)\ASquashed '[^'\n]*' (?:changes|content) from\b|^git-subtree-(?:dir|split): ")
"""What git-subtree writes: the log of another project."""
_JOINED: Final = re.compile(rf"(?i)(?<!\s){_SEPARATORS}\#?\Z")  # blanks are begun with once
_LEADS: Final = re.compile(r"[\W_]*(?:\w{1,12}\b[^\w(]{1,3})?\Z")
"""Before what leads a first line: nothing, or one word such as fix or a component's name."""


def mentions(text: str, known: Collection[str], projects: Collection[str], *, bare: bool = False) -> dict[str, str]:
    """Ids among ``known`` that a commit message, or another text with a title, names; id -> how, the surest way.

    ``projects`` are OWNER/NAME in lower case: what names another project's issue is not taken. With ``bare``, as for
    Bugzilla, numbers that stand alone at the beginning count.

    >>> mentions("Fix #3, #4 and bug 5 (#6)\\n\\nsee #7, #8", set("345678"), ())
    {'3': 'closing keyword', '4': 'closing keyword', '5': 'closing keyword', '6': 'number in the first line'}
    """
    text = text[:LONGEST_TEXT].lstrip()
    if _SUBTREE.search(text):
        return {}
    merged = _MERGE_OF.match(text)
    of_another = bool(projects) and merged is not None and merged["project"].lower() not in projects
    first_line = text.find("\n") % (len(text) + 1)
    found: dict[str, str] = {}
    end, how, was_named = 0, "", False
    for match in _REFERENCE.finditer(text):
        number = _number(match, projects, of_another)
        before = text[end if how else max(0, match.start() - 60) : match.start()]
        joined = bool(how) and _JOINED.fullmatch(before) is not None
        if not joined:
            before = text[max(0, match.start() - 60) : match.start()]
            how = _how(match, before, match.start() < first_line, bare)
            was_named = match["named"] is not None
        elif match["bare"] and not (was_named or len(match["bare"]) > 4):
            how = ""
        end = match.end()
        if how in _ORDER and number in known and (number not in found or _ORDER[how] < _ORDER[found[number]]):
            found[number] = how
    return found


_ORDER: Final = {kind: place for place, kind in enumerate((CLOSES, NAMES, NUMBER, BODY))}


def _number(match: re.Match[str], projects: Collection[str], of_another: bool) -> str:
    """The id that a reference means; "" for one of another project, as plain numbers are in what comes from there."""
    if match["url"]:
        return match["url"] if match["project"].lower() in projects and match["page"].lower() == "issues" else ""
    if match["elsewhere"]:
        return match["elsewhere"] if match["other"].lower() in projects else ""
    if match["jira"] or match["browse"]:
        return (match["jira"] or match["browse"]).upper()
    if of_another and not match["tracker"]:
        return ""
    return next(group for group in (match["tracker"], match["hash"], match["named"], match["bare"]) if group)


def _how(match: re.Match[str], before: str, in_first_line: bool, bare: bool) -> str:
    """How a reference names its issue, by what stands before it; "" when it does not say that this is about it."""
    words = _LINKED_WORDS.search(before)
    if _CLOSING.search(before[: words.start()] if words else before):
        return CLOSES if not match["bare"] or len(match["bare"]) >= 4 else ""
    if match["bare"]:
        return NAMES if bare and in_first_line and not before.strip(" [(#") and len(match["bare"]) >= 4 else ""
    is_pull = match["named"] and not bare and match[0][:2].lower() == "pr"  # a Bugzilla's PR is a problem report
    if is_pull or words or match["comment"] or _REFERS.search(before) or (in_first_line and _TESTED.search(before)):
        return _REFERRED
    if in_first_line:
        return NAMES if match["named"] or match["jira"] or _LEADS.fullmatch(before) else NUMBER
    leads = before.rstrip(" \t[(-*").endswith("\n")
    return NAMES if leads and not match["hash"] else BODY


def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern of a project's own whose first group, or the group called ``id``, is an issue's id.

    Raises ConfigError when it is none, or has no group.
    """
    try:
        made = re.compile(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ConfigError(f"--pattern {pattern!r} is no regular expression: {error}") from error
    if not made.groups:
        raise ConfigError(f"--pattern {pattern!r} has no group; put what is the id in one, as in 'Bug:(\\d+)'")
    return made


def of_pattern(pattern: re.Pattern[str], text: str, known: Collection[str]) -> list[str]:
    """Ids among ``known`` that a pattern of a project's own finds in a text, each once."""
    group: int | str = "id" if "id" in pattern.groupindex else 1
    found = ((match[group] or "").strip().lstrip("#") for match in pattern.finditer(text[:LONGEST_TEXT]))
    return [number for number in dict.fromkeys(found) if number in known]
