"""Table 2: how long files (mean over versions) and reports are, in words or tokens, against an encoder's 512."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from tosloc.arrays import load_arrays, pack_words, save_arrays, unpack_words
from tosloc.errors import CheckpointError
from tosloc.git.repository import Repository, decode
from tosloc.io import key_of
from tosloc.lab.paper.workspace import (
    Cell,
    Form,
    PaperTable,
    Published,
    TableResult,
    Workspace,
    by_project,
    figure_of,
    named,
    rows_of,
)
from tosloc.lab.projects import Project, spread
from tosloc.records import FloatArray, IntArray, Progress, Snapshot, silent
from tosloc.reports.labelled import load_dataset, settled
from tosloc.reports.traces import without_frames

WORD: Final = re.compile(r"\w+|[^\w\s]")
"""A word: a run of letters, digits and underscores, or any other sign that can be seen."""
WORDS: Final = "words"
LIMIT: Final = 512
"""Tokens that the paper's encoders read at once."""
LEVELS: Final = np.linspace(0, 1, 101)
FILES_A_BATCH = 256
PAPER_UNIT: Final = "codebert-base"
QUANTITIES: Final[Mapping[str, Form]] = {
    "file, mean": "count",
    "file, median": "count",
    "file, longest": "count",
    "file, first quartile": "count",
    "file, third quartile": "count",
    "file, ninth decile": "count",
    f"files over {LIMIT}": "share",
    "report, mean": "count",
    "report, median": "count",
    "report, ninth decile": "count",
    "report without stack traces, mean": "count",
    f"reports without stack traces over {LIMIT}": "share",
}

Counter = Callable[[Sequence[str]], list[int]]


@dataclass(frozen=True)
class Lengths:
    """Lengths of a project's files and reports, over all its versions."""

    values: Mapping[str, float]
    file_levels: FloatArray
    """(101,) length of a file at each hundredth, averaged over the versions."""
    versions: int


def lengths_in_words(texts: Sequence[str]) -> list[int]:
    """Lengths in words.

    >>> lengths_in_words(["int x_1 = getURL();", ""])
    [7, 0]
    """
    return [len(WORD.findall(text)) for text in texts]


def counter_of(encoder: str) -> tuple[str, Counter]:
    """The unit's name and its counter: words, or the tokens of an encoder's folder. Raises CheckpointError."""
    if not encoder:
        return WORDS, lengths_in_words
    from tosloc.rerank.encoder.encoders import Encoder, encodable  # torch, only where it is needed

    tokenizer = Encoder.load(encoder, "mean").tokenizer
    name = Path(encoder).name
    if name == WORDS:
        raise CheckpointError(
            f"{encoder}: a folder of this name would pass for counting lengths_in_words; give it another"
        )

    def count(texts: Sequence[str]) -> list[int]:
        whole = [encodable(text) for text in texts]
        return [len(one) for one in tokenizer(whole, add_special_tokens=False, verbose=False)["input_ids"]]

    return name, count


def measure(work: Workspace, published: Published, progress: Progress = silent) -> TableResult:
    """Table 2."""
    unit, count = counter_of(work.encoder)
    found = {
        project.name: lengths(project, work.out, unit, count, work.versions, progress)
        for project in by_project(work.projects, "projects", progress)
    }

    def cell(name: str, project: str) -> Cell:
        return Cell(found[project].values[name], QUANTITIES[name], published.numbers.get((PAPER_UNIT, name, project)))

    versions = ", ".join(f"{one.versions:,} of {project}" for project, one in found.items())
    notes = [
        f"counted in the tokens of the encoder {unit}, without marks"
        if unit != WORDS
        else f"a word is a run of letters, digits and underscores, or any other sign: {WORD.pattern}",
        f"of files: the mean over versions ({versions}) of what each version has",
    ]
    if unit != PAPER_UNIT:
        notes.append("the paper (in brackets) counts the tokens of CodeBERT and RoBERTa")
    table = PaperTable([f"length in {unit}", *found], rows_of(QUANTITIES, found, cell))
    levels = {project: (LEVELS, one.file_levels) for project, one in found.items()}
    return TableResult([table], notes, {"table-2": figure_of("lengths_figure", levels, unit, LIMIT)})


def lengths(
    project: Project, out: Path, unit: str, count: Counter, versions: int = 0, progress: Progress = silent
) -> Lengths:
    """Lengths of a project's files and reports, of all before-fix versions or of so many, spread over time."""
    data, progress = settled(project.configured(), project.reports).data, named(progress, project)
    suffixes = frozenset(data.named_suffixes)
    with Repository(project.repo) as repo:
        cases = load_dataset(repo, project.reports, zone=data.zone, suffixes=suffixes, progress=progress).cases
        names = spread(list(dict.fromkeys(case.version for case in cases)), versions)
        snapshots = [repo.snapshot(name, suffixes) for name in names]
        path = out / "lengths" / f"{project.name}-{key_of(str(project.repo.resolve()))[:8]}-{unit}.npz"
        of_blob = _of_blobs(repo, snapshots, path, count, progress)
    sizes = [of_blob[snapshot.blob_ids] for snapshot in snapshots if len(snapshot)]
    known = [one[one >= 0] for one in sizes]
    levels = np.mean([np.quantile(one, LEVELS) for one in known], axis=0)
    reports = [case.report for case in cases]
    whole = np.array(count([f"{one.summary}\n{one.description}" for one in reports]))
    bare = np.array(count([f"{one.summary}\n{without_frames(one.description)}" for one in reports]))
    values = {
        "file, mean": np.mean([one.mean() for one in known]),
        "file, median": levels[50],
        "file, longest": levels[100],
        "file, first quartile": levels[25],
        "file, third quartile": levels[75],
        "file, ninth decile": levels[90],
        f"files over {LIMIT}": np.mean([(one > LIMIT).mean() for one in known]),
        "report, mean": whole.mean(),
        "report, median": np.median(whole),
        "report, ninth decile": np.quantile(whole, 0.9),
        "report without stack traces, mean": bare.mean(),
        f"reports without stack traces over {LIMIT}": (bare > LIMIT).mean(),
    }
    return Lengths({name: float(value) for name, value in values.items()}, levels, len(names))


def _of_blobs(
    repo: Repository, snapshots: Sequence[Snapshot], path: Path, count: Counter, progress: Progress
) -> IntArray:
    """Length of every blob by its number, -1 where it is not wanted or not in the repository."""
    names = repo.blob_names.names
    wanted = np.unique(np.concatenate([snapshot.blob_ids for snapshot in snapshots])).tolist()
    known: dict[str, int] = {}
    if path.exists():
        stored = load_arrays(path)
        known = dict(zip(unpack_words(stored["blobs"]), stored["lengths"].tolist(), strict=False))
    missing = [names[number] for number in wanted if names[number] not in known]
    try:
        for start in range(0, len(missing), FILES_A_BATCH):
            progress("counting files", start, len(missing))
            texts = {
                blob: decode(data)
                for blob, data in repo.texts(missing[start : start + FILES_A_BATCH])
                if data is not None
            }
            known.update(zip(texts, count(list(texts.values())), strict=True))
        progress("counting files", len(missing), len(missing))
    finally:  # an interruption loses nothing
        if missing:
            lengths = np.array(list(known.values()), dtype=np.int32)
            save_arrays(path, {"blobs": pack_words(known), "lengths": lengths}, level=1)
    of_blob: IntArray = np.full(len(names), -1, dtype=np.int32)
    of_blob[wanted] = [known.get(names[number], -1) for number in wanted]
    return of_blob
