"""Demangle the names of functions that compilers of C++ and Rust write into programs.

Traces of programs without debug information contain such names. Source: Itanium C++ ABI, section
5.1, https://itanium-cxx-abi.github.io/cxx-abi/abi.html#mangling.
"""

from __future__ import annotations

import re
from typing import Final

from tosloc.core.patterns import lazy_pattern

_MANGLED: Final = lazy_pattern(
    r"""(?x) (?<![\w$]) _{1,3}Z
      (?:T[VTISC]|T[hv](?:n?\d{1,9}_){1,2}|GV)?  # a table of a class, or a guard
      Z{0,9}                         # a name that is local in a function
      (?P<nested>N?)[rVKRO]{0,4}
      (?P<name>(?:(?:L|St|S[\dA-Z]{0,3}_)?(?=\d)|S[absiod](?=[\dI]))[\w$.]{2,4000}+)"""
)
_SOURCE_NAME: Final = lazy_pattern(r"[1-9]\d{0,2}")
"""Number of characters of the name that follows."""
_ABBREVIATION: Final = lazy_pattern(r"S(?:[tabsiod]|[\dA-Z]{0,3}_)|[CD]\d|L(?=\d)")
"""An abbreviated name, a constructor or destructor, or the mark of a static function."""
_LITERAL: Final = lazy_pattern(r"L[a-z]n?\d{1,20}E")
_VALUE: Final = lazy_pattern(r"(?<!L)n?\d{1,20}")
"""Value of an enumeration, which follows its type."""
_ARGUMENT: Final = lazy_pattern(r"S(?:[tabsiod]|[\dA-Z]{0,3}_)|T\d{0,3}_|D[a-z]")
"""An abbreviation among the arguments of a template."""
_OPENING: Final = frozenset("INXJLF")
"""Letters in the arguments of a template that are closed by a letter E."""
_NAME: Final = lazy_pattern(r"[A-Za-z_]\w*")
_RUST_HASH: Final = lazy_pattern(r"h[0-9a-f]{16}")
_ANONYMOUS: Final = "_GLOBAL__N_1"
"""Name of a namespace without a name."""


def demangle(text: str) -> str:
    """Return a text with each mangled name replaced by its function, without arguments.

    Blanks fill up each name, so that every character after it keeps its offset.

    >>> demangle("kak(_ZN7Kakoune10run_serverENS_6StringE+0x1f)").split()
    ['kak(Kakoune::run_server()', '+0x1f)']
    >>> demangle("at _ZN4shop4door4open17h0123456789abcdefE").split()
    ['at', 'shop::door::open()']
    """
    return _MANGLED.sub(_readable_call, text)


def _readable_call(match: re.Match[str]) -> str:
    """Return the call of a mangled function, filled to the same length, or the text unchanged."""
    names = []
    for name in _source_names(match["name"], is_nested=bool(match["nested"])):
        is_own = name != _ANONYMOUS and not _RUST_HASH.fullmatch(name)
        if is_own and _NAME.fullmatch(name):
            names.append(name)
    length = len(match[0])
    while names:
        call = f"{'::'.join(names)}()"
        if len(call) <= length:
            return call.ljust(length)
        # The outermost namespace says least.
        del names[0]
    return match[0]


def _source_names(mangled: str, *, is_nested: bool) -> list[str]:
    """Return the names of namespaces, classes and the function, the outermost first."""
    names: list[str] = []
    position = 0
    while position < len(mangled):
        if size := _SOURCE_NAME.match(mangled, position):
            position = size.end() + int(size[0])
            if position > len(mangled):
                break
            names.append(mangled[size.end() : position])
            if not is_nested:
                break
        elif abbreviation := _ABBREVIATION.match(mangled, position):
            position = abbreviation.end()
        elif mangled[position] == "I":
            position = _end_of_arguments(mangled, position)
        else:
            break
    return names


def _end_of_arguments(mangled: str, position: int) -> int:
    """Return the position after the arguments of a template, which begin at ``position``."""
    opened: list[str] = []
    while position < len(mangled):
        letter = mangled[position]
        if opened and opened[-1] == "L" and (value := _VALUE.match(mangled, position)):
            position = value.end()
        elif size := _SOURCE_NAME.match(mangled, position):
            position = size.end() + int(size[0])
        elif skipped := _LITERAL.match(mangled, position) or _ARGUMENT.match(mangled, position):
            position = skipped.end()
        else:
            position += 1
            if letter in _OPENING:
                opened.append(letter)
            elif letter == "E" and opened:
                opened.pop()
        if not opened:
            break
    return position
