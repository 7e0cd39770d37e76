"""Write the tables of docs/features.md from the registry of features.

Run it after a change of ``tosloc/rank/features/registry.py``. The tables replace those below the
heading "The tables"; with ``--check`` nothing is written, and the exit code is 1 if they differ.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tosloc.cli.guard import run_guarded
from tosloc.core.errors import ToslocError
from tosloc.core.io import write_text
from tosloc.rank.features.registry import CONTEXT, DIRECT, PAPER, RELATED, Feature
from tosloc.terminal.printing import Table

PAGE = Path(__file__).resolve().parents[1] / "docs/features.md"
LISTS = {
    "DIRECT": (DIRECT, "read the query context alone"),
    "RELATED": (RELATED, "start from the prior and lift files that are related to its first files"),
    "CONTEXT": (
        CONTEXT,
        "are the same for every file, or nearly; the trees of the ranker use them",
    ),
    "PAPER": (PAPER, "are those of the paper (`configs/paper.toml`), and no others"),
}
"""Name of a list of the registry -> its features, and what they have in common."""
BEFORE = "## The tables\n\n"
"""Heading before the tables."""
AFTER = "## What the columns mean\n"
"""Heading after the tables."""


def make_tables() -> str:
    """Return a paragraph and a table for each list of features, in Markdown."""
    blocks = []
    for name, (features, meaning) in LISTS.items():
        heads = ["feature", "meaning", "scaled", "prior", "reason"]
        table = Table(heads, [_row(feature) for feature in features])
        blocks.append(f"The features of `{name}` {meaning}.\n\n{table.markdown()}")
    return "\n".join(blocks)


def _row(feature: Feature) -> list[str]:
    """Return the cells of a feature."""
    return [
        f"`{feature.name}`",
        feature.meaning,
        "yes" if feature.scaled else "",
        f"{feature.prior:g}" if feature.prior else "",
        feature.reason or "",
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Write the tables, or check them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args(argv)
    page = PAGE.read_text(encoding="utf-8")
    before, heading, rest = page.partition(BEFORE)
    _, next_heading, after = rest.partition(AFTER)
    if not next_heading:
        headings = f"{BEFORE.strip()} and {AFTER.strip()}"
        raise ToslocError(f"{PAGE} lacks the headings {headings}", hint="add them again")
    new_page = f"{before}{heading}{make_tables()}\n{next_heading}{after}"
    if new_page == page:
        return 0
    if options.check:
        print(f"{PAGE} differs from the registry; run python scripts/features.py", file=sys.stderr)
        return 1
    write_text(PAGE, new_page)
    return 0


if __name__ == "__main__":
    sys.exit(run_guarded(main))
