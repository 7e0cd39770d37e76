"""Runs with their judgements: where they lie, in our form (JSON lines) or TREC's, and in a part of the search space.

A run lies in a folder of splits, in one split's folder, or is a file with its judgements. The first line of a file
tells its form, not its name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from tosloc.errors import RunError
from tosloc.evaluate.evaluate import Evaluation, evaluate
from tosloc.evaluate.jsonl import is_json
from tosloc.evaluate.judgements import FILE_LISTS_FILE, Qrels, read_judgements, write_file_lists, write_judgements
from tosloc.evaluate.runs import Order, Run, read_run, write_run
from tosloc.evaluate.trec import read_trec_qrels, read_trec_run
from tosloc.records import BoolArray

# N paths

RUN_FILE: Final = "run.jsonl.gz"
JUDGEMENTS_FILE: Final = "qrels.jsonl"
FUNCTION_LEVEL: Final = "functions"  # folder, beside a run of files, of the run of functions
BM25_LEVEL: Final = "functions-bm25"  # the same of BM25 over functions
BM25_NAME: Final = "BM25 over functions"


@dataclass(frozen=True, eq=False)
class ScoredRun:
    """A run with its judgements, under the name that tables give it."""

    name: str
    run: Run
    qrels: Qrels

    def evaluation(self) -> Evaluation:
        """How good the run is. Raises RunError."""
        return evaluate(self.run, self.qrels)

    def write(self, folder: Path) -> None:
        """Write the run, what is known of versions, and last the judgements, if any: a folder with these is finished.
        Those of a run that is replaced go first.
        """
        for name in (JUDGEMENTS_FILE, FILE_LISTS_FILE):
            (folder / name).unlink(missing_ok=True)
        write_run(folder / RUN_FILE, self.run.header, self.run.rankings())
        if (lists := self.qrels.file_lists) is not None:
            versions = ((version, sorted(lists.files(version))) for version in lists.versions)
            write_file_lists(folder / FILE_LISTS_FILE, versions)
        if self.qrels.judgements:
            write_judgements(folder / JUDGEMENTS_FILE, self.qrels.judgements.values())


def read_any_run(path: str | Path) -> Run:
    """Run of a file in either form. Raises RunError as its reader does."""
    return read_run(path) if is_json(path) else read_trec_run(path)


def read_any_judgements(path: str | Path) -> Qrels:
    """Judgements of a file in either form. Raises RunError as its reader does."""
    return read_judgements(path) if is_json(path) else read_trec_qrels(path)


def read_scored(path: str | Path, split: str = "test", qrels: str | Path | None = None) -> ScoredRun:
    """The run at ``path``: the folder that train or rank wrote (its ``split``), a split's folder, or a run file. Files
    may be ours or in TREC's form. A run file's judgements are ``qrels``, else qrels.jsonl beside it. Raises RunError.
    """
    file, name = find_run(path, split)
    truth = file.parent / JUDGEMENTS_FILE if qrels is None else qrels
    run = read_any_run(file)
    if qrels is None and not (file.parent / JUDGEMENTS_FILE).is_file():
        raise RunError(f"{path}: no judgements beside the run; name them with --qrels")
    return ScoredRun(name, run, read_any_judgements(truth))


def find_run(path: str | Path, split: str) -> tuple[Path, str]:
    """File and name of a run, see ``read_scored``. Raises RunError when there is none, naming the splits there are."""
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
        if not finished and any(place.glob(f"*/*/{RUN_FILE}")):
            known = "it holds runs in folders: name one, or for those of many projects see tosloc lab evaluate"
        raise RunError(f"{path}: no finished run of the split {split!r}; {known}")
    return place / split / RUN_FILE, name


def read_function_runs(path: str | Path, split: str = "test") -> tuple[ScoredRun, ScoredRun]:
    """Runs of functions of the folder that ``rank --functions`` wrote (its ``split``), or of a split's folder: ours and
    BM25's. Raises RunError when it has none.
    """
    place = Path(path)
    part = next((one for one in (place, place / split) if (one / FUNCTION_LEVEL / JUDGEMENTS_FILE).is_file()), None)
    if part is None:
        made = [one.parent.parent.name for one in place.glob(f"*/{FUNCTION_LEVEL}/{RUN_FILE}")]
        known = f"it has them for {', '.join(sorted(made))}" if made else "make them with: tosloc rank --functions"
        raise RunError(f"{path}: no run of functions of the split {split!r}; {known}")
    ours, bm25 = read_scored(part / FUNCTION_LEVEL), read_scored(part / BM25_LEVEL)
    name = place.name or place.absolute().name
    return replace(ours, name=name), replace(bm25, name=f"{name}: {BM25_NAME}")


def only_some_files(scored: ScoredRun, keeps: Callable[[Sequence[str]], BoolArray], search_space: str) -> ScoredRun:
    """The same rankings and truth without the files that are not kept; its header calls what is left ``search_space``.
    ``keeps`` tells of N paths which are kept, (N,). A report whose fixed files are all left out stays, with none.
    Raises RunError where only some ranks are known.
    """
    run, lists = scored.run, scored.qrels.file_lists
    if run.partial:
        raise RunError(f"{run.where}: only the ranks of some files are known; files can be left out of whole rankings")

    def kept(paths: Sequence[str]) -> tuple[str, ...]:
        return tuple(path for path, inside in zip(paths, keeps(paths).tolist(), strict=True) if inside)

    orders, inside = {}, keeps(run.names)
    for report, order in run.orders.items():
        stays = inside[order.files]
        orders[report] = Order(order.files[stays], order.scores[stays])
    if lists is not None:
        named = np.asarray(keeps(lists.names.names), dtype=np.bool_)
        lists = replace(lists, versions={version: files[named[files]] for version, files in lists.versions.items()})
    judgements = {}
    for report, one in scored.qrels.judgements.items():
        searched = None  # a ranking that held every searched file holds all that are left of them
        if report in orders and one.searched in (None, len(run.orders[report].files)):
            searched = len(orders[report].files)
        if lists is not None and one.version is not None:
            searched = len(lists.of(one.version))
        judgements[report] = replace(one, fixed=kept(one.fixed), listed=kept(one.listed), searched=searched)
    header = {**run.header, "search space": search_space}
    return ScoredRun(scored.name, Run(header, run.names, orders, run.where), Qrels(judgements, lists))
