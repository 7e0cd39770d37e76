"""Which files an experiment searches: those that its settings name, else those of the languages that reports fixed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from tosloc.analysis.languages import SOURCE_SUFFIXES, language_of
from tosloc.config import Config
from tosloc.data.reports import read_reports

LANGUAGE_SHARE: Final = 0.1
"""Of the reports that fixed a source file: where so many fixed one of a language, its files are searched."""

_SOURCE_LANGUAGES: Final = frozenset(map(language_of, SOURCE_SUFFIXES))


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
