"""Ranks of another system that a file of labelled reports publishes, joined with the cases that we judge ourselves.

The data of Ye et al. (FSE 2014) give, for all but the oldest fold, the rank of each fixed file among all files of the
before-fix version as their "learning to rank" has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tosloc.data.datasets import Dataset
from tosloc.errors import ReportError, counted
from tosloc.records import Case


@dataclass(frozen=True, eq=False)
class PublishedRanks:
    """The cases for which there are published ranks; the ground truth is ours, as for every run."""

    cases: tuple[Case, ...]
    ranks: Mapping[str, Mapping[str, int]]
    """Report id -> fixed file of the before-fix version -> its rank, from 1. One that the system missed is absent."""
    left_out: int
    """How many cases have no published ranks."""


def published_ranks(dataset: Dataset, cases: Sequence[Case]) -> PublishedRanks:
    """Published ranks of some of the dataset's cases.

    Ranks of files that the before-fix version lacks are dropped, like the files themselves. Raises ReportError when
    none of the cases has ranks, when two files have the same, and for one that the version is too small for.
    """
    chosen = tuple(case for case in cases if dataset.labelled[case.report.id].published_ranks)
    if not chosen:
        number = counted(len(cases), "report")
        raise ReportError(f"none of {number} has published ranks (the column result)")
    ranks = {case.report.id: _existing(dataset, case) for case in chosen}
    return PublishedRanks(chosen, ranks, len(cases) - len(chosen))


def _existing(dataset: Dataset, case: Case) -> Mapping[str, int]:
    report, files = case.report.id, dataset.files[case.report.id]
    published = dataset.labelled[report].published_ranks
    ranks = {path: published[path] for path in case.fixed if path in published}
    if len(set(ranks.values())) < len(ranks):
        raise ReportError(f"report {report}: two fixed files have the same published rank")
    for path, rank in ranks.items():
        if not 1 <= rank <= files:
            raise ReportError(f"report {report}: {path} has the published rank {rank}, among {files} files")
    return ranks
