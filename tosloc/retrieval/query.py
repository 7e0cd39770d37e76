"""A bug report as stage one reads it: weighted terms, mentioned names, stack frames."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, islice
from typing import Final, NamedTuple

from tosloc.code import text
from tosloc.core.reports import BugReport
from tosloc.reports import traces
from tosloc.reports.text import (
    Command,
    CondensedText,
    Name,
    NamedChange,
    ReportText,
    VersionClaim,
    bare_title,
    condense_logs,
    expand_escapes,
    find_commands,
    find_named_changes,
    find_names,
    find_version_claims,
    find_version_fields,
    is_pointer,
    says_that_it_worked,
    shows_failed_build,
    split_report_text,
    template_key,
    without_addresses,
    without_commits,
    without_markup,
)
from tosloc.retrieval.history.releases import normalize_name

SUMMARY_WEIGHT = 3.0
"""How many times a term of the summary counts.

Values from 3 to 5 gained .04 MRR over 1 on four projects."""
FIELDED_SUMMARY_WEIGHT = 5.0
"""How many times a term of the summary counts for BM25F."""
LEAD_SUMMARY_WEIGHT = 2.0
"""How many times a term of the summary counts beside the lead."""
LEAD_WORDS = 40
"""Words of the lead, the beginning of what the reporter tells."""
PART_WEIGHTS: Final[Mapping[str, float]] = {
    "prose": 1.0,
    "code": 1.0,
    "errors": 1.0,
    "trace": 1.0,
    "quoted": 0.5,
    "data": 0.5,
    "near_errors": 0.3,
    "log": 0.1,
    "environment": 0.0,
    "form": 0.0,
}
"""How many times a term of each part of the description counts.

They follow how many more of 1,000 distinct words of a part are words of the fixed files' names than
of the names of files that other reports of the project fixed. In 1,753 GitHub issues these are:
errors 39, frames 36, prose 27, code 19, data 10, lines near errors 9, other lines of logs 8,
environment 4, form 1. In 233 issues of twelve Python projects the environment has -1."""
TOLD_PARTS: Final = ("prose", "quoted", "code", "data", "errors")
"""Parts whose names are taken for names that the reporter writes."""
TITLE_NAME_WEIGHT: Final = 3.0
"""Weight of a name in the title, see ``Query.names``."""
MAX_COMPOUND_NAMES: Final = 100
"""Names of two words or more of a report that are looked up among the names of files."""
_SEPARATORS: Final = re.compile(r"[-_. ]+")
"""What may separate the words of a project's name."""
BUILD_WORDS: Final = frozenset(
    text.terms("build built building builds compile compiler compilation make")
    + text.terms("error fail failed failure")
)
"""Words that say that a build failed, and not where."""


class CompoundName(NamedTuple):
    """A name of two words or more that a report marks as a name, in any spelling."""

    words: tuple[str, ...]
    """Its words in lower case."""
    written: str
    """The name as the report first writes it."""
    in_title: bool
    """Whether it is in the title."""
    is_command: bool = False
    """Whether it is a command, an option or a key, with hyphens or dots."""


@dataclass(frozen=True, eq=False)
class Query:
    """One report, analysed once; everything is derived from its text and the project's forms."""

    report: BugReport
    form_lines: frozenset[str] = frozenset()
    """Lines of the project's issue forms, each as ``tosloc.reports.text.template_key`` returns it.

    They are those of its templates (``IssueTemplates``), and those that earlier reports share
    (``SharedLines``)."""
    projects: Sequence[str] = ()
    """Paths of the project on the web, such as pallets/flask; none if they are not known."""
    is_own_term: Callable[[str], bool] | None = None
    """Return whether files of the searched version contain a term; None if there is none."""

    @cached_property
    def _summary(self) -> str:
        """The summary with blanks for its markup."""
        return without_markup(self.report.summary)

    @cached_property
    def _condensed(self) -> CondensedText:
        """Summary and description without markup, mangled names and most quiet lines of logs."""
        whole = f"{self._summary}\n{without_markup(self.report.description)}"
        return condense_logs(traces.demangle(expand_escapes(whole)))

    @cached_property
    def description(self) -> str:
        """The description without markup and most quiet lines of its logs."""
        return self._condensed.text.removeprefix(f"{self._summary}\n")

    @cached_property
    def names_project(self) -> bool:
        """Whether the report writes the project's name, also in longer names."""
        for project in self.projects:
            pattern = rf"(?i)(?<![a-z])(?:{_name_pattern(project)})(?![a-z])"
            if re.search(pattern, self.own_text):
                return True
        return False

    @cached_property
    def frames(self) -> tuple[traces.Frame, ...]:
        """Stack frames of ``description``, in order."""
        return tuple(traces.frames(self.description))

    @cached_property
    def prose(self) -> str:
        """The description without its stack frames."""
        return traces.without_frames(self.description) if self.frames else self.description

    @cached_property
    def parts(self) -> ReportText:
        """The description without stack frames and addresses, divided by the kinds of its lines.

        The project's own name, and ids of commits with the words that blame them, are left out,
        too.
        """
        return ReportText(*map(without_commits, self._parts_with_commits))

    @cached_property
    def _parts_with_commits(self) -> ReportText:
        """``parts`` with the commits that the report names."""
        bare = self._without_own_name(without_addresses(self.prose))
        return split_report_text(text.separate_scripts(bare), self.form_lines, self.is_own_term)

    @cached_property
    def told(self) -> str:
        """What the reporter tells or shows: no form, environment or log, but its errors."""
        return _told_text(self.parts)

    @cached_property
    def written(self) -> str:
        """``prose`` without the lines of the form and about the environment, with addresses."""
        return "\n".join(filter(self._is_written, self.prose.splitlines()))

    @cached_property
    def _untold(self) -> frozenset[str]:
        """Keys of the lines of the form and about the environment, as by ``template_key``."""
        parts = self._parts_with_commits
        lines = f"{parts.form}\n{parts.environment}".splitlines()
        return frozenset(map(template_key, lines)) | self.form_lines

    def _is_written(self, line: str) -> bool:
        """Return whether a line is neither one of the form nor about the environment."""
        return template_key(line) not in self._untold

    @cached_property
    def message_lines(self) -> list[str]:
        """Lines that may quote a message of the program: the title, then errors, then the rest."""
        parts = self.parts
        rest = (parts.errors, parts.near_errors, parts.prose, parts.quoted, parts.code, parts.data)
        return [self.title, *"\n".join(rest).splitlines()]

    @cached_property
    def title(self) -> str:
        """The summary without addresses, names of the project and of commits, and common words.

        The latter are those that any bug report may have.
        """
        return without_commits(self._title_with_commits)

    @cached_property
    def _title_with_commits(self) -> str:
        """``title`` with the commits that it names."""
        bare = bare_title(without_addresses(self._summary))
        return "" if is_pointer(bare) else text.separate_scripts(self._without_own_name(bare))

    def _without_own_name(self, source: str) -> str:
        """Return a text with blanks for the project's name where it is a word of its own.

        Many files may have it in their names, and a report has it wherever the bug is. Names that
        continue, such as modules and paths, stay.
        """
        for project in self.projects:
            name = _name_pattern(project)
            source = re.sub(rf"(?i)(?<![\w/.$@:-]){name}(?![\w/(]|[-.:]\w|::)", " ", source)
        return source

    @cached_property
    def names(self) -> list[tuple[Name, float]]:
        """Names that the report writes as code, each once, with a weight by where it is written.

        The weight is 3 in the summary, 1 in prose, and .5 in errors and code.
        """
        weighted: dict[tuple[str, str], tuple[Name, float]] = {}
        parts = self.parts
        for weight, written, is_code in (
            (TITLE_NAME_WEIGHT, self.title, False),
            (1.0, parts.prose, False),
            (0.5, parts.errors, False),
            (0.5, parts.code, True),
        ):
            for name in find_names(written, is_code):
                weighted.setdefault((name.key, name.owner), (name, weight))
        return list(weighted.values())

    @cached_property
    def commands(self) -> tuple[Command, ...]:
        """Commands, options and keys with hyphens or dots, each once."""
        return tuple(dict.fromkeys(find_commands(f"{self.title}\n{self.told}")))

    @cached_property
    def compound_names(self) -> tuple[CompoundName, ...]:
        """Names of two words or more, each once, those of the title first.

        They are identifiers, and commands, options and keys. A hyphenated word that is not marked
        as code is a name only in the title.
        """
        in_title = {command.parts for command in find_commands(self.title)}
        names: list[CompoundName] = []
        for command in self.commands:
            if command.is_certain or command.parts in in_title:
                written = "-".join(command.parts)
                words = text.name_words(written)
                is_in_title = command.parts in in_title
                names.append(CompoundName(words, written, is_in_title, is_command=True))
        for identifier, weight in self.names:
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
    def named_changes(self) -> tuple[NamedChange, ...]:
        """Earlier changes that the report may name, with what it says about each."""
        return find_named_changes(self._condensed.text)

    @cached_property
    def version_claims(self) -> tuple[VersionClaim, ...]:
        """What the report says about versions, in sentences and in the fields of a form."""
        text = self._condensed.text
        claims = dict.fromkeys((*find_version_claims(text), *find_version_fields(text)))
        told = {claim.version for claim in claims if claim.state != "used"}
        return tuple(
            claim for claim in claims if claim.state != "used" or claim.version not in told
        )

    @cached_property
    def says_that_it_worked(self) -> bool:
        """Whether the report says in words that something worked before."""
        # Some of the words that blame a commit say so.
        lines = [self._title_with_commits, _told_text(self._parts_with_commits)]
        for line in self._parts_with_commits.form.splitlines():
            # "It used to work." has only words of forms, but their own headings are no sentences.
            if line.endswith((".", "!")) and not self._is_form(line):
                lines.append(line)
        return says_that_it_worked("\n".join(lines))

    @cached_property
    def _shows_failed_build(self) -> bool:
        return shows_failed_build(self.description)

    def _counts(self, term: str) -> bool:
        """Return whether a term counts. Of a failed build, that it failed is no news."""
        return not self._shows_failed_build or term not in BUILD_WORDS

    @cached_property
    def summary_counts(self) -> Counter[str]:
        """Term counts of the title."""
        return Counter(filter(self._counts, text.terms(self.title)))

    @cached_property
    def description_counts(self) -> dict[str, float]:
        """Term counts of the parts of the description, each times the weight of the part.

        A command or key counts once more as its joined form.
        """
        return self._description_counts(PART_WEIGHTS)

    def _description_counts(self, part_weights: Mapping[str, float]) -> dict[str, float]:
        counts: dict[str, float] = {}
        for name, part in self.parts._asdict().items():
            weight = part_weights[name]
            if not weight:
                continue
            for term, count in Counter(filter(self._counts, text.terms(part))).items():
                counts[term] = counts.get(term, 0.0) + weight * count
        for command in self.commands:
            counts[command.joined] = counts.get(command.joined, 0.0) + 1.0
        return counts

    @cached_property
    def weights(self) -> dict[str, float]:
        """Term -> 1 + ln(weighted tf in description + 3 tf in summary), terms in order."""
        return _log_weights((self.description_counts, 1.0), (self.summary_counts, SUMMARY_WEIGHT))

    @cached_property
    def weights_without_trace(self) -> dict[str, float]:
        """``weights`` without the words of frames, which name every function of the trace."""
        if not self.parts.trace:
            return self.weights
        counts = self._description_counts({**PART_WEIGHTS, "trace": 0.0})
        return _log_weights((counts, 1.0), (self.summary_counts, SUMMARY_WEIGHT))

    @cached_property
    def fielded_weights(self) -> dict[str, float]:
        """Term -> 1 + ln(weighted tf in description + 5 tf in summary), the same terms in order."""
        summary = (self.summary_counts, FIELDED_SUMMARY_WEIGHT)
        return _log_weights((self.description_counts, 1.0), summary)

    @cached_property
    def plain_weights(self) -> dict[str, float]:
        """Term -> 1 + ln tf over summary and whole description: the paper's report vector.

        IDF is not applied yet.
        """
        counts = Counter(text.terms(self.report.summary))
        counts.update(text.terms(self.report.description))
        return _log_weights((counts, 1.0))

    @cached_property
    def summary_weights(self) -> dict[str, float]:
        """Term -> 1 + ln tf in the summary."""
        return _log_weights((self.summary_counts, 1.0))

    def text_weights(self, source: str, title_weight: float = SUMMARY_WEIGHT) -> dict[str, float]:
        """Return term -> 1 + ln(tf in ``source`` + ``title_weight`` x tf in the title).

        Terms are in order.
        """
        source_counts = Counter(text.terms(source))
        title_counts = Counter(text.terms(self.title))
        return _log_weights((source_counts, 1.0), (title_counts, title_weight))

    @cached_property
    def lead_weights(self) -> dict[str, float]:
        """Term -> 1 + ln(tf in the lead + 2 tf in the summary)."""
        lead_counts: Counter[str] = Counter()
        for word in text.words(self.told)[:LEAD_WORDS]:
            lead_counts.update(text.identifier_terms(word))
        return _log_weights((lead_counts, 1.0), (self.summary_counts, LEAD_SUMMARY_WEIGHT))

    @cached_property
    def compounds(self) -> frozenset[str]:
        """Identifiers in camel case, with underscores or with hyphens, in lower case."""
        in_title = text.compounds(self.title)
        in_description = text.compounds(self.told)
        joined = [command.joined for command in self.commands]
        return frozenset((*in_title, *in_description, *joined))

    @cached_property
    def mentions(self) -> tuple[str, ...]:
        """Words that the reporter tells, as written, each once in order of first appearance."""
        return tuple(dict.fromkeys((*text.words(self.title), *text.words(self.told))))

    @cached_property
    def qualified_names(self) -> tuple[str, ...]:
        """Qualified class names of the stack traces, in order of first appearance.

        They are what the paper's trace feature reads.
        """
        return tuple(traces.qualified_names(self.description))

    @cached_property
    def _all_locations(self) -> traces.Locations:
        return traces.locations(self._condensed.text)

    @cached_property
    def foreign_projects(self) -> frozenset[str]:
        """Paths on the web of other projects whose files the report links to.

        A project with the name of this one is a fork of it. Without a known name none is foreign.
        """
        own_names = {_project_name(project) for project in self.projects}
        if not own_names:
            return frozenset()
        linked = {link.project for link in self._all_locations.links if link.project}
        return frozenset(project for project in linked if _project_name(project) not in own_names)

    @cached_property
    def locations(self) -> traces.Locations:
        """Files that the report names: in stack frames, as paths, modules, imports and links.

        Links and paths in lines of the issue form and about the environment are no words of the
        reporter. Links to other projects name none of this project's files. Offsets are those in
        the summary, a line break and the description.
        """
        locations = self._all_locations
        if self.foreign_projects:
            links = [link for link in locations.links if link.project not in self.foreign_projects]
            locations = locations._replace(links=tuple(links))
        locations = locations._replace(
            links=self._told_places(locations.links), paths=self._told_places(locations.paths)
        )
        return locations.shift(self._condensed.original_offset)

    def _told_places(self, places: Sequence[traces.Frame]) -> tuple[traces.Frame, ...]:
        """Return the places that are in no line of the issue form or about the environment."""
        lines = self._condensed.text.split("\n")
        starts = [0, *accumulate(len(line) + 1 for line in lines)]
        # A line may have thousands of places, so that it is looked at once.
        is_written: dict[int, bool] = {}
        kept = []
        for place in places:
            number = bisect_right(starts, place.offset) - 1
            if number not in is_written:
                is_written[number] = self._is_written(lines[number])
            if is_written[number]:
                kept.append(place)
        return tuple(kept)

    def _is_form(self, line: str) -> bool:
        """Return whether a line is one of the project's issue form."""
        return template_key(line) in self.form_lines

    @cached_property
    def own_text(self) -> str:
        """The summary and description without lines of the project's issue form."""
        whole = f"{self.report.summary}\n{self.report.description}"
        if not self.form_lines:
            return whole
        return "\n".join(line for line in whole.splitlines() if not self._is_form(line))


def _told_text(parts: ReportText) -> str:
    """Return what the reporter tells or shows, of the parts of a description."""
    return "\n".join(filter(None, (getattr(parts, name) for name in TOLD_PARTS)))


def _project_name(project: str) -> str:
    """Return the last part of a project's path on the web, without separators.

    >>> _project_name("pallets/Flask.git")
    'flask'
    """
    return normalize_name(project.rpartition("/")[2])


def _name_pattern(project: str) -> str:
    """Return a pattern of a project's name, with or without separators between its words."""
    words = _SEPARATORS.split(project.rpartition("/")[2].removesuffix(".git"))
    return "[-_. ]?".join(map(re.escape, words))


def _log_weights(*parts: tuple[Mapping[str, float], float]) -> dict[str, float]:
    """Return term -> 1 + ln(sum over the parts of count x factor), terms in order.

    Where the sum is below 1, because only parts that count less have the term, it is the weight.
    """
    counts: dict[str, float] = {}
    for part, factor in parts:
        for term, count in part.items():
            counts[term] = counts.get(term, 0.0) + factor * count
    return {
        term: 1.0 + math.log(count) if count >= 1.0 else count
        for term, count in sorted(counts.items())
    }
