"""Split text into terms: stemmed words of identifiers without stop words, and their compounds.

Code, comments and bug reports go through the same functions, so that their terms can match.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from typing import Final

import Stemmer

from tosloc.core.patterns import lazy_pattern

_STOP_WORDS: Final[frozenset[str]] = frozenset(
    # English
    """
    a about above after again against all also am an and any are aren as at be because been
    before being below between both but by can cannot could couldn did didn do does doesn
    doing don down during each few for from further had hadn has hasn have haven having he her
    here hers herself him himself his how i if in into is isn it its itself just let ll me
    more most mustn my myself no nor not of off on once only or other ought our ours ourselves
    out over own re same shan she should shouldn so some such than that the their theirs them
    themselves then there these they this those through to too under until up ve very was wasn
    we were weren what when where which while who whom why will with won would wouldn you your
    yours yourself yourselves
    """
    # Java and C, except keywords that are also words of bug reports: package, import, interface,
    # enum, export, record
    """
    abstract assert auto bool boolean break byte case catch char class const continue default
    delete double else extends extern false final finally float goto implements inline
    instanceof int long namespace new null nullptr private protected public return short
    signed sizeof static strictfp string struct super switch synchronized this throw throws
    transient true try typedef typename unsigned using var virtual void volatile while
    """
    # Python
    """
    cls def elif self
    """
    # Documentation
    """
    author inheritdoc param see since nbsp lt gt amp quot
    """.split()
)
"""Words that never become terms, compared in lower case before stemming."""

_EAST_ASIAN: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
"""Ranges for a character class: kana, Chinese characters and Hangul.

Most texts in these scripts have no blanks between words.
"""
_IS_EAST_ASIAN = lazy_pattern(f"[{_EAST_ASIAN}]")
_WORD = lazy_pattern(r"[\w$]+")
_WORD_OF_SCRIPTS = lazy_pattern(rf"[{_EAST_ASIAN}]+|(?:(?![{_EAST_ASIAN}])[\w$])+")
_BESIDE_EAST_ASIAN = lazy_pattern(rf"(?<=[{_EAST_ASIAN}])(?=[!-~])|(?<=[!-~])(?=[{_EAST_ASIAN}])")
_PART = lazy_pattern(r"[A-Z]{2,}s(?![a-z])|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_NUMBER = lazy_pattern(
    r"0[xX][0-9a-fA-F_]*[lL]?|0[bB][01_]+[lL]?|[0-9][0-9_]*(?:[eE][0-9]*)?[lLfFdDuU]*"
)
_MAX_IDENTIFIER: Final = 200
"""Length of the longest word that is split into terms; longer words are data (base64, hashes)."""
_MAX_CACHED: Final = 400_000
"""Number of identifiers that a process remembers, in about 100 MB at most."""

_stemmer = Stemmer.Stemmer("porter", 0)


def words(text: str) -> list[str]:
    """Return the word tokens of a text in order: runs of letters, digits, ``_`` and ``$``.

    Letters may be of any script. Chinese, Japanese and Korean letters form separate words, so that
    a Latin name between them is one word.

    >>> words("int x_1 = über$Foo.bar(3);")
    ['int', 'x_1', 'über$Foo', 'bar', '3']
    >>> words("登录时SessionManager报错")
    ['登录时', 'SessionManager', '报错']
    """
    if text.isascii() or not _IS_EAST_ASIAN.search(text):
        return _WORD.findall(text)
    return _WORD_OF_SCRIPTS.findall(text)


def separate_scripts(text: str) -> str:
    """Return ``text`` with blanks between Chinese, Japanese or Korean letters and other letters.

    >>> separate_scripts("登录时SessionManager报错"), separate_scripts("in src/a.py")
    ('登录时 SessionManager 报错', 'in src/a.py')
    """
    if text.isascii() or not _IS_EAST_ASIAN.search(text):
        return text
    return _BESIDE_EAST_ASIAN.sub(" ", text)


def split_identifier(identifier: str) -> list[str]:
    """Return the parts of one identifier as they are spelled; ``_`` and ``$`` separate parts.

    >>> split_identifier("getURLFor"), split_identifier("HTMLParser_2"), split_identifier("aB")
    (['get', 'URL', 'For'], ['HTML', 'Parser', '2'], ['a', 'B'])
    """
    if identifier.isascii():
        return _PART.findall(identifier)
    shape = "".join(map(_ascii_shape, identifier))
    return [identifier[match.start() : match.end()] for match in _PART.finditer(shape)]


def name_words(name: str) -> tuple[str, ...]:
    """Return the words of a name in lower case, however the name joins them.

    >>> name_words("cmd-new_window"), name_words("newWindow"), name_words("server.port")
    (('cmd', 'new', 'window'), ('new', 'window'), ('server', 'port'))
    """
    parts: list[str] = []
    for word in words(name):
        parts += split_identifier(word)
    return tuple(part.lower() for part in parts)


def _ascii_shape(letter: str) -> str:
    """Return an ASCII character of the same kind and case, which the same rules split."""
    if letter.isascii():
        return letter
    if letter.isdecimal():
        return "0"
    return "A" if letter.isupper() else "a"


def split_into_terms(identifier: str) -> tuple[str, ...]:
    """Return the terms of one word token, computed anew; see ``identifier_terms``."""
    if identifier.isascii():
        if identifier.isalpha() and identifier.islower():  # most words, which have one part
            is_term = 1 < len(identifier) <= _MAX_IDENTIFIER and identifier not in _STOP_WORDS
            return (_stem(identifier),) if is_term else ()
    elif _IS_EAST_ASIAN.search(identifier):
        return _terms_of_scripts(identifier)
    terms: list[str] = []
    for parts in _split_names(identifier):
        for part in parts:
            word = part.lower()
            if len(part) > 1 and not part.isdecimal() and word not in _STOP_WORDS:
                terms.append(_stem(word))
        if len(parts) > 1:
            terms.append("".join(parts).lower())
    return tuple(terms)


@lru_cache(_MAX_CACHED)
def identifier_terms(identifier: str) -> tuple[str, ...]:
    """Return the terms of one word token: its stemmed parts, then its compound.

    Only a token of two parts or more has a compound. Parts of one character or of digits only, stop
    words and number literals have no terms. The terms of a token are remembered.

    >>> identifier_terms("HTMLParser_2")
    ('html', 'parser', 'htmlparser2')
    >>> identifier_terms("Outer$InnerTypes")
    ('outer', 'inner', 'type', 'innertypes')

    Chinese, Japanese and Korean words give their pairs of letters.

    >>> identifier_terms("登录时Session")
    ('登录', '录时', 'session')
    """
    return split_into_terms(identifier)


def _terms_of_scripts(word: str) -> tuple[str, ...]:
    """Return the terms of a word with Chinese, Japanese or Korean letters."""
    found: list[str] = []
    for piece in _WORD_OF_SCRIPTS.findall(word):
        if _IS_EAST_ASIAN.match(piece):
            found += (piece[start : start + 2] for start in range(len(piece) - 1))
        else:
            found += identifier_terms(piece)
    return tuple(found)


@lru_cache(_MAX_CACHED)
def identifier_compounds(identifier: str) -> tuple[str, ...]:
    """Return the compound of each ``$``-separated name in a word token that has several parts."""
    if not identifier.isascii() and _IS_EAST_ASIAN.search(identifier):
        pieces = _WORD_OF_SCRIPTS.findall(identifier)
        latin = (piece for piece in pieces if not _IS_EAST_ASIAN.match(piece))
        return tuple(chain.from_iterable(map(identifier_compounds, latin)))
    return tuple("".join(parts).lower() for parts in _split_names(identifier) if len(parts) > 1)


def _split_names(identifier: str) -> Iterator[list[str]]:
    """Yield the parts of each ``$``-separated name in an identifier.

    Data, number literals and names that are stop words as a whole (inheritDoc) are left out.
    """
    for name in identifier.split("$"):
        is_number = "0" <= name[:1] <= "9" and _NUMBER.fullmatch(name)
        if 1 < len(name) <= _MAX_IDENTIFIER and not is_number and name.lower() not in _STOP_WORDS:
            yield split_identifier(name)


def terms(text: str) -> list[str]:
    """Return the terms of all words of a text, in order, as ``identifier_terms`` yields them.

    >>> terms("The getURLFor(x) of HTMLParser fails")
    ['get', 'url', 'geturlfor', 'html', 'parser', 'htmlparser', 'fail']
    """
    return list(chain.from_iterable(map(identifier_terms, words(text))))


def compounds(text: str) -> list[str]:
    """Return only the compounds in a text, in order: lower-case letters and digits, not stemmed.

    >>> compounds("StandardContext.start() of a web app: MAX_SIZE")
    ['standardcontext', 'maxsize']
    """
    return list(chain.from_iterable(map(identifier_compounds, words(text))))


@lru_cache(_MAX_CACHED)
def _stem(word: str) -> str:
    return str(_stemmer.stemWord(word))


def is_comment(text: str) -> bool:
    """Return whether a line, given without white space, begins like a comment, not like #include.

    >>> is_comment("#thecartisempty"), is_comment("//empty"), is_comment("#include<cart.h>")
    (True, True, False)
    """
    if text.startswith(("#include", "#define", "#if", "#el", "#end", "#pragma", "#[")):
        return False
    return text.startswith(("#", "//", "/*", "*", "<!--", '"""'))
