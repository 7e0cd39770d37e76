"""Find statements of a report about releases: that a release works, or that it fails."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from typing import Final, NamedTuple

from tosloc.core.patterns import lazy_pattern
from tosloc.reports.text.markup import COMMENT
from tosloc.reports.text.project_names import is_scoped_package
from tosloc.reports.text.ranges import spell_out_ranges
from tosloc.reports.text.relations import ARROWS, DOWNGRADE, UNITS, UPGRADE, state_by_relation
from tosloc.reports.text.verbs import (
    ALIKE,
    CONTRASTS,
    FAILING,
    JOINING,
    NEGATIONS,
    PLACES,
    STATES,
    VERBS,
    State,
    is_negation,
    state_of_verb,
)

MAX_RELEASES: Final = 200
"""Largest number of release numbers that are examined in a long text, such as a log."""
WINDOW: Final = 80
"""Number of characters before and after a release number that are examined."""
_MARK: Final = (
    r"[-.]?(?:rc|cr|alpha|beta|dev|pre|a|b|m|post|patch|hotfix|update|p|sp|sr)[-.]?\d{1,4}"
)
NUMBER: Final = (
    r"(?:\d{1,5}(?:\.\d{1,8}){2,4}[a-wyz](?!\w)|\d{1,5}\.\d{1,8}[a-c](?!\w)"
    rf"|\d{{1,5}}(?:\.\d{{1,8}}){{1,4}}(?:{_MARK})?)"
)
"""Pattern of the number of a release, without regard to case: 2.0, 2.0rc1, 2.0.post1, 1.1.1k."""
RELEASE_NUMBER: Final = lazy_pattern(
    rf"(?i)(?<![\w./])(?<!\d:)v?(?P<number>{NUMBER})(?:\.x)?(?![\w/-]|\.\d)"
)
_CLAUSE_END: Final = lazy_pattern(r"[.!?;](?=\s)|\n")
_PART_END: Final = lazy_pattern(r"[,()\[\]|]")
"""Characters that end a part of a clause; verbs after them are about something else."""
_CLOSING: Final = lazy_pattern(r"[)\]]")
_AND_INCLUDING: Final = lazy_pattern(r"(?i)\s(?:and|or)\sincluding\s\Z")
_LIMIT: Final = lazy_pattern(r"(?<![-=])([<>]=?)[ ]?\Z")
"""The sign before a version that means all versions below or above it."""
_TOKEN: Final = lazy_pattern(r"[^\s,;:!?()|\[\]\"`*]+")
_FILLERS: Final = frozenset(
    """version versions ver v release releases tag the a at least is are was were only just even
    still now both new old older earlier previous previously prior current recent stable minor major
    patch
    """.split()
)
_BREAKING_CHANGE: Final = lazy_pattern(r"(?i)\bbreaking changes?\b")
_AS_EXPECTED: Final = lazy_pattern(r"(?i)\bas expected\b")
_AS_EARLY_AS: Final = lazy_pattern(r"(?i)\bas\s(?:early|late|recently?)\sas\b")
_EQUAL_SIGNS: Final = lazy_pattern(r"(?<![<>!=])={1,3}\Z")
"""Signs of a requirement before a version: "foo==2.0", "=2.0"."""
_NEW: Final = lazy_pattern(
    r"(?i)\b(?:behaviou?r|bug|error|problem|issue|warning|failure|crash|exception|this|it|which)\b"
    r"(?:(?!\bnot\b|\bnever\b)[^.!?;\n]){0,40}\bnew\s(?:to|in|with|since|as\sof)\s"
    r"(?:(?:the|version|release)\s){0,2}\Z"
)
"""Text before the version in which a behaviour is new."""
_NOTE_OF_VERSION: Final = lazy_pattern(
    r"(?i)\b(?:new|added|changed)\s{1,2}in\s{1,2}version\s{1,2}\Z"
)
"""Text that documentation writes before a version."""
_KEY_OF_JSON: Final = lazy_pattern(r"""["']\s{0,3}:\s{0,3}["']?\Z""")
"""Text before a value in JSON: "Roll": 0.0 downgrades nothing."""
_RUNS: Final = frozenset("compiled compiles built builds passed passes ran runs".split())
"""Verbs that mean success in a relative clause: "code that compiled with 2.0"."""
_SUCCEEDS: Final = _RUNS | frozenset(
    "displayed displays loaded loads opened opens parsed parses rendered renders".split()
)
"""Verbs that mean success before a contrast: "it loads in 2.0 but not in 2.1"."""
_NO_OBSERVATIONS: Final = tuple(
    "tried try test check sure know need want deprecat remov requir document support".split()
)
"""Beginnings of words about a version that do not say what happens in it: "not tried in 2.1"."""
_LINKS: Final = frozenset("but and it this that then also".split())
"""Words between a version and the verb of the next one: "compiled in 2.0 but fails in 2.1"."""
_QUESTIONS: Final = frozenset("does did do is was has can could".split())
_ELLIPSES: Final = tuple(
    tuple(words.split())
    for words in (
        *("not", "do", "does", "did"),
        *("is not", "isn't", "does not", "doesn't", "do not", "don't"),
    )
)
"""Ellipses at the end of sentences such as "2.0 works, but 2.1 does not"."""
_OTHER_WORDS: Final = STATES | NEGATIONS | {"v", "but", "also", "when", "if", "so", "then", "i"}
"""Words before a version that are not a product."""
_NO_PRODUCTS: Final = STATES | frozenset(
    "newest back over straight directly forward again once installing".split()
)
"""Words directly before a version, or after "upgraded", that are not a product or a statement."""
_OWN_WORDS: Final = frozenset("my our your their its it everything this".split())
"""Words that show that no product is named, as in "upgrading our server to 2.0"."""
_NOT_THERE: Final = lazy_pattern(
    r"(?i)[,;]?\s{1,3}(?:but|and)\s{1,3}not\s{1,3}(?:in|on|with|under|for|at|using)?\s{0,3}"
    r"(?:(?:the|version|release)\s{1,3}){0,3}\Z"
)
"""Text between two versions if only the first shows something: "in 2.4 but not in 2.3"."""
_INCOMPATIBLE: Final = lazy_pattern(
    r"(?i)\s(?:br[eo]a?k\w{0,3}\s(?:[\w/-]{1,20}\s){0,3}?(?:[\w/]{1,20}-)?compatibility"
    r"|(?:(?:is|are)\s)?(?:not\s|isn['’]t\s|no\slonger\s|in)(?:[\w/-]{1,20}\s){0,2}?"
    r"(?:[\w/]{1,20}-)?compatible)"
    r"\s(?:with|to)\s(?:(?:the|version|release)\s){0,2}\Z"
)
"""Text between a version and an earlier one with which it is not compatible."""
_IN_BRACKETS: Final = lazy_pattern(r"\s?[(\[][^()\[\]\n]{0,60}\Z")
"""Text between a version and another one in brackets directly after it: "in 2.4 (fine in 2.3)"."""
_VERSION_IN_BRACKETS: Final = lazy_pattern(
    rf"(?i)[(\[][^()\[\]\n]{{0,60}}(?<![\w.])v?{NUMBER}[^)\]\n]*"
)
"""Brackets that contain a version, whose words are about that version."""
_ARROW_ALONE: Final = lazy_pattern(r"[\s`*]{0,4}(?P<arrow>->|=>|-->|→|\bto\b)[\s`*v]{0,4}\Z")
"""Text between the versions before and after a change."""
_OWN_VERB: Final = lazy_pattern(
    r"(?i)\s{1,3}(?:but\s{1,3})?(?:it\s{1,3}|everything\s{1,3})?(?:still\s{1,3})?"
    r"(?:works?|worked|was|is)\s{1,3}(?:(?:just|fine|ok|okay|correct(?:ly)?|well|as\s{1,3}expected)"
    r"\s{1,3}){0,3}(?:in|with|on|under|using)\s{1,3}(?:(?:the|version|release)\s{1,3}){0,2}v?\d"
)
"""A statement after a comma that something works in another version."""
_ONLY_THERE: Final = lazy_pattern(r"(?i)(?:\s{1,3}(?:version|release))?,(?P<statement>[^.!?;]*)\Z")
"""Text between a version in which something fails and one in which it works."""
_VERDICT: Final = lazy_pattern(r"\s{0,2}[(\[]\s?(?P<verdict>[^()\[\]\n]{1,40})[)\]]")
"""A verdict directly after a version: "2.3.0 (OK)"."""
_EARLIER: Final = lazy_pattern(
    r"(?i)\b(?:previous|earlier|older|prior|former)\s{1,3}(?:stable\s{1,3})?(?:version|release)s?"
    r"\W{0,4}(?:(?:at\s{1,3}least|such\s{1,3}as|like|e\.g\.,?|until)\s{1,3})?\Z"
)
"""Words before an earlier version with which the reporter compares a newer one."""
_LATEST: Final = lazy_pattern(
    r"(?i)\b(?:latest|current|newest)\s{1,3}(?:stable\s{1,3})?(?:version|release)\W{0,4}\Z"
)
"""Words before the version that the reporter uses."""
_MARKS: Final = lazy_pattern(r"[\s|:`*_–-]{0,8}(?=[✅✔✓👍❌✗✘✖👎])(?P<marks>[^\w\n]{1,40})")
"""Marks directly after a version or in the cells beside it: "2.3.0 ✅", "| 2.3.0 | ❌ |"."""
_WORKING_MARKS: Final = ("✅", "✔", "✓", "👍")
_FAILING_MARKS: Final = ("❌", "✗", "✘", "✖", "👎")


class ReleaseClaim(NamedTuple):
    """A statement of a report about one release."""

    number: str
    """Number of the release in the report, without "v": 2.8.1."""
    state: State
    """Whether something works in this release, fails in it, or begins to fail with it.

    "used" means that the reporter saw the failure in this release, stated without a verb.
    """
    products: tuple[str, ...] = ()
    """Words before the number that may name the product, in lower case; empty if it is implied."""


def find_release_claims(text: str) -> tuple[ReleaseClaim, ...]:
    """Return the statements of a text about releases, in its order.

    >>> [claim[:2] for claim in find_release_claims("Worked in 2.8.0, broken in 2.8.1.")]
    [('2.8.0', 'works'), ('2.8.1', 'begins')]
    >>> [claim[:2] for claim in find_release_claims("After upgrading from v1.2 to v1.3 it crashes")]
    [('1.2', 'works'), ('1.3', 'begins')]
    >>> [claim[:2] for claim in find_release_claims("Code that compiled in 3.9.1 fails in 3.10.x")]
    [('3.9.1', 'works'), ('3.10', 'fails')]
    >>> find_release_claims("I get an error since Python 3.12")
    (ReleaseClaim(number='3.12', state='begins', products=('python',)),)
    >>> find_release_claims("I use 1.2.3 on 10.0.0.1")
    ()
    """
    visible = spell_out_ranges(COMMENT.sub(" ", text))
    visible = _AS_EXPECTED.sub("correctly", _BREAKING_CHANGE.sub("breakage", visible))
    visible = _AS_EARLY_AS.sub("in", visible)
    claims: dict[tuple[str, State], ReleaseClaim] = {}
    previous = _Reading("", "", None, (), 0)
    for match in islice(RELEASE_NUMBER.finditer(visible), MAX_RELEASES):
        reading = _read_version(visible, match, previous)
        if _is_backwards(previous, reading):
            # "Between 1.2 and 1.1", "from 1.2 to 1.1": the newer one is named first.
            claims.pop((previous.number, "works"), None)
            claims[previous.number, "begins"] = previous.claim("begins")
            reading = reading._replace(state="works")
        between = visible[previous.end : match.start()][-WINDOW:]
        if _is_later(previous, reading) and _INCOMPATIBLE.match(between):
            # "2.1 breaks compatibility with 2.0"
            claims.pop((previous.number, "fails"), None)
            claims[previous.number, "begins"] = previous.claim("begins")
            reading = reading._replace(state="works", products=previous.products)
        if _is_change(visible[: match.start()], previous, reading):
            claims.pop((previous.number, "begins"), None)
            claims[previous.number, "works"] = previous.claim("works")
        if _NOT_THERE.search(between):
            # "In 2.4 but not in 2.3": the same is not so in the second one.
            if previous.state is None:
                is_working = _is_later(reading, previous) and _runs_in(visible, previous)
                first: State = "works" if is_working else "fails"
                previous = previous._replace(state=first)
                claims[previous.number, first] = previous.claim(first)
            state: State = "fails" if previous.state == "works" else "works"
            reading = reading._replace(state=state, products=previous.products)
        if _is_otherwise(between, previous, reading):
            reading = reading._replace(state="fails")
        contrasted = _contrasted_state(visible, previous, reading, match.start())
        if contrasted is not None:
            claims[previous.number, contrasted] = previous.claim(contrasted)
        if reading.state is not None:
            claims.setdefault((reading.number, reading.state), reading.claim(reading.state))
        previous = reading
    return tuple(claims.values())


def _is_later(first: _Reading, second: _Reading) -> bool:
    """Return whether the first of two versions is later than the second one."""
    return bool(first.number) and split_number(first.number) > split_number(second.number)


def _is_change(text: str, first: _Reading, second: _Reading) -> bool:
    """Return whether a text, up to the second version, names a change from the first one to it.

    "2.0 -> 2.1" names a change. "2.0 to 2.1" does so only after a word such as "regression".
    """
    arrow = _ARROW_ALONE.match(text, first.end)
    is_open = first.state in (None, "begins") and second.state == "begins"
    if arrow is None or not is_open or not _is_later(second, first):
        return False
    before = text[max(0, first.end - WINDOW) : first.end].lower()
    return arrow["arrow"].lower() != "to" or "regress" in _CLAUSE_END.split(before)[-1]


def _runs_in(text: str, reading: _Reading) -> bool:
    """Return whether the words before a version end like "it compiles with"."""
    before = text[max(0, reading.end - WINDOW) : reading.end]
    clause = [word for word in _words(_CLAUSE_END.split(before)[-1]) if word not in _FILLERS]
    return len(clause) > 2 and clause[-3] in _SUCCEEDS and clause[-2] in PLACES


def _is_otherwise(between: str, first: _Reading, second: _Reading) -> bool:
    """Return whether a text only contrasts a version with an earlier one in which it works.

    Something fails in the second version of "Correct in 2.3 but blank in 2.4". ``between`` is the
    text between the versions.
    """
    if first.state != "works" or second.state is not None or not _is_later(second, first):
        return False
    words = _words(between)
    if CONTRASTS.isdisjoint(words[:1]) or not {first.relation, second.relation} <= PLACES:
        return False
    return not any(word.startswith(_NO_OBSERVATIONS) for word in words)


def _contrasted_state(text: str, first: _Reading, second: _Reading, start: int) -> State | None:
    """Return the state of a version that a text only contrasts with the next one, else None.

    Something fails in the first version of "No rows in the 2.1 version, works fine in 2.0", and
    works in that of "Code that compiled in 2.0 fails in 2.1". ``start`` is the position at which
    the second version begins.
    """
    if first.state is not None or first.relation not in PLACES:
        return None
    between = text[first.end : start][-WINDOW:]
    if second.state == "works" and _IN_BRACKETS.match(between):
        in_brackets = _words(_CLOSING.split(text[first.end : start + WINDOW])[0])
        return "fails" if ALIKE.isdisjoint(in_brackets) else None
    if second.state == "works":
        there = _ONLY_THERE.match(between)
        return "fails" if there and _OWN_VERB.match(f"{there['statement']}0") else None
    if second.state not in ("fails", "begins"):
        return None
    following = _words(f"{between}{second.number}")
    is_other = _is_later(second, first) and _contrasts_failure(following)
    return "works" if is_other or _fails_in_next(following) else None


def _fails_in_next(words: Sequence[str]) -> bool:
    """Return whether the words after a version say that something fails in another version."""
    rest = [word for word in words[:8] if word not in _FILLERS and word not in _LINKS]
    return (
        len(rest) > 2
        and rest[0].startswith(FAILING)
        and rest[1] in PLACES
        and RELEASE_NUMBER.fullmatch(rest[2]) is not None
        and UNITS.isdisjoint(rest[3:4])
    )


def _contrasts_failure(words: Sequence[str]) -> bool:
    """Return whether the words after a version are like "but it causes errors in 2.1"."""
    if CONTRASTS.isdisjoint(words[:1]):
        return False
    rest = [word for word in words[1:10] if word not in _FILLERS]
    for position, word in enumerate(rest[:-1]):
        if word in PLACES and RELEASE_NUMBER.fullmatch(rest[position + 1]) is not None:
            verbs = [word for word in rest[:position] if word.startswith(VERBS)]
            is_failure = bool(verbs) and all(verb.startswith(FAILING) for verb in verbs)
            return is_failure and not any(map(is_negation, rest[:position]))
    return False


class _Reading(NamedTuple):
    """A release number in a text, with the words around it."""

    number: str
    relation: str
    """Word before the number that relates it to the rest, such as "from"; it may be any word."""
    state: State | None
    products: tuple[str, ...]
    end: int
    """Offset in the text at which the number ends."""

    def claim(self, state: State) -> ReleaseClaim:
        """Return the claim that the release has a state."""
        return ReleaseClaim(self.number, state, self.products)


def _read_version(text: str, match: re.Match[str], previous: _Reading) -> _Reading:
    """Return the statement of a text about one version; ``previous`` is the version before it."""
    before = text[max(0, match.start() - WINDOW) : match.start()]
    after = text[match.end() : match.end() + WINDOW]
    limit = _LIMIT.search(before)
    if limit:
        before = before[: limit.start()]
    before = _EQUAL_SIGNS.sub(" ", _AND_INCLUDING.sub(" ", before))
    clause_before, clause_after = _clauses(before, after)
    words_before = _words(clause_before)
    words_after = _words(_without_other_version(_VERSION_IN_BRACKETS.sub(" ", clause_after)))
    beside = _words(_PART_END.split(clause_after.lstrip(" |)]`*"))[0])
    products, words_before = _split_products(words_before)
    if clause_before.rstrip().endswith(","):
        products = ()
    relation = words_before[-1] if words_before else ""
    joins = relation in JOINING or relation in ARROWS
    if joins and not products and words_before[-2:-1] and previous.number in words_before[-2]:
        products = previous.products
    is_about_next = _fails_in_next(words_after) or _contrasts_failure(words_after)
    if relation in PLACES and is_about_next:
        words_after = beside = []
    state = _read_verdict(after)
    if state is None and _is_of_working_code(words_before):
        state = "works"
    if state is None:
        state = _state_of_ellipsis(words_before, beside, previous)
    if state is None:
        state = state_by_relation(words_before, words_after, beside)
    if state is None:
        state = _compare(before, words_before, words_after)
    is_question = "?" in after[: len(_CLAUSE_END.split(after)[0]) + 1]
    if is_question and words_before and words_before[0] in _QUESTIONS:
        state = None
    if _NOTE_OF_VERSION.search(before) or _KEY_OF_JSON.search(before):
        state = None
    if state is None and _NEW.search(before):
        state = "begins"
    if limit:
        state = _state_beyond(state, limit[1])
    return _Reading(match["number"], relation, state, products, match.end())


def _is_of_working_code(before: Sequence[str]) -> bool:
    """Return whether the words before a version end like "broke code that compiled with"."""
    if not before or before[-1] not in PLACES:
        return False
    clause = [word for word in before[-6:-1] if word not in _FILLERS]
    return len(clause) > 1 and clause[-1] in _RUNS and clause[-2] in ("that", "which")


def _without_other_version(clause: str) -> str:
    """Return the words after a version, without those that have the verb of another version.

    In "in 2.0, works in 1.9" the verb belongs to 1.9; in "in 2.0, it works, in 1.9 not" it belongs
    to 2.0.
    """
    start = 0
    for match in _PART_END.finditer(clause):
        if _OWN_VERB.match(clause, match.end()):
            return clause[:start] if start else clause[: match.start()]
        start = match.start()
    return clause


def _clauses(before: str, after: str) -> tuple[str, str]:
    """Return the clause around a version: the text before the version, and the text after it.

    Brackets contain a separate clause, unless they contain only the version: "it works in the older
    release (2.0)".
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
    """Return the state of the second version in "2.0 works, but 2.1 does not", else None.

    ``beside`` are the words after the version up to a comma, ``previous`` the version before it.
    """
    rest = list(beside)
    while rest and (rest[0] in JOINING or rest[0][0].isdigit()):
        rest.pop(0)  # one of several versions: "but 2.1 and 2.2 do not"
    if tuple(rest) not in _ELLIPSES or previous.state not in ("works", "fails"):
        return None
    if not previous.number or not any(previous.number in word for word in before):
        return None
    if before[-1] in JOINING:
        return previous.state
    return "fails" if previous.state == "works" else "works"


def _read_verdict(after: str) -> State | None:
    """Return the state in brackets or marks directly after a version, such as "(OK)"; else None.

    Different marks in the cells of a row are about different things, so they say nothing.
    """
    marks = _MARKS.match(after)
    if marks is not None:
        works = any(mark in marks["marks"] for mark in _WORKING_MARKS)
        fails = any(mark in marks["marks"] for mark in _FAILING_MARKS)
        return None if works and fails else ("works" if works else "fails")
    match = _VERDICT.match(after)
    if match is None or RELEASE_NUMBER.search(match["verdict"]):
        return None
    if match["verdict"].startswith(_WORKING_MARKS):
        return "works"
    if match["verdict"].startswith(_FAILING_MARKS):
        return "fails"
    words = _words(match["verdict"])
    for position, word in enumerate(words[:4]):
        if word.startswith(VERBS):
            return state_of_verb(word, words[:position])
    return None


def _compare(before: str, words_before: Sequence[str], words_after: Sequence[str]) -> State | None:
    """Return the state of a version that is called earlier or the latest; None for others."""
    if _LATEST.search(before):
        return "used"
    if not _EARLIER.search(before):
        return None
    if ALIKE.intersection((*words_before, *words_after)):
        return None
    is_failure = any(word.startswith(FAILING) for word in words_after)
    is_negated = any(word in NEGATIONS for word in words_after)
    return "fails" if is_failure and not is_negated else "works"


def _is_backwards(first: _Reading, second: _Reading) -> bool:
    """Return whether two versions are the ends of a range that begins with the newer version."""
    if first.relation not in ("from", "between") or first.state != "works":
        return False
    if second.state != "begins" or second.relation not in ARROWS | {"and"}:
        return False
    return split_number(first.number) > split_number(second.number)


def split_number(number: str) -> list[int]:
    """Return the parts of a release number as integers."""
    return [int(part) for part in re.findall(r"\d+", number)]


def _state_beyond(state: State | None, sign: str) -> State | None:
    """Return the state of a version, from the state of all versions below or above it.

    If it works in all versions <2.0, it begins to fail in 2.0. If it fails in all versions >2.0, it
    works in 2.0.
    """
    if state == "works":
        return "begins" if sign == "<" else "works" if sign == "<=" else None
    if state in ("fails", "begins"):
        return "works" if sign == ">" else state if sign == ">=" else None
    return None


def _words(text: str) -> list[str]:
    """Return the words of a text in lower case, with arrows and versions.

    v1.2 becomes 1.2, and the sign at the end of "@reduxjs/toolkit@" is left out.
    """
    words = []
    for token in _TOKEN.findall(text.lower()):
        word = token.strip(".'’").rstrip("@^~")
        if word[:1] == "v" and word[1:2].isdigit():
            word = word[1:]
        if word:
            words.append(word)
    return words


def _split_products(words: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """Return the words at the end that may name a product, and all words before these."""
    rest = list(words)
    products: list[str] = []
    while rest and len(products) < 3:
        word = rest[-1]
        if word in _FILLERS:
            rest.pop()
        elif _may_name_product(word) and not _is_relation(word):
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
    is_product = nearest and nearest not in _OTHER_WORDS and not nearest.startswith(VERBS)
    return ((nearest,) if is_product else ()), plain


def _may_name_product(word: str) -> bool:
    """Return whether a word begins with a letter or is the name of a scoped npm package."""
    return word[0].isalpha() or is_scoped_package(word)


def _upgraded_product(words: Sequence[str]) -> tuple[str, ...]:
    """Return the product that is upgraded or downgraded, as in "upgrading scipy from".

    The result is empty if no product is named, which is the usual case.
    """
    for position in range(len(words) - 1, -1, -1):
        if not words[position].startswith((*UPGRADE, *DOWNGRADE)):
            continue
        for word in words[position + 1 : position + 4]:
            if word in _OWN_WORDS or _is_relation(word) or not _may_name_product(word):
                return ()
            if word not in _FILLERS | _NO_PRODUCTS:
                return (word,)
        return ()
    return ()


def _is_relation(word: str) -> bool:
    """Return whether a word can relate a version to a statement about it."""
    if word in PLACES or word in ARROWS:
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
        "vs",
        "versus",
    ):
        return True
    return word.startswith(UPGRADE) or word.startswith(DOWNGRADE)
