"""Interpret verbs beside a release or commit: it works, fails, or begins to fail."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, Literal, TypeAlias

GOOD: Final = tuple("work fine ok correct pass succe good instantan instantly".split())
_BEGINNING: Final = tuple("broke breakage regress introduc start begin began changed".split())
"""Beginnings of words that say that something fails from a version on."""
_START: Final = ("start", "begin", "began")
"""Those of these beginnings that say so only about a failure."""
CONTRASTS: Final = frozenset("but however while whereas although though".split())
_WISHES: Final = frozenset("make making should would could might must need needs".split())
"""Words before "work" with which it does not mean that something works."""
FAILING: Final = tuple(
    """fail break crash error bug wrong occur happen appear issue problem slow exception incorrect
    throw hang bad observ reproduc affects""".split()
)
VERBS: Final = (*GOOD, *_BEGINNING, *FAILING)
JOINING: Final = frozenset(["and", "or", "/", "&"])
_DASHES: Final = frozenset(["-", "–", "—"])
"""Signs between the ends of a range of versions."""
_DOES: Final = frozenset(
    """accepts behaved behaves builds compiles computed computes displayed displays formats
    generated generates gave gives handled handles loads parsed parses printed prints processed
    processes produced produces read reads rendered renders returned returns showed shows
    treated treats
    """.split()
)
"""Verbs that say nothing without an adverb: "2.0 handles this correctly"."""
_WELL: Final = frozenset("correctly fine perfectly properly well".split())
CURES: Final = ("fix", "help", "solv", "resolv", "disappear", "gone", "cure", "avoid")
"""Beginnings of words that say that something works again."""
_DOUBTS: Final = frozenset("sure certain think believe convinced clear know".split())
"""Words that, directly after a negation, deny what follows: "I am not sure that"."""
_OTHER_NOUNS: Final = ("workf", "worka", "worksp", "worker", "workl", "password")
"""Beginnings of nouns that begin like verbs, such as "workflow"."""
STATES: Final = frozenset("last latest first known".split())
_ENDS_OF: Final = frozenset("last latest first".split())
COPULAS: Final = frozenset("is was are were as seems to be the my our".split())
"""Words between a version and a superlative: "1.1.0 was the last"."""
PRONOUNS: Final = frozenset("it this that".split())
_ENDS: Final = frozenset("stopped stops longer".split())
"""Negations that imply that something worked before."""
NEGATIONS: Final = frozenset(
    """not no never cannot longer stopped stops without stop unable nothing nowhere none neither nor
    hardly barely
    """.split()
)
PLACES: Final = frozenset("in with on under using for by at".split())
ALIKE: Final = frozenset("same also too even either still likewise".split())
"""Words that say that an earlier version is no better."""
_CONTINUING: Final = (
    JOINING | CONTRASTS | PLACES | ALIKE | frozenset(["version", "versions", "when", "if", "as"])
)
"""Words after one of several versions that make no further statement about it."""
State: TypeAlias = Literal["works", "fails", "begins", "used"]


def nearest_statement(earlier: Sequence[str], after: Sequence[str]) -> State | None:
    """Return "works" or "fails" by the last verb before a version, or the first after it.

    Return None if there is no such verb.
    """
    position = _find_last_verb(earlier)
    if position >= 0 and not _tells_past(earlier, position):
        state = state_of_verb(earlier[position], earlier[max(0, position - 3) : position])
        return "works" if state == "works" else "fails"
    for position, word in enumerate(after[:10]):
        if word[0].isdigit() or word in CONTRASTS:
            return None
        if word.startswith(_OTHER_NOUNS):
            continue
        if word.startswith(FAILING) and any(w.startswith(CURES) for w in after[position:][:4]):
            continue  # "the problem disappears"
        if word.startswith(CURES) or (word.startswith(VERBS) and word not in _START):
            is_cure = word.startswith(CURES)
            denied = any(map(is_negation, after[max(0, position - 4) : position]))
            is_success = is_cure or word.startswith(GOOD)
            return "works" if is_success != denied else "fails"
    return None


def _tells_past(words: Sequence[str], position: int) -> bool:
    """Return whether a verb is about the past: "it used to work, but since 2.0"."""
    return "used" in words[max(0, position - 3) : position]


def state_by_verbs(before: Sequence[str], after: Sequence[str]) -> State | None:
    """Return the state from the nearest verb, if a word such as "in" or nothing precedes a version.

    The verb comes before the version if the version follows a word such as "in" or another version,
    or if the words before it say "last working" or "first broken". Otherwise the verb comes after
    the version. Return None if there is no verb, or if the statement is in doubt.
    """
    words = list(before)
    while words and (words[-1] in JOINING | _DASHES or words[-1][0].isdigit()):
        words.pop()  # one of several versions: "in 1.0 and 1.1", "in 1.0 - 1.1"
    is_after_place = bool(words) and words[-1] in PLACES
    is_after_verb = bool(words) and words[-1].startswith(VERBS)
    superlative = _state_of_superlative(after)
    if superlative is not None:
        return superlative
    following = _first_verb_state(after[:4] if is_after_place else after[:3])
    if following is None:
        following = _state_of_adverb(after)
    if not (is_after_place or is_after_verb or STATES.intersection(before[-3:])):
        return following
    position = _find_last_verb(words)
    if position < 0:
        return following
    if is_doubted(words[-8:]):
        return None
    cure = last_cure(words[position:])
    if cure is not None:
        # "The bug is gone in 2.0" or "is not fixed in 2.0": the bug is not what is told.
        return "fails" if cure == "fails" else None
    others = [*words[max(0, position - 3) : position], *before[position + 1 :]]
    if is_after_place:
        others = list(before[position + 1 :])
    if any(word[0].isdigit() for word in others):
        # The verb speaks of another version, unless this one continues a list.
        if after and after[0] not in _CONTINUING:
            return following
        is_other_verb = is_after_verb and words == list(before) and not after
        if is_other_verb and _find_last_verb(words[:position]) < 0:
            return None  # "2.0 works 2.1"
    # In "it no longer escapes text, worked in 2.1" the negation belongs to another verb.
    distance = 2 if words[position] == "worked" else 3
    state = state_of_verb(words[position], words[max(0, position - distance) :])
    is_contradiction = following is not None and (following == "works") != (state == "works")
    if is_after_verb and is_contradiction:
        return None  # "throws error 2.0 works fine": whose verb is it?
    if is_after_place and is_contradiction and any(word[0].isdigit() for word in words[:position]):
        # "In 2.0 it worked, in 2.1 it fails"; who knows in "in 2.0 it worked, fails in 2.1 it ..."
        return None if position == len(words) - 2 else following
    is_range = bool(before) and before[-1].endswith(tuple(_DASHES))
    return "fails" if is_range and state == "begins" else state


def _first_verb_state(after: Sequence[str]) -> State | None:
    """Return the state from the first verb after a version, before another version; or None."""
    for position, word in enumerate(after):
        if word[0].isdigit() and after[position - 1] not in JOINING | _DASHES:
            return None
        if word.startswith(_START) and not is_failure(after):
            continue
        if word.startswith(CURES):
            return None  # "2.0 fixes the crash"
        if word.startswith(VERBS):
            return state_of_verb(word, after[:position])
    return None


def _state_of_adverb(after: Sequence[str]) -> State | None:
    """Return the state in "handles this scenario correctly"; None for other words."""
    if not _DOES.intersection(after[:1]):
        return None
    for position, word in enumerate(after[1:8], start=1):
        if word in _WELL:
            return "fails" if any(map(is_negation, after[:position])) else "works"
        if word in CONTRASTS or word in JOINING or word[0].isdigit():
            return None
    return None


def _state_of_superlative(after: Sequence[str]) -> State | None:
    """Return the state in "is the last good commit" or "was the first that failed", else None."""
    superlative = next((position for position, word in enumerate(after[:4]) if word in _ENDS_OF), 4)
    if superlative == 4 or not COPULAS.issuperset(after[:superlative]):
        return None
    is_first = after[superlative] == "first"
    following = after[superlative + 1 : superlative + 8]
    for position, word in enumerate(following):
        if word.startswith(VERBS):
            state = state_of_verb(word, following[:position])
            if is_first:
                # "X is the first good version" tells of a fix, because earlier ones were bad.
                return None if state == "works" else "begins"
            return "works" if state == "works" else "fails"
    return None


def _find_last_verb(words: Sequence[str]) -> int:
    """Return the position of the last verb that is about the version after the words, or -1."""
    for position in range(len(words) - 1, -1, -1):
        word = words[position]
        if word in CONTRASTS and not NEGATIONS.intersection(words[position:]):
            return -1
        if not word.startswith(VERBS):
            continue
        nearby = words[max(0, position - 3) : position]
        if word == "work" and _WISHES.intersection(nearby):
            continue
        if nearby[-1:] == ["to"] and nearby[-2:-1] and nearby[-2].startswith("fail"):
            continue
        # "Starting with 2.0", "it started in 2.0", but no "project that was started with 2.0".
        is_idiom = word in ("starting", "beginning") and position == len(words) - 2
        is_known = is_idiom or PRONOUNS.intersection(words[max(0, position - 1) : position])
        if word.startswith(_START) and not is_known and not is_failure(words):
            continue
        return position
    return -1


def is_failure(words: Sequence[str]) -> bool:
    """Return whether words after "starts" and the like say that a failure starts."""
    return any(word.startswith(FAILING) for word in words)


def is_doubted(words: Sequence[str]) -> bool:
    """Return whether words put what follows in doubt: "not sure that", "I don't think"."""
    doubts = (is_negation(word) and after in _DOUBTS for word, after in pairwise(words))
    return "whether" in words or "unsure" in words or any(doubts)


def last_cure(words: Sequence[str], cures: tuple[str, ...] = CURES) -> State | None:
    """Return the state from the last word about a cure: "is fixed", "works again after".

    Return None if there is no such word. ``cures`` are the beginnings of these words.
    """
    for position in range(len(words) - 1, -1, -1):
        if words[position].startswith(cures):
            is_denied = any(map(is_negation, words[max(0, position - 3) : position]))
            return "fails" if is_denied else "works"
    return None


def is_negation(word: str) -> bool:
    """Return whether a word negates: "not", "doesn't"."""
    return word in NEGATIONS or word.endswith(("n't", "n’t"))


def state_of_verb(verb: str, around: Sequence[str]) -> State:
    """Return the state of a version from a verb, with the words around it that may negate it."""
    is_negated = any(map(is_negation, around))
    if verb.startswith(GOOD):
        if not is_negated:
            return "works"
        return "begins" if _ENDS.intersection(around) else "fails"
    if is_negated:
        return "works"
    return "begins" if verb.startswith(_BEGINNING) else "fails"
