"""Check training and reranking of encoders on this machine's GPU, from random weights.

``gpu_check.sh`` runs it. It trains two encoders of the paper's size (12 layers of width 768, 512
tokens, 10 pieces of a file, 50 candidates) on made-up reports and files, and prints for each
precision the seconds of a step and the peak memory. Then it kills a training, lets it go on, and
compares its end with that of an uninterrupted one. Last, it loads the result twice and compares
the scores. Exit code 1: something differs. With ``--tiny`` everything is small enough for a CPU.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from tosloc.cli.guard import run_guarded
from tosloc.core.errors import require


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the checks; return 0 if all passed, else 1.

    Raises MissingExtra if torch, transformers or accelerate is not installed.
    """
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tiny", action="store_true", help="use sizes that suit a CPU")
    parser.add_argument(
        "--steps", type=int, default=6, help="number of steps for each precision; default: 6"
    )
    parser.add_argument("--out", type=Path, help="also write the results to this JSON file")
    parser.add_argument("--train-once", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--encoders", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    require("the GPU check", "encoder", "torch", "transformers", "accelerate")
    from scripts import gpu_check_parts as parts

    size = parts.TINY if options.tiny else parts.Size()
    if options.train_once is not None:
        parts.train_once(options.encoders, options.train_once, size)
        return 0
    results = parts.check(size, max(3, options.steps), tiny=options.tiny)
    if options.out is not None:
        options.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    passed = all(results[name]["passed"] for name in ("losses", "resume", "rerankings"))
    print("passed" if passed else "FAILED")
    return 0 if passed else 1


if __name__ == "__main__":
    raise SystemExit(run_guarded(main))
