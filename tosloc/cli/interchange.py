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
SUFFIXES = frozenset({".java"})
"""Of the projects whose ranks were published."""


def import_run(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A run in TREC's form, or labelled reports with published ranks.")
    ],
    out: OutOption,
    qrels: Annotated[
        Path | None,
        typer.Option("--qrels", help="What is true of a TREC run: TREC's form or ours."),
    ] = None,
    repo: Annotated[Path | None, typer.Option("--repo", help="Git repository of published ranks.")] = None,
    zone: ZoneOption = "UTC",
    split: Annotated[Split, typer.Option("--split", help="Which published ranks.")] = Split.test,
) -> None:
    """Make a run of another tool's results.

    From a run in TREC's form, paths percent-encoded; or, with --repo, from the ranks that the data of Ye et al.
    publish in their column "result".
    """
    from tosloc.evaluate.run_paths import format_of

    found = format_of(file)
    if found == "TREC run":
        if repo is not None:
            raise RunError(f"{file}: a run in TREC's form; --repo is for labelled reports with published ranks")
        _import_trec(file, qrels, out)
    elif found == "TREC qrels":
        raise RunError(f"{file}: judgements in TREC's form; name the run, and these with --qrels")
    elif found == "JSON lines":
        raise RunError(f"{file}: JSON lines; a run of ours needs no import, and other JSON has no ranks")
    elif repo is None:
        raise RunError(
            f"{file}: not a run in TREC's form; if it is labelled reports, name their repository with --repo"
        )
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
    scored.evaluation()  # refuses what other tools would not see
    if scored.run.partial:
        raise RunError(f"{run}: only the ranks of some files are known; TREC's form holds whole rankings")
    write_trec_qrels(out / "qrels.trec", scored.qrels, others=others)
    write_trec_run(out / "run.trec", scored.run, scored.name)
    print_notes([f"{len(scored.qrels)} rankings are in {out}, as run.trec and qrels.trec"])


def _import_trec(file: Path, qrels: Path | None, out: Path) -> None:
    from tosloc import __version__
    from tosloc.cli.printing import print_notes
    from tosloc.evaluate import (
        FILE_LISTS_FILE,
        JUDGEMENTS_FILE,
        RUN_FILE,
        evaluate,
        write_file_lists,
        write_judgements,
        write_run,
    )
    from tosloc.evaluate.run_paths import read_any_judgements
    from tosloc.evaluate.trec import read_trec_run

    run = read_trec_run(file)
    truth = None if qrels is None else read_any_judgements(qrels)
    if truth is not None:
        evaluate(run, truth)
    header = {"method": run.header["tag"], "tosloc": __version__, "imported": {"form": "TREC", **_named(file)}}
    _forget_truth(out)
    write_run(out / RUN_FILE, header, run.rankings())
    if truth is not None:
        if (lists := truth.file_lists) is not None:
            files = ((version, sorted(lists.files(version))) for version in lists.versions)
            write_file_lists(out / FILE_LISTS_FILE, files)
        write_judgements(out / JUDGEMENTS_FILE, truth.judgements.values())
    print_notes(
        [f"{len(run.orders)} rankings are in {out}" + ("; to judge them, name --qrels" if truth is None else "")]
    )


def _import_published(file: Path, repo: Path, zone: str, split: str, out: Path) -> None:
    from tosloc import __version__
    from tosloc.cli.printing import print_notes
    from tosloc.cli.progress import shown
    from tosloc.evaluate import RUN_FILE
    from tosloc.evaluate.runs import write_known_ranks
    from tosloc.experiment import write_truth
    from tosloc.git.repository import Repository
    from tosloc.reports.labelled import load_dataset, parts_of, published_ranks

    with Repository(repo) as repository, shown() as callback:
        dataset = load_dataset(repository, file, zone=zone, suffixes=SUFFIXES, progress=callback)
        part = parts_of(dataset.cases)[split]
        try:
            published = published_ranks(dataset, part)
            if not published:
                raise ReportError(f"none of {counted(len(part), 'report')} has published ranks (the column result)")
        except ReportError as error:
            raise ReportError(f"{file}: split {split}: {error}") from None
        header = {
            "method": METHOD,
            "tosloc": __version__,
            "reports": _named(file),
            "split": split,
            "search space": "all source files of the before-fix version",
            "left out": {"reports without published ranks": len(part) - len(published)},
            "unresolved": len(dataset.unresolved),
        }
        folder, cases = out / split, [case for case in part if case.report.id in published]
        _forget_truth(folder)
        write_known_ranks(folder / RUN_FILE, header, published.items())
        write_truth(folder, cases, dataset, lambda version: repository.snapshot(version, SUFFIXES))
    print_notes(
        [
            f"{len(cases)} of {len(part)} {split} reports have published ranks; left out of the run and of its"
            f" judgements: {len(part) - len(cases)}",
            f"now run: tosloc evaluate {out} --split {split}",
        ]
    )


def _forget_truth(folder: Path) -> None:
    """Remove judgements of the run that is about to be replaced: a folder that has them is finished."""
    from tosloc.evaluate import FILE_LISTS_FILE, JUDGEMENTS_FILE

    for name in (JUDGEMENTS_FILE, FILE_LISTS_FILE):
        (folder / name).unlink(missing_ok=True)


def _named(file: Path) -> dict[str, str]:
    """Name and SHA-256 of a file, for provenance."""
    from tosloc.experiment import fingerprint

    return {"name": file.name, "sha256": fingerprint(file)}
