"""What stage one needs to know of a source text: its terms by field and by 50-line chunk.

Facts are a pure function of text, language and the analyser's version, so they are made once for a blob and kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from tosloc.code.languages import language_named, language_of
from tosloc.code.outline import outline_of
from tosloc.code.parse import MAX_PARSED
from tosloc.code.terms import Facts, SourceText, count_terms


def analyse(text: str, path_suffix: str, *, parse: bool = True, lizard: bool = False) -> Facts:
    """Facts of a file with this ``text`` whose path ends in ``path_suffix`` (with its dot, such as ".java").

    Broken, binary, empty and huge texts have facts too; nothing in a text raises. ``parse=False`` uses regular
    expressions alone, for a text that brings a parser down. Without ``lizard``, which takes long, complexity is 0.
    """
    return analyse_all([(text, path_suffix)], parse=parse, lizard=lizard)[0]


def analyse_all(files: Sequence[tuple[str, str]], *, parse: bool = True, lizard: bool = False) -> list[Facts]:
    """Facts of each (text, suffix), as ``analyse`` makes them, in less time."""
    made = count_terms([_source(text, suffix, parse) for text, suffix in files])
    for (text, suffix), facts in zip(files, made, strict=True):
        facts.complexity = _complexity(text, suffix, parse) if lizard else 0
    return made


def _source(text: str, suffix: str, parse: bool) -> SourceText:
    text = text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
    source = text.encode("utf-8", "replace")
    lines = text.count("\n") + (not text.endswith("\n") and bool(text))
    return SourceText(source, lines, outline_of(source, language_of(suffix), parse=parse))


def _complexity(text: str, suffix: str, parse: bool) -> int:
    """By lizard, else by keywords; none of what is no program."""
    read_as = language_named(language_of(suffix)).lizard
    if read_as is None:
        return 0
    from tosloc.code import complexity  # lizard takes long to import

    measured = complexity.lizard_complexity(text, read_as) if parse and len(text) <= MAX_PARSED else None
    return (measured or complexity.keyword_complexity(text)).total
