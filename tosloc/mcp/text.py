"""An answer in few characters, for a reader who pays for each."""

from __future__ import annotations

from typing import Final

from tosloc.answer import Answer, percent
from tosloc.io import cut, printable
from tosloc.records import Hit

CHARACTERS: Final = 1_200
"""Of a text answer, at most."""
_CUTS: Final = ((240, 99), (120, 99), (80, 2), (60, 1), (40, 1), (0, 1), (0, 0))
"""Characters of a reason and functions of a file, in the order in which they are given up for room."""


def short(answer: Answer, characters: int = CHARACTERS) -> str:
    """Files with functions, lines and a reason each, in at most ``characters`` where a path is not longer than that.

    For room reasons are cut first, then functions, then the last files are left out, and it says how many.
    """
    searched, notes = answer.searched, _notes(answer)
    hidden = f", {searched.hidden_tests:,} tests left out" if searched.hidden_tests else ""
    head = f"{searched.files:,} files of {answer.commit[:10]}{hidden}. File (how sure): functions with lines; why"
    for letters, functions in _CUTS:
        lines = [_file(hit, letters, functions) for hit in answer.hits]
        for said in (notes, []):
            text = "\n".join([head, *lines, *said])
            if len(text) <= characters:
                return text
    for kept in range(len(lines) - 1, 0, -1):  # the last of them, without reasons and functions
        text = "\n".join([head, *lines[:kept], f"({len(lines) - kept} more left out for room)"])
        if len(text) <= characters:
            return text
    return "\n".join([head, *lines[:1]])


def explained(answer: Answer, characters: int = CHARACTERS) -> str:
    """Why the only file of an answer stands where it stands, in at most ``characters``."""
    [hit] = answer.hits
    place = f"{printable(hit.path)}: place {hit.rank:,} of {answer.searched.files:,} ({percent(hit.share)})"
    reasons = [f"- {printable(reason.text)}" for reason in hit.why]
    named = [_function(hit, number) for number in range(len(hit.functions))]
    lines = [place, *reasons, *(["functions: " + ", ".join(named)] if named else []), *_notes(answer)]
    while len("\n".join(lines)) > characters and len(named) > 1:
        named.pop()
        lines[1 + len(reasons)] = "functions: " + ", ".join(named)
    return cut("\n".join(lines), characters)


def _file(hit: Hit, letters: int, functions: int) -> str:
    line = f"{hit.rank}. {printable(hit.path)} ({percent(hit.share)})"
    named = [_function(hit, number) for number in range(min(functions, len(hit.functions)))]
    reason = cut(printable(hit.why[0].text), letters) if hit.why and letters else ""
    line += f": {', '.join(named)}" if named else ""
    return f"{line}; {reason}" if reason else line


def _function(hit: Hit, number: int) -> str:
    function = hit.functions[number]
    return f"{printable(function.name)}:{function.start}-{function.end}"


def _notes(answer: Answer) -> list[str]:
    return [f"note: {printable(note)}" for note in answer.warnings]
