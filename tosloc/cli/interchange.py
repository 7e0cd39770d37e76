"""The commands that exchange runs with other tools: ``import-run`` and ``export-run``. Heavy imports wait inside."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tosloc.cli.commands import ZoneOption
from tosloc.cli.judging import QrelsOption, SplitOption
from tosloc.cli.options import OutOption, Split
from tosloc.errors import ReportError, RunError, counted

METHOD = "learning to rank, published ranks"
SUFFIXES = frozenset({".java"})  # of the projects whose ranks were published


def import_run(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A run in TREC's form, or labelled reports with published ranks.")
    ],
    out: OutOption,
    qrels: Annotated[
        Path | None,
        typer.Option(help="What is true of a TREC run: TREC's form or ours."),
    ] = None,
    repo: Annotated[Path | None, typer.Option(help="Git repository of published ranks.")] = None,
    zone: ZoneOption = "UTC",
    split: Annotated[Split, typer.Option(help="Which published ranks.")] = Split.test,
) -> None:
    """Make a run of another tool's results.

    From a run in TREC's form, paths percent-encoded; or, with --repo, from the ranks that the data of Ye et al.
    publish in their column "result".
    """
    if repo is None:
        _import_trec(file, qrels, out)
    elif qrels is not None:
        raise RunError(f"{file}: labelled reports say themselves what is true; leave out --qrels")
    else:
        _import_published(file, repo, zone, split.value, out)


def export_run(
    run: Annotated[
        Path, typer.Argument(metavar="RUN", help="Folder that train or rank wrote, a split's folder, or a run file.")
    ],
    out: OutOption,
    split: SplitOption = Split.test,
    qrels: QrelsOption = None,
    others: Annotated[
        bool, typer.Option("--others", help="Judge every other searched file as 0: large, but bpref agrees.")
    ] = False,
) -> None:
    """Write a run and its judgements for other tools.

    As run.trec and qrels.trec: paths percent-encoded, scores counting down so that every tool ranks alike.
    """
    from tosloc.cli.printing import print_notes
    from tosloc.evaluate.run_paths import read_scored
    from tosloc.evaluate.trec import write_trec_qrels, write_trec_run

    scored = read_scored(run, split.value, qrels)
    if scored.evaluation().length != 1 and others:  # which also refuses what other tools would not see
        raise RunError(f"{run}: not every ranking is known to hold all files that were searched; leave out --others")
    write_trec_run(out / "run.trec", scored.run, scored.name)
    write_trec_qrels(out / "qrels.trec", scored.qrels, scored.run if others else None)
    print_notes([f"{len(scored.qrels)} rankings are in {out}, as run.trec and qrels.trec"])


def _import_trec(file: Path, qrels: Path | None, out: Path) -> None:
    from tosloc import __version__
    from tosloc.cli.printing import print_notes
    from tosloc.evaluate.evaluate import evaluate
    from tosloc.evaluate.judgements import write_judgements
    from tosloc.evaluate.run_paths import JUDGEMENTS_FILE, RUN_FILE, read_any_judgements
    from tosloc.evaluate.runs import write_run
    from tosloc.evaluate.trec import read_trec_run
    from tosloc.experiment import named

    run = read_trec_run(file)
    header = {"method": run.header["tag"], "tosloc": __version__, "imported": {"form": "TREC", **named(file)}}
    truth = {} if qrels is None else read_any_judgements(qrels)
    if truth:
        evaluate(run, truth)
    (out / JUDGEMENTS_FILE).unlink(missing_ok=True)  # last, since a folder with judgements is a finished run
    write_run(out / RUN_FILE, header, run.rankings())
    if truth:
        write_judgements(out / JUDGEMENTS_FILE, truth.values())
    to_judge = "; to judge them, name --qrels" if qrels is None else ""
    print_notes([f"{len(run.orders)} rankings are in {out}{to_judge}"])


def _import_published(file: Path, repo: Path, zone: str, split: str, out: Path) -> None:
    from tosloc import __version__
    from tosloc.cli.printing import print_notes
    from tosloc.cli.progress import shown
    from tosloc.evaluate.run_paths import RUN_FILE
    from tosloc.evaluate.runs import write_known_ranks
    from tosloc.experiment import named, write_truth
    from tosloc.git.repository import Repository
    from tosloc.reports.labelled import chronological, load_dataset, published_ranks

    with Repository(repo) as repository, shown() as callback:
        dataset = load_dataset(repository, file, zone=zone, suffixes=SUFFIXES, progress=callback)
        part = chronological(dataset.cases)[split]
        published = published_ranks(dataset, part)
        if not published:
            number = counted(len(part), "report")
            raise ReportError(f"{file}: split {split}: none of {number} has published ranks (the column result)")
        header = {
            "method": METHOD,
            "tosloc": __version__,
            "reports": named(file),
            "split": split,
            "search space": "all source files of the before-fix version",
            "left out": {"reports without published ranks": len(part) - len(published)},
            "unresolved": len(dataset.unresolved),
        }
        folder, cases = out / split, [case for case in part if case.report.id in published]
        write_known_ranks(folder / RUN_FILE, header, published.items())
        write_truth(folder, cases, dataset)
    print_notes(
        [
            f"{len(cases)} of {len(part)} {split} reports have published ranks; left out of the run and of its"
            f" judgements: {len(part) - len(cases)}",
            f"now run: tosloc evaluate {out} --split {split}",
        ]
    )
