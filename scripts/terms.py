"""Learn a second stage of term vectors on a training folder that keeps its features, without training stage one again.

    python scripts/terms.py runs/tomcat --repo tomcat.git --reports Tomcat.xlsx --out runs/tomcat-terms

The folder was made by ``tosloc train ... --keep-features``. What comes out is what ``tosloc train`` with
``reader = "terms"`` in [stage_two] would leave: a checkpoint, runs of both stages, and runs of stage one beside them.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tosloc.cli.guard import guarded
from tosloc.cli.progress import shown
from tosloc.config import Config, load_config
from tosloc.evaluation import evaluate_folder
from tosloc.experiment import STAGE_ONE, learn_terms


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit code."""
    parser = argparse.ArgumentParser(description="Learn a second stage of term vectors.")
    parser.add_argument("run", type=Path, help="folder that tosloc train --keep-features wrote")
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--reports", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--config", type=Path, help="its [stage_two.terms] and [run] count; else the defaults")
    parser.add_argument("--parts", nargs="+", default=["validation"], choices=["validation", "test"], help="to print")
    options = parser.parse_args(arguments)
    config = Config() if options.config is None else load_config(options.config)
    with shown(None) as progress:
        localizer = learn_terms(
            config, options.run, options.repo, options.reports, options.out, options.store, progress
        )
    assert localizer.wording_ is not None
    print("| part | stages | MRR | MAP |\n|---|---|---|---|")
    for part in options.parts:
        for stages, folder in (("one", options.out / STAGE_ONE), ("both", options.out)):
            found = evaluate_folder(folder, part)
            print(f"| {part} | {stages} | {found.mrr:.4f} | {found.map:.4f} |")
    tried = localizer.wording_.tried or {}
    told = ", ".join(f"{name}: {mrr:.4f} {map_:.4f}" for name, (mrr, map_) in tried.items())
    print(f"{'both stages' if localizer.wording_.mix else 'stage one'} taken; validation {told}")
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
