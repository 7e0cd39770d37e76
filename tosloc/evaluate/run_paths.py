"""Where runs and their judgements lie, and which form they have, ours (JSON lines) or TREC's.

A run lies in a folder of splits, in one split's folder, or is a file with its judgements. The first line of a file
tells its form, not its name.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from tosloc.errors import RunError
from tosloc.evaluate.evaluate import Evaluation, evaluate
from tosloc.evaluate.jsonl import open_unpacked
from tosloc.evaluate.judgements import Qrels, read_judgements
from tosloc.evaluate.runs import Run, read_run
from tosloc.evaluate.trec import QRELS_COLUMNS, RUN_COLUMNS, read_trec_qrels, read_trec_run

FileFormat: TypeAlias = Literal["JSON lines", "TREC run", "TREC qrels"]

_BY_COLUMNS: Final[Mapping[int, FileFormat]] = {len(RUN_COLUMNS): "TREC run", len(QRELS_COLUMNS): "TREC qrels"}
_LONGEST: Final = 1_000_000
"""Bytes of a first line that are looked at."""


def format_of(path: str | Path) -> FileFormat | None:
    """Form of a file; None when it is of no form that runs or judgements have. RunError when it cannot be read."""
    try:
        with open_unpacked(Path(path)) as file:
            start = file.read(_LONGEST).lstrip()
    except (EOFError, zlib.error, OSError) as error:
        raise RunError(f"{path}: cannot read it: {getattr(error, 'strerror', None) or error}") from None
    if start.startswith(b"{"):
        return "JSON lines"
    line = start.partition(b"\n")[0]
    if b"\0" in line or start.startswith((b"<", b"PK\x03\x04")):  # binary, XML, a spreadsheet
        return None
    return _BY_COLUMNS.get(len(line.split()))


def read_any_run(path: str | Path) -> Run:
    """Run of a file in either form. Raises RunError as its reader does, and for a file of neither form."""
    form = _form(path, "TREC run", "a run", RUN_COLUMNS)
    return read_run(path) if form == "JSON lines" else read_trec_run(path)


def read_any_judgements(path: str | Path) -> Qrels:
    """Judgements of a file in either form. Raises RunError as its reader does, and for a file of neither form."""
    form = _form(path, "TREC qrels", "judgements", QRELS_COLUMNS)
    return read_judgements(path) if form == "JSON lines" else read_trec_qrels(path)


def _form(path: str | Path, wanted: FileFormat, what: str, columns: Sequence[str]) -> FileFormat:
    """Form of a file, JSON lines or the wanted one. Raises RunError for another."""
    form = format_of(path)
    if form in ("JSON lines", wanted):
        return form
    found = {None: "of no known form", "TREC run": "a run in TREC's form", "TREC qrels": "judgements in TREC's form"}
    raise RunError(f"{path}: {found[form]}; expected {what}, as JSON lines or in TREC's form: {' '.join(columns)}")


RUN_FILE = "run.jsonl.gz"
JUDGEMENTS_FILE = "qrels.jsonl"
FUNCTION_LEVEL = "functions"
"""Folder, beside a run of files, of the run of functions."""
BM25_LEVEL = "functions-bm25"
"""The same of BM25 over functions."""


@dataclass(frozen=True, eq=False)
class ScoredRun:
    """A run with its judgements, under the name that tables give it."""

    name: str
    run: Run
    qrels: Qrels

    def evaluation(self) -> Evaluation:
        """How good the run is. Raises RunError."""
        return evaluate(self.run, self.qrels)


def read_scored(path: str | Path, split: str = "test", qrels: str | Path | None = None) -> ScoredRun:
    """The run at ``path``: the folder that train or rank wrote (its ``split``), a split's folder, or a run file.

    Files may be ours or in TREC's form. A run file's judgements are ``qrels``, else qrels.jsonl beside it. Raises
    RunError.
    """
    file, name = _find_run(path, split)
    truth = Path(qrels) if qrels is not None else file.parent / JUDGEMENTS_FILE
    run = read_any_run(file)
    if qrels is None and not truth.is_file():
        raise RunError(f"{path}: no judgements beside the run; name them with --qrels")
    return ScoredRun(name, run, read_any_judgements(truth))


def read_run_at(path: str | Path, split: str = "test") -> Run:
    """The run at ``path``, as ``read_scored`` finds it, whatever its judgements. Raises RunError."""
    return read_any_run(_find_run(path, split)[0])


def _find_run(path: str | Path, split: str) -> tuple[Path, str]:
    """File and name of a run. Raises RunError when there is none, naming the splits there are."""
    place = Path(path)
    if place.is_file():
        return place, place.name.partition(".")[0]
    if not place.exists():
        raise RunError(f"{path}: no such file or folder; check the path of the run")
    name = place.name or place.absolute().name
    if (place / RUN_FILE).is_file():
        return place / RUN_FILE, name
    finished = {run.parent.name for run in place.glob(f"*/{RUN_FILE}") if (run.parent / JUDGEMENTS_FILE).is_file()}
    if split not in finished:
        known = "make one with: tosloc train, or tosloc rank"
        if finished:
            known = f"it holds {', '.join(sorted(finished))}"
        elif any(place.glob(f"*/*/{RUN_FILE}")):
            known = "it holds runs in folders: name one, or for those of many projects see tosloc lab evaluate"
        raise RunError(f"{path}: no finished run of the split {split!r}; {known}")
    return place / split / RUN_FILE, name


def evaluate_folder(folder: str | Path, split: str) -> Evaluation:
    """Evaluation of the run in ``folder/split``. Raises RunError when there is none, naming the splits there are."""
    return read_scored(folder, split).evaluation()
