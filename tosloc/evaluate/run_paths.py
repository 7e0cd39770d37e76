"""Find runs with their judgements on disk, in our format or TREC's, also without test files.

A path leads to a run in one of three ways: as a folder with splits, as the folder of one split, or
as a file beside its judgements. The first line of a file shows its format; the name does not
matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any, Final

from tosloc.core.arrays import BoolArray
from tosloc.core.errors import RunError
from tosloc.evaluate.measures import Evaluation, ReportScores, evaluate
from tosloc.evaluate.runs.jsonl import is_json
from tosloc.evaluate.runs.judgements import (
    Judgement,
    Qrels,
    read_judgements,
    to_qrels,
    write_judgements,
)
from tosloc.evaluate.runs.run import Order, Run, read_run, write_run
from tosloc.evaluate.runs.trec import (
    read_trec_qrels,
    read_trec_run,
    write_trec_qrels,
    write_trec_run,
)
from tosloc.paths.classify import which_are_tests

RUN_FILE: Final = "run.jsonl.gz"
JUDGEMENTS_FILE: Final = "qrels.jsonl"
FUNCTION_LEVEL: Final = "functions"
"""Folder, beside a run of files, of the run of functions."""
BM25_LEVEL: Final = "functions-bm25"
"""Folder, beside a run of files, of the run of functions by BM25."""
SHIPPED: Final = "shipped"
"""Folder in the folder of a training with the shipped weights' runs on the same reports."""
BM25_NAME: Final = "BM25 over functions"


@dataclass(frozen=True, eq=False)
class ScoredRun:
    """A run with its judgements, under the name that it has in tables."""

    name: str
    run: Run
    qrels: Qrels
    shipped: ScoredRun | None = None
    """For a trained run: the shipped weights' run on the same reports; None if there is none."""

    @classmethod
    def read_trec(cls, file: Path, qrels: Path | None = None) -> ScoredRun:
        """Return a run in TREC's format, with judgements of either format if they are given.

        Raises RunError for a file that cannot be read, and for judgements that do not fit the run.
        """
        run = read_trec_run(file)
        scored = cls(file.name, run, {} if qrels is None else read_any_judgements(qrels))
        if scored.qrels:
            scored.evaluation()
        return scored

    def write(self, folder: Path, header: Mapping[str, Any]) -> None:
        """Write the run and its judgements, if it has any, to a folder.

        Judgements are written last, because a folder that contains them is a finished run.
        """
        (folder / JUDGEMENTS_FILE).unlink(missing_ok=True)
        write_run(folder / RUN_FILE, header, self.run.rankings())
        if self.qrels:
            write_judgements(folder / JUDGEMENTS_FILE, self.qrels.values())

    def evaluation(self) -> Evaluation:
        """Evaluate the run. Raises RunError under the conditions of ``evaluate``."""
        return evaluate(self.run, self.qrels)

    def write_trec(self, folder: Path, *, others: bool = False) -> None:
        """Write run.trec and qrels.trec to a folder.

        With ``others``, searched files that are not fixed get the relevance 0. Raises RunError if a
        ranking lacks such files, and for a run that cannot be evaluated.
        """
        # Computing this also refuses a run whose faults other tools would not notice.
        ranked_share = self.evaluation().length
        if others and ranked_share != 1:
            raise RunError(
                f"{self.run.where}: some rankings do not contain all searched files",
                hint="leave out {others}",
            )
        write_trec_run(folder / "run.trec", self.run, self.name)
        write_trec_qrels(folder / "qrels.trec", self.qrels, self.run if others else None)


def read_any_judgements(path: str | Path) -> Qrels:
    """Read the judgements of a file in either format. Raises RunError if the file is invalid."""
    return read_judgements(path) if is_json(path) else read_trec_qrels(path)


def read_scored_run(
    path: str | Path, split: str = "test", qrels: str | Path | None = None
) -> ScoredRun:
    """Return the run at ``path`` with its judgements.

    ``path`` is the folder that train or rank wrote, in which ``split`` is read, or the folder of a
    split, or a run file. Files may be in our format or in TREC's. The judgements are read from
    ``qrels``, or by default from qrels.jsonl beside the run. Raises RunError if either cannot be
    found or read.
    """
    file, name = find_run(path, split)
    run = read_run(file) if is_json(file) else read_trec_run(file)
    if qrels is None:
        qrels = file.parent / JUDGEMENTS_FILE
        if not qrels.is_file():
            raise RunError(
                f"{path}: there are no judgements beside the run", hint="name them with {qrels}"
            )
    judgements = read_any_judgements(qrels)
    shipped = None
    shipped_file = file.parent.parent / SHIPPED / file.parent.name / RUN_FILE
    if file.name == RUN_FILE and shipped_file.is_file():
        shipped = ScoredRun(SHIPPED, read_run(shipped_file), judgements)
    return ScoredRun(name, run, judgements, shipped)


def find_run(path: str | Path, split: str) -> tuple[Path, str]:
    """Return the file and the name of the run at a path that ``read_scored_run`` accepts.

    Raises RunError, which names the splits found there, if there is no run.
    """
    path = Path(path)
    if path.is_file():
        return path, path.name.partition(".")[0]
    if not path.exists():
        raise RunError(f"{path}: no such file or folder; check the path of the run")
    name = path.name or path.absolute().name
    if (path / RUN_FILE).is_file():
        return path / RUN_FILE, name
    finished_splits = set()
    for run in path.glob(f"*/{RUN_FILE}"):
        if (run.parent / JUDGEMENTS_FILE).is_file():
            finished_splits.add(run.parent.name)
    if split not in finished_splits:
        if finished_splits:
            advice = f"it contains {', '.join(sorted(finished_splits))}"
        else:
            advice = (
                "create one with tosloc train or tosloc rank; for runs of many projects, use"
                " tosloc lab evaluate"
            )
        raise RunError(f"{path}: there is no finished run of the split {split!r}; {advice}")
    return path / split / RUN_FILE, name


def read_function_runs(path: str | Path, split: str = "test") -> tuple[ScoredRun, ScoredRun]:
    """Return TosLoc's and BM25's run of functions that ``rank --functions`` wrote.

    ``path`` is the folder that it wrote, in which ``split`` is read, or the folder of a split.
    Raises RunError if there are no such runs.
    """
    file, name = find_run(path, split)
    if not (file.parent / FUNCTION_LEVEL).is_dir():
        raise RunError(
            f"{file.parent}: there is no run of functions",
            hint="create it with: tosloc rank --functions",
        )
    ours = read_scored_run(file.parent / FUNCTION_LEVEL)
    bm25 = read_scored_run(file.parent / BM25_LEVEL)
    return replace(ours, name=name), replace(bm25, name=f"{name}: {BM25_NAME}")


def drop_test_files(scored: ScoredRun) -> ScoredRun:
    """Return the run, its judgements and its ``shipped`` run without test files.

    A report whose fixed files are all tests keeps its place, but has no fixed file. Raises RunError
    for a run of which only some ranks are known, or which cannot be evaluated.
    """
    run = scored.run
    if run.partial:
        raise RunError(
            f"{run.where}: only the ranks of some files are known; files can be left out only of"
            " complete rankings"
        )
    is_source = ~which_are_tests(run.names)
    orders = {}
    judgements = []
    for scores in scored.evaluation().per_report:
        order = run.orders[scores.report]
        stays = is_source[order.files]
        orders[scores.report] = Order(order.files[stays], order.scores[stays])
        judgements.append(_judgement_without_tests(scores, stays))
    header = {**run.header, "search space": "all source files but tests"}
    return ScoredRun(
        scored.name,
        Run(header, run.names, orders, run.where),
        to_qrels(judgements),
        None if scored.shipped is None else drop_test_files(scored.shipped),
    )


def _judgement_without_tests(scores: ReportScores, stays: BoolArray) -> Judgement:
    """Return the judgement of a report without test files.

    ``stays`` (F,) is true for the ranked files that are not tests.
    """
    searched = None
    # Only a complete ranking tells how many of the searched files are not tests.
    if scores.searched is None or scores.ranked == scores.searched:
        searched = int(stays.sum())
    return replace(
        scores.judgement,
        fixed=_without_tests(scores.judgement.fixed),
        listed=_without_tests(scores.judgement.listed),
        searched=searched,
    )


def _without_tests(paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(compress(paths, ~which_are_tests(paths)))


def read_scored_runs(
    paths: Sequence[Path],
    split: str,
    qrels: Path | None = None,
    no_tests: bool = False,
    functions: bool = False,
) -> list[ScoredRun]:
    """Read runs with their judgements, each under a name of its own.

    Runs with the same name are called by their paths. With ``functions``, each folder contributes
    TosLoc's run of functions, followed by BM25's. Raises RunError for a path that is given twice.
    Also raises RunError if ``functions`` is combined with ``qrels`` or ``no_tests``.
    """
    for path, times in Counter(paths).items():
        if times > 1:
            raise RunError(f"{path} is given twice")
    if functions:
        if qrels is not None or no_tests:
            raise RunError(
                "other judgements and leaving out tests apply only to files",
                hint="leave out {level} function",
            )
        function_runs: list[ScoredRun] = []
        for path in paths:
            function_runs += read_function_runs(path, split)
        return function_runs
    runs = [read_scored_run(path, split, qrels) for path in paths]
    if no_tests:
        runs = [drop_test_files(run) for run in runs]
    name_counts = Counter(run.name for run in runs)
    return [
        replace(run, name=str(path)) if name_counts[run.name] > 1 else run
        for run, path in zip(runs, paths, strict=True)
    ]
