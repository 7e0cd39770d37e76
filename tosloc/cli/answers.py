"""Print answers to standard output: with colours and links on a terminal, or as plain text.

Names that the reader should look at are bold or coloured, reasons are plain, and the background is
dim.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.text import Text

from tosloc.core.answers import SuspectChange
from tosloc.core.errors import ToslocError, pluralize
from tosloc.core.io import escape_code_line, escape_unprintable, truncate_text
from tosloc.localize.answer import (
    Answer,
    is_before_first_commit,
    percent,
)
from tosloc.terminal.printing import make_console

if TYPE_CHECKING:
    from rich.console import Console

    from tosloc.core.answers import CodeLine, Function, Hit, Reason
    from tosloc.git.repository import Repository

MAX_LESS_LIKELY: Final = 5
"""Largest number of files that are named without details."""
LONG_FUNCTION: Final = 100
"""Number of lines of a function from which lines in it are named."""
MAX_TEXT_CHARACTERS: Final = 300
"""Largest number of characters of a heading or a reason that are printed."""
MAX_CODE_CHARACTERS: Final = 100
"""Largest number of characters of a line of code that are printed."""
_BLAMES: Final = "The report blames"
_DOTS: Final = "..."
_WORD: Final = re.compile(r"\S+\s*")
_SUSPECT_INDENT: Final = 2
_MATCH_STYLE: Final = "bold magenta"
_DIFF_STYLES: Final = {"+": "green", "-": "red"}
_MIN_WRAPPED_COLUMNS: Final = 20
"""Smallest number of columns of a wrapped line, whatever its indentation."""


def print_answer(
    answer: Answer, repository: Repository | None = None, before: int = 0, verbose: bool = False
) -> None:
    """Print the report's statements, the files that may contain the bug, and the background.

    The answer's notes are not printed. ``before`` is the number of answers that were already
    printed; if there are any, an empty line comes first. Without ``verbose``, all less likely files
    are on one line. Paths are printed whole, so that they can be copied. On a terminal, lines are
    shortened or wrapped between words; elsewhere each text is one line.
    """
    console = make_console()
    if before:
        console.print()
    _AnswerPrinter(console, answer, repository, verbose).print()


@dataclass(frozen=True)
class _AnswerPrinter:
    """Prints an answer on a console."""

    console: Console
    answer: Answer
    repository: Repository | None
    verbose: bool

    def print(self) -> None:
        """Print all parts, with an empty line between them."""
        answer = self.answer
        self._heading()
        self._statements()
        if answer.leads_with_suspects:
            self._suspects()
        if answer.hits:
            self.console.print()
        detailed = answer.hits if self.verbose else answer.likely_hits
        rank_width = max((len(str(hit.rank)) for hit in detailed), default=0)
        for hit in detailed:
            self._hit(hit, rank_width)
        self._less_likely(answer.hits[len(detailed) :])
        if not answer.leads_with_suspects:
            self._suspects()
        self._background(detailed)

    def _heading(self) -> None:
        """Print the report's name and the searched version."""
        report = self.answer.report
        names = [report.id, report.summary]
        if report.summary and report.id == report.TEXT_ID:
            names.remove(report.id)
        self._line(Text(_printable("  ".join(filter(None, names))), "bold"))
        searched = self.answer.searched
        scope = f"{pluralize(searched.files, 'file')} {_version_text(self.answer)}"
        if searched.hidden_files:
            hidden = pluralize(searched.hidden_tests + searched.hidden_files, "file")
            scope += f"; {hidden} hidden (--all-files)"
        elif searched.hidden_tests:
            scope += f"; {pluralize(searched.hidden_tests, 'test file')} hidden (--tests)"
        self._wrapped(Text(scope, "dim"))

    def _statements(self) -> None:
        """Print whether the report is fixed already, and the report's statements.

        A blamed commit is left out if it is printed among suspect changes before the files.
        """
        lines = []
        fixed = self.answer.fixed_line
        if fixed is not None:
            lines.append(Text(_printable(fixed.text), "yellow"))
        printed_below = tuple(f"{_BLAMES} {commit[:10]}" for commit in self._leading_commits)
        for statement in self.answer.statements:
            if not statement.startswith(printed_below):
                lines.append(Text(_printable(statement)))
        if lines:
            self.console.print()
        for line in lines:
            self._wrapped(line)

    @property
    def _leading_commits(self) -> list[str]:
        """The suspect changes that are printed before the files."""
        leads = self.answer.leads_with_suspects
        return [change.commit for change in self.answer.suspects] if leads else []

    def _suspects(self) -> None:
        """Print past changes that may have introduced the fault, blamed ones first.

        Without ``verbose``, only the first has its whole sentence and lines of its diff.
        """
        changes = self.answer.suspects
        if changes:
            self.console.print()
        has_title = False
        for number, change in enumerate(changes):
            is_blamed = SuspectChange.BLAMED in change.reasons
            indent = 0 if is_blamed else _SUSPECT_INDENT
            if not is_blamed and not has_title:
                has_title = True
                self._line(Text("Other suspect changes:" if number else "Suspect changes:"))
            self._suspect(change, indent, is_blamed)
            sentence = Text(_printable(_without_blame(change).sentence))
            if number == 0 or self.verbose:
                self._wrapped(sentence, indent + _SUSPECT_INDENT)
                self._diff(change, indent + _SUSPECT_INDENT)
            else:
                self._line(sentence, indent + _SUSPECT_INDENT)

    def _suspect(self, change: SuspectChange, indent: int, is_blamed: bool) -> None:
        """Print the commit of a suspect change."""
        commit, _, rest = _printable(change.heading).partition(" ")
        link = "" if change.url is None else f" link {change.url}"
        heading = Text(f"{_BLAMES} " if is_blamed else "")
        heading.append(commit, f"bold yellow{link}").append(f" {rest}")
        self._line(heading, indent)

    def _diff(self, change: SuspectChange, indent: int) -> None:
        """Print the lines of a suspect's diff, with their numbers in the searched version."""
        code_lines = [line[1:].rstrip() for line in change.diff]
        margin = _margin(code_lines)
        labels = [str(number) if number else "" for number in change.diff_lines]
        width = max(map(len, labels), default=0)
        for line, code, label in zip(change.diff, code_lines, labels, strict=True):
            style = _DIFF_STYLES.get(line[:1], "")
            start = Text(" " * indent)
            if width:
                start.append(f"{label:>{width}} ", "dim")
            start.append(f"{line[:1]} ", style)
            self._code(start, _code_text(code, (), margin), style)

    def _hit(self, hit: Hit, rank_width: int) -> None:
        """Print a file with its confidence, its functions, lines that match, and reasons."""
        line = Text(f"{hit.rank:>{rank_width}}  ")
        line.append(f"{percent(hit.confidence):>4}  ", "bold")
        file = _file_on_disk(hit.path, self.repository)
        style = "bold cyan" if file is None else f"bold cyan link {file.as_uri()}"
        line.append(escape_unprintable(hit.path), style)
        self.console.print(line, soft_wrap=True)
        indent = rank_width + 8
        first = hit.functions[:1]
        others = hit.functions[1:]
        inside = [line for line in hit.code if _contains(first, line)]
        outside = [line for line in hit.code if not _contains(first, line)]
        if inside and not self.verbose:
            # Lines of the other functions are named beside these.
            outside = [line for line in outside if not _contains(others, line)]
        for function in first:
            self._wrapped(_function_label(function, "bold yellow", ()), indent)
        self._code_lines(inside, indent + 2)
        if others:
            labels = [_function_label(function, "yellow", hit.code) for function in others]
            self._wrapped(Text("also ").append_text(Text(", ").join(labels)), indent)
        self._code_lines(outside, indent + 2)
        has_matches = any(line.matches for line in (*inside, *outside))
        for reason in hit.reasons:
            # Marks in the lines say which words match, and suspects above which commit is blamed.
            is_known = (reason.kind == "words" and has_matches) or (
                reason.kind == "change" and reason.commit in self._leading_commits
            )
            if self.verbose or not is_known:
                self._line(self._reason(reason), indent)

    @staticmethod
    def _reason(reason: Reason) -> Text:
        """Return a reason, in which the commit is a link if its address is known."""
        text = Text(_printable(reason.text))
        if reason.url is not None and reason.commit is not None:
            text.highlight_words([reason.commit[:10]], f"link {reason.url}")
        return text

    def _code_lines(self, lines: Sequence[CodeLine], indent: int) -> None:
        """Print numbered lines of code, with the words that match the report in colour."""
        margin = _margin([line.text for line in lines])
        width = max((len(str(line.line)) for line in lines), default=0)
        for line in lines:
            start = Text(" " * indent).append(f"{line.line:>{width}}  ", "dim")
            self._code(start, _code_text(line.text, line.matches, margin))

    def _less_likely(self, hits: Sequence[Hit]) -> None:
        """Print the remaining files in one line."""
        if not hits:
            return
        named = min(len(hits), MAX_LESS_LIKELY)
        line = _less_likely_line(hits, named)
        while self.console.is_terminal and named > 1 and line.cell_len > self.console.width:
            named -= 1
            line = _less_likely_line(hits, named)
        self._wrapped(line)

    def _background(self, detailed: Sequence[Hit]) -> None:
        """Print other files, tests, people and similar past changes.

        Without ``verbose``, print only names, and a past change that is not among the reasons.
        """
        lines = list(self._full_background() if self.verbose else self._short_background(detailed))
        if lines:
            self.console.print()
        for line in lines:
            self._line(Text(_printable(line), "dim"))

    def _full_background(self) -> Iterator[str]:
        """Yield the lines of the whole background."""
        if self.answer.others:
            others = [f"{hit.path} ({hit.reasons[0].text})" for hit in self.answer.others]
            yield f"Other files: {', '.join(others)}"
        for line in self.answer.background_lines:
            yield line.text

    def _short_background(self, detailed: Sequence[Hit]) -> Iterator[str]:
        """Yield the most helpful lines: other files, tests, people and the most similar change."""
        if self.answer.others:
            yield f"Other files: {', '.join(hit.path for hit in self.answer.others)}"
        background = self.answer.background
        if background is None:
            return
        for reason in background.similar:
            yield reason.text
        if background.tests:
            yield f"Tests: {', '.join(background.tests)}"
        people = [*(person.name for person in background.people), *background.owners]
        if people:
            yield f"Ask: {', '.join(people)}"
        cited = {reason.commit for hit in detailed for reason in hit.reasons}
        cited.update(change.commit for change in self.answer.suspects)
        for line in self.answer.background_lines:
            if line.kind == "earlier" and line.commit not in cited:
                yield line.text
                return

    def _line(self, text: Text, indent: int = 0) -> None:
        """Print a text; on a terminal, cut it between two words to one line.

        With ``verbose`` it is wrapped instead.
        """
        if self.console.is_terminal and not self.verbose:
            width = self._width(indent)
            if text.cell_len > width:
                text = _wrap(text, width - len(_DOTS))[0]
                text.append(_DOTS)
        self._wrapped(text, indent)

    def _wrapped(self, text: Text, indent: int = 0) -> None:
        """Print a text with an indentation; on a terminal, wrap it between words."""
        text.rstrip()
        lines = _wrap(text, self._width(indent)) if self.console.is_terminal else [text]
        for line in lines:
            self.console.print(Text(" " * indent).append_text(line), soft_wrap=True)

    def _code(self, start: Text, code: Text, style: str = "") -> None:
        """Print a line of code after its number; on a terminal, cut it to the width."""
        width = MAX_CODE_CHARACTERS
        if self.console.is_terminal:
            width = min(width, self._width(start.cell_len))
        if code.cell_len > width:
            code.truncate(width - len(_DOTS), overflow="crop")
            code.rstrip()
            code.append(_DOTS)
        code.stylize_before(style)
        self.console.print(start.append_text(code), soft_wrap=True)

    def _width(self, indent: int) -> int:
        """Return the number of a terminal's columns that remain after an indentation."""
        return max(self.console.width - indent, _MIN_WRAPPED_COLUMNS)


def _wrap(text: Text, width: int) -> list[Text]:
    """Return the lines of a text that is wrapped between words.

    A word longer than ``width`` gets a line of its own, so that it can be copied.
    """
    starts = []
    column = 0
    for word in _WORD.finditer(text.plain):
        if column and column + cell_len(word[0].rstrip()) > width:
            starts.append(word.start())
            column = 0
        column += cell_len(word[0])
    lines = list(text.divide(starts))
    for line in lines:
        line.rstrip()
    return lines


def _printable(text: str) -> str:
    """Return a text that is safe on a terminal, shortened if it is too long."""
    return truncate_text(escape_unprintable(text), MAX_TEXT_CHARACTERS)


def _version_text(answer: Answer) -> str:
    """Return the searched version: a commit, maybe with changes on disk, or files on disk only."""
    if is_before_first_commit(answer.commit):
        return "on disk; nothing is committed yet"
    version = f"of {answer.commit[:10]} ({answer.committed:%Y-%m-%d})"
    if not answer.searched.uncommitted:
        return version
    changes = pluralize(answer.searched.uncommitted, "uncommitted file")
    return f"{version} with {changes}"


def _without_blame(change: SuspectChange) -> SuspectChange:
    """Return a suspect change without the reason that its heading already shows."""
    return replace(
        change, reasons=tuple(item for item in change.reasons if item != SuspectChange.BLAMED)
    )


def _less_likely_line(hits: Sequence[Hit], named: int) -> Text:
    """Return a line with the first ``named`` of the less likely files."""
    names = [f"{escape_unprintable(hit.path)} {percent(hit.confidence)}" for hit in hits[:named]]
    if len(hits) > named:
        names.append(f"{len(hits) - named} more")
    return Text(f"Less likely: {', '.join(names)} (-v: why)", "dim")


def _contains(functions: Iterable[Function], line: CodeLine) -> bool:
    """Return whether one of some functions contains a line."""
    return any(function.start <= line.line <= function.end for function in functions)


def _function_label(function: Function, style: str, lines: Iterable[CodeLine]) -> Text:
    """Return a function's name, with its first and last line.

    If the function is long and contains some of ``lines``, these lines are shown instead.
    """
    label = Text(escape_unprintable(function.name), style)
    numbers = [str(line.line) for line in lines if _contains([function], line)]
    if numbers and function.end - function.start >= LONG_FUNCTION:
        what = "lines" if len(numbers) > 1 else "line"
        text = f" ({what} {', '.join(numbers)})"
    else:
        text = f":{function.start}-{function.end}"
    return Text().append_text(label).append(text, "dim")


def _margin(lines: Iterable[str]) -> int:
    """Return the number of columns by which all lines of code, except blank ones, are indented."""
    return min((_indentation(line) for line in lines if line.strip()), default=0)


def _indentation(line: str) -> int:
    """Return the number of columns before the first character of a line of code."""
    return len(escape_code_line(line[: len(line) - len(line.lstrip())]))


def _code_text(line: str, matches: Iterable[tuple[int, int]], margin: int) -> Text:
    """Return a line of code without its first ``margin`` columns, and with coloured matches."""
    position = len(line) - len(line.lstrip())
    text = Text(" " * max(_indentation(line) - margin, 0))
    # A longer line is cut when it is printed.
    line = line[: position + MAX_CODE_CHARACTERS + 1].rstrip()
    for start, end in matches:
        if start < position:
            continue
        text.append(escape_code_line(line[position:start]))
        text.append(escape_code_line(line[start:end]), _MATCH_STYLE)
        position = end
    return text.append(escape_code_line(line[position:]))


def print_locations(answer: Answer, repository: Repository | None = None) -> None:
    """Print ``file:line:column: function, confidence`` of each hit, for editors.

    The line is the first line of the hit's best function. Without a function, it is the first line
    that a reason names. Paths of files in the work tree are relative to the current folder, other
    paths to the repository's root.
    """
    for hit in answer.hits:
        file = _file_on_disk(hit.path, repository)
        path = hit.path if file is None else os.path.relpath(file)
        function_names = [function.name for function in hit.functions[:1]]
        description = ", ".join([*function_names, percent(hit.confidence)])
        print(escape_unprintable(f"{path}:{_first_line(hit)}:1: {description}"))


def open_first(answer: Answer, repository: Repository | None) -> None:
    """Open the first hit in the user's editor, at the line of its best function.

    Raises ToslocError if the hit is not in the work tree, or the editor cannot be started.
    """
    file = _file_on_disk(answer.hits[0].path, repository) if answer.hits else None
    if file is None:
        raise ToslocError("--open: the answer's first file is not in the work tree")
    line = _first_line(answer.hits[0])
    try:
        editor = shlex.split(os.environ.get("VISUAL") or os.environ["EDITOR"])
        if Path(editor[0]).stem.startswith("code"):
            arguments = ["--goto", f"{file}:{line}"]
        else:
            arguments = [f"+{line}", str(file)]
        subprocess.run([*editor, *arguments], check=False)
    # LookupError: there is no name. ValueError: a quotation mark is not closed. OSError: there is
    # no such program.
    except (LookupError, ValueError, OSError) as error:
        detail = f" ({error})" if isinstance(error, OSError) else ""
        raise ToslocError(
            f"--open: no editor can be started; set one, as in: export EDITOR=vim{detail}"
        ) from error


def _first_line(hit: Hit) -> int:
    """Return the first line of the best function, or else the first line of a reason, or 1."""
    if hit.functions:
        return hit.functions[0].start
    for reason in hit.reasons:
        if reason.lines:
            return reason.lines[0]
    return 1


def _file_on_disk(path: str, repository: Repository | None) -> Path | None:
    """Return the path of a file in the work tree; None if it does not exist there."""
    work_tree = None if repository is None else repository.work_tree
    if work_tree is None:
        return None
    file = work_tree / path
    return file if file.is_file() else None
