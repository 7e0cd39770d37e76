"""Split the text of a report into parts.

The parts are prose, quoted text, code, data, the errors of logs and builds, other lines of logs and
builds, what is installed, and the form. Each part has its own weight in a query, see
``tosloc.retrieval.query``. Lines are also recognized by their shape, because many reports have lost
their Markdown. A line that could belong to two parts is prose.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, NamedTuple

from tosloc.reports.text.builds import (
    compiled_sources,
    is_build_error,
    is_built,
    is_compiler_command,
    is_failed_target,
)
from tosloc.reports.text.configuration import is_foreign_configuration
from tosloc.reports.text.environment import (
    BARE_RELEASE,
    DUMP,
    HEADING_OF_OUTPUT,
    HEADING_OF_VERSION,
    OUTPUT_OF,
    TABLE_OF_VERSIONS,
    announces_environment,
    asks_for_environment,
    is_environment_block,
    is_installed,
)
from tosloc.reports.text.forms import (
    ANY_HEADING,
    environment_key,
    is_form_heading,
    is_form_line,
    template_key,
)
from tosloc.reports.text.line_shapes import (
    CODE_START,
    LONGEST_SHAPED_LINE,
    is_sentence,
    is_setting,
    names_exception,
    shows_code,
)
from tosloc.reports.text.logs import is_logged, log_level, names_failure, without_digits
from tosloc.reports.text.markup import DASHES, FENCE, FENCE_TAG, QUOTE, without_markup
from tosloc.reports.traces import is_traced, source_of_object

_SETTINGS: Final = frozenset("json yaml yml toml ini xml jsonnet".split())
"""Languages of blocks of settings."""
LONGEST_LINE: Final = 10_000
"""Number of characters by which a line is classified.

Longer lines occur in reports that have lost their line breaks.
"""


class TextParts(NamedTuple):
    """The text of a description by parts; each part contains the lines of its kind, in order."""

    prose: str = ""
    """Text by the reporter."""
    quoted: str = ""
    """Text that the reporter quotes, from a page or from others."""
    code: str = ""
    """Code and commands, and their output."""
    data: str = ""
    """Blocks of keys and values, such as settings."""
    errors: str = ""
    """Lines of logs and builds that say what failed, without repetitions."""
    near_errors: str = ""
    """Lines of logs directly before and after ``errors``."""
    log: str = ""
    """All other lines of logs and builds, without repetitions and without compiler flags."""
    trace: str = ""
    """Frames of stack traces that ``traces.without_frames`` does not remove.

    They are those of Go, C, PHP, Ruby and Rust.
    """
    environment: str = ""
    """What is installed, output of diagnostic commands, and configuration of other programs."""
    form: str = ""
    """Lines of forms: headings, boxes, questions, and lines of templates or of many reports."""


def split_report_text(
    description: str,
    form_lines: Collection[str] = (),
    is_own_term: Callable[[str], bool] | None = None,
) -> TextParts:
    """Return the parts of a description.

    ``form_lines`` are the keys of lines from the project's issue forms, see ``template_key``.
    ``is_own_term`` returns whether files of the project contain a term, see
    ``is_foreign_configuration``; without it no configuration counts as foreign. A line is
    classified by its first ``LONGEST_LINE`` characters.

    >>> text = "## Describe the bug\\nIt hangs.\\n```\\nrun(3)\\n```\\n- OS: Linux\\n"
    >>> parts = split_report_text(text)
    >>> parts.prose, parts.code, parts.environment, parts.form
    ('It hangs.', 'run(3)', '- OS: Linux', '## Describe the bug')
    >>> parts = split_report_text("12:00:01 INFO up\\n12:00:02 INFO up\\n12:00:07 ERROR no door")
    >>> parts.errors, parts.near_errors, parts.log
    ('12:00:07 ERROR no door', '12:00:01 INFO up', '')
    """
    splitter = _Splitter(form_lines, is_own_term)
    for number, block in enumerate(FENCE.split(without_markup(description))):
        if number % 2 == 1:
            splitter.add_fenced(block)
        else:
            splitter.add_unfenced(block)
    splitter.end_log()
    return TextParts(**{kind: "\n".join(lines) for kind, lines in splitter.lines.items()})


class _Splitter:
    """The lines of a description by part, and the state that depends on the lines before."""

    def __init__(
        self, form_lines: Collection[str], is_own_term: Callable[[str], bool] | None
    ) -> None:
        self.lines: defaultdict[str, list[str]] = defaultdict(list)
        self._form_lines = form_lines
        self._is_own_term = is_own_term
        self._below_environment = False
        """Whether the last heading, or the last sentence, announced what is installed."""
        self._below_question = False
        """Whether the last heading was a question about what is installed."""
        self._logged: list[tuple[str, str]] = []
        """Level and text of the lines of the log that goes on."""
        self._shapes: set[str] = set()
        """Lines of logs that were seen, digits aside."""

    # ---- logs

    def _log(self, level: str, line: str) -> None:
        """Add a line to the current log, unless it differs from an earlier line only in digits."""
        shape = without_digits(line)
        if shape in self._shapes:
            return
        self._shapes.add(shape)
        self._logged.append((level, line))

    def end_log(self) -> None:
        """Sort the lines of the log that ends here into errors, lines beside errors, and others."""
        for number, (level, line) in enumerate(self._logged):
            neighbours = self._logged[max(number - 1, 0) : number + 2]
            if level == "error":
                kind = "errors"
            elif any(other == "error" for other, _ in neighbours):
                kind = "near_errors"
            else:
                kind = "log"
            self.lines[kind].append(line)
        self._logged = []

    # ---- blocks

    def add_fenced(self, block: str) -> None:
        """Add the lines of a block between two fences."""
        self.end_log()
        tag = FENCE_TAG.match(block)
        language = tag[1].lower() if tag else ""
        content = block[tag.end() :] if tag else block
        written = []
        for line in content.splitlines():
            if self._is_form(line.strip()):
                self.lines["form"].append(line)
            elif line.strip():
                written.append(line)
        heads = [line[:LONGEST_LINE] for line in written]
        announced = self._below_environment and tag is not None and not _shows_failure(heads)
        if "\n" in content:
            self._below_environment = False
        if announced or is_environment_block(heads) or self._is_foreign(language, heads):
            self.lines["environment"] += written
            return
        logged = sum(map(is_logged, heads))
        if logged * 2 > len(heads):
            self._add_log_block(written, heads)
            return
        built = sum(map(is_built, heads))
        if built * 3 >= max(len(heads), 3) or any(map(is_failed_target, heads)):
            self._add_build_block(written, heads)
            return
        settings = sum(map(is_setting, heads))
        is_data = language in _SETTINGS or (len(heads) > 2 and settings * 3 > len(heads) * 2)
        has_code = shows_code(heads)
        for line, head in zip(written, heads, strict=True):
            if DASHES.fullmatch(head):
                continue
            if is_logged(head):
                self._log(log_level(head), line)
                continue
            self.end_log()
            if len(head) <= LONGEST_SHAPED_LINE and is_traced(head):
                self.lines["trace"].append(line)
            elif not has_code and is_installed(head):
                self.lines["environment"].append(line)
            elif is_built(head):
                self._add_built(line, head)
            else:
                self.lines["data" if is_data else "code"].append(line)
        self.end_log()

    def _is_form(self, bare: str) -> bool:
        """Return whether a stripped line belongs to one of the project's issue forms."""
        if not self._form_lines or not bare or len(bare) > LONGEST_SHAPED_LINE:
            return False
        return template_key(bare) in self._form_lines

    def _is_foreign(self, language: str, heads: Sequence[str]) -> bool:
        """Return whether a block configures another program."""
        is_own_term = self._is_own_term
        return is_own_term is not None and is_foreign_configuration(language, heads, is_own_term)

    def _add_log_block(self, written: Iterable[str], heads: Iterable[str]) -> None:
        """Add the lines of a log; a line without time or level has the level of the line before."""
        level = "quiet"
        for line, head in zip(written, heads, strict=True):
            if is_logged(head):
                level = log_level(head)
            elif names_failure(head):
                level = "error"
            self._log(level, line)
        self.end_log()

    def _add_build_block(self, written: Iterable[str], heads: Iterable[str]) -> None:
        for line, head in zip(written, heads, strict=True):
            self._add_built(line, head)
        self.end_log()

    def _add_built(self, line: str, head: str) -> None:
        """Add a line of a build; a command is added without its flags."""
        if is_failed_target(head):
            self._log("error", " ".join(map(source_of_object, line.split()[1:])))
        elif is_build_error(head):
            self._log("error", line)
        elif is_compiler_command(head):
            self.lines["log"] += compiled_sources(line)
        else:
            # Lines beside errors of a compiler are code that it shows.
            self._log("quiet", line)

    def add_unfenced(self, block: str) -> None:
        """Add the lines of a block outside fences, where code is recognized by its shape."""
        inside_code = False  # Within code, a line that could be code is code.
        in_table = False
        inside_dump = False
        for written in block.splitlines():
            quote = QUOTE.match(written) if written.lstrip().startswith(">") else None
            line = written[quote.end() :] if quote else written
            head = line[:LONGEST_LINE]
            bare = head.strip()
            if not bare:
                in_table = False
                continue
            if DASHES.fullmatch(bare) and not inside_code:
                continue
            is_short = len(line) <= LONGEST_SHAPED_LINE
            if is_short and not quote:
                in_table = bare.startswith("|") and (
                    in_table or bool(TABLE_OF_VERSIONS.match(bare))
                )
                kind = self._kind_of_form(bare, inside_dump or in_table)
                if kind:
                    self.end_log()
                    inside_dump = inside_dump or bool(DUMP.match(bare))
                    self.lines[kind].append(line)
                    inside_code = False
                    continue
                inside_dump = False
                if is_logged(head):
                    self._log(log_level(head), line)
                    continue
                if is_traced(head):
                    self.end_log()
                    self.lines["trace"].append(line)
                    continue
                if is_built(head):
                    self._add_built(line, head)
                    continue
            self.end_log()
            indented = inside_code and head.startswith(("    ", "\t"))
            # A sentence may begin like code.
            inside_code = indented or (CODE_START.match(head) is not None and not is_sentence(head))
            if inside_code:
                self.lines["code"].append(line)
            else:
                self.lines["quoted" if quote else "prose"].append(line)
                self._below_environment = is_short and OUTPUT_OF.search(bare) is not None

    def _kind_of_form(self, bare: str, inside_dump: bool) -> str:
        """Return "form" or "environment" for a line of a form, or for an answer in it; else ""."""
        key = template_key(bare) if self._form_lines else ""
        if asks_for_environment(bare) or environment_key(key) in self._form_lines:
            self._below_environment = True
            self._below_question = True
            return "form"
        if is_form_heading(bare):
            self._below_environment = announces_environment(bare)
            self._below_question = False
            return "form"
        if ANY_HEADING.match(bare):
            self._below_environment = HEADING_OF_VERSION.match(bare) is not None
            self._below_question = False
            if self._below_environment:
                return "form"
        if is_form_line(bare):
            return "form"
        if bare.endswith(":") and HEADING_OF_OUTPUT.match(bare):
            self._below_environment = True
            return "form"
        if key in self._form_lines:
            return "form"
        if is_installed(bare) or BARE_RELEASE.fullmatch(bare) or DUMP.match(bare):
            return "environment"
        if inside_dump and not is_sentence(bare):
            return "environment"
        is_code = not self._below_question and CODE_START.match(bare) is not None
        if self._below_environment and not (is_sentence(bare) or is_code or _is_of_failure(bare)):
            return "environment"
        return ""


def _shows_failure(heads: list[str]) -> bool:
    """Return whether a block contains code or a line of a failure, so that it answers no form."""
    return shows_code(heads) or any(map(_is_of_failure, heads))


def _is_of_failure(line: str) -> bool:
    """Return whether a line says what failed: in a stack trace, above one, in a log or a build."""
    if len(line) > LONGEST_SHAPED_LINE:
        return False
    if is_logged(line):
        return log_level(line) == "error"
    return is_traced(line) or names_exception(line) or is_build_error(line)
