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
from tosloc.core.errors import RunError, pluralize
from tosloc.evaluate.measures import Evaluation, ReportScores, evaluate
from tosloc.evaluate.runs.folder import RUN_FILE, RunFolder
from tosloc.evaluate.runs.jsonl import is_json
from tosloc.evaluate.runs.judgements import (
    Judgement,
    Qrels,
    read_judgements,
    to_qrels,
)
from tosloc.evaluate.runs.run import (
    CONTRADICTED_REPORTS,
    TRAINED_ON,
    UNJUDGED_REPORTS,
    Order,
    Run,
    read_run,
)
from tosloc.evaluate.runs.trec import (
    read_trec_qrels,
    read_trec_run,
    write_trec_qrels,
    write_trec_run,
)
from tosloc.paths.classify import which_are_tests

BM25_NAME: Final = "BM25 over functions"


@dataclass(frozen=True, eq=False)
class ScoredRun:
    """A run with its judgements, under the name that it has in tables."""

    name: str
    """Name of the folder or file, and what ordered the first files, if that was not TosLoc."""
    run: Run
    qrels: Qrels
    shipped: ScoredRun | None = None
    """For a trained run: the shipped weights' run on the same reports; None if there is none."""

    @classmethod
    def read(
        cls, path: str | Path, split: str | None = None, qrels: str | Path | None = None
    ) -> ScoredRun:
        """Return the run at ``path`` with its judgements.

        ``path`` is the folder that train or rank wrote, in which ``split`` is read (None: the split
        test, or the only one), or the folder of a split, or a run file. Files may be in our format
        or in TREC's. The judgements are read from ``qrels``, or by default from qrels.jsonl beside
        the run, which also supplies numbers of searched files that are missing in ``qrels``. Raises
        RunError if either cannot be found or read.
        """
        file, name = find_run(path, split)
        folder = RunFolder(file.parent)
        run = read_run(file) if is_json(file) else read_trec_run(file)
        if qrels is None:
            if not folder.is_finished:
                raise RunError(
                    f"{path}: there are no judgements beside the run",
                    hint="name them with {qrels}, such as qrels.jsonl of another run of these"
                    " reports",
                )
            qrels = folder.judgements_file
        judgements = read_any_judgements(qrels)
        if file == folder.run_file and folder.is_finished:
            judgements = _completed(judgements, read_judgements(folder.judgements_file))
        shipped = None
        if file == folder.run_file and folder.shipped.run_file.is_file():
            shipped = cls("shipped", folder.shipped.read(), judgements)
        return cls(_with_origin(name, run), run, judgements, shipped)

    @classmethod
    def read_all(
        cls,
        paths: Sequence[Path],
        split: str | None,
        qrels: Path | None = None,
        no_tests: bool = False,
        functions: bool = False,
    ) -> list[ScoredRun]:
        """Read runs with their judgements, each under a name of its own.

        Runs with the same name are called by their paths. With ``functions``, each folder
        contributes TosLoc's run of functions, followed by BM25's. Raises RunError for a path that
        is given twice. Also raises RunError if ``functions`` is combined with ``qrels`` or
        ``no_tests``.
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
        runs = [cls.read(path, split, qrels) for path in paths]
        if no_tests:
            runs = [drop_test_files(run) for run in runs]
        name_counts = Counter(run.name for run in runs)
        return [
            replace(run, name=_with_origin(str(path), run.run))
            if name_counts[run.name] > 1
            else run
            for run, path in zip(runs, paths, strict=True)
        ]

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

    @property
    def notes(self) -> list[str]:
        """Sentences about the reports, from the header of the run's file.

        There is one if the ranker was trained on some of the reports, one if reports are left out,
        and one if the ranks of a TREC run contradict its scores.
        """
        notes = []
        learned = self._header_count(TRAINED_ON)
        if learned:
            notes.append(
                f"{self.name}: the checkpoint was trained on {pluralize(learned, 'report')} of"
                " these, so the numbers are too high"
            )
        unjudged = self._header_count(UNJUDGED_REPORTS)
        if unjudged:
            notes.append(
                f"left out {pluralize(unjudged, 'report')}: their version contains none of the"
                " functions that the fix changed"
            )
        contradicted = self._header_count(CONTRADICTED_REPORTS)
        if contradicted:
            notes.append(
                f"{self.name}: ranks contradict scores in {pluralize(contradicted, 'report')};"
                " files are ordered by score, the highest first"
            )
        return notes

    @property
    def notes_on_truth(self) -> list[str]:
        """Sentences on what makes the reports or their fixed files a weak truth."""
        notes = Judgement.notes_on_truth(self.qrels.values())
        return [f"{self.name}: {note}" for note in notes]

    @property
    def search_space(self) -> str:
        """The searched files in words, from the header of the run's file; "" if it is unknown."""
        value = self.run.header.get("search space")
        return value if isinstance(value, str) else ""

    def _header_count(self, key: str) -> int:
        """Return a count in the header; 0 if it is missing or not a number."""
        value = self.run.header.get(key)
        return value if isinstance(value, int) else 0

    def write(self, folder: Path, header: Mapping[str, Any]) -> None:
        """Write the run and its judgements, if it has any, to a folder."""
        judgements = self.qrels.values() if self.qrels else None
        RunFolder(folder).write(header, self.run.rankings(), judgements)

    def evaluation(self) -> Evaluation:
        """Evaluate the run. Raises RunError under the conditions of ``evaluate``."""
        return evaluate(self.run, self.qrels)

    def write_trec(self, folder: Path, *, others: bool = False) -> None:
        """Write run.trec and qrels.trec to a folder.

        With ``others``, searched files that are not fixed get the relevance 0. Raises RunError if a
        ranking does not contain all searched files, and for a run that cannot be evaluated.
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


def _completed(judgements: Qrels, own_judgements: Qrels) -> Qrels:
    """Return ``judgements`` with what only ``own_judgements`` know of versions and reports.

    The numbers of searched files are properties of the versions, whoever judges their files. The
    attributes of a report also depend on its fixed files, so they are taken if these are the same.
    """
    completed = []
    for judgement in judgements.values():
        own = own_judgements.get(judgement.report)
        if own is not None:
            searched = judgement.searched
            if searched is None and (own.searched or 0) >= len(judgement.fixed):
                searched = own.searched
            attributes = judgement.attributes
            if attributes is None and set(own.fixed) == set(judgement.fixed):
                attributes = own.attributes
            judgement = replace(judgement, searched=searched, attributes=attributes)
        completed.append(judgement)
    return to_qrels(completed)


def find_run(path: str | Path, split: str | None) -> tuple[Path, str]:
    """Return the file and the name of the run at a path that ``ScoredRun.read`` accepts.

    Without a ``split``, it is the split test if there is one, or else the only split. Raises
    RunError, which names the splits found there, if there is no run.
    """
    path = Path(path)
    if path.is_file():
        return path, path.name.partition(".")[0]
    if not path.exists():
        raise RunError(f"{path}: no such file or folder; check the path of the run")
    name = path.name or path.absolute().name
    if RunFolder(path).run_file.is_file():
        return RunFolder(path).run_file, name
    finished_splits = set()
    for run in path.glob(f"*/{RUN_FILE}"):
        if RunFolder(run.parent).is_finished:
            finished_splits.add(run.parent.name)
    if not finished_splits:
        raise RunError(
            f"{path}: there is no finished run",
            hint="create one with tosloc train or tosloc rank; for runs of many projects, use"
            " tosloc lab evaluate",
        )
    names = sorted(finished_splits)
    if split is None:
        split = names[0] if len(names) == 1 else "test"
    if split not in finished_splits:
        raise RunError(
            f"{path}: there is no finished run of the split {split}, but of {', '.join(names)}",
            hint=f"read one with {{split}} {names[0]}",
        )
    return RunFolder(path / split).run_file, name


def _with_origin(name: str, run: Run) -> str:
    """Return a run's name with what ordered its first files: an own reranker, a language model."""
    origins = []
    reranker = run.header.get("reranker")
    if isinstance(reranker, Mapping):
        origins.append(str(reranker.get("class")))
    model = run.header.get("language model")
    if isinstance(model, str):
        origins.append(f"language model {model}")
    return f"{name} ({', '.join(origins)})" if origins else name


def read_function_runs(path: str | Path, split: str | None = None) -> tuple[ScoredRun, ScoredRun]:
    """Return TosLoc's and BM25's run of functions that ``rank --functions`` wrote.

    ``path`` is the folder that it wrote, in which ``split`` is read, or the folder of a split.
    Raises RunError if there are no such runs.
    """
    file, name = find_run(path, split)
    folder = RunFolder(file.parent)
    if not folder.functions.path.is_dir():
        raise RunError(
            f"{file.parent}: there is no run of functions",
            hint="create it with: tosloc rank --functions",
        )
    ours = ScoredRun.read(folder.functions.path)
    bm25 = ScoredRun.read(folder.functions_bm25.path)
    return replace(ours, name=_with_origin(name, ours.run)), replace(
        bm25, name=f"{name}: {BM25_NAME}"
    )


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
    searched = scored.search_space or "all source files"
    header = {**run.header, "search space": f"{searched} but tests"}
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
    if scores.searched is not None and scores.ranked == scores.searched:
        searched = int(stays.sum())
    return replace(
        scores.judgement,
        fixed=_without_tests(scores.judgement.fixed),
        listed=_without_tests(scores.judgement.listed),
        searched=searched,
    )


def _without_tests(paths: Sequence[str]) -> tuple[str, ...]:
    return tuple(compress(paths, ~which_are_tests(paths)))
