"""The command over several training folders, ``feature-ablation``. Heavy imports wait inside."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tosloc.cli.options import ProgressOption

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
