"""Decide whether the words around a commit or change say that it broke something."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, Literal

from tosloc.reports.text.verbs import CURES, is_negation, last_cure, state_by_verbs

_CULPRITS: Final = tuple("culprit offend guilty blam suspect responsib".split())
_CAUSES: Final = (
    *_CULPRITS,
    *"broke break introduc caus regress trigger reintroduc re-introduc rebroke re-broke".split(),
)
"""Beginnings of words that accuse a commit of breaking something."""
_BEGINNINGS: Final = ("start", "beg")
_SEARCHES: Final = ("bisect", "trac", "track", "narrow", "point", "pinpoint", "led", "lead")
"""Beginnings of words that introduce the result of a search for the cause."""
_FINDINGS: Final = ("result", "show", "found", "find", "identif", "gave", "giv", "say", "reveal")
"""Beginnings of words that introduce the result of a bisection."""
FAILURES: Final = tuple(
    "fail break broke crash error bug wrong stop longer hang regress issue problem".split()
)
_CURES: Final = (*CURES, "work", "away", "allow")
SUCCESSES: Final = ("work", "fine", "ok", "pass", "good", "correct")
_ALIKE: Final = frozenset("still also already too even again remains currently".split())
"""Words that say that something had also failed before a commit."""
_LASTING: Final = ("broken", "breaks", "breaking", "trigger")
"""Beginnings of words that say that something fails at a commit, but not since when it fails."""
_OPPOSITES: Final = ("miss", "lack", "revert", "undone", "fix")
"""Beginnings of words after "because of a commit" that do not accuse it: "because X is missing"."""
_APPEARANCES: Final = ("happen", "appear", "occur")
_NEW_CLAUSE: Final = frozenset("and but it i when if because".split())
"""Words that begin another clause."""


def state_after_cure(words: Sequence[str]) -> Literal["works", "fails"] | None:
    """Return the state that words about a cure show: "fixes it" or "does not help", else None."""
    for position, word in enumerate(words[:8]):
        if word.startswith(_CURES):
            is_denied = any(map(is_negation, words[max(0, position - 3) : position]))
            return "fails" if is_denied else "works"
    return None


def begins_with(words: Sequence[str], beginnings: tuple[str, ...]) -> bool:
    """Return whether any word begins with one of the given beginnings."""
    return any(word.startswith(beginnings) for word in words)


def is_blamed(before: Sequence[str], after: Sequence[str]) -> bool:
    """Return whether the words around the name of a commit say that it broke something."""
    if _is_accused_after(before, after):
        return True
    if not before:
        return False
    last = before[-1]
    earlier = before[-8:-1]
    if is_reverted(before, after) and not last.startswith("revert"):
        # "It works without X", "with X reverted it works"
        state = state_by_verbs([*earlier, "at"], ()) or state_after_cure(after)
        return state == "works"
    if last.startswith("revert"):
        # "Reverting X fixes it", "it works again after reverting X"; not "This reverts X".
        state = state_after_cure(after) or last_cure(earlier, _CURES)
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
    if last.startswith(_FINDINGS) and begins_with(earlier, ("bisect",)):
        return True
    if last == "because":
        is_denied = any(map(is_negation, after[:6])) or begins_with(after[:6], _OPPOSITES)
        return begins_with(earlier, (*_CAUSES, *FAILURES, *_APPEARANCES)) and not is_denied
    return _relates_cause(last, earlier)


def is_reverted(before: Sequence[str], after: Sequence[str]) -> bool:
    """Return whether words are about reverting a commit: "reverting X", "X is reverted"."""
    return before[-1:] == ["without"] or begins_with([*before[-1:], *after[:2]], ("revert",))


def _worked_before(earlier: Sequence[str], after: Sequence[str]) -> bool:
    """Return whether something worked before a commit: "it worked before X", "before X it did"."""
    state = state_by_verbs([*earlier, "at"], ())
    if state is None and not begins_with(earlier, (*SUCCESSES, *FAILURES)):
        state = state_by_verbs(["at"], after)
    return state == "works" and not _ALIKE.intersection((*earlier[-3:], *after[:6]))


def _fails_since(last: str, earlier: Sequence[str], after: Sequence[str]) -> bool:
    """Return whether the words around a commit say that something fails "since" or "after" it."""
    is_failure = begins_with(earlier, FAILURES)
    if any(map(is_negation, earlier[-3:])):
        # "It no longer works since X"; a denied failure accuses nothing.
        return begins_with(earlier, SUCCESSES) and not begins_with(earlier, _CAUSES)
    if begins_with(earlier, SUCCESSES) and not is_failure:
        return False
    state = None if earlier else state_by_verbs(["at"], after)
    if state is not None:
        return state != "works"
    is_start = begins_with(earlier[-3:], (*_BEGINNINGS, *_APPEARANCES))
    return last == "since" or is_failure or is_start or begins_with(after[:6], FAILURES)


def _is_accused_after(before: Sequence[str], after: Sequence[str]) -> bool:
    """Return whether the words after a commit accuse it: "X broke it", "X is the first bad"."""
    if any(map(is_negation, before[-1:])):
        return False
    words = after[:6]
    if "first" in words and words[words.index("first") + 1 :][:1] == ["bad"]:
        return not any(map(is_negation, words))
    if "fault" in words and {"s", "at", "the"}.intersection(words[: words.index("fault")][-1:]):
        return not any(map(is_negation, words))
    # A verb that follows soon: "X, which broke it", "X appears to have caused".
    for position, (word, following) in enumerate(pairwise((*words, ""))):
        if word.startswith(_CAUSES) and following != "by":  # "works at X, caused by Y"
            # "X broke nothing" accuses nobody, but "X broke it, which is not shown" does.
            return not any(map(is_negation, words[: position + 2]))
        if word in _NEW_CLAUSE:
            return False
    return False


def _relates_cause(last: str, earlier: Sequence[str]) -> bool:
    """Return whether a word such as "by" (``last``) follows a word about a cause in ``earlier``."""
    if last not in ("with", "in", "by", "from", "to", "at", "of", "on"):
        return False
    nearest = earlier[-3:]
    if last == "to" and earlier[-1:] == ["due"]:
        return True
    if last == "of" and earlier[-1:] in (["because"], ["result"], ["fault"]):
        return True
    if last == "to" and earlier[-1:] == ["up"]:
        return False
    if last in ("at", "on") and begins_with(nearest, _LASTING):
        return False
    if last != "by" and _ALIKE.intersection(earlier):
        return False  # "still broken at X", "it also breaks with X"
    if any(word.startswith("reproduc") for word in earlier):
        return False
    if begins_with(nearest, _SEARCHES) or begins_with(earlier, ("bisect",)):
        return last in ("to", "at", "on", "in")
    if last == "with" and earlier[-1:] == ["appeared"]:
        return True  # "it appears with X" does not say since when
    return begins_with(nearest, (*_CAUSES, *_BEGINNINGS))
