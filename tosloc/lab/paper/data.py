"""Tables 2 and 3: lengths of files and reports, compared with 512 tokens; contents of reports."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from tosloc.core.progress import Progress
from tosloc.core.versions import Snapshot
from tosloc.git.repository import Repository, decode_text
from tosloc.lab.paper.workspace import Cell, PaperResult, PaperTable, Workspace, table_rows
from tosloc.lab.projects import Project
from tosloc.reports.labelled import Dataset, resolve_suffixes
from tosloc.reports.traces import without_frames

WORD: Final = re.compile(r"\w+|[^\w\s]")
"""A word: a run of letters, digits and underscores, or any other visible character."""
TOKEN_LIMIT: Final = 512
"""Tokens that the paper's encoders read at once."""
_BLOBS_PER_BATCH: Final = 256
PAPER_ENCODER: Final = "codebert-base"
"""Encoder whose tokens the published numbers count."""

LengthCounter = Callable[[Sequence[str]], list[int]]
"""A function that returns the length of each text."""


def _count_words(texts: Sequence[str]) -> list[int]:
    return [len(WORD.findall(text)) for text in texts]


def _length_counter(encoder: str) -> LengthCounter:
    """Return a function that counts an encoder's tokens, or words if ``encoder`` is "".

    Raises CheckpointError if the encoder cannot be loaded.
    """
    if not encoder:
        return _count_words
    # This imports torch, which counting words does not need.
    from tosloc.rerank.encoder.encoders import Encoder, replace_lone_surrogates

    tokenizer = Encoder.load(encoder, "mean").tokenizer

    def count_tokens(texts: Sequence[str]) -> list[int]:
        encoded = tokenizer(
            [replace_lone_surrogates(text) for text in texts],
            add_special_tokens=False,
            verbose=False,
        )
        return [len(ids) for ids in encoded["input_ids"]]

    return count_tokens


def _load_dataset(
    work: Workspace, project: Project, repo: Repository
) -> tuple[Dataset, frozenset[str]]:
    """Return a project's labelled reports, and the suffixes of its source files."""
    data = resolve_suffixes(project.config, project.reports).data
    suffixes = frozenset(data.named_suffixes)
    dataset = Dataset.load(
        repo,
        project.reports,
        zone=data.zone,
        suffixes=suffixes,
        progress=work.project_progress(project),
    )
    return dataset, suffixes


def measure_lengths(work: Workspace) -> PaperResult:
    """Return table 2, the lengths of files and reports."""
    count_lengths = _length_counter(work.encoder)
    unit = Path(work.encoder).name or "words"
    lengths = {
        project.name: _project_lengths(work, project, count_lengths)
        for project in work.track_projects()
    }

    def cell(name: str, project: str) -> Cell:
        form = ".3f" if f"over {TOKEN_LIMIT}" in name else ",.0f"
        paper = work.published.number(PAPER_ENCODER, name, project)
        return Cell(lengths[project][name], form, paper)

    if work.encoder:
        unit_note = f"lengths are tokens of the encoder {unit}, special tokens not counted"
    else:
        unit_note = (
            "a word is a run of letters, digits and underscores, or any other visible character"
            f" ({WORD.pattern})"
        )
    notes = [
        unit_note,
        "lengths of files are means over the versions",
        "the paper's numbers, in parentheses, count tokens of CodeBERT and RoBERTa",
    ]
    names = next(iter(lengths.values()))
    table = PaperTable([f"length in {unit}", *lengths], table_rows(names, lengths, cell))
    return PaperResult([table], notes)


def _project_lengths(
    work: Workspace, project: Project, count_lengths: LengthCounter
) -> dict[str, float]:
    """Return the lengths of a project's files, in all of its versions, and of its reports."""
    with Repository(project.repo) as repo:
        dataset, suffixes = _load_dataset(work, project, repo)
        commits = dict.fromkeys(case.before_commit for case in dataset.cases)
        snapshots = [repo.snapshot(commit, suffixes) for commit in commits]
        length_by_blob = _blob_lengths(
            repo, snapshots, count_lengths, work.project_progress(project)
        )
    means: list[float] = []
    medians: list[float] = []
    longest: list[float] = []
    shares_over_limit: list[float] = []
    for snapshot in snapshots:
        if len(snapshot):
            readable = [blob for blob in snapshot.blobs if blob in length_by_blob]
            lengths = np.array([length_by_blob[blob] for blob in readable])
            means.append(lengths.mean())
            medians.append(np.median(lengths))
            longest.append(lengths.max())
            shares_over_limit.append((lengths > TOKEN_LIMIT).mean())
    whole_reports: list[str] = []
    without_traces: list[str] = []
    for case in dataset.cases:
        report = case.report
        whole_reports.append(f"{report.summary}\n{report.description}")
        without_traces.append(f"{report.summary}\n{without_frames(report.description)}")
    whole = np.array(count_lengths(whole_reports))
    bare = np.array(count_lengths(without_traces))
    values = {
        "mean length of files": np.mean(means),
        "median length of files": np.mean(medians),
        "longest file": np.mean(longest),
        f"files over {TOKEN_LIMIT}": np.mean(shares_over_limit),
        "mean length of reports": whole.mean(),
        "median length of reports": np.median(whole),
        "mean length of reports without stack traces": bare.mean(),
        f"reports without stack traces over {TOKEN_LIMIT}": (bare > TOKEN_LIMIT).mean(),
    }
    return {name: float(value) for name, value in values.items()}


def _blob_lengths(
    repo: Repository,
    snapshots: Sequence[Snapshot],
    count_lengths: LengthCounter,
    progress: Progress,
) -> Mapping[str, int]:
    """Return blob -> its length, for the versions' blobs; unreadable blobs are left out."""
    distinct_blobs: dict[str, None] = {}  # used as an ordered set
    for snapshot in snapshots:
        distinct_blobs.update(dict.fromkeys(snapshot.blobs))
    blobs = list(distinct_blobs)
    length_by_blob: dict[str, int] = {}
    for start in range(0, len(blobs), _BLOBS_PER_BATCH):
        progress("counting files", start, len(blobs))
        texts: dict[str, str] = {}
        for blob, data in repo.texts(blobs[start : start + _BLOBS_PER_BATCH]):
            if data is not None:
                texts[blob] = decode_text(data)
        length_by_blob |= zip(texts, count_lengths(list(texts.values())), strict=True)
    return length_by_blob


_TITLES: Final = {
    "listed": "fixed files listed",
    "existing": "... in the version before the fix",
    "empty": "reports without any of these files",
    "no description": "reports without a description",
    "opened after fix": "reports opened after their fix",
    "unresolved": "reports without a fix in the repository",
}
"""Row name of each count of all reports."""
_TEST_COUNTS: Final = ("reports", "listed", "existing", "empty")
"""Counts of the test reports that have a row."""


def count_contents(work: Workspace) -> PaperResult:
    """Return table 3, the contents of the projects' reports."""
    contents: dict[str, dict[str, Any]] = {}
    opened: list[str] = []
    for project in work.track_projects():
        with Repository(project.repo) as repo:
            dataset, _ = _load_dataset(work, project, repo)
        contents[project.name] = _project_contents(dataset)
        times = [case.report.opened_seconds for case in dataset.cases]
        opened.append(f"{_year_and_month(min(times))}-{_year_and_month(max(times))}")

    def cell(name: str, project: str) -> Cell:
        form = ",.1f" if name == "fixed files per report" else ",.0f"
        return Cell(contents[project][name], form, work.published.number(name, project))

    rows = table_rows(next(iter(contents.values())), contents, cell)
    rows.insert(3, ["opened", *opened])
    return PaperResult([PaperTable(["", *contents], rows)])


def _project_contents(dataset: Dataset) -> dict[str, Any]:
    """Return name of a row of table 3 -> its value."""
    parts: Any = dataset.describe()
    whole, *_, test = parts
    values = {
        "files per version": sum(dataset.files.values()) / len(dataset.files),
        "reports": whole["reports"],
        "fixed files per report": whole["listed"] / whole["reports"],
    }
    for name, title in _TITLES.items():
        values[title] = whole[name]
    for name in _TEST_COUNTS:
        values[f"test part: {_TITLES.get(name, name)}"] = test[name]
    return values


def _year_and_month(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y/%m}"
