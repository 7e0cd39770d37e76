"""What a report says about releases: in which version something worked, and in which it fails."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice, pairwise
from typing import Final, Literal, NamedTuple, TypeAlias

from tosloc.reports.text.markup import COMMENT
from tosloc.reports.text.ranges import spell_out_ranges

MAX_RELEASES: Final = 200
"""Release numbers that are examined in a long text, such as a log."""
WINDOW: Final = 80
"""Characters before and after a release number that are examined."""
RELEASE_NUMBER: Final = re.compile(
    r"(?i)(?<![\w./])(?<!\d:)v?(?P<number>\d{1,5}(?:\.\d{1,8}){1,4}"
    r"(?:[-.]?(?:rc|cr|alpha|beta|dev|pre|a|b|m)[-.]?\d{1,4})?)(?![\w/-]|\.\d)"
)
_CLAUSE_END: Final = re.compile(r"[.!?;](?=\s)|\n")
_PART_END: Final = re.compile(r"[,()\[\]|]")
"""What ends a part of a clause. A verb beyond it speaks of something else."""
_CLOSING: Final = re.compile(r"[)\]]")
_AND_INCLUDING: Final = re.compile(r"(?i)\s(?:and|or)\sincluding\s\Z")
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
_WISHES: Final = frozenset("make making should would could might must need needs".split())
"""Words before "work" that do not say that it works."""
_FAILING: Final = tuple(
    """fail break crash error bug wrong occur happen appear issue problem slow exception incorrect
    throw hang bad observ reproduc affects""".split()
)
_VERBS: Final = (*_GOOD, *_BEGINNING, *_FAILING)
_JOINING: Final = frozenset(["and", "or", "/", "&"])
_DASHES: Final = frozenset(["-", "–", "—"])
"""Signs between the ends of a range of versions."""
_CURES: Final = ("fix", "help", "solv", "resolv", "disappear", "gone", "cure")
"""Beginnings of words that say that something works again."""
_EVENTS: Final = tuple("releas came come out upda upgrad install land".split())
"""Beginnings of words after a version that appeared: "after 2.0 was released"."""
_LATER: Final = frozenset(
    """version versions release releases everything anything something all any every somewhere
    sometime later newer
    """.split()
)
"""Words before "after" with which a version is the last that is not meant."""
_DOUBTS: Final = frozenset("sure certain think believe convinced clear know".split())
"""Words that, right after a negation, deny what follows: "I am not sure that"."""
_QUESTIONS: Final = frozenset("does did do is was has can could".split())
_OTHER_NOUNS: Final = ("workf", "worka", "worksp", "worker", "workl", "password")
"""Beginnings of nouns that begin like verbs: "workflow"."""
_TIMES: Final = frozenset("since before until till after".split())
_UNCHANGED: Final = frozenset("still same too also even either no not change difference".split())
"""Words that say that a downgrade did not help."""
_ONWARDS: Final = frozenset("later newer up above onwards upwards higher".split())
"""Words after "and" that mean all later versions: "2.0 and later"."""
_ELLIPSES: Final = tuple(
    tuple(words.split())
    for words in ("do", "does", "did", "is not", "isn't", "does not", "doesn't", "do not", "don't")
)
"""What is left of "2.0 works, but 2.1 does not"."""
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
_CONTINUING: Final = (
    _JOINING
    | _CONTRASTS
    | _PLACES
    | _ALIKE
    | frozenset(["version", "versions", "when", "if", "as"])
)
"""Words after one of several versions that say nothing else about it."""
_WORKING_MARKS: Final = ("✅", "✔", "✓", "👍")
_FAILING_MARKS: Final = ("❌", "✗", "✘", "✖", "👎")

State: TypeAlias = Literal["works", "fails", "begins", "used"]


class ReleaseClaim(NamedTuple):
    """What a report says about one release."""

    number: str
    """As the report writes it, without "v": 2.8.1."""
    state: State
    """Whether something works in this release, fails in it, or begins to fail with it.

    "used" is the release in which the reporter saw the failure, told without a verb."""
    products: tuple[str, ...] = ()
    """Words before the number that may name the product, in lower case; none if it is implied."""


def find_release_claims(text: str) -> tuple[ReleaseClaim, ...]:
    """Return what a text says about releases, in its order.

    >>> [claim[:2] for claim in find_release_claims("Worked in 2.8.0, broken in 2.8.1.")]
    [('2.8.0', 'works'), ('2.8.1', 'begins')]
    >>> [claim[:2] for claim in find_release_claims("After upgrading from v1.2 to v1.3 it crashes")]
    [('1.2', 'works'), ('1.3', 'begins')]
    >>> find_release_claims("I get an error since Python 3.12")
    (ReleaseClaim(number='3.12', state='begins', products=('python',)),)
    >>> find_release_claims("I use 1.2.3 on 10.0.0.1")
    ()
    """
    visible = spell_out_ranges(COMMENT.sub(" ", text))
    claims: dict[tuple[str, State], ReleaseClaim] = {}
    previous = _Reading("", "", None, (), 0)
    for match in islice(RELEASE_NUMBER.finditer(visible), MAX_RELEASES):
        reading = _read_version(visible, match, previous)
        if _is_backwards(previous, reading):
            # "Between 1.2 and 1.1", "from 1.2 to 1.1": the newer one is named first.
            claims.pop((previous.number, "works"), None)
            claims[previous.number, "begins"] = previous.claim("begins")
            reading = reading._replace(state="works")
        if _NOT_THERE.search(visible[previous.end : match.start()][-WINDOW:]):
            # "In 2.4 but not in 2.3": the same is not so in the second one.
            if previous.state is None:
                previous = previous._replace(state="fails")
                claims[previous.number, "fails"] = previous.claim("fails")
            state: State = "fails" if previous.state == "works" else "works"
            reading = reading._replace(state=state, products=previous.products)
        if reading.state is not None:
            claims.setdefault((reading.number, reading.state), reading.claim(reading.state))
        previous = reading
    return tuple(claims.values())


class _Reading(NamedTuple):
    """The number of a release as a text speaks of it."""

    number: str
    relation: str
    """The word before it that relates it to the rest, such as "from"; it may be any word."""
    state: State | None
    products: tuple[str, ...]
    end: int
    """Where it ends in the text."""

    def claim(self, state: State) -> ReleaseClaim:
        """Return what is said about the release, with a state."""
        return ReleaseClaim(self.number, state, self.products)


def _read_version(text: str, match: re.Match[str], previous: _Reading) -> _Reading:
    """Return what a text says about one version; ``previous`` is the version before it."""
    before = text[max(0, match.start() - WINDOW) : match.start()]
    after = text[match.end() : match.end() + WINDOW]
    before = _AND_INCLUDING.sub(" ", before)
    clause_before, clause_after = _clauses(before, after)
    words_before = _words(clause_before)
    words_after = _words(clause_after)
    beside = _words(_PART_END.split(clause_after.lstrip(" |)]`*"))[0])
    products, words_before = _split_products(words_before)
    if clause_before.rstrip().endswith(","):
        products = ()
    relation = words_before[-1] if words_before else ""
    joins = relation in _JOINING or relation in _ARROWS
    if joins and not products and words_before[-2:-1] and previous.number in words_before[-2]:
        products = previous.products
    state = _read_verdict(after) or _state(words_before, words_after, beside)
    if state is None:
        state = _state_of_ellipsis(words_before, beside, previous)
    if state is None:
        state = _compare(before, words_before, words_after)
    is_question = "?" in after[: len(_CLAUSE_END.split(after)[0]) + 1]
    if is_question and words_before and words_before[0] in _QUESTIONS:
        state = None
    if _NOTE_OF_VERSION.search(before):
        state = None
    limit = _LIMIT.search(before)
    if limit:
        state = _state_beyond(state, limit[1])
    return _Reading(match["number"], relation, state, products, match.end())


def _clauses(before: str, after: str) -> tuple[str, str]:
    """Return the clause around a version: what is before the version, and what is after it.

    What brackets contain is a clause of its own, unless they contain only the version: "it works in
    the older release (2.0)".
    """
    clause_before = _CLAUSE_END.split(before)[-1]
    clause_after = _CLAUSE_END.split(after)[0]
    bracket = max(clause_before.rfind("("), clause_before.rfind("["))
    if bracket < 0 or max(clause_before.rfind(")"), clause_before.rfind("]")) > bracket:
        return clause_before, clause_after
    inside_before = clause_before[bracket + 1 :]
    inside_after = _CLOSING.split(clause_after)[0]
    is_alone = set(_words(inside_before + " " + inside_after)) <= _FILLERS
    return (clause_before, clause_after) if is_alone else (inside_before, inside_after)


def _state_of_ellipsis(
    before: Sequence[str], beside: Sequence[str], previous: _Reading
) -> State | None:
    """Return what "2.0 works, but 2.1 does not" says about the second version; mostly None.

    ``beside`` are the words after the version up to a comma, ``previous`` the version before it.
    """
    rest = list(beside)
    while rest and (rest[0] in _JOINING or rest[0][0].isdigit()):
        rest.pop(0)  # one of several versions: "but 2.1 and 2.2 do not"
    if tuple(rest) not in _ELLIPSES or previous.state not in ("works", "fails"):
        return None
    if not previous.number or not any(previous.number in word for word in before):
        return None
    if before[-1] in _JOINING:
        return previous.state
    return "fails" if previous.state == "works" else "works"


def _read_verdict(after: str) -> State | None:
    """Return what is said about a version in brackets right after it; None if nothing is."""
    match = _VERDICT.match(after)
    if match is None or RELEASE_NUMBER.search(match["verdict"]):
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
    return _split_number(first.number) > _split_number(second.number)


def _split_number(number: str) -> list[int]:
    """Return the parts of a release number."""
    return [int(part) for part in re.findall(r"\d+", number)]


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
    """Return the words of a text in lower case, with arrows and versions; v1.2 becomes 1.2."""
    words = []
    for token in _TOKEN.findall(text.lower()):
        word = token.strip(".'’")
        if word[:1] == "v" and word[1:2].isdigit():
            word = word[1:]
        if word:
            words.append(word)
    return words


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


def _state(before: Sequence[str], after: Sequence[str], beside: Sequence[str]) -> State | None:
    """Return what is said about a version, from the words around it; None if nothing is.

    ``beside`` are the words of ``after`` up to a comma or a bracket.
    """
    if after and after[0] in _UNITS:
        return None
    if any(word.startswith(_ON_PURPOSE) for word in before):
        return None
    relation = before[-1] if before else ""
    earlier = before[-9:-1]
    previous = earlier[-1] if earlier else ""
    if relation == "between":
        return "works"
    if relation == "since" and any(word in _POSSIBLE for word in earlier):
        return "begins" if _is_failure(earlier) else None
    if relation in _TIMES or (previous, relation) == ("as", "of"):
        return _state_at_time(relation, earlier, after)
    if relation == "than":
        return _state_than(previous)
    if relation == "from":
        return _state_from(earlier, after)
    if relation.startswith(_UPGRADE) and "from" in after[:3]:
        return None  # something else is upgraded: "our Django 1.11 from Python 2 to 3"
    if relation.startswith(_UPGRADE):
        return "works" if _ARROWS.intersection(after[:1]) else _state_after_move(earlier, after)
    if relation.startswith(_DOWNGRADE):
        return _state_after_move(earlier, after, is_downgrade=True)
    if relation in _ARROWS:
        return _state_after_change(earlier, after)
    if relation == "and" and "between" in earlier:
        return "begins"
    state = _state_of_presence(before) or _state_of_affected(beside)
    if state is not None:
        return state
    state = state_by_verbs(before[-9:], after if relation in _PLACES else beside)
    if not _ONWARDS.intersection(beside[1:2]):
        return state
    return None if state == "works" else state and "begins"


def _state_at_time(relation: str, earlier: Sequence[str], after: Sequence[str]) -> State | None:
    """Return what "since", "as of", "before", "until" or "after" says about a version."""
    statement = _nearest_statement(earlier, after)
    if relation in ("until", "till"):
        if any(word.startswith(_DOWNGRADE) for word in earlier):
            return _state_after_move(earlier, after, is_downgrade=True)
        return None if statement == "fails" else "works"
    if relation == "before":
        is_alike = not _ALIKE.isdisjoint((*earlier[-3:], *after[:6]))
        return "begins" if statement == "works" and not is_alike else None
    if relation == "after":
        return _state_after(earlier, after, statement)
    return None if statement == "works" else "begins"


def _state_after(
    earlier: Sequence[str], after: Sequence[str], statement: State | None
) -> State | None:
    """Return what "after" says about a version; ``statement`` is what happens after it."""
    if statement == "works":
        return None  # "it works again after 2.0": a fix
    if any(word in _LATER for word in earlier[-1:]):
        return "works" if statement == "fails" else None  # "all versions after 2.0 fail"
    if any(word.startswith(("broke", "regress")) for word in earlier):
        return None  # "it broke after 2.0": in 2.0 or in the next one?
    is_event = any(word.startswith(_EVENTS) for word in after[:4])
    begins_clause = len(earlier) == 0 or earlier[-1] in _JOINING | _CONTRASTS | {"even", "so"}
    return "begins" if statement == "fails" or is_event or begins_clause else None


def _nearest_statement(earlier: Sequence[str], after: Sequence[str]) -> State | None:
    """Return "works" or "fails" by the last verb before a version, or else the first after it."""
    position = _find_last_verb(earlier)
    if position >= 0 and not _tells_past(earlier, position):
        state = _state_of_verb(earlier[position], earlier[max(0, position - 3) : position])
        return "works" if state == "works" else "fails"
    for position, word in enumerate(after[:10]):
        if word[0].isdigit() or word in _CONTRASTS:
            return None
        if word.startswith(_OTHER_NOUNS):
            continue
        if word.startswith(_FAILING) and any(w.startswith(_CURES) for w in after[position:][:4]):
            continue  # "the problem disappears"
        if word.startswith(_CURES) or (word.startswith(_VERBS) and word not in _START):
            is_cure = word.startswith(_CURES)
            denied = any(map(is_negation, after[max(0, position - 4) : position]))
            is_success = is_cure or word.startswith(_GOOD)
            return "works" if is_success != denied else "fails"
    return None


def _tells_past(words: Sequence[str], position: int) -> bool:
    """Return whether a verb tells what was before: "it used to work, but since 2.0"."""
    return "used" in words[max(0, position - 3) : position]


def _state_after_move(
    earlier: Sequence[str], after: Sequence[str], *, is_downgrade: bool = False
) -> State | None:
    """Return what an upgrade or a downgrade to a version says about it.

    The result of the move counts, if the report tells it: "downgrading to 2.0 does not help".
    """
    if is_downgrade and any(map(is_negation, earlier[-3:])):
        return None  # "I cannot downgrade to 2.0"
    before_move: Sequence[str] = ()
    if "after" in earlier:
        before_move = earlier[: len(earlier) - 1 - list(reversed(earlier)).index("after")]
    result = _nearest_statement(before_move, after)
    if result is None and any(word.startswith(_CURES) for word in before_move):
        result = "works"
    if not is_downgrade:
        return None if result == "works" else "begins"
    is_unchanged = not _UNCHANGED.isdisjoint((*before_move, *after[:6]))
    if result == "fails":
        return "fails" if is_unchanged else None
    return None if is_unchanged and result is None else "works"


def _state_of_presence(before: Sequence[str]) -> State | None:
    """Return what "the bug is not present in" says; None if something else may be present."""
    if before[-2:-1] != ["present"] or before[-1] not in _PLACES:
        return None
    subject = before[:-2]
    is_denied = any(map(is_negation, subject[-3:]))
    if not _PRONOUNS.isdisjoint(subject) or _is_failure(subject):
        return "works" if is_denied else "fails"
    is_implied = is_denied and all(map(is_negation, subject))
    return "works" if is_implied else None


def _state_of_affected(beside: Sequence[str]) -> State | None:
    """Return what "is affected" or "does not have the issue" says; None for other words."""
    words = list(beside[:7])
    is_onwards = bool(_ONWARDS.intersection(words[1:2]))
    if is_onwards:
        words = words[2:]
    for position, word in enumerate(words):
        if word in _JOINING or word[0].isdigit():
            return None
        if word == "affected" and _COPULAS.intersection(words[:position]):
            if any(map(is_negation, words[:position])):
                return "works"
            return "begins" if is_onwards else "fails"
        if word in ("have", "show", "exhibit") and any(map(is_negation, words[:position])):
            return "works" if _is_failure(words[position + 1 : position + 4]) else None
    return None


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
        return _state_of_range(earlier) or "works"
    if any(word.startswith(_UPGRADE) for word in earlier):
        return "works"
    is_start = bool(earlier) and earlier[-1].startswith(("start", "begin"))
    is_onwards = bool(after) and after[0].startswith("on")
    return "begins" if is_start or is_onwards else None


def _state_of_range(words: Sequence[str]) -> State | None:
    """Return what a verb right before a range says about it: "it fails from 2.0 to 2.3"."""
    verb = words[-1] if words else ""
    if not verb.startswith((*_GOOD, *_FAILING)) or any(w.startswith(_UPGRADE) for w in words):
        return None
    return _state_of_verb(verb, words[-4:-1])


def _state_after_change(earlier: Sequence[str], after: Sequence[str]) -> State | None:
    """Return what "to" or an arrow says about a version."""
    if earlier and earlier[-1] == "up":
        return _nearest_statement(earlier, after)
    if earlier and earlier[-1] == "back":
        if "going" in earlier and _nearest_statement((), after) is None:
            return None  # "confirmed for versions going back to 2.0"
        return _state_after_move(earlier, after, is_downgrade=True)
    if earlier and earlier[-1] == "prior":
        return _state_at_time("before", earlier[:-1], after)
    if any(word.startswith(_DOWNGRADE) for word in earlier[-5:]):
        return _state_after_move(earlier, after, is_downgrade=True)
    if "from" in earlier and _state_of_range(earlier[: earlier.index("from")]) is not None:
        return _state_of_range(earlier[: earlier.index("from")])
    if any(word.startswith(_UPGRADE) for word in earlier):
        return _state_after_move(earlier, after)
    if "from" in earlier:
        return "begins"
    if earlier[-1:] and earlier[-1][:1].isdigit() and earlier[-2:-1] and earlier[-2] in _PLACES:
        state = state_by_verbs(earlier[:-1], ())  # "it works in 2.0 to 2.3"
        return "fails" if state == "begins" else state
    return "begins" if earlier and earlier[-1][:1].isdigit() else None


def state_by_verbs(before: Sequence[str], after: Sequence[str]) -> State | None:
    """Return what the nearest verb says if a place such as "in", or nothing, precedes a version.

    The verb comes before the version after a place or a version, or if the words before it say
    "last working" or "first broken"; otherwise it comes after the version.
    """
    words = list(before)
    while words and (words[-1] in _JOINING | _DASHES or words[-1][0].isdigit()):
        words.pop()  # one of several versions: "in 1.0 and 1.1", "in 1.0 - 1.1"
    is_after_place = bool(words) and words[-1] in _PLACES
    is_after_verb = bool(words) and words[-1].startswith(_VERBS)
    superlative = _state_of_superlative(after)
    if superlative is not None:
        return superlative
    following = _first_verb_state(after[:4] if is_after_place else after[:3])
    if not (is_after_place or is_after_verb or _STATES.intersection(before[-3:])):
        return following
    position = _find_last_verb(words)
    if position < 0:
        return following
    if is_doubted(words[-8:]):
        return None
    cure = _last_cure(words[position:])
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
    state = _state_of_verb(words[position], words[max(0, position - distance) :])
    is_contradiction = following is not None and (following == "works") != (state == "works")
    if is_after_verb and is_contradiction:
        return None  # "throws error 2.0 works fine": whose verb is it?
    if is_after_place and is_contradiction and any(word[0].isdigit() for word in words[:position]):
        # "In 2.0 it worked, in 2.1 it fails"; who knows in "in 2.0 it worked, fails in 2.1 it ..."
        return None if position == len(words) - 2 else following
    is_range = bool(before) and before[-1].endswith(tuple(_DASHES))
    return "fails" if is_range and state == "begins" else state


def _first_verb_state(after: Sequence[str]) -> State | None:
    """Return what the first verb says that follows a version, before another version."""
    for position, word in enumerate(after):
        if word[0].isdigit() and after[position - 1] not in _JOINING | _DASHES:
            return None
        if word.startswith(_START) and not _is_failure(after):
            continue
        if word.startswith(_CURES):
            return None  # "2.0 fixes the crash"
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


def is_doubted(words: Sequence[str]) -> bool:
    """Return whether words doubt or deny what follows: "not sure that", "I don't think"."""
    doubts = (is_negation(word) and after in _DOUBTS for word, after in pairwise(words))
    return "whether" in words or "unsure" in words or any(doubts)


def _last_cure(words: Sequence[str]) -> State | None:
    """Return whether words tell that something "is fixed", or "fails" if not; None if neither."""
    for position in range(len(words) - 1, -1, -1):
        if words[position].startswith(_CURES):
            is_denied = any(map(is_negation, words[max(0, position - 3) : position]))
            return "fails" if is_denied else "works"
    return None


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
