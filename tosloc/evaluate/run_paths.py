"""Where runs and their judgements lie: a folder of splits, one split's folder, or a run file with its judgements."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tosloc.errors import RunError
from tosloc.evaluate.evaluate import Evaluation, evaluate
from tosloc.evaluate.formats import read_any_judgements, read_any_run
from tosloc.evaluate.judgements import Qrels
from tosloc.evaluate.runs import Run

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
        known = f"it holds {', '.join(sorted(finished))}" if finished else "make one with: tosloc train, or tosloc rank"
        raise RunError(f"{path}: no finished run of the split {split!r}; {known}")
    return place / split / RUN_FILE, name


def evaluate_folder(folder: str | Path, split: str) -> Evaluation:
    """Evaluation of the run in ``folder/split``. Raises RunError when there is none, naming the splits there are."""
    return read_scored(folder, split).evaluation()
