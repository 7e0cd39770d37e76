"""Which labelled bugs are learned from, chosen by and measured on: always older ones before newer ones; what they hold.

Also which files an experiment searches: those of the languages that reports fixed, where its settings name none.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final, NamedTuple

from tosloc.code.languages import SOURCE_SUFFIXES, language_of
from tosloc.config import Config
from tosloc.errors import ConfigError
from tosloc.records import Case
from tosloc.reports.formats import read_reports

if TYPE_CHECKING:
    from tosloc.reports.labelled import Dataset

LANGUAGE_SHARE: Final = 0.1
"""Of the reports that fixed a source file: where so many fixed one of a language, its files are searched."""
_SOURCE_LANGUAGES: Final = frozenset(map(language_of, SOURCE_SUFFIXES))


class Splits(NamedTuple):
    """Cases in the order of their fixes, cut in three: nothing is fitted or chosen on ``test``."""

    train: tuple[Case, ...]
    validation: tuple[Case, ...]
    test: tuple[Case, ...]


def fix_order(case: Case) -> tuple[int, str, str]:
    """Sorting key: committer time of the fix, then the fix's id, then the report's."""
    return case.fixed_at, case.fix_commit, case.report.id


def chronological(cases: Iterable[Case], train: float = 0.8, validation: float = 0.1) -> Splits:
    """The oldest ``train`` share of the cases, the next ``validation`` share, and the rest as test, by time of the fix.

    The first cut is after ``floor(train * n)`` cases, the second after ``floor((train + validation) * n)``, in exact
    decimal arithmetic; so the test tenth of 1056 cases has 106. Raises ConfigError when the shares leave no test.
    """
    first, second = Fraction(str(train)), Fraction(str(train)) + Fraction(str(validation))
    if not 0 <= first <= second < 1:
        raise ConfigError(f"shares of train {train} and validation {validation} must be 0 or more, their sum below 1")
    ordered = sorted(cases, key=fix_order)
    begin, end = math.floor(first * len(ordered)), math.floor(second * len(ordered))
    return Splits(tuple(ordered[:begin]), tuple(ordered[begin:end]), tuple(ordered[end:]))


def parts_of(cases: Sequence[Case]) -> dict[str, tuple[Case, ...]]:
    """``all`` cases, and ``train``, ``validation`` and ``test`` of the chronological split."""
    return {"all": tuple(cases), **chronological(cases)._asdict()}


def describe(dataset: Dataset) -> list[dict[str, str | int | float]]:
    """One row for all cases and one for each part of the split, column -> value, ready to print.

    ``listed`` source files as fixed; ``existing`` ones of them in the before-fix version, the others were added by the
    fix or named wrongly; ``empty`` reports have none. ``before train ended`` counts the reports of validation and test
    that were opened before the last fix of train: what is learned from all of train knows later fixes than these.
    """
    parts = parts_of(dataset.cases)
    train_ended = max((case.fixed_at for case in parts["train"]), default=0)
    return [
        {
            "part": part,
            "reports": len(cases),
            "listed": sum(len(case.listed) for case in cases),
            "existing": sum(len(case.fixed) for case in cases),
            "empty": sum(not case.fixed for case in cases),
            "no description": sum(not case.report.description for case in cases),
            "opened after fix": sum(case.report.opened_seconds > case.fixed_at for case in cases),
            "before train ended": sum(case.report.opened_seconds < train_ended for case in cases)
            * (part in ("validation", "test")),
            "files a version": round(sum(dataset.files[case.report.id] for case in cases) / max(len(cases), 1), 1),
            "unresolved": len(dataset.unresolved) * (part == "all"),
        }
        for part, cases in parts.items()
    ]


def settled(config: Config, reports: str | Path) -> Config:
    """The settings, with the suffixes that the reports ask for where the settings leave that to them.

    Raises ReportError when the file cannot be read, or lists no source file.
    """
    if config.data.suffixes != "auto":
        return config
    labelled = read_reports(reports, config.data.zone, suffixes=SOURCE_SUFFIXES)
    suffixes = suffixes_of_fixed([report.listed for report in labelled])
    return config.model_copy(update={"data": config.data.model_copy(update={"suffixes": suffixes})})


def suffixes_of_fixed(listed: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Suffixes of the languages that reports are about, given the files that each one fixed.

    Every suffix of a language of which at least ``LANGUAGE_SHARE`` of the reports with a source file fixed a file.

    >>> suffixes_of_fixed([["a.js", "b.py"]] + [["a.js", "b.md"]] * 10 + [["c.md"]] * 99)
    ('.cjs', '.js', '.mjs')
    """
    found = [{language_of(PurePosixPath(path).suffix) for path in paths} & _SOURCE_LANGUAGES for paths in listed]
    reports = Counter(language for languages in found for language in languages)
    least = LANGUAGE_SHARE * sum(map(bool, found))
    chosen = {language for language, number in reports.items() if number >= least}
    return tuple(sorted(suffix for suffix in SOURCE_SUFFIXES if language_of(suffix) in chosen))
