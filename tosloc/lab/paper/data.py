"""Tables 2 and 3: how long files and reports are, against an encoder's 512 tokens, and what the reports hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from tosloc.git.repository import Repository, decode_text
from tosloc.lab.paper.workspace import Cell, PaperTable, Result, Workspace, rows_of
from tosloc.lab.projects import Project
from tosloc.reports.labelled import Dataset, describe, load_dataset, resolve_suffixes
from tosloc.reports.traces import without_frames

WORD: Final = re.compile(r"\w+|[^\w\s]")
"""A word: a run of letters, digits and underscores, or any other sign that can be seen."""
LIMIT: Final = 512  # tokens that the paper's encoders read at once
FILES_A_BATCH: Final = 256
PAPER_UNIT: Final = "codebert-base"

Counter = Callable[[Sequence[str]], list[int]]


def _counter_of(encoder: str) -> Counter:
    """Counts words, or the tokens of an encoder. Raises CheckpointError."""
    if not encoder:
        return lambda texts: [len(WORD.findall(text)) for text in texts]
    from tosloc.rerank.encoder.encoders import (  # torch, only where it is needed
        Encoder,
        replace_lone_surrogates,
    )

    tokenizer = Encoder.load(encoder, "mean").tokenizer
    return lambda texts: [
        len(one)
        for one in tokenizer(
            list(map(replace_lone_surrogates, texts)), add_special_tokens=False, verbose=False
        )["input_ids"]
    ]


def _dataset(work: Workspace, project: Project, repo: Repository) -> tuple[Dataset, frozenset[str]]:
    data = resolve_suffixes(project.config, project.reports).data
    suffixes = frozenset(data.named_suffixes)
    progress = work.of(project)
    return load_dataset(
        repo, project.reports, zone=data.zone, suffixes=suffixes, progress=progress
    ), suffixes


def lengths(work: Workspace) -> Result:
    """Table 2."""
    count, unit = _counter_of(work.encoder), Path(work.encoder).name or "words"
    found = {project.name: _lengths(work, project, count) for project in work.each()}

    def cell(name: str, project: str) -> Cell:
        form = ".3f" if f"over {LIMIT}" in name else ",.0f"
        return Cell(found[project][name], form, work.published.number(PAPER_UNIT, name, project))

    notes = [
        f"counted in the tokens of the encoder {unit}, without marks"
        if work.encoder
        else f"a word is a run of letters, digits and underscores, or any other sign: {WORD.pattern}",
        "of files: the mean over versions of what each version has",
        "the paper (in brackets) counts the tokens of CodeBERT and RoBERTa",
    ]
    names = next(iter(found.values()))
    return Result([PaperTable([f"length in {unit}", *found], rows_of(names, found, cell))], notes)


def _lengths(work: Workspace, project: Project, count: Counter) -> dict[str, float]:
    """Lengths of a project's files, in all of its versions, and of its reports."""
    with Repository(project.repo) as repo:
        dataset, suffixes = _dataset(work, project, repo)
        snapshots = [
            repo.snapshot(version, suffixes)
            for version in dict.fromkeys(one.version for one in dataset.cases)
        ]
        of_blob: dict[str, int] = {}
        blobs = list(dict.fromkeys(blob for snapshot in snapshots for blob in snapshot.blobs))
        for start in range(0, len(blobs), FILES_A_BATCH):
            work.of(project)("counting files", start, len(blobs))
            some = repo.texts(blobs[start : start + FILES_A_BATCH])
            texts = {blob: decode_text(data) for blob, data in some if data is not None}
            of_blob |= zip(texts, count(list(texts.values())), strict=True)
        sizes = [
            np.array([of_blob[blob] for blob in one.blobs if blob in of_blob])
            for one in snapshots
            if len(one)
        ]
    reports = [one.report for one in dataset.cases]
    whole = np.array(count([f"{one.summary}\n{one.description}" for one in reports]))
    bare = np.array(count([f"{one.summary}\n{without_frames(one.description)}" for one in reports]))
    values = {
        "file, mean": np.mean([one.mean() for one in sizes]),
        "file, median": np.mean([np.median(one) for one in sizes]),
        "file, longest": np.mean([one.max() for one in sizes]),
        f"files over {LIMIT}": np.mean([(one > LIMIT).mean() for one in sizes]),
        "report, mean": whole.mean(),
        "report, median": np.median(whole),
        "report without stack traces, mean": bare.mean(),
        f"reports without stack traces over {LIMIT}": (bare > LIMIT).mean(),
    }
    return {name: float(value) for name, value in values.items()}


_OF_ALL: Final = {
    "listed": "fixed files listed",
    "existing": "... that exist",
    "empty": "reports left without any",
    "no description": "reports without a description",
    "opened after fix": "opened after their fix",
    "unresolved": "reports without a fix in the repository",
}
_OF_TEST: Final = ("reports", "listed", "existing", "empty")


def contents(work: Workspace) -> Result:
    """Table 3."""
    found: dict[str, dict[str, Any]] = {}
    opened: list[str] = []
    for project in work.each():
        with Repository(project.repo) as repo:
            dataset, _ = _dataset(work, project, repo)
        parts: Any = describe(dataset)
        whole, *_, test = parts
        files, fixed = (
            sum(dataset.files.values()) / len(dataset.files),
            whole["listed"] / whole["reports"],
        )
        found[project.name] = {
            **{
                "files a version": files,
                "reports": whole["reports"],
                "fixed files a report": fixed,
            },
            **{title: whole[name] for name, title in _OF_ALL.items()},
            **{f"of them, test: {_OF_ALL.get(name, name)}": test[name] for name in _OF_TEST},
        }
        when = [case.report.opened_seconds for case in dataset.cases]
        opened.append(
            "-".join(f"{datetime.fromtimestamp(one, UTC):%Y/%m}" for one in (min(when), max(when)))
        )

    def cell(name: str, project: str) -> Cell:
        form = ",.1f" if name == "fixed files a report" else ",.0f"
        return Cell(found[project][name], form, work.published.number(name, project))

    rows = rows_of(next(iter(found.values())), found, cell)
    rows.insert(3, ["opened", *opened])
    return Result([PaperTable(["", *found], rows)])
