"""How the published techniques tokenise, each its own way; the names are those of docs/method.md, section B.1.4.

Stop words are tested in lower case before stemming, by one list for all techniques.
"""

from __future__ import annotations

import html
import re
from functools import cache
from typing import Final

import Stemmer
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from tosloc.records import BugReport

KEYWORDS: Final[frozenset[str]] = frozenset(
    """abstract assert boolean break byte case catch char class const continue default do double else enum extends final
    finally float for goto if implements import instanceof int interface long native new package private protected
    public return short static strictfp super switch synchronized this throw throws transient try void volatile while
    true false null""".split()
)
STOP_WORDS: Final[frozenset[str]] = frozenset(ENGLISH_STOP_WORDS) | frozenset(
    "don doesn didn isn wasn aren won wouldn couldn shouldn hasn haven hadn ll ve re".split()
)
"""English: scikit-learn's list, and what is left of contractions."""

NL_WORD: Final = re.compile(r"[A-Za-z0-9']+")
"""Runs of ASCII letters, digits and apostrophes."""
_LETTERS = re.compile(r"[A-Za-z]+")
_LETTER_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")
_ALNUM = re.compile(r"[A-Za-z0-9]+")
_BLUIR_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,200}>")
_PREFIX = re.compile(r"^\s*Bug\s+\d+\s*[-:]?\s*")
_DOC_TAG = re.compile(r"\{?@\w+")
_DOC_LINE = re.compile(r"^[\s*]{0,200}@(?:author|version|since)\b.*$", re.M)

_stemmer = Stemmer.Stemmer("porter", 0)


@cache
def porter(word: str) -> str:
    """Porter's stem (1980) of a word in lower case."""
    return str(_stemmer.stemWord(word))


def without_prefix(summary: str) -> str:
    """A summary without the ``Bug 12345`` that the data puts before it.

    >>> without_prefix("Bug 384108 JUnit view: icons"), without_prefix("Bug fix 3 fails")
    ('JUnit view: icons', 'Bug fix 3 fails')
    """
    return _PREFIX.sub("", summary)


def summary_and_description(report: BugReport) -> str:
    """Summary, without the prefix of the data, and description."""
    return f"{without_prefix(report.summary)} {report.description}"


def code_words(text: str) -> list[str]:
    """Parts of runs of letters, split before capitals; of two letters or more.

    >>> code_words("getURLFor x HTMLParser_2 aB")
    ['get', 'URL', 'For', 'HTML', 'Parser']
    """
    return [part for run in _LETTERS.findall(text) for part in _LETTER_PARTS.findall(run) if len(part) > 1]


def letter_parts(word: str) -> list[str]:
    """Runs of letters of a word, split before capitals, in lower case.

    >>> letter_parts("HTMLParser2_x")
    ['html', 'parser', 'x']
    """
    return [part.lower() for part in _LETTER_PARTS.findall(word)]


def dropped(word: str) -> bool:
    """Whether a word in lower case says nothing: one letter, a stop word or a keyword.

    >>> [dropped(word) for word in ("x", "the", "null", "parser")]
    [True, True, True, False]
    """
    return len(word) < 2 or word in STOP_WORDS or word in KEYWORDS


def bluir_split(text: str) -> list[str]:
    """Parts of words, in lower case, longer than two characters.

    >>> bluir_split("getURLFor the HTMLParser2")
    ['get', 'url', 'for', 'the', 'html', 'parser']
    """
    return [part.lower() for run in _ALNUM.findall(text) for part in _BLUIR_PARTS.findall(run) if len(part) > 2]


def bluir_raw(text: str) -> list[str]:
    """Words before they are split, in lower case, longer than two characters.

    >>> bluir_raw("getURLFor a of x1y")
    ['geturlfor', 'x1y']
    """
    return [run.lower() for run in _ALNUM.findall(text) if len(run) > 2]


def blia_words(text: str) -> list[str]:
    """Each word whole and, if it has several, its parts; entities decoded, tags and possessive endings removed.

    >>> blia_words("Tom&amp;s <b>HTMLParser</b>'s x2")
    ['Tom', 's', 'HTMLParser', 'HTML', 'Parser', 'x2', 'x', '2']
    """
    found: list[str] = []
    for run in NL_WORD.findall(_TAG.sub(" ", html.unescape(text))):
        word = run.removesuffix("'s").strip("'")
        if not word:
            continue
        parts = _BLUIR_PARTS.findall(word)
        found += [word, *parts] if len(parts) > 1 else [word]
    return found


def without_doc_tags(comment: str) -> str:
    """A comment without its @author, @version and @since lines and without the names of its other tags.

    >>> without_doc_tags("/** Runs. @param size of {@link Foo}").split()
    ['/**', 'Runs.', 'size', 'of', 'Foo}']
    """
    return _DOC_TAG.sub(" ", _DOC_LINE.sub(" ", comment))


def stems(words: list[str], stops: frozenset[str] = STOP_WORDS) -> list[str]:
    """Porter stems of the words in lower case without the stop words.

    >>> stems(["The", "Parsers", "running"])
    ['parser', 'run']
    """
    return [porter(low) for word in words if (low := word.lower()) not in stops]
