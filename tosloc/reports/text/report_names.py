"""Find names in a report: identifiers, commands, earlier changes and versions."""

from __future__ import annotations

from functools import cached_property
from itertools import islice
from typing import Final, NamedTuple

from tosloc.code import text
from tosloc.reports.text.commands import Command, find_commands
from tosloc.reports.text.named_changes import NamedChange, find_named_changes
from tosloc.reports.text.named_releases import ReleaseClaim, find_release_claims
from tosloc.reports.text.names import Name, find_names
from tosloc.reports.text.regressions import says_that_it_worked
from tosloc.reports.text.report_text import ReportText, told_text
from tosloc.reports.text.stated_dates import (
    DatedStatement,
    find_dated_statements,
    find_working_time,
)
from tosloc.reports.text.version_fields import find_version_fields
from tosloc.reports.text.version_pairs import read_version_pairs

TITLE_NAME_WEIGHT: Final = 3.0
"""Weight of a name in the title, see ``ReportNames.identifiers``."""
MAX_COMPOUND_NAMES: Final = 100
"""Largest number of names with two words or more that are compared with the names of files."""


class CompoundName(NamedTuple):
    """A name of two words or more that a report marks as a name, in any spelling."""

    words: tuple[str, ...]
    """Words of the name in lower case."""
    written: str
    """The name in the first spelling in the report."""
    in_title: bool
    """Whether the name is in the title."""
    is_command: bool = False
    """Whether the name is a command, an option or a key, with hyphens or dots."""


class ReportNames:
    """The names in a report's text, and its statements about changes and versions."""

    def __init__(self, source: ReportText) -> None:
        self._text = source

    @cached_property
    def identifiers(self) -> list[tuple[Name, float]]:
        """Names that the report writes as code, without repetitions, with weights.

        The weight is 3 in the summary, 1 in prose, and .5 in errors and code.
        """
        weighted: dict[tuple[str, str], tuple[Name, float]] = {}
        parts = self._text.parts
        for weight, written, is_code in (
            (TITLE_NAME_WEIGHT, self._text.title, False),
            (1.0, parts.prose, False),
            (0.5, parts.errors, False),
            (0.5, parts.code, True),
        ):
            for name in find_names(written, is_code):
                weighted.setdefault((name.key, name.owner), (name, weight))
        return list(weighted.values())

    @cached_property
    def commands(self) -> tuple[Command, ...]:
        """Commands, options and keys with hyphens or dots, without repetitions."""
        return tuple(dict.fromkeys(find_commands(f"{self._text.title}\n{self._text.told}")))

    @cached_property
    def compound_names(self) -> tuple[CompoundName, ...]:
        """Names of two words or more, without repetitions, those in the title first.

        They are identifiers, commands, options and keys. A hyphenated word that is not marked as
        code counts only in the title.
        """
        in_title = {command.parts for command in find_commands(self._text.title)}
        names: list[CompoundName] = []
        for command in self.commands:
            if command.is_certain or command.parts in in_title:
                written = "-".join(command.parts)
                words = text.name_words(written)
                is_in_title = command.parts in in_title
                names.append(CompoundName(words, written, is_in_title, is_command=True))
        for identifier, weight in self.identifiers:
            words = text.name_words(identifier.written)
            if len(words) > 1:
                is_in_title = weight == TITLE_NAME_WEIGHT
                names.append(CompoundName(words, identifier.written, is_in_title))
        names.sort(key=lambda name: not name.in_title)
        first: dict[tuple[str, ...], CompoundName] = {}
        for name in names:
            first.setdefault(name.words, name)
        return tuple(islice(first.values(), MAX_COMPOUND_NAMES))

    @cached_property
    def compounds(self) -> frozenset[str]:
        """Identifiers in camel case, with underscores or with hyphens, in lower case."""
        in_title = text.compounds(self._text.title)
        in_description = text.compounds(self._text.told)
        joined = [command.joined for command in self.commands]
        return frozenset((*in_title, *in_description, *joined))

    @cached_property
    def mentions(self) -> tuple[str, ...]:
        """Words that the reporter wrote, unchanged, in order of first appearance."""
        return tuple(dict.fromkeys((*text.words(self._text.title), *text.words(self._text.told))))

    @cached_property
    def changes(self) -> tuple[NamedChange, ...]:
        """Earlier changes that the report may name, with its statement about each."""
        return find_named_changes(self._text.condensed.text)

    @cached_property
    def release_claims(self) -> tuple[ReleaseClaim, ...]:
        """Statements of the report about releases, in sentences and in fields of a form."""
        source = self._text.condensed.text
        claims = dict.fromkeys(find_claims(source))
        told = {claim.number for claim in claims if claim.state != "used"}
        return tuple(claim for claim in claims if claim.state != "used" or claim.number not in told)

    @cached_property
    def says_that_it_worked(self) -> bool:
        """Whether the report says that something worked before."""
        return bool(self._dated_statements) or says_that_it_worked(self._told_with_commits)

    def working_time(self, opened: float) -> float | None:
        """Return when something worked, in seconds since 1970; None if the report does not say it.

        ``opened`` is the time of the report, to which "yesterday" is relative.
        """
        return find_working_time(self._dated_statements, opened)

    @cached_property
    def _dated_statements(self) -> tuple[DatedStatement, ...]:
        """Statements of the report on when something worked or began to fail."""
        return find_dated_statements(self._told_with_commits)

    @cached_property
    def _told_with_commits(self) -> str:
        """Title and prose, with the ids of commits, and sentences that are common in forms."""
        # Some words that blame a commit say that something worked, so commit ids are kept.
        lines = [self._text.title_with_commits, told_text(self._text.parts_with_commits)]
        for line in self._text.parts_with_commits.form.splitlines():
            # Forms contain every word of "It used to work.", but their headings are no sentences.
            if line.endswith((".", "!")) and not self._text.is_form(line):
                lines.append(line)
        return "\n".join(lines)


def find_claims(source: str) -> list[ReleaseClaim]:
    """Return the statements of a text about releases, in pairs, sentences and fields of a form."""
    claims, rest = read_version_pairs(source)
    return [*claims, *find_release_claims(rest), *find_version_fields(rest)]
