"""Run the checks that a change must pass: format, lint, spelling, types, layers, tests.

    .venv/bin/python scripts/check.py [--all] [STEP ...]

It prints one line a step, and stops at the first step that fails. Without arguments it runs every
step but the tests, which takes seconds once mypy has its cache. ``--all`` runs the tests as well,
the slow ones included.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]

STEPS = {
    "format": ["ruff", "format", "--check", "--quiet", "."],
    "lint": ["ruff", "check", "--quiet", "."],
    "spelling": ["codespell_lib"],
    "types": ["mypy", "tosloc", "scripts", "examples", "tests", "conftest.py"],
    "layers": ["pytest", "tests/test_layers.py"],
    "tests": ["pytest", "-n2", "--dist=loadfile", "-m", ""],
}
SLOW_STEPS = {"tests"}
"""Steps that take minutes and run only if they are asked for."""


def main() -> int:
    """Return 0 if every step passes, else print the output of the failed one and return 1."""
    parser = argparse.ArgumentParser(description="Run the checks that a change must pass.")
    parser.add_argument("steps", nargs="*", metavar="STEP", help=f"one of {', '.join(STEPS)}")
    parser.add_argument("--all", action="store_true", help="run the slow steps, too")
    arguments = parser.parse_args()
    steps = arguments.steps
    if not steps:
        steps = [step for step in STEPS if arguments.all or step not in SLOW_STEPS]
    unknown = [step for step in steps if step not in STEPS]
    if unknown:
        parser.error(f"there is no step {unknown[0]!r}; choose from {', '.join(STEPS)}")
    for name in steps:
        started = time.monotonic()
        command = [sys.executable, "-m", *STEPS[name]]
        process = subprocess.run(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        verdict = "FAILED" if process.returncode else "ok"
        print(f"{name:<8} {verdict:<6} {time.monotonic() - started:6.1f} s", flush=True)
        if process.returncode:
            print(process.stdout, end="")
            return 1
    return 0


if __name__ == "__main__":
    # This script runs without TosLoc, and so without run_guarded. It ends quietly if the reader of
    # its output, such as head, has seen enough.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
