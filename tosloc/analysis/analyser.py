"""What facts are made by and what they are counted by: known without loading a parser."""

from __future__ import annotations

from functools import cache
from importlib import metadata
from typing import Final

from tosloc.analysis.grammars import grammar_release

FIELDS: Final = ("code", "comment", "string", "method", "type", "field")
"""Columns of the counts. The first three make up the whole text; the others, declared names, are also in ``code``."""
TEXT_FIELDS: Final = FIELDS[:3]

FACTS_VERSION: Final = 3
"""Of the facts. Goes up when what ``tosloc.analysis.facts`` computes changes."""


@cache
def analyser(lizard: bool = False) -> str:
    """Version of the facts; with lizard's release where complexity is its number, which changes between releases."""
    return f"facts{FACTS_VERSION}" + (f"+lizard{metadata.version('lizard')}" if lizard else "")


@cache
def analyser_of(language: str, lizard: bool = False) -> str:
    """Version of the facts of the language called so, for store keys: with the release of its grammar."""
    return "+".join((analyser(lizard), *grammar_release(language)))
