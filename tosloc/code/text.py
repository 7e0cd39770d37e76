"""Terms of text: identifiers split at camelCase, digits and underscores, stopped, stemmed, plus their compounds.

Code, comments and bug reports go through the same functions, so that their terms meet.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

import Stemmer

_STOP_WORDS: Final[frozenset[str]] = frozenset(
    # English
    """ a about above after again against all also am an and any are aren as at be because been before being below
    between both but by can cannot could couldn did didn do does doesn doing don down during each few for from
    further had hadn has hasn have haven having he her here hers herself him himself his how i if in into is isn
    it its itself just let ll me more most mustn my myself no nor not of off on once only or other ought our ours
    ourselves out over own re same shan she should shouldn so some such than that the their theirs them themselves
    then there these they this those through to too under until up ve very was wasn we were weren what when where
    which while who whom why will with won would wouldn you your yours yourself yourselves"""
    # Java and C; those that are also words of bug reports (package, import, interface, enum, export, record) stay terms
    """ abstract assert auto bool boolean break byte case catch char class const continue default delete double else
    extends extern false final finally float goto implements inline instanceof int long namespace new null nullptr
    private protected public return short signed sizeof static strictfp string struct super switch synchronized
    this throw throws transient true try typedef typename unsigned using var virtual void volatile while"""
    # Python
    """ cls def elif self"""
    # Documentation
    """ author inheritdoc param see since nbsp lt gt amp quot""".split()
)
"""Words that never become terms; compared in lower case, before stemming."""

_WORD = re.compile(r"[\w$]+")
_PART = re.compile(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F_]*[lL]?|0[bB][01_]+[lL]?|[0-9][0-9_]*(?:[eE][0-9]*)?[lLfFdDuU]*")
_MAX_IDENTIFIER: Final = 200  # longer words are data (base64, hashes) and give no terms
_MAX_CACHED: Final = 400_000  # identifiers kept per process, about 100 MB at most

_stemmer = Stemmer.Stemmer("porter", 0)


def words(text: str) -> list[str]:
    """Raw word tokens of ``text`` in order: runs of letters of any script, digits, ``_`` and ``$``.

    >>> words("int x_1 = über$Foo.bar(3);")
    ['int', 'x_1', 'über$Foo', 'bar', '3']
    """
    return _WORD.findall(text)


def split_identifier(identifier: str) -> list[str]:
    """Parts of one identifier in their own spelling; ``_`` and ``$`` separate and are dropped.

    >>> split_identifier("getURLFor"), split_identifier("HTMLParser_2"), split_identifier("aB")
    (['get', 'URL', 'For'], ['HTML', 'Parser', '2'], ['a', 'B'])
    """
    if identifier.isascii():
        return _PART.findall(identifier)
    # beyond ASCII the same rules, with case as Unicode has it
    shape = "".join(
        letter if letter.isascii() else "0" if letter.isdecimal() else "A" if letter.isupper() else "a"
        for letter in identifier
    )
    return [identifier[match.start() : match.end()] for match in _PART.finditer(shape)]


def identifier_terms(identifier: str) -> tuple[str, ...]:
    """Terms of one word token: its stemmed parts, then its compound if it has two parts or more.

    Parts of one character, of digits only, and stop words give nothing, and neither do number literals.

    >>> identifier_terms("HTMLParser_2")
    ('html', 'parser', 'htmlparser2')
    >>> identifier_terms("Outer$InnerTypes")
    ('outer', 'inner', 'type', 'innertypes')
    """
    return _expanded(identifier)[0]


def terms(text: str) -> list[str]:
    """Terms of ``text`` in order: for each word its parts, stopped and stemmed, then its compound.

    >>> terms("The getURLFor(x) of HTMLParser fails")
    ['get', 'url', 'geturlfor', 'html', 'parser', 'htmlparser', 'fail']
    """
    return [term for word in _WORD.findall(text) for term in _expanded(word)[0]]


def compounds(text: str) -> list[str]:
    """Just the compounds of ``text``, in order: lower case, unstemmed, letters and digits only.

    >>> compounds("StandardContext.start() of a web app: MAX_SIZE")
    ['standardcontext', 'maxsize']
    """
    return [compound for word in _WORD.findall(text) for compound in _expanded(word)[1]]


def identifier_compounds(identifier: str) -> tuple[str, ...]:
    """Compounds of one word token: one for each ``$``-separated name of two parts or more."""
    return _expanded(identifier)[1]


def expand_identifier(identifier: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Terms of one word token, and its compounds; for who keeps them in ways of their own."""
    found: list[str] = []
    compounds: list[str] = []
    for name in identifier.split("$"):
        if not 1 < len(name) <= _MAX_IDENTIFIER or ("0" <= name[0] <= "9" and _NUMBER.fullmatch(name)):
            continue
        parts = [] if name.lower() in _STOP_WORDS else split_identifier(name)  # whole, for inheritDoc
        for part in parts:
            if len(part) > 1 and not part.isdecimal() and (word := part.lower()) not in _STOP_WORDS:
                found.append(_stem(word))
        if len(parts) > 1:
            compounds.append("".join(parts).lower())
            found.append(compounds[-1])
    return tuple(found), tuple(compounds)


_expanded = lru_cache(_MAX_CACHED)(expand_identifier)


@lru_cache(_MAX_CACHED)
def _stem(word: str) -> str:
    return str(_stemmer.stemWord(word))
