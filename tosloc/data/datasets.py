"""Labelled bugs of a repository: reports from a file, their fixes, before-fix versions and fixed files from git."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np

from tosloc.data.fixes import bug_ids
from tosloc.data.git import CommitInfo, Repository
from tosloc.data.history import commit_order
from tosloc.data.reports import LabelledReport, read_reports
from tosloc.data.splits import chronological, fix_order
from tosloc.errors import ReportError, counted
from tosloc.records import Case, Names, Progress, Snapshot, silent

_DAY: Final = 86_400


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A report that became no case, and why, in words."""

    report: LabelledReport
    why: str


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labelled bugs of one repository, in the order of their fixes."""

    cases: tuple[Case, ...]
    """Ordered by time of the fix (of the version, where that is named), then the fix's id, then the report's."""
    unresolved: tuple[Unresolved, ...]
    """Reports whose fix or version was not found, or whose fix has no parent; in the order of the file."""
    labelled: Mapping[str, LabelledReport]
    """Report id -> what the file says of it, published ranks and status included."""
    files: Mapping[str, int]
    """Report id -> number of source files of its before-fix version."""

    def __len__(self) -> int:
        return len(self.cases)

    @property
    def average_files(self) -> float:
        """Average number of source files of a before-fix version, over the cases; 0 without cases."""
        return sum(self.files.values()) / len(self.files) if self.files else 0.0

    def oldest(self, share: float) -> Dataset:
        """The oldest ``share`` of the cases, as if the later ones had not been written."""
        return replace(self, cases=self.cases[: math.floor(Fraction(str(share)) * len(self.cases))])

    def parts(self) -> dict[str, tuple[Case, ...]]:
        """``all`` cases, and ``train``, ``validation`` and ``test`` of the chronological split."""
        splits = chronological(self.cases)
        return {"all": self.cases, "train": splits.train, "validation": splits.validation, "test": splits.test}


def describe(dataset: Dataset) -> list[dict[str, str | int | float]]:
    """One row for all cases and one for each part of the split, column -> value, ready to print.

    ``listed`` source files as fixed; ``existing`` ones of them in the before-fix version, the others were added by the
    fix or named wrongly; ``empty`` reports have none. ``before train ended`` counts the reports of validation and test
    that were opened before the last fix of train: what is learned from all of train knows later fixes than these.
    """
    parts = dataset.parts()
    train_ended = max((case.fixed_at for case in parts["train"]), default=0)
    return [
        _description(dataset, part, cases, train_ended if part in ("validation", "test") else 0)
        for part, cases in parts.items()
    ]


def _description(dataset: Dataset, part: str, cases: Sequence[Case], train_ended: int) -> dict[str, str | int | float]:
    files = [dataset.files[case.report.id] for case in cases]
    return {
        "part": part,
        "reports": len(cases),
        "listed": sum(len(case.listed) for case in cases),
        "existing": sum(len(case.fixed) for case in cases),
        "empty": sum(not case.fixed for case in cases),
        "no description": sum(not case.report.description for case in cases),
        "opened after fix": sum(case.report.opened_seconds > case.fixed_at for case in cases),
        "before train ended": sum(case.report.opened_seconds < train_ended for case in cases),
        "files a version": round(sum(files) / len(files), 1) if files else 0.0,
        "unresolved": len(dataset.unresolved) if part == "all" else 0,
    }


def load_dataset(
    repository: Repository,
    path: str | Path,
    *,
    zone: str = "UTC",
    suffixes: frozenset[str] = frozenset({".java"}),
    progress: Progress = silent,
) -> Dataset:
    """The cases of a file of labelled reports (see ``read_reports``), resolved in ``repository``.

    The version of a case is the first parent of its fix, or the one that the report names; its ground truth are the
    listed files that this version has.
    A listed class name (``org.x.Y.java``) stands for the one file of the version whose path ends with it. Reports are
    never lost: what cannot be resolved is in ``unresolved``. Raises ReportError when the file cannot be read, or none
    of its reports belongs to this repository.
    """
    reports = read_reports(path, zone, suffixes=suffixes)
    fixes, unresolved = _fixes(repository, [report for report in reports if report.version is None])
    versions, more_unresolved = _versions(repository, [report for report in reports if report.version is not None])
    if not fixes and not versions:
        what = "fix" if any(report.version is None for report in reports) else "version"
        raise ReportError(
            f"{path}: no {what} of its {counted(len(reports), 'report')} is in {repository.path}; is it the right one?"
        )
    cases: list[Case] = []
    files: dict[str, int] = {}
    listed_files = _ListedFiles(repository.path_names)
    found = [(report, fix, fix.id, fix.parents[0]) for report, fix in fixes]
    found += [(report, version, "", version.id) for report, version in versions]
    ordered = sorted(found, key=lambda one: (one[1].committed_at, one[1].id, one[0].report.id))
    for number, (labelled, commit, fix, version) in enumerate(ordered, start=1):
        snapshot = repository.snapshot(version, suffixes)  # neighbours in time: their versions share most
        listed, fixed = listed_files.resolve(labelled.listed, snapshot)
        report = labelled.report
        cases.append(Case(report, fix, snapshot.commit, commit.committed_at, listed, fixed))
        files[report.id] = len(snapshot)
        progress("reading versions", number, len(ordered))
    return Dataset(
        tuple(sorted(cases, key=fix_order)),
        tuple(_in_file_order((*unresolved, *more_unresolved), reports)),
        {report.report.id: report for report in reports},
        files,
    )


def _fixes(
    repository: Repository, reports: Sequence[LabelledReport]
) -> tuple[list[tuple[LabelledReport, CommitInfo]], list[Unresolved]]:
    """Reports with their fix, and the others with the reason."""
    resolved = repository.resolve_many(report.commit for report in reports if report.commit)
    messages = _Messages(repository) if any(report.commit is None for report in reports) else None
    chosen: list[tuple[LabelledReport, str]] = []
    unresolved: list[Unresolved] = []
    for report in reports:
        if report.commit is None:
            assert messages is not None
            fix, why = messages.fix_of(report), "no commit message names it"
        else:
            fix = resolved[report.commit] or _confirmed(repository, report)
            why = f"no commit {report.commit} in the repository"
        if fix is None:
            unresolved.append(Unresolved(report, why))
        else:
            chosen.append((report, fix))
    infos = {info.id: info for info in repository.commits(dict.fromkeys(fix for _, fix in chosen))}
    fixes = []
    for report, fix in chosen:
        if infos[fix].parents:
            fixes.append((report, infos[fix]))
        else:
            unresolved.append(Unresolved(report, f"its fix {fix} has no parent, so no version is before it"))
    return fixes, unresolved


def _versions(
    repository: Repository, reports: Sequence[LabelledReport]
) -> tuple[list[tuple[LabelledReport, CommitInfo]], list[Unresolved]]:
    """Reports with the version that they name, and the others with the reason."""
    resolved = repository.resolve_many(report.version for report in reports if report.version)
    known = {name: commit for name, commit in resolved.items() if commit is not None}
    infos = {info.id: info for info in repository.commits(dict.fromkeys(known.values()))}
    named = [(report, report.version or "") for report in reports]
    return (
        [(report, infos[known[name]]) for report, name in named if name in known],
        [Unresolved(report, f"no commit {name} in the repository") for report, name in named if name not in known],
    )


def _in_file_order(unresolved: Iterable[Unresolved], reports: Sequence[LabelledReport]) -> list[Unresolved]:
    order = {report.report.id: number for number, report in enumerate(reports)}
    return sorted(unresolved, key=lambda item: order[item.report.report.id])


def _confirmed(repository: Repository, report: LabelledReport) -> str | None:
    """The one commit among those that an ambiguous abbreviation can mean whose message names the bug, or None."""
    assert report.commit is not None
    infos = repository.commits(repository.candidates(report.commit))
    named = [info.id for info in infos if _number(report.bug) in _numbers(info.message)]
    return named[0] if len(named) == 1 else None


def _numbers(message: str) -> set[str]:
    return set(re.findall(r"\d+", message))


def _number(bug: str) -> str:
    """Last number of a bug's id: 123 of CAMEL-123; the id itself when it has none."""
    found = re.findall(r"\d+", bug)
    return found[-1] if found else bug


class _Messages:
    """Commits of HEAD's history by what their messages name."""

    def __init__(self, repository: Repository) -> None:
        ids = commit_order(repository, [repository.resolve("HEAD")])
        self._by_bug: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        self._by_number: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
        for info in repository.commits(ids):
            bugs = bug_ids(info.message)
            for bug in {*bugs, *map(_number, bugs)}:
                self._by_bug[bug].append((info.committed_at, info.id))
            for number in _numbers(info.message):
                self._by_number[number].append((info.committed_at, info.id))

    def fix_of(self, report: LabelledReport) -> str | None:
        """The commit that names the bug and is nearest to its listed date of fixing, or the newest when it has none.

        A commit that names it as a bug ("PROJ-7", "bug 7") comes before one in whose message the number only stands;
        one of more than a day before the report was opened means something else.
        """
        bug, number = report.bug, _number(report.bug)
        earliest = report.report.opened_seconds - _DAY
        for found in (self._by_bug.get(bug), self._by_bug.get(number), self._by_number.get(number)):
            named = [commit for commit in found or () if commit[0] > earliest]
            if named and report.fixed_on is None:
                return max(named)[1]
            if named and report.fixed_on is not None:
                wanted = report.fixed_on.timestamp()
                return min(named, key=lambda commit: (abs(commit[0] - wanted), commit))[1]
        return None


class _ListedFiles:
    """Finds listed files in versions."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._by_file_name: defaultdict[str, list[int]] = defaultdict(list)
        self._indexed = 0

    def resolve(self, listed: Iterable[str], snapshot: Snapshot) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Listed files, class names replaced by the path they stand for, and those that exist; both sorted."""
        numbers = {path: self._number(path, snapshot) for path in listed}
        existing = {self._names.names[number] for number in numbers.values() if number is not None}
        absent = {path for path, number in numbers.items() if number is None}
        return tuple(sorted(absent | existing)), tuple(sorted(existing))

    def _number(self, path: str, snapshot: Snapshot) -> int | None:
        """Number of the version's file that ``path`` names; None if there is none, or several."""
        number = self._names.ids.get(path)
        if number is not None and (snapshot.path_ids == number).any():
            return number
        class_name, dot, suffix = path.rpartition(".")
        if "/" in path or "." not in class_name:
            return None
        ending = "/" + class_name.replace(".", "/") + dot + suffix
        named = [number for number in self._with_name(ending) if ("/" + self._names.names[number]).endswith(ending)]
        found = np.intersect1d(snapshot.path_ids, np.array(named, dtype=np.int32))
        return int(found[0]) if len(found) == 1 else None

    def _with_name(self, path: str) -> Sequence[int]:
        """Numbers of the paths, of all versions read so far, whose file is called like that of ``path``."""
        for number in range(self._indexed, len(self._names)):
            self._by_file_name[self._names.names[number].rpartition("/")[2]].append(number)
        self._indexed = len(self._names)
        return self._by_file_name.get(path.rpartition("/")[2], ())
