"""Find pairs of words that follow each other in the string literals of a source text.

A program prints its messages from literals. Often several literals are joined, or contain fields
into which the program writes values. A report that quotes the message has the same words in the
same order.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias
from zlib import crc32

import numpy as np
import numpy.typing as npt

from tosloc.core.patterns import lazy_pattern

if TYPE_CHECKING:
    from tosloc.code.parse import Span

MAX_LITERAL_BYTES: Final = 10_000
"""Largest number of bytes of a string that is read; a longer string is a document."""
MAX_PAIRS: Final = 20_000
"""Largest number of different pairs that are kept, the first ones; a text with more is data."""
_MAX_BETWEEN: Final = 200
"""Largest number of bytes between two strings that may be joined."""
_FIELD: Final = "\0"
_END: Final = "\1"
_JOINT: Final = "\2"
_FORMAT_FIELD: Final = lazy_pattern(
    r"""(?x)
      % (?:\([\w.]{1,60}\))? [-+\#0]{0,4} (?:\d{1,3}\$)? (?:\d{1,3}|\*)? (?:\.(?:\d{1,3}|\*))?
        (?:hh|ll|[hlLzjtq])? [diouxXeEfFgGcsrpnvqTw@] (?![A-Za-z])
    | [$\#]? \{ [^{}\n]{0,80} \}
    | \\\( [^()\n]{0,80} \)
    | \$ [A-Za-z_]\w{0,60}
    """
)
"""%s, %(name)s, %-5.2f, {}, {name!r}, ${x}, #{x}, \\(x), $x."""
_ESCAPE: Final = lazy_pattern(r"\\(?:u\{?[0-9a-fA-F]{1,6}\}?|x[0-9a-fA-F]{2}|[abefnrtv0\\\"'`\n])")
_JOINED: Final = lazy_pattern(
    rb"""(?x)
      ["'`]{0,3} [\s\\]*+
        (?: (?:\+|\.\.?|&|<<|~|<>) \s*+
          (?P<value> [\w$@.:()\[\]>*\-]{1,80} \s*+ (?:\+|\.\.?|&|<<|~|<>) \s*+ )? )?
        [A-Za-z$@]{0,2} ["'`]{0,3}
    | (?P<field> [$\#]?\{[^{}\n]{0,80}\} | \\\([^()\n]{0,80}\) | \$[A-Za-z_]\w{0,60} )
    | (?: \\ (?: \\ | [A-Za-z0-9{}"'`]{1,9}+ ) ){1,9}+"""
)
"""Text between two pieces of one literal.

It is an operator, perhaps with a value. If a grammar yields the pieces around them, it is also a
field with a value, or an escape.
"""
_PREFIX: Final = lazy_pattern("([\1\2])[A-Za-z$@]{1,3}(?=[\"'`])")
"""Letters before a quote, such as f and r in Python, after the mark of a literal's beginning."""
_TOKEN: Final = lazy_pattern(r"[\0\1]|\w+")
_WORD: Final = lazy_pattern(r"\w+")
_AFTER_FIELD: Final = np.uint64(0xFFFFFFFF)
"""Mask for the second word of a pair with a field between its words."""

PairKeys: TypeAlias = npt.NDArray[np.uint64]
"""Keys of pairs of words: the checksum of the first word, then that of the second."""


def find_literal_pairs(source: bytes, spans: Sequence[Span]) -> PairKeys:
    """Return the sorted keys of the pairs in a text's literals, from the spans of its outline.

    Words are runs of letters, digits and underscores, in any case. Pieces that an operator joins
    are one literal. Two words with a format field or a joined value between them have another key
    than neighbours.
    """
    tokens = _TOKEN.findall(_literal_text(source, spans))
    if not tokens:
        return np.zeros(0, dtype=np.uint64)
    is_word = np.array([token > _END for token in tokens])
    words = hash_words([token for token in tokens if token > _END])
    numbers_of_fields = np.cumsum([token == _FIELD for token in tokens])[is_word]
    numbers_of_literals = np.cumsum([token == _END for token in tokens])[is_word]
    in_one_literal = numbers_of_literals[1:] == numbers_of_literals[:-1]
    across_field = numbers_of_fields[1:] > numbers_of_fields[:-1]
    keys = np.where(
        across_field,
        pair_keys(words[:-1], words[1:], across_field=True),
        pair_keys(words[:-1], words[1:]),
    )[in_one_literal]
    unique, first_positions = np.unique(keys, return_index=True)
    if len(unique) > MAX_PAIRS:
        unique = np.sort(keys[np.sort(first_positions)[:MAX_PAIRS]])
    return unique


def find_words(text: str) -> Iterator[re.Match[str]]:
    """Yield matches of the words in a text, of which literal pairs are made."""
    return _WORD.finditer(text)


def hash_words(words: Sequence[str]) -> PairKeys:
    """Return (W,) the checksum of each word in lower case."""
    checksums = [crc32(word.lower().encode("utf-8", "replace")) for word in words]
    return np.array(checksums, dtype=np.uint64)


def pair_keys(first: PairKeys, second: PairKeys, *, across_field: bool = False) -> PairKeys:
    """Return (n,) the keys of pairs of words, from the (n,) checksums of both words.

    Pairs with a format field between their words (``across_field``) have other keys.
    """
    if across_field:
        second = second ^ _AFTER_FIELD
    keys: npt.NDArray[Any] = (first << np.uint64(32)) | second
    return keys


def _literal_text(source: bytes, spans: Sequence[Span]) -> str:
    """Return the text of all literals, with marks at their ends and in place of fields."""
    parts: list[str] = []
    end = -1
    for span in spans:
        if span.kind != "string" or span.end - span.start > MAX_LITERAL_BYTES:
            continue
        joint = None
        if 0 <= end and span.start - end <= _MAX_BETWEEN:
            joint = _JOINED.fullmatch(source, end, span.start)
        if joint is None:
            parts.append(_END)
        elif span.start > end:
            has_value = joint.lastgroup is not None
            parts.append(f" {_FIELD} {_JOINT}" if has_value else f" {_JOINT}")
        parts.append(source[span.start : span.end].decode("utf-8", "replace"))
        end = span.end
    text = _PREFIX.sub(r"\1", "".join(parts))
    return _FORMAT_FIELD.sub(f" {_FIELD} ", _ESCAPE.sub(" ", text))
