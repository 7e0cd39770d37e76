"""Find earlier changes that a report names: commits, pull requests, merge requests and issues."""

from __future__ import annotations

import re
from itertools import islice
from typing import Final, NamedTuple

from tosloc.core.patterns import lazy_pattern
from tosloc.reports.text.commit_roles import Role, phrase_around, read_role
from tosloc.reports.text.markup import COMMENT, NOT_BREAKS
from tosloc.reports.text.ranges import spell_out_ranges

MAX_NAMES: Final = 50
"""Largest number of changes that are read from a report, from its beginning."""
MAX_MATCHES: Final = 2_000
"""Largest number of matches that are examined in a long text, such as a log."""
MAX_UNCERTAIN: Final = 10
"""Largest number of numbers and words that may be ids of commits and are looked up."""
MIN_NUMBER: Final = 10
"""Smallest number after "#" that may name a change; smaller ones count steps and the like."""
MAX_FRAME_NUMBER: Final = 500
"""Largest number after "#" at the beginning of a line that may be that of a stack frame."""

_NUMBER: Final = r"[1-9]\d{0,6}"
_COMMIT: Final = "(?:[0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{7,12})"
"""A commit's id, or the part of it that people write; other lengths are addresses and the like."""
_COLOUR_LENGTHS: Final = (3, 6)
"""Numbers of digits of a colour in a style sheet: "#333;"."""
_STANDARDS: Final = (
    "UTF|UCS|SHA|MD|AES|ISO|IEC|IEEE|RFC|CVE|CWE|PEP|JSR|JEP|HTTP|TLS|SSL|CP|GPL|LGPL"
)
"""Names before a number that are not projects of a tracker: UTF-8, SHA-256, CVE-2020-1234."""
_NAMES: Final = lazy_pattern(
    rf"""(?x)
      https?://(?P<host>[\w.-]{{1,100}})/(?P<path>[\w.~/-]{{1,200}}?)/
        (?:(?:pull/\d{{1,7}}/)?commits?/(?P<linked_commit>{_COMMIT})(?![0-9a-f])
          |(?P<kind>pulls?|issues|merge_requests|pull-requests|work_items)/(?P<linked>{_NUMBER})\b)
    | show_bug\.cgi\?id=(?P<bugzilla>{_NUMBER})\b
    | (?: (?<!\w) | (?<=\d[-+]g) ) (?:
        (?<![\w/&.\#"'=-])(?:(?P<owner>[\w.-]{{1,60}}+/[\w.-]{{1,60}}+))?\#(?P<hash>{_NUMBER})
          (?![\w"'-])
      | (?<![\w/-])(?i:gh)-(?P<gh>{_NUMBER})\b
      | (?<![\w!/])!(?P<request>{_NUMBER})(?![\w.])
      | (?<![\w/-])(?i:pr|pull[ ]request|issue|ticket|bug|bz)[ ]\#?(?P<word>{_NUMBER})\b(?!\.\d)
      | (?<![\w/-])(?=[A-Z])(?!(?:{_STANDARDS})-)(?P<jira>[A-Z][A-Z0-9]{{1,9}}-{_NUMBER})
          (?![\w-]|\.\d)
      | (?:(?<![\w./-])(?:(?P<at>[\w.-]{{1,60}}+/[\w.-]{{1,60}}+)@)?|(?<=\d[-+]g))
          (?P<commit>{_COMMIT})(?![\w-]|\.\w)
    )"""
)
"""Names of changes. Those of the last group are not within a word, but for git's v1.2-5-g321d7e5.

Most positions of a text are within a word, where the group is left at once.
"""
_RELATION: Final = lazy_pattern(
    r"(?i)\b(?:since|in|by|from|after|with|pr|pull|request|commit|reverts?|reverted|regression|of)"
    r"[ \t(]{1,3}\Z"
)
"""Words before the number of a change."""
_FIX_OF: Final = lazy_pattern(
    r"(?i)\b(?:fix(?:es)?[ ](?:of|for|to)|fixing)[ ](?:the[ ])?(?:issue|bug|ticket)?[ ]?\Z"
)
"""Text before the number of an issue if a sentence is about the issue's fix."""
_FIXED: Final = lazy_pattern(r"(?i)\)?[ ](?:was|is|got|has[ ]been)[ ]fixed\b")
"""Text after such a number."""
_COMMIT_WORD: Final = lazy_pattern(r"(?i)(?:commit|revision|changeset|sha)[ :]{0,2}\Z")
_BEFORE_ID: Final = lazy_pattern(
    r"""(?ix) (?:
      \b(?:after|and|at|bad|before|between|bisect|by|caused|commits?|from|good|hash|in|is|new|of
        |old|on|or|prior|revert(?:s|ed|ing)?|rev(?:ision)?|sha|since|skip|than|to|until|using|was
        |with) [ \t:=]{1,3} [(\[`'"*]{0,2} | \d[-+]g | \d\ [(\[] )\Z"""
)
"""Text before the id of a commit in a sentence, in a line of git bisect, or beside a version."""
_AFTER_ID: Final = lazy_pattern(
    r"(?i)[`'\"*)\]]{0,2} (?:is|was|has|it|broke|breaks|caused|causes|introduced|introduces)\b"
)
"""Text after the id of a commit that begins a sentence."""
_ID: Final = lazy_pattern(rf"(?:(?<![\w-])|(?<=\d[-+]g)){_COMMIT}(?![\w-]|\.\w)")
"""The id of a commit or of another object."""
_LOG_ENTRY: Final = lazy_pattern(
    r"""(?mx) ^[ \t>$]{0,9}commit[ ](?P<commit>[0-9a-f]{40}) (?P<head>[ ]\(HEAD\b)? [^\n]{0,200}\n
      (?:[ \t>]{0,9}Merge:[^\n]{0,200}\n)?
      [ \t>]{0,9}Author:[ ][^\n]{1,200}\n [ \t>]{0,9}(?:Author)?Date:[ ][^\n]{1,100}(?:\n|\Z)
      (?: [ \t>]{0,9}\n | [ >]{4}[^\n]{0,400}(?:\n|\Z) ){0,40}+"""
)
"""An entry of ``git log``, with the message of its commit."""
_BEFORE_OWN_ENTRY: Final = lazy_pattern(
    r"(?i)\b(?:git[ ](?:log|show)\b[^\n]{0,40}|versions?|revision|head|built?(?:[ ]from)?)"
    r"[\s:`*_$#>~]{0,40}\Z"
)
"""Text before an entry of ``git log`` that shows which version the reporter used."""
_OTHER_ID: Final = lazy_pattern(r"(?i)\bindex[ ]\Z|(?<!\()@\Z")
"""Text before the id of a blob in a diff, or of an object in Java."""


class NamedChange(NamedTuple):
    """An earlier change that a report names, by a commit or by a number."""

    written: str
    """The name in the report: #6322, GH-12, bug 56663, !45, 321d7e5."""
    name: str = ""
    """The name in the form of ``tosloc.git.change_names``, "#6322" or "!45"; "" for a commit."""
    commit: str = ""
    """Id of the commit, or its beginning; "" for a number."""
    project: str = ""
    """Path of the project on the web, "pallets/flask"; "" if the report does not say which."""
    is_change: bool = True
    """Whether the name certainly means a change: a commit or pull request, not an issue."""
    role: Role = Role.NAMED
    """What the report says about the change."""
    is_contradicted: bool = False
    """Whether the report says both that something fails at this commit and that it works there."""
    means_fix: bool = False
    """Whether the report means the fix of this issue: "since the fix of #12", "issue 12"."""
    is_certain: bool = True
    """Whether the name is no other number or word; if not, the repository must have the commit."""


def find_named_changes(text: str) -> tuple[NamedChange, ...]:
    """Return the earlier changes that a text names, in its order, each with its surest role.

    >>> [change.written for change in find_named_changes("Since #6322 (commit 321d7e5), see GH-12")]
    ['#6322', '321d7e5', 'GH-12']
    >>> link = "https://github.com/pallets/flask/pull/4944"
    >>> [(change.name, change.project) for change in find_named_changes(f"Broken by {link}")]
    [('#4944', 'pallets/flask')]
    >>> find_named_changes("colour '#333333', step #1, deadbeef, 20240101 times")
    ()
    >>> [(change.commit, change.is_certain) for change in find_named_changes("since 9036171")]
    [('9036171', False)]
    """
    visible = spell_out_ranges(COMMENT.sub(" ", text))
    changes: dict[tuple[str, str, str], NamedChange] = {}
    uncertain = 0
    for match in islice(_NAMES.finditer(visible), MAX_MATCHES):
        change = _read_match(match)
        if change is None:
            continue
        role = read_role(visible, match.start(), match.end(), is_commit=bool(change.commit))
        if role is None:
            continue
        if not change.is_certain:
            if role is Role.NAMED or uncertain == MAX_UNCERTAIN:
                continue
            uncertain += 1
        change = change._replace(role=role, is_change=change.is_change or role is Role.BLAMED)
        key = (change.name, change.commit, change.project)
        earlier = changes.setdefault(key, change)
        roles = {role, earlier.role}
        is_contradicted = Role.GOOD in roles and max(roles) > Role.GOOD
        surest = change if earlier.role < role else earlier
        changes[key] = surest._replace(
            is_contradicted=earlier.is_contradicted or is_contradicted,
            is_certain=earlier.is_certain or change.is_certain,
        )
    return tuple(islice(changes.values(), MAX_NAMES))


def without_commits(text: str) -> str:
    """Return a text with blanks for the ids of commits, and for words that blame a change.

    Pieces of an id are not words, and words that blame a change do not say what fails.

    >>> without_commits("Carts are empty since commit 321d7e5, #6322 broke it").split()
    ['Carts', 'are', 'empty']
    """
    pieces: list[str] = []
    end = 0
    for start, stop in _spans_of_commits(text):
        if stop > end:
            pieces += (text[end:start], NOT_BREAKS.sub(" ", text[max(start, end) : stop]))
            end = stop
    return "".join([*pieces, text[end:]])


def cut_own_log_entry(text: str) -> tuple[str, str]:
    """Return a text without the log entry of the reporter's version, and the entry; "" if none.

    The message of the newest commit that the reporter had says nothing about the bug. A commit that
    the report blames or finds bad is evidence, and so are several commits.

    >>> entry = f"commit {'12ab' * 10}\\nAuthor: Ada\\nDate: Mon\\n\\n    Rename the door\\n"
    >>> cut_own_log_entry(f"Version:\\n{entry}It hangs")[0]
    'Version:\\nIt hangs'
    >>> cut_own_log_entry(f"Caused by\\n{entry}It hangs")[1]
    ''
    """
    entries = list(islice(_LOG_ENTRY.finditer(text), 2))
    if len(entries) != 1:
        return text, ""
    entry = entries[0]
    before = text[max(0, entry.start() - 80) : entry.start()]
    if entry["head"] is None and not _BEFORE_OWN_ENTRY.search(before):
        return text, ""
    if read_role(text, *entry.span("commit")) in (Role.BLAMED, Role.BAD):
        return text, ""
    return text[: entry.start()] + text[entry.end() :], entry[0].rstrip("\n")


def _spans_of_commits(text: str) -> list[tuple[int, int]]:
    """Return start and end of ids and of statements about changes, ordered by start."""
    spans = []
    for match in islice(_ID.finditer(text), MAX_MATCHES):
        if not (match[0].isdigit() or match[0].isalpha()):
            spans.append(match.span())
    for match in islice(_NAMES.finditer(text), MAX_MATCHES):
        change = _read_match(match)
        if change is None or not change.is_certain:
            continue
        role = read_role(text, match.start(), match.end(), is_commit=bool(change.commit))
        if change.commit or role is Role.BLAMED:
            spans.append(phrase_around(text, match.start(), match.end()))
    return sorted(spans)


def _read_match(match: re.Match[str]) -> NamedChange | None:
    """Return the change that a match names; None if it names none."""
    project = (match["owner"] or match["path"] or "").removesuffix("/-")
    if match["linked_commit"]:
        commit = match["linked_commit"]
        return NamedChange(commit[:10], commit=commit, project=project)
    if match["commit"]:
        return _read_commit(match)
    if _is_too_small(match["request"]) or _is_too_small(match["word"]):
        return None
    if match["request"] or match["kind"] == "merge_requests":
        number = match["request"] or match["linked"]
        return NamedChange(f"!{number}", name=f"!{number}", project=project)
    if match["jira"]:
        return NamedChange(match["jira"], name=match["jira"], is_change=False)
    if match["hash"] and not _is_reference(match):
        return None
    if match["word"] or match["gh"]:
        written = " ".join(match[0].split())
        is_change = written.lower().startswith("p") or _follows_relation(match)
        means_fix = _means_fix(match) or written.lower().startswith(("issue", "ticket", "b"))
        return NamedChange(
            written,
            f"#{match['word'] or match['gh']}",
            is_change=is_change,
            means_fix=means_fix,
        )
    for group in ("linked", "bugzilla", "hash"):
        if match[group]:
            name = f"#{match[group]}"
            is_change = (match["kind"] or "").startswith("pull")
            if group == "hash":
                is_change = _follows_relation(match)
            means_fix = _means_fix(match) or group == "bugzilla" or match["kind"] == "issues"
            return NamedChange(
                name, name, project=project, is_change=is_change, means_fix=means_fix
            )
    return None


def _means_fix(match: re.Match[str]) -> bool:
    """Return whether the words beside a number are about the fix of an issue."""
    before = match.string[max(0, match.start() - 24) : match.start()]
    return bool(_FIX_OF.search(before) or _FIXED.match(match.string, match.end()))


def _read_commit(match: re.Match[str]) -> NamedChange | None:
    """Return the commit that a bare id names; None for another word or number.

    Digits alone, or letters alone, count only beside words that people write beside commits. They
    are certain only after a word that says that they are a commit.
    """
    commit = match["commit"]
    if match["at"]:
        return NamedChange(commit[:10], commit=commit, project=match["at"])
    before = match.string[max(0, match.start() - 24) : match.start()]
    if _OTHER_ID.search(before):
        return None
    is_certain = (
        not (commit.isdigit() or commit.isalpha()) or _COMMIT_WORD.search(before) is not None
    )
    if not is_certain and not _BEFORE_ID.search(before):
        if not _AFTER_ID.match(match.string, match.end()):
            return None
    return NamedChange(commit[:10], commit=commit, is_certain=is_certain)


def _follows_relation(match: re.Match[str]) -> bool:
    """Return whether the word before a number shows that it is the number of a change."""
    before = match.string[max(0, match.start() - 16) : match.start()]
    return _RELATION.search(before) is not None


def _is_too_small(number: str | None) -> bool:
    """Return whether a number is so small that it probably counts things in the report itself.

    None is not too small.
    """
    return number is not None and int(number) < MIN_NUMBER


def _is_reference(match: re.Match[str]) -> bool:
    """Return whether a number after "#" may refer to a change, instead of counting something."""
    if match["owner"]:
        return True
    if _is_too_small(match["hash"]):
        return False
    if match.string.startswith(";", match.end()) and len(match["hash"]) in _COLOUR_LENGTHS:
        return False
    line_start = match.string.rfind("\n", 0, match.start()) + 1
    before = match.string[line_start : match.start()].strip()
    begins_line = not before or before.endswith("frame")
    return not begins_line or int(match["hash"]) > MAX_FRAME_NUMBER
