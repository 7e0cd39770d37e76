"""Everything a change must pass: format, lint, types, layers, tests. One line a step; stops at the first that fails."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]

STEPS = {
    "format": ["ruff", "format", "--check", "--quiet", "."],
    "lint": ["ruff", "check", "--quiet", "."],
    "types": ["mypy", "tosloc", "scripts"],
    "layers": ["pytest", "tests/test_layers.py", "tests/test_extras.py"],
    "tests": ["pytest", "-n2", "--dist=loadfile", "-m", ""],
}


def main() -> int:
    """0 when every step passes, else 1 after the output of the one that failed."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    for name, (tool, *arguments) in STEPS.items():
        started = time.monotonic()
        command = [sys.executable, "-m", tool, *arguments]
        done = subprocess.run(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        verdict = "FAILED" if done.returncode else "ok"
        print(f"{name:<8} {verdict:<6} {time.monotonic() - started:6.1f} s", flush=True)
        if done.returncode:
            print(done.stdout, end="")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
