"""``python -m tests.faults inputs`` and ``... kills``: hostile inputs and kills of commands, as many as asked."""

from __future__ import annotations

import argparse
import gc
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.faults import inputs, world


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when every trial ended as it must, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, what in (("inputs", "cases"), ("kills", "trials")):
        one = commands.add_parser(name)
        one.add_argument("-n", "--number", type=int, default=100, help=f"how many {what}")
        one.add_argument("--seed", type=int, default=0, help="seed of the first; the others follow it")
        one.add_argument("--only", type=int, help="run the one of this seed alone and keep its folder")
        one.add_argument("--kind", default="", help="only those whose kind begins so")
        one.add_argument("--failures", type=Path, help="file to add failures to, a JSON line each")
    asked = parser.parse_args(arguments)
    world.warm_up()
    gc.collect()
    gc.freeze()  # what stays for good is not copied by every child
    folder = Path(tempfile.mkdtemp(prefix="tosloc-faults-"))
    try:
        made = world.build(folder / "world")
        run = _inputs if asked.command == "inputs" else _kills
        return run(asked, made, folder)
    finally:
        if asked.only is None:
            shutil.rmtree(folder, ignore_errors=True)
        else:
            print(f"kept: {folder}", file=sys.stderr)


def _inputs(asked: argparse.Namespace, made: world.World, folder: Path) -> int:
    seeds = [asked.only] if asked.only is not None else range(asked.seed, asked.seed + asked.number)
    tally, started = inputs.Tally(Counter(), Counter(), []), time.monotonic()
    for seed, kind, failure, outcome in inputs.run_cases(made, seeds, folder / "cases", asked.kind):
        tally.slowest = max(tally.slowest, outcome.seconds)
        if tally.cases % 1_000 == 999:
            print(f"{tally.cases + 1:,} cases, {time.monotonic() - started:,.0f} s", flush=True)
        if failure is not None:
            tally.failures.append(failure)
            print(f"{seed} {kind}: {failure.why}", flush=True)
            if asked.failures is not None:
                with asked.failures.open("a", encoding="utf-8") as file:
                    file.write(inputs.stored(failure) + "\n")
            if asked.only is not None:
                print(" ".join(failure.arguments), failure.said, sep="\n")
        else:
            (tally.answered if outcome.code == 0 else tally.refused)[kind] += 1
            if asked.only is not None:
                print(outcome.code, outcome.out[:2000], outcome.err, sep="\n")
    print(inputs.summary(tally))
    print(f"{tally.cases:,} cases in {time.monotonic() - started:,.0f} s, the slowest {tally.slowest:.1f} s")
    return 1 if tally.failures else 0


def _kills(asked: argparse.Namespace, made: world.World, folder: Path) -> int:
    from tests.faults import kills

    return kills.main(asked, made, folder)


if __name__ == "__main__":
    sys.exit(main())
