"""Find the functions that a commit changed in a file.

The lines of a patch are looked up in the file as the commit left it. In the searched version, other
functions may be at the same lines, or have lines with the same text. Only if one line alone has the
text of an added line, its listed function counts as well: it may have had another name before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from tosloc.code.functions import find_functions
from tosloc.git.patches import FilePatch, Hunk
from tosloc.git.repository import Repository, decode_text
from tosloc.rank.suspects.line_history import FileLines, line_texts


def enclosing_functions(
    repository: Repository, file: FileLines, patch: FilePatch
) -> list[list[Sequence[str]]]:
    """Return, for each line of each hunk, the names of the functions and classes that contain it.

    ``file`` is the patch's file in the searched version.
    A removed line was in the functions that contain both the line before and the line after it.
    Context lines have no names, because the commit did not change them.
    """
    [(_, content)] = repository.texts([patch.blob])
    names = _names_by_line(decode_text(content or b""), patch.path)
    result = []
    for hunk in patch.hunks:
        names_of_lines = _names_in_hunk(hunk, names)
        for place, text in enumerate(line_texts(hunk)):
            positions = file.positions_by_text.get(text, [])
            is_added = hunk.lines[place].startswith("+")
            if is_added and len(positions) == 1 and file.writers.get(positions[0]) == patch.commit:
                rank = int(file.ranks[positions[0]])
                if rank:
                    listed = file.functions[rank - 1].name
                    names_of_lines[place] = [*names_of_lines[place], listed]
        result.append(names_of_lines)
    return result


def _names_by_line(text: str, path: str) -> Mapping[int, list[str]]:
    """Return line number -> names of the functions and classes that contain the line."""
    facts = find_functions(text, path)
    names: defaultdict[int, list[str]] = defaultdict(list)
    starts = facts.starts.tolist()
    ends = facts.ends.tolist()
    for name, start, end in zip(facts.names, starts, ends, strict=True):
        for number in range(start, end + 1):
            names[number].append(name)
    return names


def _names_in_hunk(hunk: Hunk, names: Mapping[int, list[str]]) -> list[Sequence[str]]:
    """Return the names for each line of a hunk, from the names of each line after the change."""
    result: list[Sequence[str]] = []
    number = hunk.new_start
    for line in hunk.lines:
        after = names.get(number, [])
        if line.startswith("+"):
            result.append(after)
        elif line.startswith("-"):
            before = names.get(number - 1, [])
            result.append([name for name in after if name in before])
        else:
            result.append(())
        number += not line.startswith("-")
    return result
