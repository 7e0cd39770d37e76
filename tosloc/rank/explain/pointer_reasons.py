"""Reasons that the report itself points to a file, by a frame, a name or a message."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from typing import Final

from tosloc.code.functions import FunctionFacts
from tosloc.core.answers import Reason
from tosloc.rank.explain.wording import shorten
from tosloc.rank.features.query_context import QueryContext
from tosloc.rank.features.text_features import DefinedName, find_defined_names
from tosloc.reports.traces import Frame, Place
from tosloc.retrieval.paths import file_stem

MAX_NAMESAKES: Final = 5
"""Largest number of files with a name that is a reason for each of them."""
_PATH: Final = re.compile(
    r"(?<![\w$.\-/\\])[/\\]{0,3}+"
    r"((?:[\w.\-$]+[/\\])*[\w.\-$]*[\w\-$]\.[A-Za-z][A-Za-z+]{0,7})(?![\w(])"
)
_MODULE: Final = re.compile(r"(?<![\w./\\])[a-z_]\w*(?:\.[A-Za-z_]\w*){1,8}")


class PointerReasons:
    """Reasons that the report points to a file; a file is given by its number in the version."""

    def __init__(self, context: QueryContext) -> None:
        self._context = context
        self._paths = context.version.paths

    def _row(self, file: int) -> int:
        """Return the path row of a file."""
        return int(self._paths.path_ids[file])

    def frame(self, file: int) -> Reason | None:
        """Return the first stack frame in the file as a reason; None if there is none.

        Its line is that of the report's version.
        """
        row = self._row(file)
        for trace in self._context.query.places.locations.traces:
            for location in trace:
                rows = self._context.named_files.find_rows(location)
                # A single location without a method may be no stack frame.
                if row in rows and (len(trace) > 1 or location.method):
                    return _frame_reason(location, len(rows))
        return None

    def name(self, file: int) -> Reason | None:
        """Return the reason that the report contains the file's path, module or name; else None."""
        row = self._row(file)
        if row in self._spelling_by_row:
            return Reason("name", f"The report names {self._spelling_by_row[row]}")
        stem = file_stem(self._paths.table.paths[row])
        looks_like_name = stem[:1].isupper() or "_" in stem
        if stem not in self._context.query.names.mentions or not looks_like_name:
            return None
        namesakes = len(self._paths.find_by_stem(stem))
        if namesakes > MAX_NAMESAKES:
            return None
        if self._paths.table.compound_stem[row]:
            verb = f"names {stem}"
        else:
            verb = f"contains {stem}, the file's name"
        return Reason("name", f"The report {verb}{_one_of(namesakes)}")

    @cached_property
    def _spelling_by_row(self) -> dict[int, str]:
        """Path row -> how the report spells the file, for spellings that mean only this file."""
        spellings: dict[int, str] = {}
        paths = self._paths.table.paths
        for source in (self._context.query.text.title, self._context.query.text.written):
            for spelling in dict.fromkeys(_PATH.findall(source)):
                rows = self._paths.find_by_frame_path(spelling)
                if len(rows) == 1 and not self._is_foreign(spelling):
                    spellings.setdefault(rows[0], _common_path_end(spelling, paths[rows[0]]))
            for spelling in dict.fromkeys(_MODULE.findall(source)):
                row = self._find_module(spelling)
                if row is not None:
                    spellings.setdefault(row, spelling)
        locations = self._context.query.places.locations
        # Files that a build failed to make have frames without line and method.
        first_frames = [trace[0] for trace in locations.traces]
        failed = [frame for frame in first_frames if not frame.line and not frame.method]
        places: Iterable[Frame | Place] = (*locations.paths, *locations.links, *failed)
        for place in places:
            place_rows = self._context.named_files.find_rows(place)
            if len(place_rows) == 1:
                spellings.setdefault(place_rows[0], place.path)
        for name, name_rows, _ in self._context.named_files.by_compound_name:
            for row in name_rows:
                spellings.setdefault(row, name.written)
        return spellings

    def _is_foreign(self, spelling: str) -> bool:
        """Return whether a path is part of a link to a file of another project."""
        foreign_projects = self._context.query.places.foreign_projects
        return any(f"/{project}/" in spelling for project in foreign_projects)

    def _find_module(self, dotted: str) -> int | None:
        """Return the path row of the module at the beginning of a dotted name, or None.

        The longest beginning of at least two names is used that means exactly one file.
        """
        names = dotted.split(".")
        for length in range(len(names), 1, -1):
            module = ".".join(names[:length])
            for qualified in (module, f"{module}.__init__"):
                rows = self._paths.find_by_class(qualified)
                if len(rows) == 1:
                    return rows[0]
        return None

    def defined_name(self, file: int, functions: FunctionFacts | None = None) -> Reason | None:
        """Return the reason that the file defines a function or type that the report names.

        The name must consist of two words or more, and few files may define it. Terms do not
        preserve capitals and underscores. If the file's ``functions`` are given, one of them must
        therefore have exactly the name. Return None if there is no such name.
        """
        row = int(self._context.version.text.rows[file])
        function_names = {name for _, name in functions.last_names} if functions else set()
        for defined in self._defined_names:
            written = defined.name.written
            if function_names and written not in function_names:
                continue
            if defined.name.compound and defined.files <= MAX_NAMESAKES and row in defined.rows:
                others = f" (one of {defined.files} files that do)" if defined.files > 1 else ""
                return Reason("name", f"Defines {written}, which the report names{others}")
        return None

    @cached_property
    def _defined_names(self) -> list[DefinedName]:
        """Names in the report that files define, the heaviest first."""
        return sorted(find_defined_names(self._context), key=lambda name: -name.weight)

    def message(self, file: int) -> Reason | None:
        """Return the reason that a string of the file contains a message of the report, or None."""
        row = int(self._context.version.text.rows[file])
        message = self._context.messages.find(row)
        if message is None or not message.is_distinctive:
            return None
        return Reason("message", f'A string in the file contains "{shorten(message.text)}"')


def _frame_reason(location: Frame, files: int) -> Reason:
    """Return a stack frame as a reason; ``files`` is the number of files that it can mean."""
    class_name = location.type.rpartition(".")[2]
    names = ".".join(filter(None, (class_name, location.method)))
    lines = None
    if location.line:
        lines = (location.line, location.line)
    if names:
        sentence = f"Stack frame {names}"
        if location.line:
            sentence += f", line {location.line} in the report's version"
    elif location.line:
        # This may be a compiler's message as well.
        sentence = f"The report points to line {location.line} in its version"
    else:
        sentence = f"Stack frame in {location.full_path.rpartition('/')[2]}"
    return Reason("frame", f"{sentence}{_one_of(files)}", lines=lines)


def _common_path_end(spelling: str, path: str) -> str:
    """Return the end of ``path`` that agrees with a report's spelling of it.

    >>> _common_path_end("github.com/x/y/blob/12ab/src/a.py", "src/a.py")
    'src/a.py'
    >>> _common_path_end("..\\\\lib\\\\a.py", "src/a.py")
    'a.py'
    """
    names = path.split("/")
    spelled_names = spelling.replace("\\", "/").split("/")
    for length in range(len(names), 0, -1):
        if names[-length:] == spelled_names[-length:]:
            return "/".join(names[-length:])
    return ""


def _one_of(files: int) -> str:
    """Return a remark that several files have a name; "" if it is only one."""
    return f" (one of {files} files with this name)" if files > 1 else ""
