"""Where runs and their judgements lie: a folder of splits, one split's folder, or a run file with its judgements."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tosloc.errors import RunError
from tosloc.evaluation.evaluate import Evaluation, evaluate
from tosloc.evaluation.formats import read_any_judgements, read_any_run
from tosloc.evaluation.judgements import Qrels
from tosloc.evaluation.runs import Run

RUN_FILE = "run.jsonl.gz"
JUDGEMENTS_FILE = "qrels.jsonl"


@dataclass(frozen=True, eq=False)
class ScoredRun:
    """A run with its judgements, under the name that tables give it."""

    name: str
    run: Run
    qrels: Qrels

    def evaluation(self) -> Evaluation:
        """How good the run is. Raises RunError."""
        return evaluate(self.run, self.qrels)


def read_scored(place: str | Path, split: str = "test", qrels: str | Path | None = None) -> ScoredRun:
    """The run at ``place``: the folder that train or rank wrote (its ``split``), a split's folder, or a run file.

    Files may be ours or in TREC's form. A run file's judgements are ``qrels``, else qrels.jsonl beside it. Raises
    RunError.
    """
    file, name = run_at(place, split)
    truth = Path(qrels) if qrels is not None else file.parent / JUDGEMENTS_FILE
    run = read_any_run(file)
    if qrels is None and not truth.is_file():
        raise RunError(f"{place}: no judgements beside the run; name them with --qrels")
    return ScoredRun(name, run, read_any_judgements(truth))


def read_at(place: str | Path, split: str = "test") -> Run:
    """The run at ``place``, whatever its judgements. Raises RunError."""
    return read_any_run(run_at(place, split)[0])


def run_at(place: str | Path, split: str = "test") -> tuple[Path, str]:
    """File and name of the run at ``place``. Raises RunError when there is none, naming the splits there are."""
    path = Path(place)
    if path.is_file():
        return path, path.name.partition(".")[0]
    name = path.name or path.absolute().name
    if (path / RUN_FILE).is_file():
        return path / RUN_FILE, name
    folder = path / split
    if not (folder / RUN_FILE).is_file() or not (folder / JUDGEMENTS_FILE).is_file():
        there = splits_of(path)
        known = f"it holds {', '.join(there)}" if there else "make one with: tosloc train, or tosloc rank"
        raise RunError(f"{place}: no finished run of the split {split!r}; {known}")
    return folder / RUN_FILE, name


def evaluate_folder(folder: str | Path, split: str) -> Evaluation:
    """Evaluation of the run in ``folder/split``. Raises RunError when there is none, naming the splits there are."""
    return read_scored(folder, split).evaluation()


def splits_of(folder: str | Path) -> list[str]:
    """Names of the splits whose run is in ``folder``, by name."""
    return sorted(
        run.parent.name for run in Path(folder).glob(f"*/{RUN_FILE}") if (run.parent / JUDGEMENTS_FILE).is_file()
    )
