"""Evaluate another tool beside TosLoc, with files in TREC's format.

The other tool is `git grep`: it ranks files by the number of lines that contain a word of the
report's title. A line of its run is REPORT Q0 PATH RANK SCORE TOOL. A line of the judgements says
that a fix changed a file: REPORT 0 PATH 1.

python examples/evaluate_other_tool.py [REPOSITORY]
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

REPOSITORY = sys.argv[1] if len(sys.argv) > 1 else ".venv/flask.git"
REPORTS = Path(__file__).with_name("reports.jsonl")


def main() -> None:
    """Rank the reports with both tools, and compare the two rankings."""
    reports = [json.loads(line) for line in REPORTS.read_text().splitlines()]
    with TemporaryDirectory() as name:
        folder = Path(name)
        judgements = folder / "judgements.trec"
        judgements.write_text("".join(map(judgement_lines, reports)))
        git_grep = folder / "git-grep.run"
        git_grep.write_text("".join(map(run_lines, reports)))
        tosloc("evaluate", git_grep, "--qrels", judgements)

        ours = folder / "tosloc"
        tosloc("rank", "--reports", REPORTS, "--repo", REPOSITORY, "--split", "all", "--out", ours)
        tosloc("compare", git_grep, ours, "--split", "all", "--qrels", judgements)


def judgement_lines(report: dict[str, Any]) -> str:
    """Return a line for each file that the fix of a report changed."""
    return "".join(f"{report['id']} 0 {path} 1\n" for path in report["fixed"])


def run_lines(report: dict[str, Any]) -> str:
    """Return the other tool's ranking for a report, a line for each file."""
    counts: Counter[str] = Counter()
    for word in re.findall(r"\w{4,}", report["summary"]):
        command = ["git", "-C", REPOSITORY, "grep", "-ciw", word, report["version"], "--", "*.py"]
        result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        for match in result.stdout.splitlines():
            _, path, number = match.split(":")
            counts[path] += int(number)
    lines = ""
    for rank, (path, score) in enumerate(counts.most_common(), start=1):
        lines += f"{report['id']} Q0 {path} {rank} {score} git-grep\n"
    return lines


def tosloc(*arguments: str | Path) -> None:
    """Run a command of TosLoc."""
    subprocess.run([sys.executable, "-m", "tosloc", *arguments], check=True)


main()
