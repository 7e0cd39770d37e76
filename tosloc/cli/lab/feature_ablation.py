"""What each feature is worth: the change on train and validation when it alone is left out, per project and on average.

    python tosloc/cli/lab/feature_ablation.py runs/tomcat runs/swt runs/jdt runs/birt

The folders were made by ``tosloc train ... --keep-features``. Test is not looked at.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tosloc.cli.guard import guarded
from tosloc.config import Config
from tosloc.lab.multi_project import ablation
from tosloc.retrieval.stored_tables import StoredFeatureTables


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit code."""
    parser = argparse.ArgumentParser(description="What each feature is worth.")
    parser.add_argument("folders", nargs="+", type=Path)
    options = parser.parse_args(arguments)
    settings = Config().stage_one
    projects = [StoredFeatureTables.read(folder) for folder in options.folders]
    tables = {kept.name: ablation(settings, kept) for kept in projects}
    heads = " | ".join(f"{name} loss, MRR, MAP" for name in tables)
    print(f"| left out | {heads} | mean MRR, MAP |\n|{'---|' * (len(tables) + 2)}")
    for feature in next(iter(tables.values())):
        rows = [rows[feature] for rows in tables.values() if feature in rows]
        sign = "" if feature == "all" else "+"
        cells = [f"{loss:{sign}.3f} {mrr:{sign}.3f} {map_:{sign}.3f}" for loss, mrr, map_ in rows]
        mrr, map_ = (sum(row[part] for row in rows) / len(rows) for part in (1, 2))
        print(f"| {feature} | {' | '.join(cells)} | {mrr:{sign}.4f} {map_:{sign}.4f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
