"""Check that a version can be released: its number, changelog, citation and addresses.

    python scripts/check_release.py v0.1.0

It prints a sentence for everything that is missing, and exits with 1 if there is any.
"""

from __future__ import annotations

import argparse
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PLACEHOLDER: Final = "OWNER" + "/tosloc"
"""What stands for the address of the repository until it has one."""
EXPLAINED_IN: Final = "docs/releasing.md"
"""The page that explains the placeholder."""


def find_problems(root: Path, tag: str, paths: list[str]) -> list[str]:
    """Return a sentence for everything that the release of a tag lacks.

    ``paths`` are the files of the project, relative to its folder ``root``.
    """
    problems = []
    package = (root / "tosloc/__init__.py").read_text(encoding="utf-8")
    [version] = re.findall(r'^__version__ = "(.*)"$', package, re.M)
    if tag != f"v{version}":
        problems.append(f"tosloc/__init__.py: the version is {version}, the tag is {tag}")
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d$"
    if not re.search(heading, changelog, re.M):
        problems.append(f"CHANGELOG.md: there is no section ## [{version}] - YYYY-MM-DD")
    citation = (root / "CITATION.cff").read_text(encoding="utf-8")
    if not re.search(rf"^version: {re.escape(version)}$", citation, re.M):
        problems.append(f"CITATION.cff: there is no line version: {version}")
    if not re.search(r"^date-released: \d{4}-\d\d-\d\d$", citation, re.M):
        problems.append("CITATION.cff: there is no line date-released: YYYY-MM-DD")
    for path in paths:
        if path.startswith("changelog.d/") and path != "changelog.d/README.md":
            problems.append(f"{path}: is not in CHANGELOG.md; see {EXPLAINED_IN}")
        if path != EXPLAINED_IN and PLACEHOLDER.encode() in (root / path).read_bytes():
            problems.append(f"{path}: contains {PLACEHOLDER}; see {EXPLAINED_IN}")
    return problems


def main() -> int:
    """Print what a release lacks; return 1 if that is anything."""
    parser = argparse.ArgumentParser(description="Check that a version can be released.")
    parser.add_argument("tag", help="the tag of the release, such as v0.1.0")
    tag = parser.parse_args().tag
    command = ["git", "ls-files", "-z"]
    listing = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True)
    paths = [path for path in listing.stdout.split("\0") if (ROOT / path).is_file()]
    problems = find_problems(ROOT, tag, paths)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    # This script runs without TosLoc, and so without run_guarded. It ends quietly if the reader of
    # its output, such as head, has seen enough.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    sys.exit(main())
