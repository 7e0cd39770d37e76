"""Labelled bugs of a repository, and their split into training, validation and test.

Reports are read from a file; fixes, before-fix versions and fixed files from git. Models are always
trained on older bugs and measured on newer ones. If the settings name no suffixes, files of the
languages that the reports fixed are searched.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import Final, Self

from tosloc.code.languages import (
    DATA_KIND,
    OTHER_KINDS,
    OTHER_SUFFIXES,
    SOURCE_SUFFIXES,
    language_name,
    other_kind,
)
from tosloc.core.config import Config
from tosloc.core.errors import ReportError, RepositoryError, pluralize
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.reports import BugReport, Case, ReportAttributes
from tosloc.core.versions import Snapshot
from tosloc.git.history import list_parents_first
from tosloc.git.repository import Repository
from tosloc.reports.formats import LabelledReport, read_reports
from tosloc.reports.traces import frames

_DAY: Final = 86_400
"""Number of seconds in a day."""
_NEVER: Final = 1 << 60
"""A time later than all commits, for which the newest commit is the nearest."""
LANGUAGE_SHARE: Final = 0.1
"""Smallest share of reports that fixed files of a language for the language to be searched.

The share is one of the reports with a fixed source file.
"""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labelled bugs of one repository, in the order of their fixes."""

    cases: tuple[Case, ...]
    """Cases ordered by time of the fix, fix id and report id.

    If the data name a version instead of a fix, its time counts.
    """
    unresolved: tuple[str, ...]
    """Ids of reports whose fix or version is missing, or whose fix has no parent, in file order."""
    labelled: Mapping[str, LabelledReport]
    """Report id -> labelled report in the file."""
    files: Mapping[str, int]
    """Report id -> number of source files in its before-fix version."""

    def oldest(self, share: float) -> Dataset:
        """Return the oldest ``share`` of the cases, as if later reports did not exist."""
        number = math.floor(Fraction(str(share)) * len(self.cases))
        return replace(self, cases=self.cases[:number])

    @classmethod
    def load(
        cls,
        repository: Repository,
        path: str | Path,
        *,
        zone: str = "UTC",
        suffixes: frozenset[str] = frozenset({".java"}),
        progress: Progress = ignore_progress,
    ) -> Self:
        """Return the cases of a file of labelled reports (see ``read_reports``) in a repository.

        The version of a case is the first parent of its fix, or the version that the report names.
        The fixed files are the listed files that exist in this version. A listed class name
        (``org.x.Y.java``) stands for the one file of the version whose path ends with it. Reports
        that cannot be resolved are listed in ``unresolved``. Raises ReportError if the file cannot
        be read, or if none of its reports belongs to this repository.
        """
        reports = {entry.report.id: entry for entry in read_reports(path, zone, suffixes=suffixes)}
        commits = _find_commits(repository, reports)
        infos = {info.id: info for info in repository.commits(dict.fromkeys(commits.values()))}
        resolved = []
        for report_id, commit_id in commits.items():
            info = infos[commit_id]
            entry = reports[report_id]
            if entry.names_version or info.parents:
                resolved.append((info, entry))
        if not resolved:
            what = "version" if all(entry.names_version for entry in reports.values()) else "fix"
            number = pluralize(len(reports), "report")
            raise ReportError(
                f"{path}: none of its {number} has a {what} in {repository.path}; is it the right"
                " repository?"
            )
        # Neighbours in time share most files of their versions.
        resolved.sort(key=lambda pair: (pair[0].committed_at, pair[0].id))
        cases: list[Case] = []
        files: dict[str, int] = {}
        for info, entry in resolved:
            fix = "" if entry.names_version else info.id
            version = info.id if entry.names_version else info.parents[0]
            try:
                snapshot = repository.snapshot(version, suffixes)
            except RepositoryError as error:
                raise type(error)(f"{path}: report {entry.report.id}: {error}") from error
            listed, existing = _resolve_files(entry.listed, snapshot)
            case = Case(entry.report, fix, snapshot.commit, info.committed_at, listed, existing)
            cases.append(case)
            files[entry.report.id] = len(snapshot)
            progress("reading versions", len(cases), len(resolved))
        unresolved = tuple(report_id for report_id in reports if report_id not in files)
        return cls(tuple(sorted(cases, key=Case.fix_order)), unresolved, reports, files)

    def split(self, train: float = 0.8, validation: float = 0.1) -> dict[str, tuple[Case, ...]]:
        """Split the cases, by the time of their fixes, into train, validation and test.

        The oldest ``train`` share is for training, the next ``validation`` share for validation;
        nothing is fitted or chosen on the rest. ``all`` contains all cases. The first cut is after
        ``floor(train * n)`` cases, the second after ``floor((train + validation) * n)``, in exact
        decimal arithmetic. For example, the test tenth of 1,056 cases contains 106 cases.
        """
        train_share = Fraction(str(train))
        begin = math.floor(train_share * len(self.cases))
        end = math.floor((train_share + Fraction(str(validation))) * len(self.cases))
        return {
            "all": self.cases,
            "train": self.cases[:begin],
            "validation": self.cases[begin:end],
            "test": self.cases[end:],
        }

    def describe(self) -> list[dict[str, str | int | float]]:
        """Return counts for all cases and for each part of the split, one row each, ready to print.

        ``listed`` counts the source files that are listed as fixed. ``existing`` counts those of
        them that exist in the before-fix version; the fix added the others, or the data name them
        wrongly. ``empty`` counts reports without existing files, and ``weak`` commit messages in
        place of reports.
        """
        rows: list[dict[str, str | int | float]] = []
        for part, cases in self.split().items():
            files = sum(self.files[case.report.id] for case in cases)
            late = sum(case.report.opened_seconds > case.fixed_at for case in cases)
            row: dict[str, str | int | float] = {
                "part": part,
                "reports": len(cases),
                "listed": sum(len(case.listed) for case in cases),
                "existing": sum(len(case.fixed) for case in cases),
                "empty": sum(not case.fixed for case in cases),
                "no description": sum(not case.report.description for case in cases),
                "opened after fix": late,
                "files a version": round(files / max(len(cases), 1), 1),
                "unresolved": len(self.unresolved) if part == "all" else 0,
                "weak": sum(self.labelled[case.report.id].weak for case in cases),
            }
            rows.append(row)
        return rows

    def published_ranks(self, cases: Iterable[Case]) -> dict[str, dict[str, int]]:
        """Return report id -> path -> rank that the data publish for fixed files.

        Reports without such ranks are left out, and so are files that do not exist in the
        before-fix version. Raises ReportError for impossible ranks.
        """
        ranks_by_report: dict[str, dict[str, int]] = {}
        for case in cases:
            report_id = case.report.id
            published = self.labelled[report_id].published_ranks
            if not published:
                continue
            ranks = {path: published[path] for path in case.fixed if path in published}
            files = self.files[report_id]
            possible = {rank for rank in ranks.values() if 1 <= rank <= files}
            if len(possible) < len(ranks):
                raise ReportError(
                    f"report {report_id}: the published ranks {ranks} are impossible for {files}"
                    " files"
                )
            ranks_by_report[report_id] = ranks
        return ranks_by_report


def _find_commits(repository: Repository, reports: Mapping[str, LabelledReport]) -> dict[str, str]:
    """Return report id -> full commit id, for the reports whose commit is found."""
    listed = [entry.commit for entry in reports.values() if entry.commit]
    resolved = repository.resolve_many(listed)
    commits: dict[str, str] = {}
    for report_id, entry in reports.items():
        known = resolved[entry.commit] if entry.commit else None
        if known:
            commits[report_id] = known
    without_commit = [entry for entry in reports.values() if not entry.commit]
    return commits | _find_by_messages(repository, without_commit)


def _number(bug: str) -> str:
    """Return the last number in a bug's id, such as 123 in CAMEL-123; the whole id without one."""
    return next(reversed(re.findall(r"\d+", bug)), bug)


def _find_by_messages(repository: Repository, reports: Sequence[LabelledReport]) -> dict[str, str]:
    """Return report id -> id of the commit in HEAD's history whose message names the bug.

    If there are several, it is the commit nearest to the listed date of fixing, or the newest if no
    date is listed. Commits that name the bug as one ("PROJ-7", "bug 7") are preferred to commits
    whose messages only contain the number. Commits more than a day older than the report are
    ignored, because they mean something else.
    """
    if not reports:
        return {}
    commits_by_bug = _commits_by_bug(repository)
    commits: dict[str, str] = {}
    for report in reports:
        wanted = _NEVER if report.fixed_on is None else report.fixed_on.timestamp()
        earliest = report.report.opened_seconds - _DAY
        number = _number(report.bug)
        for key in ((True, report.bug), (True, number), (False, number)):
            candidates = [commit for commit in commits_by_bug[key] if commit[0] > earliest]
            if candidates:
                nearest = min(candidates, key=lambda commit: (abs(commit[0] - wanted), commit))
                commits[report.report.id] = nearest[1]
                break
    return commits


def _commits_by_bug(
    repository: Repository,
) -> defaultdict[tuple[bool, str], list[tuple[int, str]]]:
    """Return time and id of the commits that name each bug.

    Keys consist of whether the message names it as a bug, and of the bug's name or number.
    """
    commits = defaultdict[tuple[bool, str], list[tuple[int, str]]](list)
    history = list_parents_first(repository, [repository.resolve("HEAD")])
    for info in repository.commits(history):
        bugs = info.bug_ids
        keys = {(True, bug) for bug in (*bugs, *map(_number, bugs))}
        keys.update((False, number) for number in re.findall(r"\d+", info.message))
        for key in keys:
            commits[key].append((info.committed_at, info.id))
    return commits


def _resolve_files(
    listed: Iterable[str], snapshot: Snapshot
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return all listed files, and those of them that exist in the version; both sorted.

    Class names are replaced by the path that they mean.
    """
    existing: set[str] = set()
    absent: set[str] = set()
    for path in listed:
        paths = _paths_of_file(path, snapshot)
        if len(paths) == 1:
            existing.add(paths[0])
        else:
            absent.add(path)
    return tuple(sorted(absent | existing)), tuple(sorted(existing))


def _paths_of_file(listed: str, snapshot: Snapshot) -> list[str]:
    """Return the paths of a version that a listed file can mean."""
    number = snapshot.path_names.ids.get(listed, -1)
    if (snapshot.path_ids == number).any():
        return [listed]
    class_name, dot, suffix = listed.rpartition(".")
    if "/" in listed or "." not in class_name:
        return []
    ending = f"/{class_name.replace('.', '/')}{dot}{suffix}"
    return [path for path in snapshot.paths if f"/{path}".endswith(ending)]


def attributes_of(report: BugReport, fixed: Iterable[str], weak: bool = False) -> ReportAttributes:
    """Return the attributes of a report whose fixed files are ``fixed``.

    They divide results into strata, and no ranker uses them. ``weak`` says that a commit message
    takes the place of the report. A class counts as named if the text
    contains the file's name without its suffix as a word, in the same case.

    >>> report = BugReport("1", "Door.push fails", "", None)
    >>> attributes_of(report, ["a/Door.java", "a/Doors.java"])
    ReportAttributes(description=False, stack_trace=False, named=1, weak=False)
    """
    text = f"{report.summary}\n{report.description}"
    words = frozenset(re.findall(r"\w+", text))
    named = sum(path.rpartition("/")[2].partition(".")[0] in words for path in fixed)
    return ReportAttributes(bool(report.description.strip()), bool(frames(text)), named, weak)


def resolve_suffixes(config: Config, reports: str | Path) -> Config:
    """Return the settings with the suffixes of the files that the reports fixed.

    Settings that name suffixes stay as they are. A language counts if at least ``LANGUAGE_SHARE``
    of the reports with a source file fixed a file in that language. A kind of configuration or
    pages counts if more reports fixed it than fixed sources: the project is made of it. JSON and
    build scripts do not count. Raises ReportError if the file cannot be read, or lists none of
    these files.
    """
    if config.data.suffixes != "auto":
        return config
    labelled = read_reports(reports, config.data.zone, suffixes=SOURCE_SUFFIXES | OTHER_SUFFIXES)
    counts: Counter[str] = Counter()
    counts_of_kinds: Counter[str] = Counter()
    reports_with_sources = 0
    for entry in labelled:
        suffixes = {PurePosixPath(path).suffix.lower() for path in entry.listed}
        languages = {language_name(suffix) for suffix in suffixes & SOURCE_SUFFIXES}
        counts.update(languages)
        counts_of_kinds.update({other_kind(path) or "" for path in entry.listed} - {"", DATA_KIND})
        reports_with_sources += bool(languages)
    least = LANGUAGE_SHARE * reports_with_sources
    searched = {language for language, number in counts.items() if number >= least}
    endings = {suffix for suffix in SOURCE_SUFFIXES if language_name(suffix) in searched}
    for kind, number in counts_of_kinds.items():
        # Settings cannot name files without a suffix, such as Makefile.
        has_suffixes = all(ending.startswith(".") for ending in OTHER_KINDS[kind])
        if number > reports_with_sources and has_suffixes:
            endings.update(OTHER_KINDS[kind])
    if not endings:
        raise ReportError(f"{reports}: the reports list no file of a kind that is searched")
    data = config.data.model_copy(update={"suffixes": tuple(sorted(endings))})
    return config.model_copy(update={"data": data})
