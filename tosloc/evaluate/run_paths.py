"""Runs with their judgements: where they lie, in our form (JSON lines) or TREC's, and in a part of the search space.

A run lies in a folder of splits, in one split's folder, or is a file with its judgements. The first line of a file
tells its form, not its name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Final

from tosloc.core.errors import RunError
from tosloc.evaluate.jsonl import is_json
from tosloc.evaluate.judgements import Qrels, read_judgements, to_qrels
from tosloc.evaluate.measures import Evaluation, evaluate
from tosloc.evaluate.runs import Order, Run, read_run
from tosloc.evaluate.trec import read_trec_qrels, read_trec_run
from tosloc.paths.classify import which_are_tests

RUN_FILE: Final = "run.jsonl.gz"
JUDGEMENTS_FILE: Final = "qrels.jsonl"
FUNCTION_LEVEL: Final = "functions"  # folder, beside a run of files, of the run of functions
BM25_LEVEL: Final = "functions-bm25"  # the same of BM25 over functions
SHIPPED: Final = (
    "shipped"  # folder, in that of a training, of the shipped weights' runs of the same reports
)
BM25_NAME: Final = "BM25 over functions"


@dataclass(frozen=True, eq=False)
class ScoredRun:
    """A run with its judgements, under the name that tables give it."""

    name: str
    run: Run
    qrels: Qrels
    shipped: ScoredRun | None = None
    """Of a trained run: the shipped weights' rankings of the same reports, where training has left them."""

    def evaluation(self) -> Evaluation:
        """How good the run is. Raises RunError."""
        return evaluate(self.run, self.qrels)


def read_any_judgements(path: str | Path) -> Qrels:
    """Judgements of a file in either form. Raises RunError as its reader does."""
    return read_judgements(path) if is_json(path) else read_trec_qrels(path)


def read_scored_run(
    path: str | Path, split: str = "test", qrels: str | Path | None = None
) -> ScoredRun:
    """Return the run at ``path``: the folder that train or rank wrote (its ``split``), a split's folder, or a run file.

    Files may be ours or in TREC's form. A run file's judgements are ``qrels``, else qrels.jsonl beside it. Raises
    RunError.
    """
    file, name = find_run(path, split)
    run = read_run(file) if is_json(file) else read_trec_run(file)
    if qrels is None and not (file.parent / JUDGEMENTS_FILE).is_file():
        raise RunError(f"{path}: no judgements beside the run", hint="name them with {qrels}")
    judgements = read_any_judgements(qrels or file.parent / JUDGEMENTS_FILE)
    by_shipped = file.parent.parent / SHIPPED / file.parent.name / RUN_FILE
    if file.name != RUN_FILE or not by_shipped.is_file():
        return ScoredRun(name, run, judgements)
    return ScoredRun(name, run, judgements, ScoredRun(SHIPPED, read_run(by_shipped), judgements))


def find_run(path: str | Path, split: str) -> tuple[Path, str]:
    """File and name of a run, see ``read_scored_run``. Raises RunError when there is none, naming the splits there are."""
    place = Path(path)
    if place.is_file():
        return place, place.name.partition(".")[0]
    if not place.exists():
        raise RunError(f"{path}: no such file or folder; check the path of the run")
    name = place.name or place.absolute().name
    if (place / RUN_FILE).is_file():
        return place / RUN_FILE, name
    finished = {
        run.parent.name
        for run in place.glob(f"*/{RUN_FILE}")
        if (run.parent / JUDGEMENTS_FILE).is_file()
    }
    if split not in finished:
        known = f"it holds {', '.join(sorted(finished))}"
        if not finished:
            known = "make one with: tosloc train, or tosloc rank; runs of many projects are for tosloc lab evaluate"
        raise RunError(f"{path}: no finished run of the split {split!r}; {known}")
    return place / split / RUN_FILE, name


def read_function_runs(path: str | Path, split: str = "test") -> tuple[ScoredRun, ScoredRun]:
    """Runs of functions of the folder that ``rank --functions`` wrote (its ``split``), or of a split's folder: ours and
    BM25's. Raises RunError when it has none.
    """
    file, name = find_run(path, split)
    if not (file.parent / FUNCTION_LEVEL).is_dir():
        raise RunError(
            f"{file.parent}: no run of functions", hint="make it with: tosloc rank --functions"
        )
    ours, bm25 = (read_scored_run(file.parent / level) for level in (FUNCTION_LEVEL, BM25_LEVEL))
    return replace(ours, name=name), replace(bm25, name=f"{name}: {BM25_NAME}")


def drop_test_files(scored: ScoredRun) -> ScoredRun:
    """Return the same rankings and truth without test files, also of the shipped weights beside them.

    A report whose fixed files are all left out stays, with none. Raises RunError where only some ranks are known, and
    for what cannot be evaluated.
    """
    run = scored.run
    if run.partial:
        raise RunError(
            f"{run.where}: only the ranks of some files are known; files can be left out of whole rankings"
        )

    def kept(paths: Sequence[str]) -> tuple[str, ...]:
        return tuple(compress(paths, ~which_are_tests(paths)))

    source, orders, judgements = ~which_are_tests(run.names), {}, []
    for one in scored.evaluation().per_report:
        order, judgement = run.orders[one.report], one.judgement
        stays = source[order.files]
        orders[one.report] = Order(order.files[stays], order.scores[stays])
        # a ranking that held every searched file holds all that are left of them
        searched = int(stays.sum()) if one.ranked == one.searched or one.searched is None else None
        fixed, listed = kept(judgement.fixed), kept(judgement.listed)
        judgements.append(replace(judgement, fixed=fixed, listed=listed, searched=searched))
    header = {**run.header, "search space": "all source files but tests"}
    by_shipped = None if scored.shipped is None else drop_test_files(scored.shipped)
    return ScoredRun(
        scored.name, Run(header, run.names, orders, run.where), to_qrels(judgements), by_shipped
    )
