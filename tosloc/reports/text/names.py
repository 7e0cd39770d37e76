"""Find names that a report writes as code."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from tosloc.code.text import identifier_compounds, identifier_terms

CODE_SPAN: Final = re.compile(r"`([^`\n]{1,300})`")
"""Text that is quoted as code with backticks."""
_NAME: Final = re.compile(
    r"(?<![\w$])[A-Za-z_$][\w$]*(?:(?:\.|::|->|#)[A-Za-z_$][\w$]*)*(?P<call>\(?)"
)
_PARTED: Final = re.compile(r"\.|::|->|#")
_DEFINED: Final = re.compile(
    r"(?m)^[ \t>.]*(?:async\s+)?(?:def|class|function|func|fn|struct)\s+([A-Za-z_$][\w$]*)"
)
FILE_ENDINGS: Final = frozenset(
    "c cc cfg com cpp cs csv go h hpp html io java js json jsx md net org".split()
    + "py rs scala sh toml ts txt yaml yml".split()
)
"""Last parts of the names of files and web sites."""
_PLAIN: Final = re.compile(r"[A-Za-z]?[a-z]+\d*|[A-Z]+s?\d*")


class Name(NamedTuple):
    """A name that a report writes as code."""

    key: str
    """Term of the name in files: its compound, or the stem of a single word."""
    owner: str
    """Term of the name before the dot (Owner.name); empty if there is none."""
    compound: bool
    """Whether the name has two parts or more, so that no other name has the same term."""
    written: str
    """The name as written."""


def find_names(source: str, code: bool = False) -> list[Name]:
    """Return the names in a text, in order and without repetitions.

    They are parts of dotted names, calls, compounds, and words in backticks. With ``code`` the text
    is code, and the names that it defines are left out.

    >>> text = "Header.fromString fails in parse_args and `cut`, not in foo"
    >>> [(name.key, name.owner) for name in find_names(text)]
    [('header', ''), ('fromstring', 'header'), ('parseargs', ''), ('cut', '')]
    """
    defined = {name.lower() for name in _DEFINED.findall(source)} if code else set()
    quoted = {span.strip("()") for span in CODE_SPAN.findall(source)}
    names: dict[tuple[str, str], Name] = {}
    for match in _NAME.finditer(source):
        word = match[0]
        if word.isascii() and word.isalpha() and word.islower() and word not in quoted:
            continue  # a plain word
        pieces = [piece for piece in _PARTED.split(word.rstrip("(")) if piece]
        if len(pieces) > 1 and pieces[-1].lower() in FILE_ENDINGS and not match["call"]:
            pieces = pieces[:-1]  # a file or a site
        owner = ""
        for number, piece in enumerate(pieces):
            terms = identifier_terms(piece)
            if not terms:
                owner = ""
                continue
            key = terms[-1]
            is_called = bool(match["call"]) and number == len(pieces) - 1
            is_compound = bool(identifier_compounds(piece))
            looks_like_code = is_compound and not _PLAIN.fullmatch(piece)
            is_name = looks_like_code or is_called or len(pieces) > 1 or piece in quoted
            if is_name and piece.lower() not in defined:
                names.setdefault((key, owner), Name(key, owner, is_compound, piece))
            owner = key
    return list(names.values())
