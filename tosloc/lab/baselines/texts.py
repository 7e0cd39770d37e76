"""Split texts into words for the published techniques.

Each technique splits text in its own way; docs/method.md, section B.1.4, defines the functions. A
word is compared with the stop words in lower case before stemming. All techniques use the same list
of stop words.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from functools import cache
from typing import Final

import Stemmer
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from tosloc.core.reports import BugReport

KEYWORDS: Final[frozenset[str]] = frozenset(
    """abstract assert boolean break byte case catch char class const continue default do double
    else enum extends final finally float for goto if implements import instanceof int interface
    long native new package private protected public return short static strictfp super switch
    synchronized this throw throws transient try void volatile while true false null""".split()
)
"""Java's keywords and literals."""
STOP_WORDS: Final[frozenset[str]] = frozenset(ENGLISH_STOP_WORDS) | frozenset(
    "don doesn didn isn wasn aren won wouldn couldn shouldn hasn haven hadn ll ve re".split()
)
"""English stop words: scikit-learn's list, and what remains of contractions."""

REPORT_WORD: Final = re.compile(r"[A-Za-z0-9']+")
"""A word of a report: a run of letters, digits and apostrophes."""
_LETTER_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_ALPHANUMERIC = re.compile(r"[A-Za-z0-9]+")
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,200}>")
_BUG_PREFIX = re.compile(r"^\s*Bug\s+\d+\s*[-:]?\s*")

_stemmer = Stemmer.Stemmer("porter", 0)


@cache
def porter_stem(word: str) -> str:
    """Return the stem of a word in lower case by Porter's algorithm (1980)."""
    return str(_stemmer.stemWord(word))


def strip_bug_prefix(summary: str) -> str:
    """Return a summary without the ``Bug 12345`` that the data put before it.

    >>> strip_bug_prefix("Bug 384108 JUnit view: icons")
    'JUnit view: icons'
    >>> strip_bug_prefix("Bug fix 3 fails")
    'Bug fix 3 fails'
    """
    return _BUG_PREFIX.sub("", summary)


def summary_and_description(report: BugReport) -> str:
    """Return the summary, without the data's prefix, followed by the description."""
    return f"{strip_bug_prefix(report.summary)} {report.description}"


def code_words(text: str) -> list[str]:
    """Return the runs of two or more letters, split before capitals.

    >>> code_words("getURLFor x HTMLParser_2 aB")
    ['get', 'URL', 'For', 'HTML', 'Parser']
    """
    return [part for part in _LETTER_PART.findall(text) if len(part) > 1]


def letter_parts(word: str) -> list[str]:
    """Return the runs of letters of a word, split before capitals, in lower case."""
    return [part.lower() for part in _LETTER_PART.findall(word)]


def is_ignored_word(word: str) -> bool:
    """Return whether a lower-case word is one letter, a stop word or one of Java's keywords."""
    return len(word) < 2 or word in STOP_WORDS or word in KEYWORDS


def bluir_word_parts(text: str) -> list[str]:
    """Return the parts of words longer than two characters, in lower case.

    >>> bluir_word_parts("getURLFor the HTMLParser2")
    ['get', 'url', 'for', 'the', 'html', 'parser']
    """
    return [part.lower() for part in _PART.findall(text) if len(part) > 2]


def bluir_whole_words(text: str) -> list[str]:
    """Return the unsplit words longer than two characters, in lower case."""
    return [word.lower() for word in _ALPHANUMERIC.findall(text) if len(word) > 2]


def blia_words(text: str) -> list[str]:
    """Return the words of a text; a word with several parts is followed by its parts.

    HTML entities are decoded first; tags and the possessive ``'s`` are removed.

    >>> blia_words("Tom&amp;s <b>HTMLParser</b>'s x2")
    ['Tom', 's', 'HTMLParser', 'HTML', 'Parser', 'x2', 'x', '2']
    """
    words: list[str] = []
    for raw_word in REPORT_WORD.findall(_TAG.sub(" ", html.unescape(text))):
        word = raw_word.removesuffix("'s").strip("'")
        if word:
            words.append(word)
        parts = _PART.findall(word)
        if len(parts) > 1:
            words += parts
    return words


def stems(words: Iterable[str], stop_words: frozenset[str] = STOP_WORDS) -> list[str]:
    """Return the Porter stems of the words in lower case, leaving out the stop words."""
    lower_words = [word.lower() for word in words]
    return [porter_stem(word) for word in lower_words if word not in stop_words]
