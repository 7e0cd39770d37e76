"""Labelled bugs of a repository: reports from a file; fixes, before-fix versions and fixed files from git; their split.

Older bugs are always learned from, and newer ones measured on. Without settings the languages that reports fixed are
searched.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import Final

from tosloc.code.languages import SOURCE_SUFFIXES, language_name
from tosloc.core.config import Config
from tosloc.core.errors import ReportError, pluralize
from tosloc.core.records import (
    BugReport,
    Case,
    Progress,
    ReportAttributes,
    Snapshot,
    ignore_progress,
)
from tosloc.git.fixes import bug_ids
from tosloc.git.history import list_parents_first
from tosloc.git.repository import Repository
from tosloc.reports.formats import LabelledReport, read_reports
from tosloc.reports.traces import frames

_DAY: Final = 86_400
_NEVER: Final = 1 << 60  # later than all commits: nearest to it is the newest
LANGUAGE_SHARE: Final = 0.1
"""Of the reports that fixed a source file: where so many fixed one of a language, its files are searched."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labelled bugs of one repository, in the order of their fixes."""

    cases: tuple[Case, ...]
    """Ordered by time of the fix (of the version, where that is named), then the fix's id, then the report's."""
    unresolved: tuple[str, ...]
    """Ids of the reports whose fix or version was not found, or whose fix has no parent; in the order of the file."""
    labelled: Mapping[
        str, LabelledReport
    ]  # report id -> what the file says of it, published ranks included
    files: Mapping[str, int]  # report id -> number of source files of its before-fix version

    def oldest(self, share: float) -> Dataset:
        """The oldest ``share`` of the cases, as if the later ones had not been written."""
        return replace(self, cases=self.cases[: math.floor(Fraction(str(share)) * len(self.cases))])


def load_dataset(
    repository: Repository,
    path: str | Path,
    *,
    zone: str = "UTC",
    suffixes: frozenset[str] = frozenset({".java"}),
    progress: Progress = ignore_progress,
) -> Dataset:
    """The cases of a file of labelled reports (see ``read_reports``), resolved in ``repository``.

    The version of a case is the first parent of its fix, or the one that the report names; its ground truth are the
    listed files that this version has.
    A listed class name (``org.x.Y.java``) stands for the one file of the version whose path ends with it. Reports are
    never lost: what cannot be resolved is in ``unresolved``. Raises ReportError when the file cannot be read, or none
    of its reports belongs to this repository.
    """
    reports = {one.report.id: one for one in read_reports(path, zone, suffixes=suffixes)}
    resolved = repository.resolve_many(one.commit for one in reports.values() if one.commit)
    commits = {
        report: known
        for report, one in reports.items()
        if one.commit and (known := resolved[one.commit])
    }
    commits |= _named_by_messages(repository, [one for one in reports.values() if not one.commit])
    infos = {info.id: info for info in repository.commits(dict.fromkeys(commits.values()))}
    found = [(infos[commit], reports[report]) for report, commit in commits.items()]
    found = [(commit, one) for commit, one in found if one.names_version or commit.parents]
    if not found:
        what = "version" if all(one.names_version for one in reports.values()) else "fix"
        raise ReportError(
            f"{path}: no {what} of its {pluralize(len(reports), 'report')} is in {repository.path}; is it the right one?"
        )
    cases: list[Case] = []
    files: dict[str, int] = {}
    found.sort(
        key=lambda pair: (pair[0].committed_at, pair[0].id)
    )  # neighbours in time: their versions share most
    for commit, one in found:
        fix, version = ("", commit.id) if one.names_version else (commit.id, commit.parents[0])
        snapshot = repository.snapshot(version, suffixes)
        cases.append(
            Case(
                one.report,
                fix,
                snapshot.commit,
                commit.committed_at,
                *_resolved(one.listed, snapshot),
            )
        )
        files[one.report.id] = len(snapshot)
        progress("reading versions", len(cases), len(found))
    unresolved = tuple(report for report in reports if report not in files)
    return Dataset(tuple(sorted(cases, key=fix_order)), unresolved, reports, files)


def _number(bug: str) -> str:
    """Last number of a bug's id: 123 of CAMEL-123; the id itself when it has none."""
    return next(reversed(re.findall(r"\d+", bug)), bug)


def _named_by_messages(repository: Repository, reports: Sequence[LabelledReport]) -> dict[str, str]:
    """Report id -> the commit of HEAD's history that names the bug and is nearest to its listed date of fixing.

    Where no date is listed it is the newest. A commit that names it as a bug ("PROJ-7", "bug 7") comes before one in
    whose message the number only stands; one of more than a day before the report was opened means something else.
    """
    if not reports:
        return {}
    naming = defaultdict[tuple[bool, str], list[tuple[int, str]]](
        list
    )  # as a bug, its name or number -> commits
    for info in repository.commits(list_parents_first(repository, [repository.resolve("HEAD")])):
        bugs = bug_ids(info.message)
        keys = [(True, bug) for bug in (*bugs, *map(_number, bugs))]
        for key in {*keys, *((False, number) for number in re.findall(r"\d+", info.message))}:
            naming[key].append((info.committed_at, info.id))
    found: dict[str, str] = {}
    for report in reports:
        wanted = _NEVER if report.fixed_on is None else report.fixed_on.timestamp()
        number = _number(report.bug)
        for key in ((True, report.bug), (True, number), (False, number)):
            named = [
                commit for commit in naming[key] if commit[0] > report.report.opened_seconds - _DAY
            ]
            if named:
                found[report.report.id] = min(
                    named, key=lambda commit: (abs(commit[0] - wanted), commit)
                )[1]
                break
    return found


def _resolved(listed: Iterable[str], snapshot: Snapshot) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Listed files, class names replaced by the path they stand for, and those that exist; both sorted."""
    existing, absent = set[str](), set[str]()
    for path in listed:
        class_name, dot, suffix = path.rpartition(".")
        named = [path] if (snapshot.path_ids == snapshot.path_names.ids.get(path, -1)).any() else []
        if not named and "/" not in path and "." in class_name:
            ending = f"/{class_name.replace('.', '/')}{dot}{suffix}"
            named = [known for known in snapshot.paths if f"/{known}".endswith(ending)]
        if len(named) == 1:
            existing.add(named[0])
        else:
            absent.add(path)
    return tuple(sorted(absent | existing)), tuple(sorted(existing))


def attributes_of(report: BugReport, fixed: Iterable[str]) -> ReportAttributes:
    """Attributes of a report whose fixed files are ``fixed``: for the strata of results, never seen by a ranker.

    A class counts as named when the file's name without its suffix stands in the text as a word, in the same case.

    >>> attributes_of(BugReport("1", "Door.push fails", "", None), ["a/Door.java", "a/Doors.java"])
    ReportAttributes(description=False, stack_trace=False, named=1)
    """
    text = f"{report.summary}\n{report.description}"
    words = frozenset(re.findall(r"\w+", text))
    named = sum(path.rpartition("/")[2].partition(".")[0] in words for path in fixed)
    return ReportAttributes(bool(report.description.strip()), bool(frames(text)), named)


def published_ranks(dataset: Dataset, cases: Iterable[Case]) -> dict[str, dict[str, int]]:
    """Report id -> fixed file -> the rank that the data publish for it; only of the reports that have any.

    Ranks of files that the before-fix version lacks are dropped. Raises ReportError for ranks that cannot be.
    """
    found: dict[str, dict[str, int]] = {}
    for case in cases:
        report = case.report.id
        if published := dataset.labelled[report].published_ranks:
            ranks = {path: published[path] for path in case.fixed if path in published}
            possible = range(1, dataset.files[report] + 1)
            if len({*ranks.values()}.intersection(possible)) < len(ranks):
                raise ReportError(
                    f"report {report}: published ranks {ranks} of {len(possible)} files cannot be"
                )
            found[report] = ranks
    return found


def fix_order(case: Case) -> tuple[int, str, str]:
    """Sorting key: committer time of the fix, then the fix's id, then the report's."""
    return case.fixed_at, case.fix_commit, case.report.id


def chronological(
    cases: tuple[Case, ...], train: float = 0.8, validation: float = 0.1
) -> dict[str, tuple[Case, ...]]:
    """``all`` cases, which stand in the order of their fixes; of them the oldest ``train`` share, the next
    ``validation`` share, and the rest as ``test``: nothing is fitted or chosen on it.

    The first cut is after ``floor(train * n)`` cases, the second after ``floor((train + validation) * n)``, in exact
    decimal arithmetic; so the test tenth of 1056 cases has 106.
    """
    first, second = Fraction(str(train)), Fraction(str(train)) + Fraction(str(validation))
    begin, end = math.floor(first * len(cases)), math.floor(second * len(cases))
    return {
        "all": cases,
        "train": cases[:begin],
        "validation": cases[begin:end],
        "test": cases[end:],
    }


def describe(dataset: Dataset) -> list[dict[str, str | int | float]]:
    """One row for all cases and one for each part of the split, column -> value, ready to print.

    ``listed`` source files as fixed; ``existing`` ones of them in the before-fix version, the others were added by the
    fix or named wrongly; ``empty`` reports have none.
    """
    return [
        {
            "part": part,
            "reports": len(cases),
            "listed": sum(len(case.listed) for case in cases),
            "existing": sum(len(case.fixed) for case in cases),
            "empty": sum(not case.fixed for case in cases),
            "no description": sum(not case.report.description for case in cases),
            "opened after fix": sum(case.report.opened_seconds > case.fixed_at for case in cases),
            "files a version": round(
                sum(dataset.files[case.report.id] for case in cases) / max(len(cases), 1), 1
            ),
            "unresolved": len(dataset.unresolved) * (part == "all"),
        }
        for part, cases in chronological(dataset.cases).items()
    ]


def resolve_suffixes(config: Config, reports: str | Path) -> Config:
    """The settings, with the suffixes that the reports ask for where the settings leave that to them.

    They ask for every suffix of a language of which at least ``LANGUAGE_SHARE`` of the reports with a source file fixed
    a file. Raises ReportError when the file cannot be read, or lists no source file.
    """
    if config.data.suffixes != "auto":
        return config
    labelled = read_reports(reports, config.data.zone, suffixes=SOURCE_SUFFIXES)
    fixed = [
        {language_name(PurePosixPath(path).suffix) for path in one.listed} - {"text"}
        for one in labelled
    ]
    counts = Counter(language for languages in fixed for language in languages)
    chosen = {
        language
        for language, number in counts.items()
        if number >= LANGUAGE_SHARE * sum(map(bool, fixed))
    }
    suffixes = tuple(
        sorted(suffix for suffix in SOURCE_SUFFIXES if language_name(suffix) in chosen)
    )
    return config.model_copy(update={"data": config.data.model_copy(update={"suffixes": suffixes})})
