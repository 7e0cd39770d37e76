"""Find the role of a commit or change in a report: blamed, good, bad, a build, or only named.

The words of the sentence around the name decide, and lines that git bisect prints. docs/method.md
describes what each role means for an answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum
from typing import Final

from tosloc.code.text import identifier_terms
from tosloc.core.patterns import lazy_pattern
from tosloc.reports.text.accusations import (
    FAILURES,
    SUCCESSES,
    begins_with,
    is_blamed,
    is_reverted,
    state_after_cure,
)
from tosloc.reports.text.verbs import is_doubted, is_negation, state_by_verbs

BEFORE: Final = 160
"""Number of characters before a name that are read."""
AFTER: Final = 100
"""Number of characters after a name that are read."""


class Role(IntEnum):
    """The role of a commit or change in a report; the surest statement comes last.

    If a report names one commit in several roles, the last of these roles counts.
    """

    NAMED = 0
    """The report only links to the commit or mentions it, as evidence for the changed files."""
    BUILD = 1
    """The reporter ran this commit, such as a hash beside a version. Nothing later is the cause."""
    GOOD = 2
    """Something works at this commit, so that no commit that it contains is the cause."""
    BAD = 3
    """Something fails at this commit, so that every possible cause is among those it contains."""
    BLAMED = 4
    """The reporter says that this commit broke something: it is the first suspect."""


_BISECT_LINE: Final = lazy_pattern(
    r"""(?ix) (?:\A|\n) [\s>$\#*-]{0,9} (?:
      (?:git\ bisect\ )?(?P<good>good|old) | (?:git\ bisect\ )?(?P<bad>bad|new)
    | git\ bisect\ (?P<started>start) | (?:git\ bisect\ )?(?P<skipped>skip)
    ) :? (?P<rest>[ ][^\n]{0,100})? \Z"""
)
"""A line of ``git bisect log``, or a git bisect command, up to a commit."""
_FULL_HASH: Final = lazy_pattern(r"[0-9a-f]{7,64}")
_WORD: Final = lazy_pattern(r"\b[0-9a-f]{7,64}\b|[a-z@][a-z@'’-]*|\d[\w.]*")
_ANY_WORD: Final = lazy_pattern(r"\w+")
_LINK_TEXT: Final = lazy_pattern(r"\[[^\[\]\n]{1,80}\]\(\Z")
"""The text of a Markdown link, before its address."""
_SENTENCE_END: Final = lazy_pattern(r"[.!?;](?=\s|\Z)|\n")
_FILLERS: Final = frozenset(
    """the this that a an my our git following commit commits change changes changeset revision rev
    hash sha id pr pull request merge mr patch was is are be seems to main master trunk head branch
    develop dev build of one @ just likely probably apparently
    """.split()
)
"""Words between a statement and the commit that it is about."""
_PHRASES: Final = frozenset("seems appears head build version merge merging".split())
"""Words that take the meaning from a following "to" or "of": "seems to be", "head of"."""
_BLAMING: Final = tuple(
    "accus bisect blam broke caus culprit fault guilty introduc offend regress responsib suspect"
    " revert".split()
)
"""Beginnings of words that relate a failure to a commit, but do not say what fails."""
_BLAMING_WORDS: Final = frozenset(
    """bad began begin begins find first found git good happen happened happening happens identified
    led narrowed pointed result results says shows start started starting starts traced tracked
    """.split()
)
"""Whole words that relate a failure to a commit, but do not say what fails."""
_CLAUSE_END: Final = lazy_pattern(r"[.!?;](?=\s)|\n[ \t]*\n")
_MOVE: Final = lazy_pattern(
    r"\b(?:check(?:s|ed|ing)?[ -]?out|(?:go|goes|going|went|gone|move|moved|moving|switch|switched"
    r"|switching|return|returned|returning|reset|resetting|roll|rolled|rolling|downgrade|downgraded"
    r"|downgrading)(?: hard)?(?: back)? to)\Z"
)
"""Words before a commit that the reporter used instead of the newest one."""
_PLACES: Final = (["with"], ["at"], ["in"], ["on"], ["using"])
_TIMELY: Final = frozenset("early late recent recently".split())
"""Words in "as early as", which says only at which commit something was seen."""
_BOUNDS: Final = (["before"], ["until"], ["till"])
"""Words before a commit that is the end of a time."""
_HEDGES: Final = frozenset("maybe perhaps possibly might".split())
"""Words that make a statement a guess."""
_MODALS: Final = frozenset("could may can".split())
"""Words that make a statement a guess before "be" or "have"."""
_AUXILIARIES: Final = frozenset("be been have".split())
_FIXES: Final = ("fix", "fixes", "fixing", "fixed")
_QUESTIONS: Final = frozenset("is was are were did does do has have could can".split())
"""Words that begin a question."""
_PARENT_WORKS: Final = lazy_pattern(
    r"""(?ix) (?:(?!\b[0-9a-f]{7,40}\b)[^\n]){0,60}?
      (?<!longer\ )(?<!never\ )\b(?P<works>works|worked|working|fine|good|passes)\b
      (?:\ (?:fine|well|again|correctly))? (?:,?\ (?:with|at|on|in|for|using))?
      \ (?:the|its)\ (?:(?:direct|immediate)\ )?
      (?:commit\ (?:(?:right|just|directly)\ )?before|parent|(?:previous|preceding)\ commit)\b
    """
)
"""Text after a commit whose parent works: ", but works with the commit before it"."""
_COMMIT_BEFORE: Final = lazy_pattern(
    r"(?i)\b(?:commit|one|revision)\ (?:(?:right|just|directly)\ )?before\ (?:this|that|it)"
    r"(?:\ (?:one|commit))?[ ,:(\[`]{1,4}\Z"
)
"""Text before the id of the commit before another one: "the commit before this (1abcdef)"."""
_POINTERS: Final = frozenset("it here".split())
"""Words that point from a commit to the sentence before: "I found the culprit. It is X"."""
_CULPRITS: Final = ("culprit", "offend", "guilty")
_RETURNS: Final = ("reintroduc", "re-introduc", "rebroke", "re-broke", "resurfac")
"""Beginnings of words that say that a fault which had been fixed is back."""
_PARENT_SIGN: Final = lazy_pattern(r"[`*]{0,2}(?:\^|~1?(?!\d))")
"""The sign with which git writes the parent of a commit: 1abcdef^, 1abcdef~1."""
_IN_SUBJECT: Final = lazy_pattern(
    r"\b[0-9a-f]{7,64}[`*)\]]{0,3}[ ,:]{0,2}[(\"“‘'][^()\n]{0,99}[A-Za-z]{2}[^()\n]{0,20}\Z"
)
"""Text from a commit to a number in its subject: 1abcdef (Fix #12: split words)."""
_BESIDE_VERSION: Final = lazy_pattern(
    r"(?i)\d\.\d[\w.+-]{0,40}[\s,:@+]{0,2}[(\[]?[@\s]?"
    r"(?:rev(?:ision)?|commit|git|hash|sha|build|g)?[\s:.,-]{0,2}\Z"
)
"""A version right before a commit: 0.65.2 (760d1b7c)."""
_BUILD_BEFORE: Final = lazy_pattern(
    r"""(?ix)
      [(\[]rev(?:ision)?[ .:]{1,2}\Z
    | \blines?[ ]\d{1,7}(?:[ ](?:to|-)[ ]\d{1,7})?\s{1,20}in\s{1,20}\Z  # an excerpt of the code
    | \d:\Z                                                            # v3.7.1:260ec2c36a
    | \bas[ ]of[ ]\Z
    | [-+]g\Z                                                          # v1.2-5-g260ec2c36a
    | \(@[ ]\Z
    | \b(?:source|trunk|master|main|dev|develop|branch)[ ]
      [(\[](?:commit|revision|hash|sha)[ :]{1,2}\Z                     # master (commit 260ec2c)
    | \b(?:at|using|checkout|head|master|main|trunk|dev|develop|branch|version|build|built|nightly
        |hash|sha)
      (?:[ ](?:the|git|commit|revision|changeset|hash|sha|of|is|from|at|on|master|main
        |version)){0,3}
      [\s:=(@'"`*]{1,4}\Z
    """
)
"""Text before a commit that is only the version in which something was seen."""
_BUILD_AFTER: Final = lazy_pattern(
    r"(?i)[`*]{0,2}[ ,]{1,2}(?:\(?(?:built|compiled)\b|\d{4}-\d\d-\d\d[)\]]|\(HEAD\b)"
)
"""Text after a commit that is only a version: "760d1b7c built 2025-08-01"."""
_KEY: Final = lazy_pattern(
    r"(?i)(?:\A|\n)[^\n:=]{0,40}(?:commit|revision|hash|sha|version|git|build)[^\n:=]{0,30}"
    r"[:=][\s'\"`*]{0,4}\Z"
)
"""The key of a line that gives a version, such as "Git commit: "."""
_VERSION_LINE: Final = lazy_pattern(
    r"(?i)(?:\A|\n)[^\n:=,]{0,40}\b(?:version|build|branch)\b[^\n:=,]{0,30}:[^\n]{1,100}\Z"
)
"""The beginning of a line that describes a version: "Shop version: latest master: "."""
_TOLD_KEY: Final = lazy_pattern(r"(?i)fix")
"""A word in the key of a line that shows that the commit is not a version."""


def read_role(text: str, start: int, end: int, *, is_commit: bool = True) -> Role | None:
    """Return the role of the name from ``start`` to ``end`` in a text; None if it has none.

    A number of a change (``is_commit`` is False) can only be blamed or named.

    >>> text = "Works at 12ab34c, but started to fail with 56cd78e. I run 1.2 (90ef12a)."
    >>> [read_role(text, at, at + 7).name for at in map(text.find, ("12ab", "56cd", "90ef"))]
    ['GOOD', 'BLAMED', 'BUILD']
    """
    before = text[max(0, start - BEFORE) : start]
    after = text[end : end + AFTER]
    if not is_commit and _IN_SUBJECT.search(before):
        return Role.NAMED
    bisected = _BISECT_LINE.search(before)
    if bisected:
        return _role_in_log(bisected) if is_commit else None
    parent = _PARENT_WORKS.match(after) if is_commit else None
    if parent is None:
        return _role_in_sentence(before, after, is_commit=is_commit)
    role = _role_in_sentence(before, after[: parent.start("works")], is_commit=True)
    return role if role is Role.GOOD else Role.BLAMED


def _role_in_sentence(before: str, after: str, *, is_commit: bool) -> Role:
    """Return the role of a name, from the words before and after it in its sentence."""
    commit_before = _COMMIT_BEFORE.search(before) if is_commit else None
    if commit_before:
        before = before[: commit_before.start()]
    words_before = _words_before(before)
    words_after = _words_after(after)
    if commit_before and words_before[-1:] not in _PLACES:
        words_before = ["at"]
    if _is_as_early_as(words_before):
        words_before = [*words_before[:-3], "at"]
    if not is_commit:
        # "Since the fix of #12" is a statement about the change that fixed it.
        words_before = _without_fix(words_before)
    if is_commit and words_before[-2:] == ["parent", "of"]:
        words_before = [*words_before[:-2], "before"]
    elif is_commit and (sign := _PARENT_SIGN.match(after)):
        if words_before[-1:] in _PLACES:
            words_before.pop()
        words_before.append("before")
        words_after = _words_after(after[sign.end() :])
    if is_commit and _MOVE.search(" ".join(words_before)):
        return _role_of_move(words_before, words_after)
    is_beside_version = is_commit and _BESIDE_VERSION.search(before) is not None
    range_end = _range_end(words_before)
    if is_commit and range_end is not None:
        return range_end
    if is_doubted(words_before[-7:]) or _is_guess(before, after, words_before, words_after):
        return Role.NAMED
    if is_commit and "last" in words_before[-4:] and begins_with(words_before[-3:], SUCCESSES):
        return Role.GOOD
    if not is_beside_version and is_blamed(words_before, words_after):
        return Role.BLAMED
    if not is_commit:
        return Role.NAMED
    if _was_fixed_there(words_before):
        return Role.GOOD
    if is_reverted(words_before, words_after):
        return Role.NAMED
    if words_before[-1:] in _BOUNDS or words_before[-2:] == ["prior", "to"]:
        return Role.NAMED  # "until X": who knows whether it worked at X
    if words_before[-2:] == ["up", "to"]:
        words_before = [*words_before[:-2], "at"]
    state = state_by_verbs(words_before, words_after)
    if state == "works" or _works_there(words_before, words_after):
        return Role.GOOD
    if is_beside_version:
        return Role.BUILD
    if state is not None:
        return Role.BAD
    if _BUILD_BEFORE.search(before) or _BUILD_AFTER.match(after):
        return Role.BUILD
    key = _VERSION_LINE.search(before) or _KEY.search(before)
    return Role.BUILD if key is not None and not _TOLD_KEY.search(key[0]) else Role.NAMED


def _is_as_early_as(words: Sequence[str]) -> bool:
    """Return whether words end like "as early as"."""
    return words[-3:-2] == ["as"] and words[-1] == "as" and words[-2] in _TIMELY


def _was_fixed_there(words: Sequence[str]) -> bool:
    """Return whether words end like "reintroduced a fault that was fixed in"."""
    if words[-2:-1] != ["fixed"] or words[-1] not in ("in", "by", "with"):
        return False
    return begins_with(words, _RETURNS) and not any(map(is_negation, words[-5:]))


def _is_guess(
    before: str, after: str, words_before: Sequence[str], words_after: Sequence[str]
) -> bool:
    """Return whether a sentence is only a guess: "Maybe X broke it", "Did X break it?"."""
    beside = [*words_before[-6:], *words_after[:3]]
    if not _HEDGES.isdisjoint(beside):
        return True
    for position, word in enumerate(beside):
        if word in _MODALS and not _AUXILIARIES.isdisjoint(beside[position + 1 : position + 3]):
            return True
    end = _SENTENCE_END.search(after)
    if end is None or end[0] != "?":
        return False
    sentence = _WORD.findall(_SENTENCE_END.split(before)[-1].lower())
    return bool(sentence) and sentence[0] in _QUESTIONS


def phrase_around(text: str, start: int, end: int) -> tuple[int, int]:
    """Return beginning and end of the phrase that relates a name to the failure.

    The phrase contains the words right beside the name that say nothing about the failure itself.

    >>> text = "Carts are empty, probably caused by commit 56cd78e, which broke it."
    >>> begin, stop = phrase_around(text, text.index("56cd"), text.index(", which"))
    >>> text[:begin], text[stop:]
    ('Carts are empty, ', '.')
    """
    first = start
    earliest = max(0, start - BEFORE)
    for word in reversed(list(_ANY_WORD.finditer(text, earliest, start))):
        # A word that the limit has cut may seem to be another one.
        is_cut = word.start() == earliest > 0
        if is_cut or not _says_nothing(word[0]) or _CLAUSE_END.search(text, word.end(), first):
            break
        first = word.start()
    last = end
    for word in _ANY_WORD.finditer(text, end, end + AFTER):
        if not _says_nothing(word[0]) or _CLAUSE_END.search(text, last, word.start()):
            break
        last = word.end()
    return first, last


def _says_nothing(word: str) -> bool:
    """Return whether a word beside a name only relates it to a failure, or occurs in any text."""
    lowered = word.lower()
    if lowered in _FILLERS or lowered in _BLAMING_WORDS or lowered.startswith(_BLAMING):
        return True
    return not identifier_terms(word)


def _role_in_log(line: re.Match[str]) -> Role | None:
    """Return the role of the commit in a line of git bisect; None for a skipped commit."""
    if line["skipped"]:
        return None
    if line["good"]:
        return Role.GOOD
    if line["bad"]:
        return Role.BAD
    # "git bisect start" is followed by the bad commit, then by good ones.
    return Role.GOOD if _FULL_HASH.search(line["rest"] or "") else Role.BAD


def _role_of_move(before: Sequence[str], after: Sequence[str]) -> Role:
    """Return the role of a commit to which the reporter moved from the newest commit."""
    clause = _MOVE.sub("at", " ".join(before)).split()
    state = state_by_verbs(clause, ())
    if state is None:
        state = state_after_cure(after) or state_by_verbs(["at"], after)
    if state is None:
        return Role.BUILD
    return Role.GOOD if state == "works" else Role.BAD


def _words_before(before: str) -> list[str]:
    """Return the words of the sentence before a name, without fillers directly before the name.

    If the name begins its line, return the words of the line that introduces it, such as a heading.
    """
    for line in reversed(_LINK_TEXT.sub("", before).split("\n")):
        *earlier, sentence = _SENTENCE_END.split(line.lower())
        words = _without_fillers(_WORD.findall(sentence))
        if words and earlier and _POINTERS.issuperset(words):
            words = _name_culprit(_WORD.findall(earlier[-1])) or words
        # Rules for versions decide which verb belongs to which id, so ids become numbers.
        words = ["0" if _is_id(word) else word for word in words]
        if words:
            return words
        if line.rstrip().endswith((".", "!", "?")):
            return []
    return []


def _name_culprit(words: Sequence[str]) -> list[str]:
    """Return the word for the culprit in a sentence such as "I found the culprit", if it is there.

    >>> _name_culprit("i found the culprit".split()), _name_culprit("i found no culprit".split())
    (['culprit'], [])
    """
    if any(map(is_negation, words)):
        return []
    return [word for word in words if word.startswith(_CULPRITS)][-1:]


def _without_fillers(words: Sequence[str]) -> list[str]:
    """Return ``words`` without the fillers, versions and ids at their end."""
    kept = list(words)
    while kept and (kept[-1] in _FILLERS or kept[-1][0].isdigit() or _is_id(kept[-1])):
        # "due to commit X", "bisected it to X": a relation is no filler, but "seems to be X" is.
        if kept[-1] in ("to", "of") and not _PHRASES.intersection(kept[-2:-1]):
            break
        kept.pop()
    return kept


def _without_fix(words: Sequence[str]) -> list[str]:
    """Return ``words`` without "the fix of" or "fixing" at their end."""
    kept = list(words)
    if kept[-1:] in (["of"], ["for"], ["to"]) and kept[-2:-1] and kept[-2] in _FIXES:
        kept.pop()
    if kept and kept[-1] in _FIXES:
        return _without_fillers(kept[:-1])
    return kept


def _is_id(word: str) -> bool:
    """Return whether a word is the id of a commit."""
    return _FULL_HASH.fullmatch(word) is not None and not word.isalpha()


def _words_after(after: str) -> list[str]:
    """Return the words of the sentence after a name, up to the next commit id."""
    words = []
    for word in _WORD.findall(_SENTENCE_END.split(after)[0].lower()):
        if _is_id(word):
            break
        words.append(word)
    return words


def _range_end(before: Sequence[str]) -> Role | None:
    """Return the role of X or Y in "between X and Y": good or bad; None in other phrases."""
    if before[-1:] == ["between"]:
        return Role.GOOD
    # A project may be written before the first commit: "between x/y@X and x/y@Y".
    return Role.BAD if before[-1:] == ["and"] and "between" in before[-6:-1] else None


def _works_there(before: Sequence[str], after: Sequence[str]) -> bool:
    """Return whether the words after a name say that something works at that commit."""
    if before[-1:] not in _PLACES:
        return False
    for position, word in enumerate(after[:10]):
        if is_negation(word) or word.startswith(FAILURES):
            return False
        if word.startswith(SUCCESSES):
            return position > 0
    return False
