"""The commands over several training folders: ``feature-ablation`` and ``pool``. Heavy imports wait inside."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tosloc.cli.options import ProgressOption
from tosloc.errors import ToslocError

FoldersArgument = Annotated[
    list[Path], typer.Argument(metavar="RUN", help="Folders that tosloc train --keep-features wrote.")
]


def feature_ablation(folders: FoldersArgument, progress: ProgressOption = None) -> None:
    """Show what each feature is worth.

    The change on train and validation when it alone is left out, per project and on average. Test is not looked at.
    """
    from tosloc.cli.printing import markdown_table
    from tosloc.cli.progress import shown
    from tosloc.config import Config
    from tosloc.lab.multi_project import feature_ablation
    from tosloc.retrieval.stored_tables import StoredFeatureTables

    projects = [StoredFeatureTables.read(folder) for folder in folders]
    with shown(progress) as callback:
        changes = {one.name: feature_ablation(Config().stage_one, one, callback) for one in projects}
    rows = []
    for feature in next(iter(changes.values())):
        found = [of_project[feature] for of_project in changes.values() if feature in of_project]
        sign = "" if feature == "all" else "+"
        cells = [f"{one.loss:{sign}.3f} {one.mrr:{sign}.3f} {one.map:{sign}.3f}" for one in found]
        mrr, map_ = sum(one.mrr for one in found) / len(found), sum(one.map for one in found) / len(found)
        rows.append([feature, *cells, f"{mrr:{sign}.4f} {map_:{sign}.4f}"])
    print(markdown_table(["left out", *(f"{name} loss, MRR, MAP" for name in changes), "mean MRR, MAP"], rows), end="")


def pool(
    folders: FoldersArgument,
    out: Annotated[Path | None, typer.Option("--out", help="Folder to write weights.json and ranker.txt to.")] = None,
    leave_one_out: Annotated[
        bool, typer.Option("--leave-one-out", help="Print each project's numbers with what the others teach.")
    ] = False,
    figure: Annotated[
        Path | None,
        typer.Option(
            "--figure", metavar="PATH", help="Draw how sure each project's answers are, as PATH.svg and .png."
        ),
    ] = None,
    progress: ProgressOption = None,
) -> None:
    """Learn the shipped weights from several projects.

    Or see how they serve a project that they never saw, and whether their shares mean there what they say.
    """
    from tosloc.cli.lab.calibration import draw, show
    from tosloc.cli.printing import markdown_table
    from tosloc.cli.progress import shown
    from tosloc.config import Config
    from tosloc.lab.multi_project import leave_one_out as numbers_without
    from tosloc.lab.multi_project import read_alike, write_weights

    if figure is not None and not leave_one_out:
        raise ToslocError("--figure: it shows what --leave-one-out measures; ask for both")
    settings, projects = Config().stage_one, read_alike(folders)
    with shown(progress) as callback:
        if leave_one_out:
            found = list(numbers_without(settings, projects, callback))
            rows = [
                [one.project, one.stage, *(f"{value:.3f}" for value in (*one.validation, *one.test))] for one in found
            ]
            print(markdown_table(["project", "stage one", "validation MRR", "MAP", "test MRR", "MAP"], rows))
            shares = {one.project: (one.shares, one.temperature) for one in found if one.shares is not None}
            if figure is not None:
                draw(shares, figure)
            show(shares, as_markdown=True)
        if out is not None:
            print(f"wrote {write_weights(settings, projects, out)}", file=sys.stderr)
