"""What a report says about releases: in which version something worked, and in which it fails."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Final, Literal, NamedTuple, TypeAlias

from tosloc.reports.text.markup import COMMENT

MAX_VERSIONS: Final = 200
"""Versions that are examined in a long text, such as a log."""
WINDOW: Final = 80
"""Characters before and after a version that are examined."""
VERSION: Final = re.compile(
    r"(?i)(?<![\w./])(?<!\d:)v?(?P<number>\d{1,5}(?:\.\d{1,8}){1,4}"
    r"(?:[-.]?(?:rc|cr|alpha|beta|dev|pre|a|b|m)[-.]?\d{1,4})?)(?![\w/-]|\.\d)"
)
_CLAUSE_END: Final = re.compile(r"[.!?;](?=\s)|\n")
_LIMIT: Final = re.compile(r"(?<![-=])([<>]=?)[ ]?\Z")
"""The sign before a version that means all versions below or above it."""
_TOKEN: Final = re.compile(r"[^\s,;:!?()|\[\]\"`*]+")

_FILLERS: Final = frozenset(
    """version versions ver v release releases tag the a at least is are was were only just even
    still now both new old older earlier previous prior current recent stable minor major patch
    """.split()
)
_UPGRADE: Final = ("upgrad", "updat", "migrat", "bump", "switch", "mov")
_DOWNGRADE: Final = ("downgrad", "revert", "roll")
_GOOD: Final = ("work", "fine", "ok", "correct", "pass", "succe", "good")
_BEGINNING: Final = tuple("broke regress introduc start begin began changed".split())
"""Beginnings of words that say that something fails from a version on."""
_START: Final = ("start", "begin", "began")
"""Those of them that say so only of a failure."""
_ON_PURPOSE: Final = ("deprecat", "remov", "requir", "minim")
"""Beginnings of words that speak of a change on purpose, or of what is needed."""
_NOTE_OF_VERSION: Final = re.compile(r"(?i)\b(?:new|added|changed)\s{1,2}in\s{1,2}version\s{1,2}\Z")
"""What documentation writes before a version."""
_POSSIBLE: Final = frozenset("can could available possible supported exists".split())
"""Words that say since when one can use something."""
_CONTRASTS: Final = frozenset("but however while whereas although though".split())
_WISHES: Final = frozenset("make making should must need needs".split())
"""Words before "work" that do not say that it works."""
_FAILING: Final = tuple(
    """fail break crash error bug wrong occur happen appear issue problem slow exception incorrect
    throw hang bad observ reproduc""".split()
)
_VERBS: Final = (*_GOOD, *_BEGINNING, *_FAILING)
_JOINING: Final = frozenset(["and", "or", "/", "&"])
_STATES: Final = frozenset("last latest first known".split())
_ENDS_OF: Final = frozenset("last latest first".split())
_COPULAS: Final = frozenset("is was are were as seems to be the my our".split())
"""Words between a version and a superlative: "1.1.0 was the last"."""
_PRONOUNS: Final = frozenset("it this that".split())
_UNITS: Final = frozenset(
    "b kb mb gb tb kib mib gib ms s sec secs seconds minutes hours % x".split()
)
_ENDS: Final = frozenset("stopped stops longer".split())
"""Negations that say that something worked before."""
_NEGATIONS: Final = frozenset(
    """not no never cannot longer stopped stops without stop unable nothing nowhere none neither nor
    hardly barely
    """.split()
)
_OTHER_WORDS: Final = _STATES | _NEGATIONS | {"v", "but", "also", "when", "if", "so", "then", "i"}
"""Words before a version that are no product."""
_NO_PRODUCTS: Final = _STATES | frozenset(
    "newest back over straight directly forward again once installing".split()
)
"""Words right before a version, or after "upgraded", that are no product, nor say anything else."""
_OWN_WORDS: Final = frozenset("my our your their its it everything this".split())
"""Words that show that no product is named, as in "upgrading our server to 2.0"."""
_PLACES: Final = frozenset("in with on under using for by at".split())
_ARROWS: Final = frozenset(["->", "=>", "→", "-->", "to"])


_NOT_THERE: Final = re.compile(
    r"(?i)[,;]?\s{1,3}(?:but|and)\s{1,3}not\s{1,3}(?:in|on|with|under|for|at|using)?\s{0,3}"
    r"(?:(?:the|version|release)\s{1,3}){0,3}\Z"
)
"""What is between two versions if only the first shows something: "in 2.4 but not in 2.3"."""
_VERDICT: Final = re.compile(r"\s{0,2}[(\[]\s?(?P<verdict>[^()\[\]\n]{1,40})[)\]]")
"""A verdict right after a version: "2.3.0 (OK)"."""
_EARLIER: Final = re.compile(
    r"(?i)\b(?:previous|earlier|older|prior|former)\s{1,3}(?:stable\s{1,3})?(?:version|release)s?"
    r"\W{0,4}(?:(?:at\s{1,3}least|such\s{1,3}as|like|e\.g\.,?|until)\s{1,3})?\Z"
)
"""Words before a version that the reporter compares a newer one with."""
_LATEST: Final = re.compile(
    r"(?i)\b(?:latest|current|newest)\s{1,3}(?:stable\s{1,3})?(?:version|release)\W{0,4}\Z"
)
"""Words before the version that the reporter uses."""
_ALIKE: Final = frozenset("same also too even either still likewise".split())
"""Words that say that an earlier version is no better."""
_WORKING_MARKS: Final = ("✅", "✔", "✓", "👍")
_FAILING_MARKS: Final = ("❌", "✗", "✘", "✖", "👎")

State: TypeAlias = Literal["works", "fails", "begins", "used"]


class VersionClaim(NamedTuple):
    """What a report says about one version."""

    version: str
    """As the report writes it, without "v": 2.8.1."""
    state: State
    """Whether something works in this version, fails in it, or begins to fail with it.

    "used" is the version in which the reporter saw the failure, told without a verb."""
    products: tuple[str, ...] = ()
    """Words before the version that may name the product, in lower case; none if it is implied."""


def find_version_claims(text: str) -> tuple[VersionClaim, ...]:
    """Return what a text says about versions, in its order.

    >>> [claim[:2] for claim in find_version_claims("Worked in 2.8.0, broken in 2.8.1.")]
    [('2.8.0', 'works'), ('2.8.1', 'begins')]
    >>> [claim[:2] for claim in find_version_claims("After upgrading from v1.2 to v1.3 it crashes")]
    [('1.2', 'works'), ('1.3', 'begins')]
    >>> find_version_claims("I get an error since Python 3.12")
    (VersionClaim(version='3.12', state='begins', products=('python',)),)
    >>> find_version_claims("I use 1.2.3 on 10.0.0.1")
    ()
    """
    visible = COMMENT.sub(" ", text)
    claims: dict[tuple[str, State], VersionClaim] = {}
    previous = _Reading("", "", None, (), 0)
    for match in islice(VERSION.finditer(visible), MAX_VERSIONS):
        reading = _read_version(visible, match, previous)
        if _is_backwards(previous, reading):
            # "Between 1.2 and 1.1", "from 1.2 to 1.1": the newer one is named first.
            claims.pop((previous.version, "works"), None)
            claims[previous.version, "begins"] = previous.claim("begins")
            reading = reading._replace(state="works")
        if _NOT_THERE.search(visible[previous.end : match.start()][-WINDOW:]):
            # "In 2.4 but not in 2.3": the same is not so in the second one.
            if previous.state is None:
                previous = previous._replace(state="fails")
                claims[previous.version, "fails"] = previous.claim("fails")
            state: State = "fails" if previous.state == "works" else "works"
            reading = reading._replace(state=state, products=previous.products)
        if reading.state is not None:
            claims.setdefault((reading.version, reading.state), reading.claim(reading.state))
        previous = reading
    return tuple(claims.values())


class _Reading(NamedTuple):
    """A version as a text speaks of it."""

    version: str
    relation: str
    """The word before it that relates it to the rest, such as "from"; it may be any word."""
    state: State | None
    products: tuple[str, ...]
    end: int
    """Where it ends in the text."""

    def claim(self, state: State) -> VersionClaim:
        """Return what is said about the version, with a state."""
        return VersionClaim(self.version, state, self.products)


def _read_version(text: str, match: re.Match[str], previous: _Reading) -> _Reading:
    """Return what a text says about one version; ``previous`` is the version before it."""
    before = text[max(0, match.start() - WINDOW) : match.start()]
    after = text[match.end() : match.end() + WINDOW]
    words_before = _words(_CLAUSE_END.split(before)[-1])
    words_after = _words(_CLAUSE_END.split(after)[0])
    products, words_before = _split_products(words_before)
    relation = words_before[-1] if words_before else ""
    joins = relation in _JOINING or relation in _ARROWS
    if joins and not products and words_before[-2:-1] and previous.version in words_before[-2]:
        products = previous.products
    state = _read_verdict(after) or _state(words_before, words_after)
    if state is None:
        state = _compare(before, words_before, words_after)
    if _NOTE_OF_VERSION.search(before):
        state = None
    limit = _LIMIT.search(before)
    if limit:
        state = _state_beyond(state, limit[1])
    return _Reading(match["number"], relation, state, products, match.end())


def _read_verdict(after: str) -> State | None:
    """Return what is said about a version in brackets right after it; None if nothing is."""
    match = _VERDICT.match(after)
    if match is None:
        return None
    if match["verdict"].startswith(_WORKING_MARKS):
        return "works"
    if match["verdict"].startswith(_FAILING_MARKS):
        return "fails"
    words = _words(match["verdict"])
    for position, word in enumerate(words[:4]):
        if word.startswith(_VERBS):
            return _state_of_verb(word, words[:position])
    return None


def _compare(before: str, words_before: Sequence[str], words_after: Sequence[str]) -> State | None:
    """Return what it says about a version that it is called earlier or the latest."""
    if _LATEST.search(before):
        return "used"
    if not _EARLIER.search(before):
        return None
    if _ALIKE.intersection((*words_before, *words_after)):
        return None
    is_failure = any(word.startswith(_FAILING) for word in words_after)
    is_negated = any(word in _NEGATIONS for word in words_after)
    return "fails" if is_failure and not is_negated else "works"


def _is_backwards(first: _Reading, second: _Reading) -> bool:
    """Return whether two versions are the ends of a range, the newer one first."""
    if first.relation not in ("from", "between") or first.state != "works":
        return False
    if second.state != "begins" or second.relation not in _ARROWS | {"and"}:
        return False
    return _numbers(first.version) > _numbers(second.version)


def _numbers(version: str) -> list[int]:
    """Return the numbers of a version."""
    return [int(number) for number in re.findall(r"\d+", version)]


def _state_beyond(state: State | None, sign: str) -> State | None:
    """Return what is said about a version by what is said about all versions beyond it.

    What works in all versions <2.0 begins to fail in 2.0; other signs say little.
    """
    if sign == "<":
        return "begins" if state == "works" else None
    if sign == ">=":
        return None if state == "works" else state
    return None


def _words(text: str) -> list[str]:
    """Return the words of a text in lower case, with arrows and versions."""
    words = [word.strip(".'’") for word in _TOKEN.findall(text.lower())]
    return [word for word in words if word]


def _split_products(words: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """Return the words at the end that may name a product, and the words before them."""
    rest = list(words)
    products: list[str] = []
    while rest and len(products) < 3:
        word = rest[-1]
        if word in _FILLERS:
            rest.pop()
        elif word and word[0].isalpha() and not _is_relation(word):
            rest.pop()
            if word not in _NO_PRODUCTS:
                products.insert(0, word)
        else:
            break
    if rest and _is_relation(rest[-1]):
        return tuple(products) or _upgraded_product(rest[:-1]), rest
    # No word relates the version to a sentence: at most the last word is a product.
    plain = [word for word in words if word not in _FILLERS]
    nearest = products[-1] if products else ""
    is_product = nearest and nearest not in _OTHER_WORDS and not nearest.startswith(_VERBS)
    return ((nearest,) if is_product else ()), plain


def _upgraded_product(words: Sequence[str]) -> tuple[str, ...]:
    """Return what is upgraded or downgraded, as in "upgrading scipy from"; mostly nothing."""
    for position in range(len(words) - 1, -1, -1):
        if not words[position].startswith((*_UPGRADE, *_DOWNGRADE)):
            continue
        for word in words[position + 1 : position + 4]:
            if word in _OWN_WORDS or _is_relation(word) or not word[0].isalpha():
                return ()
            if word not in _FILLERS | _NO_PRODUCTS:
                return (word,)
        return ()
    return ()


def _is_relation(word: str) -> bool:
    """Return whether a word can relate a version to what is said about it."""
    if word in _PLACES or word in _ARROWS:
        return True
    if word in (
        "since",
        "from",
        "after",
        "until",
        "till",
        "before",
        "of",
        "between",
        "and",
        "than",
    ):
        return True
    return word.startswith(_UPGRADE) or word.startswith(_DOWNGRADE)


def _state(before: Sequence[str], after: Sequence[str]) -> State | None:
    """Return what is said about a version, from the words around it; None if nothing is."""
    if after and after[0] in _UNITS:
        return None
    if any(word.startswith(_ON_PURPOSE) for word in before):
        return None
    relation = before[-1] if before else ""
    earlier = before[-9:-1]
    previous = earlier[-1] if earlier else ""
    if relation in ("after", "until", "till", "between"):
        return "works"
    if relation == "since" and any(word in _POSSIBLE for word in earlier):
        return "begins" if _is_failure(earlier) else None
    if relation in ("since", "before") or (previous, relation) == ("as", "of"):
        return "begins"
    if relation == "than":
        return _state_than(previous)
    if relation == "from":
        return _state_from(earlier, after)
    if relation.startswith(_UPGRADE) and "from" in after[:3]:
        return None  # something else is upgraded: "our Django 1.11 from Python 2 to 3"
    if relation.startswith(_UPGRADE):
        return "works" if _ARROWS.intersection(after[:1]) else "begins"
    if relation.startswith(_DOWNGRADE):
        return "works"
    if relation in _ARROWS:
        return _state_after_change(earlier)
    if relation == "and" and "between" in earlier:
        return "begins"
    return state_by_verbs(before[-9:], after)


def _state_than(comparative: str) -> State | None:
    """Return what "newer than" or "older than" says about a version."""
    if comparative in ("newer", "later", "greater", "higher"):
        return "works"
    return "begins" if comparative in ("older", "earlier", "lower", "smaller") else None


def _state_from(earlier: Sequence[str], after: Sequence[str]) -> State | None:
    """Return what "from" says about a version."""
    if any(word.startswith(_DOWNGRADE) for word in earlier):
        return "fails"
    if _ARROWS.intersection(after[:3]):
        return "works"
    if any(word.startswith(_UPGRADE) for word in earlier):
        return "works"
    is_start = bool(earlier) and earlier[-1].startswith(("start", "begin"))
    is_onwards = bool(after) and after[0].startswith("on")
    return "begins" if is_start or is_onwards else None


def _state_after_change(earlier: Sequence[str]) -> State | None:
    """Return what "to" or an arrow says about a version."""
    if earlier and earlier[-1] == "up":
        return "works"
    if earlier and earlier[-1] == "back":
        return None if "going" in earlier else "works"
    if earlier and earlier[-1] == "prior":
        return "begins"
    if any(word.startswith(_DOWNGRADE) for word in earlier[-5:]):
        return "works"
    if any(word.startswith(_UPGRADE) or word == "from" for word in earlier):
        return "begins"
    return "begins" if earlier and earlier[-1][:1].isdigit() else None


def state_by_verbs(before: Sequence[str], after: Sequence[str]) -> State | None:
    """Return what the nearest verb says if a place such as "in", or nothing, precedes a version.

    The verb comes before the version after a place or a version, or if the words before it say
    "last working" or "first broken"; otherwise it comes after the version.
    """
    words = list(before)
    while words and (words[-1] in _JOINING or words[-1][0].isdigit()):
        words.pop()  # one of several versions: "in 1.0 and 1.1"
    is_after_place = bool(words) and words[-1] in _PLACES
    is_after_verb = bool(words) and words[-1].startswith(_VERBS)
    superlative = _state_of_superlative(after)
    if superlative is not None:
        return superlative
    if is_after_place or is_after_verb or _STATES.intersection(before[-3:]):
        position = _find_last_verb(words)
        if position >= 0:
            # In "it no longer escapes text, worked in 2.1" the negation belongs to another verb.
            distance = 2 if words[position] == "worked" else 3
            return _state_of_verb(words[position], words[max(0, position - distance) :])
    for position, word in enumerate(after[:4] if is_after_place else after[:3]):
        if word.startswith(_START) and not _is_failure(after[:4]):
            continue
        if word.startswith(_VERBS):
            return _state_of_verb(word, after[:position])
    return None


def _state_of_superlative(after: Sequence[str]) -> State | None:
    """Return what "is the last good commit" or "was the first that failed" says, else None."""
    superlative = next((position for position, word in enumerate(after[:4]) if word in _ENDS_OF), 4)
    if superlative == 4 or not _COPULAS.issuperset(after[:superlative]):
        return None
    is_first = after[superlative] == "first"
    following = after[superlative + 1 : superlative + 8]
    for position, word in enumerate(following):
        if word.startswith(_VERBS):
            state = _state_of_verb(word, following[:position])
            if is_first:
                # What is first good was bad before: it tells of a fix.
                return None if state == "works" else "begins"
            return "works" if state == "works" else "fails"
    return None


def _find_last_verb(words: Sequence[str]) -> int:
    """Return the position of the last verb that speaks of a version at the end of words, or -1."""
    for position in range(len(words) - 1, -1, -1):
        word = words[position]
        if word in _CONTRASTS and not _NEGATIONS.intersection(words[position:]):
            return -1
        if not word.startswith(_VERBS):
            continue
        nearby = words[max(0, position - 3) : position]
        if word == "work" and _WISHES.intersection(nearby):
            continue
        if nearby[-1:] == ["to"] and nearby[-2:-1] and nearby[-2].startswith("fail"):
            continue
        # "Starting with 2.0", "it started in 2.0", but no "project that was started with 2.0".
        is_idiom = word in ("starting", "beginning") and position == len(words) - 2
        is_known = is_idiom or _PRONOUNS.intersection(words[max(0, position - 1) : position])
        if word.startswith(_START) and not is_known and not _is_failure(words):
            continue
        return position
    return -1


def _is_failure(words: Sequence[str]) -> bool:
    """Return whether words say that what starts is a failure."""
    return any(word.startswith(_FAILING) for word in words)


def is_negation(word: str) -> bool:
    """Return whether a word negates: "not", "doesn't"."""
    return word in _NEGATIONS or word.endswith(("n't", "n’t"))


def _state_of_verb(verb: str, around: Sequence[str]) -> State:
    """Return what a verb says about a version, with the words that may negate it."""
    is_negated = any(map(is_negation, around))
    if verb.startswith(_GOOD):
        if not is_negated:
            return "works"
        return "begins" if _ENDS.intersection(around) else "fails"
    if is_negated:
        return "works"
    return "begins" if verb.startswith(_BEGINNING) else "fails"
