"""Learn the shipped weights from several training folders, or see how they serve a project that they never saw.

    tosloc lab pool runs/tomcat runs/swt runs/jdt runs/birt --out tosloc/defaults
    tosloc lab pool runs/tomcat runs/swt runs/jdt runs/birt --leave-one-out

The folders were made by ``tosloc train ... --keep-features``.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tosloc.checkpoint import weights_record
from tosloc.cli.guard import guarded
from tosloc.config import Config
from tosloc.errors import ToslocError
from tosloc.files import write_text
from tosloc.lab.multi_project import pool
from tosloc.retrieval.fitting import WEIGHTS, judge
from tosloc.retrieval.stage_one import StageOne
from tosloc.retrieval.stored_tables import StoredFeatureTables


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit code."""
    parser = argparse.ArgumentParser(description="Learn the shipped weights from several training folders.")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, help="write weights.json and ranker.txt here")
    parser.add_argument("--leave-one-out", action="store_true", help="print each project's numbers learned without it")
    options = parser.parse_args(arguments)
    settings = Config().stage_one
    projects = [StoredFeatureTables.read(folder) for folder in options.folders]
    names = projects[0].features
    if any(kept.features != names for kept in projects):
        raise ToslocError("the folders hold different features; train them with the same configuration")
    learned = [kept.train() for kept in projects]
    if options.leave_one_out:
        print("| project | stage one | validation MRR | MAP | test MRR | MAP |\n|---|---|---|---|---|---|")
        for place, kept in enumerate(projects):
            stage = pool(settings, names, [part for other, part in enumerate(learned) if other != place])
            candidates = {"weights of the others": StageOne(names, stage.weights)}
            if stage.ranker is not None:
                for mix in WEIGHTS:
                    candidates[f"and their ranker x {mix:g}"] = StageOne(
                        names, stage.weights, stage.ranker.weighted(mix)
                    )
            validation, test = judge(candidates, kept.tables("validation")), judge(candidates, kept.tables("test"))
            for name in candidates:
                numbers = " | ".join(f"{value:.3f}" for value in (*validation[name], *test[name]))
                print(f"| {kept.name} | {name} | {numbers} |", flush=True)
    if options.out is not None:
        stage = pool(settings, names, learned)
        if stage.ranker is not None:
            write_text(options.out / "ranker.txt", stage.ranker.text())
        write_text(options.out / "weights.json", json.dumps(weights_record(stage), indent=1) + "\n")
        print(f"wrote {options.out / 'weights.json'}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
