"""A finished run over files that were ever fixed: chosen with knowledge of every report, the future ones too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from tosloc.errors import RunError
from tosloc.evaluate.file_lists import FILE_LISTS_FILE, write_file_lists
from tosloc.evaluate.judgements import write_judgements
from tosloc.evaluate.restrict import only_some_files
from tosloc.evaluate.run_paths import JUDGEMENTS_FILE, RUN_FILE, ScoredRun
from tosloc.evaluate.runs import write_run
from tosloc.io import read_plain
from tosloc.records import BoolArray

_LARGEST: Final = 100_000_000
RESTRICTED: Final = "only files that some report of the data set fixed (flattering: chosen with the answers known)"


def read_paths(path: Path) -> frozenset[str]:
    """Paths of a file, one a line. Raises RunError when it cannot be read or names none."""
    try:
        text = read_plain(path, _LARGEST).decode("utf-8", "surrogateescape")
        found = frozenset(line for line in text.splitlines() if line)
    except OSError as error:
        raise RunError(f"{path}: cannot read it: {error.strerror or error}") from None
    if not found:
        raise RunError(f"{path}: names no file")
    return found


def restricted(scored: ScoredRun, kept: frozenset[str]) -> ScoredRun:
    """The same rankings without the files that are not ``kept``, scored in that space. Raises RunError."""
    for report, one in scored.qrels.judgements.items():
        lost = [path for path in one.fixed if path not in kept]
        if lost:
            raise RunError(
                f"report {report}: {lost[0]} is fixed but not among the files to keep; is the list of this project?"
            )

    def keeps(paths: Sequence[str]) -> BoolArray:
        return np.array([path in kept for path in paths], dtype=np.bool_)

    made = only_some_files(scored, keeps, RESTRICTED)
    # what the data lists and no version has stays told: it was not restricted away
    judgements = {
        report: replace(one, listed=scored.qrels.judgements[report].listed)
        for report, one in made.qrels.judgements.items()
    }
    return replace(made, qrels=replace(made.qrels, judgements=judgements))


def write_restricted(folder: Path, scored: ScoredRun) -> None:
    """Write a run with its judgements and versions."""
    write_run(folder / RUN_FILE, scored.run.header, scored.run.rankings())
    lists = scored.qrels.file_lists
    if lists is not None:
        write_file_lists(
            folder / FILE_LISTS_FILE, ((version, sorted(lists.files(version))) for version in lists.versions)
        )
    write_judgements(folder / JUDGEMENTS_FILE, scored.qrels.judgements.values())
