"""Measure ``tosloc similar`` on public trackers whose people marked duplicates.

``duplicates.py convert KIND REPOSITORY OUT`` writes the issues of a tracker as JSON lines, from a
bare clone of a public archive: ``go`` of bradfitz/go-issue-mirror, ``rust`` of
brson/rust-issue-archive, ``hadoop`` and ``seamonkey`` of av9ash/gitbugs (CC BY 4.0).

``duplicates.py measure ISSUES ... --pairs OUT`` asks about every issue, as if it had just been
opened, and counts what is shown. A shown issue is right if people marked both as duplicates of the
same one, or if one names the other. OUT gets the pairs that nobody marked, to be read.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from tosloc.cli.guard import run_guarded
from tosloc.core.inputs import clean, time_of
from tosloc.core.reports import BugReport
from tosloc.retrieval.history import TrackerIssues
from tosloc.terminal.printing import Form, Table, progress_bars

_NUMBER: Final = (
    r"(?:https://github\.com/[\w.-]+/[\w.-]+/issues/|#|(?:issue|bug) #?"
    r"|https?://(?:code\.google\.com/p/go/issues/detail\?id=|golang\.org/issue/))(\d{1,6})\b"
)
_DUPLICATE: Final = re.compile(
    r"(?i)\b(?:(?:dup|dupe|duplicate|duping|duped|dups)(?:\s+(?:of|with))?|merged into"
    rf"|closing in favou?r of)[\s:*_]*(?:the )?{_NUMBER}"
    r"|issue #(\d{1,6}) has been merged into this issue"
)
"""How people write that issues are duplicates."""
_MENTION: Final = re.compile(
    r"(?:github\.com/[\w.-]+/[\w.-]+/issues/|(?<![\w/&])#|[iI]ssue\s+#?|golang\.org/issue/)"
    r"(\d{1,6})\b"
)
_DELETED_TITLE: Final = "dead issue"
"""The title that issues have in the mirror of Go if they were deleted."""


@dataclass
class MarkedIssue:
    """An issue, with what people said of others in it."""

    id: str
    summary: str
    description: str
    opened: str
    duplicates: list[str] = field(default_factory=list)
    mentions: list[str] = field(default_factory=list)


# ---- archives to JSON lines


def read_blobs(repository: Path, pattern: str) -> dict[str, bytes]:
    """Return the content of the files of HEAD whose paths match a pattern, by path."""
    git = ["git", "-C", str(repository)]
    listing = subprocess.run([*git, "ls-tree", "-r", "HEAD"], capture_output=True, check=True)
    paths = {}
    for line in listing.stdout.decode().splitlines():
        head, _, path = line.partition("\t")
        if re.search(pattern, path):
            paths[path] = head.split()[2]
    command = [*git, "cat-file", "--batch"]
    objects = "\n".join(paths.values()).encode()
    output = io.BytesIO(subprocess.run(command, input=objects, capture_output=True).stdout)
    blobs = {}
    for path in paths:
        _, kind, *size = output.readline().split()
        if kind == b"blob":
            blobs[path] = output.read(int(size[0]))
            output.read(1)
    return blobs


def read_github(repository: Path, issue: str, comment: str) -> Iterator[MarkedIssue]:
    """Yield the issues of an archive of GitHub's REST answers.

    ``issue`` and ``comment`` are patterns of paths, whose first group is the same for an issue and
    its comments.
    """
    texts: dict[str, list[str]] = {}
    for path, content in read_blobs(repository, comment).items():
        key = re.search(comment, path)[1]  # type: ignore[index]
        values = json.loads(content)
        for one_comment in values if isinstance(values, list) else [values]:
            texts.setdefault(key, []).append(one_comment.get("body") or "")
    for path, content in read_blobs(repository, issue).items():
        values = json.loads(content)
        if "pull_request" in values or values["title"].strip().lower() == _DELETED_TITLE:
            continue
        said = texts.get(re.search(issue, path)[1], [])  # type: ignore[index]
        number = str(values["number"])
        duplicates: set[str] = set()
        mentions = set(_MENTION.findall(values["body"] or ""))
        for text in said:
            mentions.update(_MENTION.findall(text))
            for match in _DUPLICATE.findall(text):
                duplicates.update(filter(None, match))
        yield MarkedIssue(
            number,
            values["title"],
            values["body"] or "",
            values["created_at"],
            # An open issue may still turn out to be another one.
            sorted(duplicates - {number}) if values["state"] == "closed" else [],
            sorted(mentions - {number}),
        )


def read_gitbugs(repository: Path, name: str, time_format: str) -> Iterator[MarkedIssue]:
    """Yield the issues of a project of GitBugs, whose file has this name."""
    blobs = read_blobs(repository, rf"{name}(?:-combined)?\.csv$")
    rows: dict[bool, list[dict[str, str]]] = {}
    for path, content in blobs.items():
        rows[path.endswith("-combined.csv")] = list(csv.DictReader(io.StringIO(content.decode())))
    duplicates: dict[str, list[str]] = {}
    for pair in rows[True]:
        number, others = list(pair.values())[:2]
        duplicates.setdefault(number.strip(), []).extend(re.findall(r"\d+", others))
    for row in rows[False]:
        number = row["Issue id"].strip()
        opened = row["Created"]
        if time_format:
            opened = datetime.strptime(opened, time_format).replace(tzinfo=UTC).isoformat()
        text = row["Description"] or ""
        yield MarkedIssue(number, row["Summary"], text, opened, duplicates.get(number, []))


def convert(kind: str, repository: Path) -> Iterator[MarkedIssue]:
    """Yield the issues of an archive of a kind."""
    if kind == "go":
        return read_github(repository, r"/(\d+)\.json$", r"/(\d+)\.comments/[^/]+\.json$")
    if kind == "rust":
        return read_github(repository, r"(\d+)-main\.json$", r"(\d+)-comments\.json$")
    if kind == "hadoop":
        return read_gitbugs(repository, "hadoop_bugs", "%d/%b/%y %H:%M")
    return read_gitbugs(repository, "SeaMonkey_bugs", "")


# ---- measuring


def find_groups(issues: Sequence[MarkedIssue]) -> dict[str, str]:
    """Return for each issue the name of its group: all that are duplicates of each other."""
    group = {issue.id: issue.id for issue in issues}

    def name(number: str) -> str:
        while group[number] != number:
            group[number] = group[group[number]]
            number = group[number]
        return number

    for issue in issues:
        for other in issue.duplicates:
            if other in group:
                group[name(other)] = name(issue.id)
    return {number: name(number) for number in group}


@dataclass
class Counts:
    """What was shown for the issues of a tracker."""

    issues: int = 0
    with_earlier: int = 0
    """Issues of which an earlier duplicate is known."""
    asked_with_answer: int = 0
    """Issues for which another one was shown."""
    shown: int = 0
    marked: int = 0
    """Shown issues that people marked as duplicates."""
    related: int = 0
    """Shown issues that people marked, or that one of both names."""
    found: int = 0
    """Issues for which an earlier duplicate was shown."""


def measure(issues: Sequence[MarkedIssue], pairs: list[dict[str, Any]]) -> Counts:
    """Return what is shown for each issue; add the pairs that nobody marked to ``pairs``."""
    reports = [to_report(issue) for issue in issues]
    by_id = {issue.id: issue for issue in issues}
    groups = find_groups(issues)
    counts = Counts(issues=len(issues))
    seen: set[str] = set()
    with progress_bars() as progress:
        nothing = [""] * len(reports)
        tracker = TrackerIssues.collect(reports, nothing, [False] * len(reports), progress)
        ordered = sorted(reports, key=lambda report: (report.opened_seconds, report.id))
        for number, report in enumerate(ordered):
            if number % 50 == 0:
                progress("asking about issues", number, len(ordered))
            group = groups[report.id]
            counts.with_earlier += group in seen
            seen.add(group)
            similar = tracker.find_similar(report)
            counts.asked_with_answer += bool(similar)
            counts.shown += len(similar)
            marked = [other for other in similar if groups[other.id] == group]
            counts.marked += len(marked)
            counts.found += bool(marked)
            for other in similar:
                is_named = other.id in by_id[report.id].mentions
                is_named = is_named or report.id in by_id[other.id].mentions
                if other in marked or is_named:
                    counts.related += 1
                else:
                    values = {"id": report.id, "summary": report.summary}
                    pairs.append({**values, "similar": other.as_dict()})
    return counts


def to_report(issue: MarkedIssue) -> BugReport:
    """Return the report of an issue."""
    opened = time_of(issue.opened, UTC, issue.id)
    summary = " ".join(clean(issue.summary).split())
    return BugReport(issue.id, summary, clean(issue.description).strip(), opened)


def share(part: int, whole: int) -> str:
    """Return a share in percent with its two numbers."""
    return f"{part / whole:.0%} ({part:,} of {whole:,})" if whole else "-"


def print_counts(counts: Mapping[str, Counts], as_markdown: bool) -> None:
    """Print a row for each tracker."""
    rows = []
    for name, of_tracker in counts.items():
        rows.append(
            [
                name,
                f"{of_tracker.issues:,}",
                share(of_tracker.asked_with_answer, of_tracker.issues),
                share(of_tracker.marked, of_tracker.shown),
                share(of_tracker.related, of_tracker.shown),
                share(of_tracker.found, of_tracker.with_earlier),
            ]
        )
    header = ["tracker", "issues", "answered", "marked", "marked or named", "duplicates found"]
    values = {name: asdict(of_tracker) for name, of_tracker in counts.items()}
    Form.chosen(False, as_markdown).print(values, [Table(header, rows)])


def read_lines(file: Path) -> list[MarkedIssue]:
    """Return the issues that ``convert`` wrote."""
    lines = file.read_text(encoding="utf-8").splitlines()
    return [MarkedIssue(**json.loads(line)) for line in lines]


def write_lines(file: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write JSON lines."""
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the script and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    converting = commands.add_parser("convert")
    converting.add_argument("kind", choices=("go", "rust", "hadoop", "seamonkey"))
    converting.add_argument("repository", type=Path)
    converting.add_argument("out", type=Path)
    measuring = commands.add_parser("measure")
    measuring.add_argument("issues", type=Path, nargs="+")
    measuring.add_argument("--pairs", type=Path, help="file for the pairs that nobody marked")
    measuring.add_argument("--markdown", action="store_true")
    options = parser.parse_args(arguments)
    if options.command == "convert":
        write_lines(options.out, map(asdict, convert(options.kind, options.repository)))
        return 0
    pairs: list[dict[str, Any]] = []
    counts = {file.stem: measure(read_lines(file), pairs) for file in options.issues}
    print_counts(counts, options.markdown)
    if options.pairs is not None:
        write_lines(options.pairs, pairs)
    return 0


if __name__ == "__main__":
    raise SystemExit(run_guarded(main))
