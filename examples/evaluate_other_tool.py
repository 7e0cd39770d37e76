"""Evaluate another tool beside TosLoc, with files in TREC's format.

The other tool is `git grep`: it ranks files by the number of lines that contain a word of the
report's title. A line of its run is REPORT Q0 PATH RANK SCORE TOOL. A report for which it finds no
file has the path -, so that it counts as not found. TosLoc ranks the same reports, and its
judgements, with the fixed files of the searched versions, are those of both runs.

python examples/evaluate_other_tool.py [REPOSITORY [REPORTS]]

REPORTS is a file of labelled reports, such as `tosloc mine --out REPORTS` writes.
"""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

REPOSITORY = sys.argv[1] if len(sys.argv) > 1 else ".venv/flask.git"
REPORTS = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).with_name("reports.jsonl")


def main() -> None:
    """Rank the reports with both tools, and compare the two rankings."""
    with TemporaryDirectory() as name:
        ours = Path(name) / "tosloc"
        tosloc("rank", "--reports", REPORTS, "--repo", REPOSITORY, "--split", "all", "--out", ours)
        judgements = ours / "all/qrels.jsonl"
        # A judgement has the version whose files are searched, also if the report names its fix.
        versions = {}
        for judgement in read_lines(judgements):
            versions[judgement["report"]] = judgement["version"]

        # Both tools search the same files, whose suffixes are in the header of the run.
        with gzip.open(ours / "all/run.jsonl.gz", "rt") as run:
            header = json.loads(run.readline())
        globs = [f"*{suffix}" for suffix in header["config"]["data"]["suffixes"]]

        git_grep = Path(name) / "git-grep.run"
        with git_grep.open("w") as file:
            for report in read_lines(REPORTS):
                if report["id"] in versions:
                    file.writelines(run_lines(report, versions[report["id"]], globs))
        tosloc("evaluate", git_grep, "--qrels", judgements)
        tosloc("compare", git_grep, ours, "--qrels", judgements)


def read_lines(file: Path) -> list[dict[str, Any]]:
    """Return the objects in the lines of a file."""
    return [json.loads(line) for line in file.read_text().splitlines()]


def run_lines(report: dict[str, Any], version: str, globs: list[str]) -> Iterator[str]:
    """Yield the other tool's ranking for a report, a line for each file."""
    counts: Counter[str] = Counter()
    for word in re.findall(r"\w{4,}", report["summary"]):
        command = ["git", "-C", REPOSITORY, "grep", "-ciwz", word, version, "--", *globs]
        result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        for path, number in re.findall(r":(.+?)\0(\d+)\n", result.stdout):
            counts[path] += int(number)
    if not counts:
        yield f"{report['id']} Q0 - 1 0 git-grep\n"
    for rank, (path, score) in enumerate(counts.most_common(), start=1):
        yield f"{report['id']} Q0 {quote(path)} {rank} {score} git-grep\n"


def tosloc(*arguments: str | Path) -> None:
    """Run a command of TosLoc."""
    subprocess.run([sys.executable, "-m", "tosloc", *arguments], check=True)


main()
