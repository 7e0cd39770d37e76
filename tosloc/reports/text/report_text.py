"""The text of a report without markup, forms and the project's own name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from tosloc.code import text
from tosloc.core.reports import BugReport
from tosloc.reports import traces
from tosloc.reports.text.builds import shows_failed_build
from tosloc.reports.text.forms import bare_title, is_pointer, template_key
from tosloc.reports.text.logs import CondensedText, condense_logs, expand_escapes
from tosloc.reports.text.markup import without_addresses, without_markup
from tosloc.reports.text.named_changes import cut_own_log_entry, without_commits
from tosloc.reports.text.parts import TextParts, split_report_text
from tosloc.reports.text.project_names import contains_name, without_name

TOLD_PARTS: Final = ("prose", "quoted", "code", "data", "errors")
"""Parts whose names count as names that the reporter wrote."""
MIN_REPEATED_LINE: Final = 20
"""Smallest number of characters of a line that ``readable`` does not repeat.

Shorter lines, for example of code, recur.
"""


@dataclass(frozen=True, eq=False)
class ReportText:
    """The parts of a report's text, each computed once when needed.

    ``tosloc.retrieval.query.Query`` explains the arguments.
    """

    report: BugReport
    form_lines: frozenset[str] = frozenset()
    projects: Sequence[str] = ()
    is_own_term: Callable[[str], bool] | None = None

    @cached_property
    def summary(self) -> str:
        """The summary with its markup replaced by blanks."""
        return without_markup(self.report.summary)

    @cached_property
    def condensed(self) -> CondensedText:
        """Summary and description without markup, mangled names and most quiet lines of logs."""
        whole = f"{self.summary}\n{without_markup(self.report.description)}"
        return condense_logs(traces.demangle(expand_escapes(whole)))

    @cached_property
    def description(self) -> str:
        """The description without markup and most quiet lines of its logs."""
        return self.condensed.text.removeprefix(f"{self.summary}\n")

    @cached_property
    def frames(self) -> tuple[traces.Frame, ...]:
        """Stack frames in ``description``, in order."""
        return tuple(traces.frames(self.description))

    @cached_property
    def prose(self) -> str:
        """The description without its stack frames."""
        return traces.without_frames(self.description) if self.frames else self.description

    @cached_property
    def parts(self) -> TextParts:
        """The description without stack frames and addresses, divided by the kinds of its lines.

        The project's own name, and ids of commits with the words that blame them, are also left
        out.
        """
        return TextParts(*map(without_commits, self.parts_with_commits))

    @cached_property
    def parts_with_commits(self) -> TextParts:
        """``parts``, but with the commits that the report names."""
        bare, entry = cut_own_log_entry(without_name(without_addresses(self.prose), self.projects))
        parts = split_report_text(text.separate_scripts(bare), self.form_lines, self.is_own_term)
        environment = "\n".join(filter(None, (parts.environment, entry)))
        return parts._replace(environment=environment)

    @cached_property
    def told(self) -> str:
        """Text that the reporter wrote or shows: no form, environment or log, except its errors."""
        return told_text(self.parts)

    @cached_property
    def written(self) -> str:
        """``prose`` without lines of the form and about the environment, but with addresses."""
        return "\n".join(filter(self.is_written, self.prose.splitlines()))

    @cached_property
    def _untold(self) -> frozenset[str]:
        """Keys of the lines of the form and about the environment, see ``template_key``."""
        parts = self.parts_with_commits
        lines = f"{parts.form}\n{parts.environment}".splitlines()
        return frozenset(map(template_key, lines)) | self.form_lines

    @cached_property
    def readable(self) -> str:
        """``prose`` for a reader: without form, environment, stack frames and repeated lines.

        Lines of code keep their order and their brackets.
        """
        shown = {line.strip() for line in self.parts_with_commits.trace.splitlines()}
        shown.add(self.report.summary.strip())
        shown.discard("")
        lines: list[str] = []
        for line in self.prose.splitlines():
            key = line.strip()
            # A line without words, such as a bracket, may be one of the form only by chance.
            if key in shown or (template_key(line) and not self.is_written(line)):
                continue
            if len(key) >= MIN_REPEATED_LINE:
                shown.add(key)
            if key or (lines and lines[-1]):
                lines.append(line.rstrip())
        return "\n".join(lines).strip("\n")

    def is_written(self, line: str) -> bool:
        """Return whether a line neither belongs to the form nor is about the environment."""
        return template_key(line) not in self._untold

    @cached_property
    def message_lines(self) -> list[str]:
        """Lines that may quote a message of the program: the title, errors, then other lines."""
        parts = self.parts
        rest = (parts.errors, parts.near_errors, parts.prose, parts.quoted, parts.code, parts.data)
        return [self.title, *"\n".join(rest).splitlines()]

    @cached_property
    def title(self) -> str:
        """The summary without addresses, names of the project and of commits, and common words.

        Common words are words that any bug report may contain.
        """
        return without_commits(self.title_with_commits)

    @cached_property
    def title_with_commits(self) -> str:
        """``title``, but with the commits that it names."""
        bare = bare_title(without_addresses(self.summary))
        return "" if is_pointer(bare) else text.separate_scripts(without_name(bare, self.projects))

    def is_form(self, line: str) -> bool:
        """Return whether a line belongs to the project's issue form."""
        return template_key(line) in self.form_lines

    @cached_property
    def own_text(self) -> str:
        """The summary and description without lines of the project's issue form."""
        whole = f"{self.report.summary}\n{self.report.description}"
        if not self.form_lines:
            return whole
        return "\n".join(line for line in whole.splitlines() if not self.is_form(line))

    @cached_property
    def names_project(self) -> bool:
        """Whether ``own_text`` contains the name of the project, also as part of longer names."""
        return contains_name(self.own_text, self.projects)

    @cached_property
    def shows_failed_build(self) -> bool:
        """Whether the description shows that a build failed."""
        return shows_failed_build(self.description)


def told_text(parts: TextParts) -> str:
    """Return the parts of a description that the reporter wrote or shows, as one text."""
    return "\n".join(filter(None, (getattr(parts, name) for name in TOLD_PARTS)))
