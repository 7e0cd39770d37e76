"""One markdown table of finished runs, side by side.

python scripts/tables.py runs/tomcat runs/swt runs/jdt runs/birt --split test
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tosloc.cli.guard import guarded
from tosloc.evaluation import evaluate_folder

COUNTS = ("reports", "relevant", "dropped", "empty")
SHARES = (
    "mrr",
    "map",
    "top1",
    "top5",
    "top10",
    "coverage50",
    "coverage100",
    "coverage300",
    "any50",
    "any100",
    "any300",
)


def taken(folder: Path) -> str:
    """What validation chose for a training folder; empty for a ranking with a finished checkpoint."""
    path = folder / "checkpoint" / "weights.json"
    if not path.exists():
        return ""
    chosen = json.loads(path.read_text(encoding="utf-8")).get("validation")
    return str(chosen["taken"]) if chosen else ""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; the exit code."""
    parser = argparse.ArgumentParser(description="One markdown table of finished runs.")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--split", default="test")
    options = parser.parse_args(arguments)
    print("| run | " + " | ".join((*COUNTS, *SHARES)) + " | chosen on validation |")
    print("|---|" + "---|" * (len(COUNTS) + len(SHARES) + 1))
    for folder in options.folders:
        summary = evaluate_folder(folder, options.split).summary()
        counts = [str(summary[name]) for name in COUNTS]
        shares = [f"{summary[name]:.3f}".removeprefix("0") for name in SHARES]
        print(f"| {folder.name} | " + " | ".join((*counts, *shares)) + f" | {taken(folder)} |")
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
