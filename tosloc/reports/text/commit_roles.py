"""Roles of the commits and changes that a report names: blamed, good, bad, a build, or only named.

The words of the sentence around a name decide, and the lines that git bisect prints. docs/method.md
describes what each role means for an answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum
from itertools import pairwise
from typing import Final, Literal

from tosloc.code.text import identifier_terms
from tosloc.reports.text.named_releases import is_doubted, is_negation, state_by_verbs

BEFORE: Final = 160
"""Characters before a name that are read."""
AFTER: Final = 100
"""Characters after a name that are read."""


class Role(IntEnum):
    """What a report says about a commit or change that it names, the surest statement last.

    If a report names one commit in several roles, the last of these roles counts.
    """

    NAMED = 0
    """A link or a mention: evidence for the files that it changed, and no more."""
    BUILD = 1
    """What the reporter ran, such as a hash beside a version. Nothing later is the cause."""
    GOOD = 2
    """Something works there, so that nothing that it contains is the cause."""
    BAD = 3
    """Something fails there, so that nothing that it lacks is the cause."""
    BLAMED = 4
    """The reporter says that it broke something: the first suspect."""


_BISECT_LINE: Final = re.compile(
    r"""(?ix) (?:\A|\n) [\s>$\#*-]{0,9} (?:
      (?:git\ bisect\ )?(?P<good>good|old) | (?:git\ bisect\ )?(?P<bad>bad|new)
    | git\ bisect\ (?P<started>start) | (?:git\ bisect\ )?(?P<skipped>skip)
    ) :? (?P<rest>[ ][^\n]{0,100})? \Z"""
)
"""A line of ``git bisect log``, or a command of it, up to a commit."""
_FULL_HASH: Final = re.compile(r"[0-9a-f]{7,64}")
_WORD: Final = re.compile(r"\b[0-9a-f]{7,64}\b|[a-z@][a-z@'’-]*|\d[\w.]*")
_ANY_WORD: Final = re.compile(r"\w+")
_LINK_TEXT: Final = re.compile(r"\[[^\[\]\n]{1,80}\]\(\Z")
"""The text of a Markdown link, before its address."""
_SENTENCE_END: Final = re.compile(r"[.!?;](?=\s|\Z)|\n")
_FILLERS: Final = frozenset(
    """the this that a an my our git following commit commits change changes changeset revision rev
    hash sha id pr pull request merge mr patch was is are be seems to main master trunk head branch
    develop dev build of one @ just likely probably apparently
    """.split()
)
"""Words between a statement and the commit that it is about."""
_PHRASES: Final = frozenset("seems appears head build version".split())
"""Words with which "to" or "of" says nothing: "seems to be", "head of"."""
_CULPRITS: Final = tuple("culprit offend guilty blam suspect responsib".split())
_CAUSES: Final = (
    *_CULPRITS,
    *"broke break introduc caus regress trigger reintroduc re-introduc rebroke re-broke".split(),
)
"""Beginnings of words that accuse a commit."""
_BEGINNINGS: Final = ("start", "beg")
_SEARCHES: Final = ("bisect", "trac", "track", "narrow", "point", "pinpoint", "led", "lead")
"""Beginnings of words that tell the result of a search for the cause."""
_FINDINGS: Final = ("result", "show", "found", "find", "identif", "gave", "giv", "say", "reveal")
"""Beginnings of words before what bisecting found."""
_FAILURES: Final = tuple(
    "fail break broke crash error bug wrong stop longer hang regress issue problem".split()
)
_CURES: Final = ("fix", "help", "solv", "resolv", "work", "disappear", "gone", "away", "cure")
_BLAMING: Final = tuple(
    "accus bisect blam broke caus culprit fault guilty introduc offend regress responsib suspect"
    " revert".split()
)
"""Beginnings of words that relate a failure to a commit, and do not say what fails."""
_BLAMING_WORDS: Final = frozenset(
    """bad began begin begins find first found git good happen happened happening happens identified
    led narrowed pointed result results says shows start started starting starts traced tracked
    """.split()
)
"""Whole words that do so."""
_CLAUSE_END: Final = re.compile(r"[.!?;](?=\s)|\n[ \t]*\n")
_SUCCESSES: Final = ("work", "fine", "ok", "pass", "good", "correct")
_ALIKE: Final = frozenset("still also already too even again remains currently".split())
"""Words that say that something failed before a commit, too."""
_LASTING: Final = ("broken", "breaks", "breaking", "trigger")
"""Beginnings of words that say that something fails at a commit, but not since when."""
_OPPOSITES: Final = ("miss", "lack", "revert", "undone", "fix")
"""Beginnings of words after "because of a commit" that do not accuse it: "because X is missing"."""
_APPEARANCES: Final = ("happen", "appear", "occur")
_MOVE: Final = re.compile(
    r"\b(?:check(?:s|ed|ing)?[ -]?out|(?:go|goes|going|went|gone|move|moved|moving|switch|switched"
    r"|switching|return|returned|returning|reset|resetting|roll|rolled|rolling|downgrade|downgraded"
    r"|downgrading)(?: hard)?(?: back)? to)\Z"
)
"""Words before a commit that the reporter used instead of the newest one."""
_PLACES: Final = (["with"], ["at"], ["in"], ["on"], ["using"])
_BOUNDS: Final = (["before"], ["until"], ["till"])
"""Words with which a commit is the end of a time, and not a place."""
_HEDGES: Final = frozenset("maybe perhaps possibly might".split())
"""Words that make a statement a guess."""
_MODALS: Final = frozenset("could may can".split())
"""Words that do so before "be" or "have"."""
_AUXILIARIES: Final = frozenset("be been have".split())
_QUESTIONS: Final = frozenset("is was are were did does do has have could can".split())
"""Words with which a question begins."""
_PARENT_WORKS: Final = re.compile(
    r"""(?ix) (?:(?!\b[0-9a-f]{7,40}\b)[^\n]){0,60}?
      (?<!longer\ )(?<!never\ )\b(?P<works>works|worked|working|fine|good|passes)\b
      (?:\ (?:fine|well|again|correctly))? (?:,?\ (?:with|at|on|in|for|using))?
      \ (?:the|its)\ (?:(?:direct|immediate)\ )?
      (?:commit\ (?:(?:right|just|directly)\ )?before|parent|(?:previous|preceding)\ commit)\b
    """
)
"""What follows a commit whose parent works: ", but works with the commit before it"."""
_PARENT_SIGN: Final = re.compile(r"[`*]{0,2}(?:\^|~1?(?!\d))")
"""The sign with which git writes the parent of a commit: 1abcdef^, 1abcdef~1."""
_NEW_CLAUSE: Final = frozenset("and but it i when if because".split())
"""Words after which another clause begins."""
_BESIDE_VERSION: Final = re.compile(
    r"(?i)\d\.\d[\w.+-]{0,40}[\s,:@+]{0,2}[(\[]?[@\s]?"
    r"(?:rev(?:ision)?|commit|git|hash|sha|build|g)?[\s:.,-]{0,2}\Z"
)
"""A version right before a commit: 0.65.2 (760d1b7c)."""
_BUILD_BEFORE: Final = re.compile(
    r"""(?ix)
      [(\[]rev(?:ision)?[ .:]{1,2}\Z
    | \blines?[ ]\d{1,7}(?:[ ](?:to|-)[ ]\d{1,7})?\s{1,20}in\s{1,20}\Z  # an excerpt of the code
    | \d:\Z                                                            # v3.7.1:260ec2c36a
    | \bas[ ]of[ ]\Z
    | [-+]g\Z                                                          # v1.2-5-g260ec2c36a
    | \(@[ ]\Z
    | \b(?:at|using|checkout|head|master|main|trunk|dev|develop|branch|version|build|built|nightly
        |hash|sha)
      (?:[ ](?:the|git|commit|revision|changeset|hash|sha|of|is|from|at|on|master|main
        |version)){0,3}
      [\s:=(@'"`*]{1,4}\Z
    """
)
"""What precedes a commit that is only the version in which something was seen."""
_BUILD_AFTER: Final = re.compile(
    r"(?i)[`*]{0,2}[ ,]{1,2}(?:\(?(?:built|compiled)\b|\d{4}-\d\d-\d\d[)\]])"
)
"""What follows such a commit: "760d1b7c built 2025-08-01", "(760d1b7c 2025-08-01)"."""
_KEY: Final = re.compile(
    r"(?i)(?:\A|\n)[^\n:=]{0,40}(?:commit|revision|hash|sha|version|git|build)[^\n:=]{0,30}"
    r"[:=][\s'\"`*]{0,4}\Z"
)
"""The key of a line that gives a version, such as "Git commit: "."""
_TOLD_KEY: Final = re.compile(r"(?i)fix")
"""A word in such a key that says that the commit is no version."""


def read_role(text: str, start: int, end: int, *, is_commit: bool = True) -> Role | None:
    """Return the role of the name from ``start`` to ``end``; None for a commit that says nothing.

    A number of a change, which is no commit, is blamed or only named.

    >>> text = "Works at 12ab34c, but started to fail with 56cd78e. I run 1.2 (90ef12a)."
    >>> [read_role(text, at, at + 7).name for at in map(text.find, ("12ab", "56cd", "90ef"))]
    ['GOOD', 'BLAMED', 'BUILD']
    """
    before = text[max(0, start - BEFORE) : start]
    after = text[end : end + AFTER]
    bisected = _BISECT_LINE.search(before)
    if bisected:
        return _role_in_log(bisected) if is_commit else None
    parent = _PARENT_WORKS.match(after) if is_commit else None
    if parent is None:
        return _role_in_sentence(before, after, is_commit=is_commit)
    role = _role_in_sentence(before, after[: parent.start("works")], is_commit=True)
    return role if role is Role.GOOD else Role.BLAMED


def _role_in_sentence(before: str, after: str, *, is_commit: bool) -> Role:
    """Return the role of a name by the words before and after it in its sentence."""
    words_before = _words_before(before)
    words_after = _words_after(after)
    if is_commit and words_before[-2:] == ["parent", "of"]:
        words_before = [*words_before[:-2], "before"]
    elif is_commit and _PARENT_SIGN.match(after):
        if words_before[-1:] in _PLACES:
            words_before.pop()
        words_before.append("before")
    if is_commit and _MOVE.search(" ".join(words_before)):
        return _role_of_move(words_before, words_after)
    is_beside_version = is_commit and _BESIDE_VERSION.search(before) is not None
    range_end = _range_end(words_before)
    if is_commit and range_end is not None:
        return range_end
    if is_doubted(words_before[-7:]) or _is_guess(before, after, words_before, words_after):
        return Role.NAMED
    if is_commit and "last" in words_before[-4:] and _begins_with(words_before[-3:], _SUCCESSES):
        return Role.GOOD
    if not is_beside_version and _is_blamed(words_before, words_after):
        return Role.BLAMED
    if not is_commit:
        return Role.NAMED
    if _is_reverted(words_before, words_after):
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
    key = _KEY.search(before)
    return Role.BUILD if key is not None and not _TOLD_KEY.search(key[0]) else Role.NAMED


def _is_guess(
    before: str, after: str, words_before: Sequence[str], words_after: Sequence[str]
) -> bool:
    """Return whether a sentence only guesses at a change: "Maybe X broke it", "Did X break it?"."""
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
    """Return where the phrase begins and ends that relates a name to what the report is about.

    These are the words right beside the name that say nothing about the fault itself.

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
    """Return whether a word beside a name only relates it to a fault, or is a word of any text."""
    lowered = word.lower()
    if lowered in _FILLERS or lowered in _BLAMING_WORDS or lowered.startswith(_BLAMING):
        return True
    return not identifier_terms(word)


def _role_in_log(line: re.Match[str]) -> Role | None:
    """Return the role of a commit in a line of git bisect; None for one that was skipped."""
    if line["skipped"]:
        return None
    if line["good"]:
        return Role.GOOD
    if line["bad"]:
        return Role.BAD
    # "git bisect start" is followed by the bad commit, then by good ones.
    return Role.GOOD if _FULL_HASH.search(line["rest"] or "") else Role.BAD


def _role_of_move(before: Sequence[str], after: Sequence[str]) -> Role:
    """Return the role of a commit that the reporter used instead of the newest one."""
    clause = _MOVE.sub("at", " ".join(before)).split()
    state = state_by_verbs(clause, ())
    if state is None:
        state = _state_after_cure(after) or state_by_verbs(["at"], after)
    if state is None:
        return Role.BUILD
    return Role.GOOD if state == "works" else Role.BAD


def _state_after_cure(words: Sequence[str]) -> Literal["works", "fails"] | None:
    """Return what words say that tell of a cure: "fixes it", "does not help"; None if none does."""
    for position, word in enumerate(words[:8]):
        if word.startswith(_CURES):
            is_denied = any(map(is_negation, words[max(0, position - 3) : position]))
            return "fails" if is_denied else "works"
    return None


def _words_before(before: str) -> list[str]:
    """Return the words of the sentence before a name, without the fillers right before it.

    If the name begins its line, these are the words of the line that announces it, such as a
    heading.
    """
    for line in reversed(_LINK_TEXT.sub("", before).split("\n")):
        words = _without_fillers(_WORD.findall(_SENTENCE_END.split(line)[-1].lower()))
        # Ids are numbers for the reader of versions, so that it sees which verb is whose.
        words = ["0" if _is_id(word) else word for word in words]
        if words:
            return words
        if line.rstrip().endswith((".", "!", "?")):
            return []
    return []


def _without_fillers(words: Sequence[str]) -> list[str]:
    """Return words without fillers, versions and ids at their end."""
    kept = list(words)
    while kept and (kept[-1] in _FILLERS or kept[-1][0].isdigit() or _is_id(kept[-1])):
        # "due to commit X", "bisected it to X": a relation is no filler, but "seems to be X" is.
        if kept[-1] in ("to", "of") and not _PHRASES.intersection(kept[-2:-1]):
            break
        kept.pop()
    return kept


def _is_id(word: str) -> bool:
    """Return whether a word is the id of a commit."""
    return _FULL_HASH.fullmatch(word) is not None and not word.isalpha()


def _words_after(after: str) -> list[str]:
    """Return the words of the sentence after a name, up to the next id."""
    words = []
    for word in _WORD.findall(_SENTENCE_END.split(after)[0].lower()):
        if _is_id(word):
            break
        words.append(word)
    return words


def _begins_with(words: Sequence[str], beginnings: tuple[str, ...]) -> bool:
    """Return whether any word begins like one of some others."""
    return any(word.startswith(beginnings) for word in words)


def _range_end(before: Sequence[str]) -> Role | None:
    """Return the role of an end of a range, "between X and Y"; None for any other name."""
    if before[-1:] == ["between"]:
        return Role.GOOD
    # A project may be written before the first commit: "between x/y@X and x/y@Y".
    return Role.BAD if before[-1:] == ["and"] and "between" in before[-6:-1] else None


def _works_there(before: Sequence[str], after: Sequence[str]) -> bool:
    """Return whether a sentence goes on after a name to say that something works there."""
    if before[-1:] not in _PLACES:
        return False
    for position, word in enumerate(after[:10]):
        if is_negation(word) or word.startswith(_FAILURES):
            return False
        if word.startswith(_SUCCESSES):
            return position > 0
    return False


def _is_blamed(before: Sequence[str], after: Sequence[str]) -> bool:
    """Return whether the words around a name say that it broke something."""
    if _is_accused_after(before, after):
        return True
    if not before:
        return False
    last = before[-1]
    earlier = before[-8:-1]
    if _is_reverted(before, after) and not last.startswith("revert"):
        # "It works without X", "with X reverted it works"
        state = state_by_verbs([*earlier, "at"], ()) or _state_after_cure(after)
        return state == "works"
    if last.startswith("revert"):
        # "Reverting X fixes it", "it works again after reverting X"; not "This reverts X".
        state = _state_after_cure(after) or _state_before_cure(earlier)
        return last != "reverts" and state == "works"
    if last in ("before", "to") and (last == "before" or earlier[-1:] == ["prior"]):
        return _worked_before(earlier, after)
    if last in ("since", "after"):
        return _fails_since(last, earlier, after)
    if any(map(is_negation, before[-4:-1])):
        return False
    if last.startswith(_CULPRITS) or before[-2:] == ["first", "bad"] or last.startswith("bisect"):
        return True
    if last in ("regression", "cause", "breaking"):  # "Regression: X"
        return True
    if last.startswith(_FINDINGS) and _begins_with(earlier, ("bisect",)):
        return True
    if last == "because":
        is_denied = any(map(is_negation, after[:6])) or _begins_with(after[:6], _OPPOSITES)
        return _begins_with(earlier, (*_CAUSES, *_FAILURES, *_APPEARANCES)) and not is_denied
    return _relates_cause(last, earlier)


def _is_reverted(before: Sequence[str], after: Sequence[str]) -> bool:
    """Return whether words tell what happens without a commit: "reverting X", "X is reverted"."""
    return before[-1:] == ["without"] or _begins_with([*before[-1:], *after[:2]], ("revert",))


def _state_before_cure(words: Sequence[str]) -> Literal["works", "fails"] | None:
    """Return what words say whose last one tells of a cure: "works again after"."""
    for position in range(len(words) - 1, -1, -1):
        if words[position].startswith(_CURES):
            is_denied = any(map(is_negation, words[max(0, position - 3) : position]))
            return "fails" if is_denied else "works"
    return None


def _worked_before(earlier: Sequence[str], after: Sequence[str]) -> bool:
    """Return whether something worked before a commit: "it worked before X", "before X it did"."""
    state = state_by_verbs([*earlier, "at"], ())
    if state is None and not _begins_with(earlier, (*_SUCCESSES, *_FAILURES)):
        state = state_by_verbs(["at"], after)
    return state == "works" and not _ALIKE.intersection((*earlier[-3:], *after[:6]))


def _fails_since(last: str, earlier: Sequence[str], after: Sequence[str]) -> bool:
    """Return whether something fails "since" or "after" a commit, by the words around it."""
    is_failure = _begins_with(earlier, _FAILURES)
    if any(map(is_negation, earlier[-3:])):
        # "It no longer works since X"; a denied failure accuses nothing.
        return _begins_with(earlier, _SUCCESSES) and not _begins_with(earlier, _CAUSES)
    if _begins_with(earlier, _SUCCESSES) and not is_failure:
        return False
    state = None if earlier else state_by_verbs(["at"], after)
    if state is not None:
        return state != "works"
    is_start = _begins_with(earlier[-3:], (*_BEGINNINGS, *_APPEARANCES))
    return last == "since" or is_failure or is_start or _begins_with(after[:6], _FAILURES)


def _is_accused_after(before: Sequence[str], after: Sequence[str]) -> bool:
    """Return whether the words after a name accuse it: "X broke it", "X is the first bad"."""
    words = after[:6]
    if any(map(is_negation, (*before[-1:], *words))):
        return False
    if "first" in words and words[words.index("first") + 1 :][:1] == ["bad"]:
        return True
    if "fault" in words and {"s", "at", "the"}.intersection(words[: words.index("fault")][-1:]):
        return True
    # A verb that follows soon: "X, which broke it", "X appears to have caused".
    for word, following in pairwise((*words, "")):
        if word.startswith(_CAUSES) and following != "by":  # "works at X, caused by Y"
            return True
        if word in _NEW_CLAUSE:
            return False
    return False


def _relates_cause(last: str, earlier: Sequence[str]) -> bool:
    """Return whether a relation such as "by" follows a word that tells of a cause."""
    if last not in ("with", "in", "by", "from", "to", "at", "of", "on"):
        return False
    nearest = earlier[-3:]
    if last == "to" and earlier[-1:] == ["due"]:
        return True
    if last == "of" and earlier[-1:] in (["because"], ["result"], ["fault"]):
        return True
    if last == "to" and earlier[-1:] == ["up"]:
        return False
    if last in ("at", "on") and _begins_with(nearest, _LASTING):
        return False
    if last != "by" and _ALIKE.intersection(earlier):
        return False  # "still broken at X", "it also breaks with X"
    if any(word.startswith("reproduc") for word in earlier):
        return False
    if _begins_with(nearest, _SEARCHES) or _begins_with(earlier, ("bisect",)):
        return last in ("to", "at", "on", "in")
    return _begins_with(nearest, (*_CAUSES, *_BEGINNINGS))
