"""Interpret words that relate a release to a sentence, such as "since", "from", "after", "than"."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tosloc.reports.text.verbs import (
    ALIKE,
    CONTRASTS,
    COPULAS,
    CURES,
    FAILING,
    GOOD,
    JOINING,
    PLACES,
    PRONOUNS,
    State,
    is_failure,
    is_negation,
    nearest_statement,
    state_by_verbs,
    state_of_verb,
)

UPGRADE: Final = ("upgrad", "updat", "migrat", "bump", "switch", "mov")
DOWNGRADE: Final = ("downgrad", "revert", "roll")
_HOLDS: Final = frozenset(
    """pin pins pinned pinning stay stays stayed staying lock locks locked locking stick sticking
    """.split()
)
"""Words about keeping a version: "staying on 2.0 avoids the crash"."""
_ON_PURPOSE: Final = ("deprecat", "remov", "requir", "minim")
"""Beginnings of words about a change on purpose, or about requirements."""
_POSSIBLE: Final = frozenset("can could available possible supported exists".split())
"""Words that say since when something can be used."""
_DEVELOPMENT: Final = ("refactor", "commits", "rewritten", "rewrote")
"""Beginnings of words about work on a version: "many refactorings since 2.0"."""
_EVENTS: Final = tuple("releas came come out upda upgrad install land".split())
"""Beginnings of words about the appearance of a version: "after 2.0 was released"."""
_LATER: Final = frozenset(
    """version versions release releases everything anything something all any every somewhere
    sometime later newer
    """.split()
)
"""Words before "after X" that exclude X: "all versions after 2.0"."""
_WORSE: Final = frozenset(["slower", "longer", "worse"])
"""Comparatives of a version in which something fails."""
_AGAINST: Final = ("vs", "versus")
_THAN: Final = ("than", "then", "compared", *_AGAINST)
"""Words between compared versions, with a frequent misspelling of the first."""
_TIMES: Final = frozenset("since before until till after".split())
_UNCHANGED: Final = frozenset("still same too also even either no not change difference".split())
"""Words that say that a downgrade did not help."""
_ONWARDS: Final = frozenset("later newer up above onwards upwards higher".split())
"""Words after "and" that mean all later versions: "2.0 and later"."""
UNITS: Final = frozenset(
    "b kb mb gb tb kib mib gib ms s sec secs seconds minutes hours % x".split()
)
ARROWS: Final = frozenset(["->", "=>", "→", "-->", "to"])


def state_by_relation(
    before: Sequence[str], after: Sequence[str], beside: Sequence[str]
) -> State | None:
    """Return the state of a version from the words around it; None if they state nothing.

    ``beside`` are the words of ``after`` up to a comma or a bracket.
    """
    if after and after[0] in UNITS:
        return None
    if any(word.startswith(_ON_PURPOSE) for word in before):
        return None
    relation = before[-1] if before else ""
    earlier = before[-9:-1]
    previous = earlier[-1] if earlier else ""
    if relation == "between":
        return "works"
    if relation == "since" and any(word in _POSSIBLE for word in earlier):
        return "begins" if is_failure(earlier) else None
    if relation in _TIMES or (previous, relation) == ("as", "of"):
        return _state_at_time(relation, earlier, after)
    is_compared = relation in _THAN or (previous in _THAN and relation in PLACES | {"to"})
    if is_compared and _WORSE.intersection(earlier):
        # "Much slower in 2.0 than in 1.9"; "longer" itself negates nothing here.
        is_denied = any(is_negation(word) for word in earlier if word != "longer")
        return None if is_denied else "works"
    if relation == "than":
        return _state_than(previous)
    if relation in _AGAINST:
        return None  # "wrong: 0.1 vs 0.2"
    if relation == "from":
        return _state_from(earlier, after)
    if relation.startswith(UPGRADE) and "from" in after[:3]:
        return None  # something else is upgraded: "our Django 1.11 from Python 2 to 3"
    if relation.startswith(UPGRADE):
        return "works" if ARROWS.intersection(after[:1]) else _state_after_move(earlier, after)
    if relation.startswith(DOWNGRADE):
        return _state_after_move(earlier, after, is_downgrade=True)
    if (relation in PLACES or relation == "to") and not _HOLDS.isdisjoint(earlier[-4:]):
        # "Pinning it to 2.0 should address the problem" says nothing about 2.0.
        return "works" if nearest_statement((), after) == "works" else None
    if relation in ARROWS:
        return _state_after_change(earlier, after)
    if relation == "and" and "between" in earlier:
        return "begins"
    state = _state_of_presence(before) or _state_of_affected(beside)
    if state is not None:
        return state
    state = state_by_verbs(before[-9:], after if relation in PLACES else beside)
    if not _ONWARDS.intersection(beside[1:2]):
        return state
    return None if state == "works" else state and "begins"


def _state_at_time(relation: str, earlier: Sequence[str], after: Sequence[str]) -> State | None:
    """Return the state of a version after "since", "as of", "before", "until" or "after", or None.

    ``relation`` is this word, ``earlier`` are the words before it, and ``after`` those after the
    version.
    """
    statement = nearest_statement(earlier, after) or _state_of_affected(after)
    if relation in ("until", "till"):
        if any(word.startswith(DOWNGRADE) for word in earlier):
            return _state_after_move(earlier, after, is_downgrade=True)
        return None if statement == "fails" else "works"
    if relation == "before":
        is_alike = not ALIKE.isdisjoint((*earlier[-3:], *after[:6]))
        return "begins" if statement == "works" and not is_alike else None
    if relation == "after":
        return _state_after(earlier, after, statement)
    if statement is None and any(word.startswith(_DEVELOPMENT) for word in earlier):
        return None
    return None if statement == "works" else "begins"


def _state_after(
    earlier: Sequence[str], after: Sequence[str], statement: State | None
) -> State | None:
    """Return the state of a version after the word "after"; None if it says nothing.

    ``statement`` is what happens after the version.
    """
    if statement == "works":
        return None  # "it works again after 2.0": a fix
    if any(word in _LATER for word in earlier[-1:]):
        return "works" if statement == "fails" else None  # "all versions after 2.0 fail"
    if any(word.startswith(("broke", "regress")) for word in earlier):
        return None  # "it broke after 2.0": in 2.0 or in the next one?
    is_event = any(word.startswith(_EVENTS) for word in after[:4])
    begins_clause = len(earlier) == 0 or earlier[-1] in JOINING | CONTRASTS | {"even", "so"}
    return "begins" if statement == "fails" or is_event or begins_clause else None


def _state_after_move(
    earlier: Sequence[str], after: Sequence[str], *, is_downgrade: bool = False
) -> State | None:
    """Return the state of a version to which the reporter upgraded or downgraded, or None.

    If the report states the result of the move, it counts: "downgrading to 2.0 does not help".
    """
    if is_downgrade and any(map(is_negation, earlier[-3:])):
        return None  # "I cannot downgrade to 2.0"
    before_move: Sequence[str] = ()
    if "after" in earlier:
        before_move = earlier[: len(earlier) - 1 - list(reversed(earlier)).index("after")]
    result = nearest_statement(before_move, after)
    if result is None and any(word.startswith(CURES) for word in before_move):
        result = "works"
    if not is_downgrade:
        return None if result == "works" else "begins"
    is_unchanged = not _UNCHANGED.isdisjoint((*before_move, *after[:6]))
    if result == "fails":
        return "fails" if is_unchanged else None
    return None if is_unchanged and result is None else "works"


def _state_of_presence(before: Sequence[str]) -> State | None:
    """Return the state in "the bug is not present in"; None if something else may be present."""
    if before[-2:-1] != ["present"] or before[-1] not in PLACES:
        return None
    subject = before[:-2]
    is_denied = any(map(is_negation, subject[-3:]))
    if not PRONOUNS.isdisjoint(subject) or is_failure(subject):
        return "works" if is_denied else "fails"
    is_implied = is_denied and all(map(is_negation, subject))
    return "works" if is_implied else None


def _state_of_affected(beside: Sequence[str]) -> State | None:
    """Return the state in "is affected" or "does not have the issue"; None for other words."""
    words = list(beside[:7])
    is_onwards = bool(_ONWARDS.intersection(words[1:2]))
    if is_onwards:
        words = words[2:]
    for position, word in enumerate(words):
        if word in JOINING or word[0].isdigit():
            return None
        if word == "affected" and COPULAS.intersection(words[:position]):
            if any(map(is_negation, words[:position])):
                return "works"
            return "begins" if is_onwards else "fails"
        if word in ("have", "show", "exhibit") and any(map(is_negation, words[:position])):
            return "works" if is_failure(words[position + 1 : position + 4]) else None
    return None


def _state_than(comparative: str) -> State | None:
    """Return the state of a version after "newer than" or "older than"; None for other words."""
    if comparative in ("newer", "later", "greater", "higher"):
        return "works"
    return "begins" if comparative in ("older", "earlier", "lower", "smaller") else None


def _state_from(earlier: Sequence[str], after: Sequence[str]) -> State | None:
    """Return the state of a version after "from"; None if it says nothing."""
    if any(word.startswith(DOWNGRADE) for word in earlier):
        return "fails"
    if ARROWS.intersection(after[:3]):
        return _state_of_range(earlier) or "works"
    if any(word.startswith(UPGRADE) for word in earlier):
        return "works"
    is_start = bool(earlier) and earlier[-1].startswith(("start", "begin"))
    is_onwards = bool(after) and after[0].startswith("on")
    return "begins" if is_start or is_onwards else None


def _state_of_range(words: Sequence[str]) -> State | None:
    """Return the state from a verb directly before a range, as in "it fails from 2.0 to 2.3".

    Return None if there is no such verb.
    """
    verb = words[-1] if words else ""
    if not verb.startswith((*GOOD, *FAILING)):
        return None
    if any(word.startswith((*UPGRADE, "regress")) for word in words):
        return None  # "a regression bug from 2.0 to 2.1"
    return state_of_verb(verb, words[-4:-1])


def _state_after_change(earlier: Sequence[str], after: Sequence[str]) -> State | None:
    """Return the state of a version after "to" or an arrow; None if it says nothing."""
    if earlier and earlier[-1] == "up":
        return nearest_statement(earlier, after)
    if earlier and earlier[-1] == "back":
        if "going" in earlier and nearest_statement((), after) is None:
            return None  # "confirmed for versions going back to 2.0"
        return _state_after_move(earlier, after, is_downgrade=True)
    if earlier and earlier[-1] == "prior":
        return _state_at_time("before", earlier[:-1], after)
    if any(word.startswith(DOWNGRADE) for word in earlier[-5:]):
        return _state_after_move(earlier, after, is_downgrade=True)
    if "from" in earlier and _state_of_range(earlier[: earlier.index("from")]) is not None:
        return _state_of_range(earlier[: earlier.index("from")])
    if any(word.startswith(UPGRADE) for word in earlier):
        return _state_after_move(earlier, after)
    if "from" in earlier:
        return "begins"
    if earlier[-1:] and earlier[-1][:1].isdigit() and earlier[-2:-1] and earlier[-2] in PLACES:
        state = state_by_verbs(earlier[:-1], ())  # "it works in 2.0 to 2.3"
        return "fails" if state == "begins" else state
    if not earlier or not earlier[-1][:1].isdigit():
        return None
    return "fails" if after and after[0].startswith(FAILING) else "begins"
