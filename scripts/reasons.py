"""Counts the reasons of answers to labelled reports, and checks each against git: ``reasons.py GIT=REPORTS ...``.

Shipped weights, the before-fix version of each report, the first five files, tests hidden: what a maintainer would see.

**Filler** is a reason that points to nothing a reader could check and use: one of kind ``activity`` (age, size, folder,
what changes together, "ranked by ..."), and words of which neither the summary nor an identifier has one, while fewer
than three stand in at most a tenth of the files. **Untrue** is a reason that git, the report or the file contradict:
a commit that is not before the version, touched another file, is of another day or has another subject; a frame or a
name that the report does not write; a word that the file (or the function that is named) does not hold.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from tosloc.code.languages import SOURCE_SUFFIXES
from tosloc.code.text import compounds, identifier_compounds, terms
from tosloc.git.repository import Repository, decode
from tosloc.localizer import Localizer
from tosloc.records import BugReport, Hit, Reason
from tosloc.reports.labelled import load_dataset

TOP = 5
_COMMIT = re.compile(
    r"(?:earlier fix|commit) ([0-9a-f]{10})(?: of bug (\S+))?, (\d{4}-\d\d-\d\d)(?:: (.*?))?(?:; it says .*)?"
)
_WORDS = re.compile(r"words ([^ ,]+(?:, [^ ,]+)*)(?: in (.+?))?")


class Told(NamedTuple):
    """A reason of an answer, with what is needed to check it."""

    project: str
    report: BugReport
    version: str
    hit: Hit
    reason: Reason


def answered(git: Path, reports: Path, number: int) -> Iterator[Told]:
    """The reasons of a project's answers: to ``number`` of its reports, every third of the latest ones."""
    with Repository(git) as repo:
        cases = load_dataset(repo, reports, zone="UTC", suffixes=SOURCE_SUFFIXES).cases
    step = max(1, min(3, len(cases) // number))
    with Localizer.open(git, ready=False) as localizer:
        for case in cases[-step * number :: step]:
            for hit in localizer.localize(case.report, commit=case.version, top=TOP).hits:
                for reason in hit.why:
                    yield Told(repo.name, case.report, case.version, hit, reason)


def is_filler(told: Told) -> bool:
    """See above; words are as the answer names them."""
    if told.reason.kind != "words":
        return told.reason.kind == "activity"
    found = _WORDS.fullmatch(told.reason.text)
    words = [] if found is None else found[1].split(", ")
    summary = set(terms(told.report.summary))
    about = [word for word in words if set(terms(word)) & summary or re.search(r"[a-z][A-Z]|_|\d", word)]
    return not about and len(words) < 3


def problem(told: Told, git: Path) -> str:
    """What is untrue of a reason; empty where nothing is."""
    reason, text = told.reason, f"{told.report.summary}\n{told.report.description}"
    if reason.commit is not None:
        return _problem_of_commit(told, git)
    if reason.kind == "frame":
        said = reason.text.removeprefix("stack frame").split(" in the report's")[0]
        missing = re.findall(r"[\w$]+(?=,|$)", said)[:1]
        line = reason.lines is None or str(reason.lines[0]) in text
        return "" if line and all(part in text for part in missing) else "the report has no such frame"
    if reason.kind == "name" and reason.text.startswith("it defines "):
        name = reason.text.removeprefix("it defines ").split(", which")[0]
        if name not in text:
            return "the report does not write it"
        source = _git(git, "cat-file", "blob", f"{told.version}:{told.hit.path}") or ""
        return "" if identifier_compounds(name)[-1] in compounds(source) else f"{name} is not in the file"
    if reason.kind == "name":
        spelled = reason.text.removeprefix("the report names ").removeprefix("the report says ")
        spelled = spelled.split(", the file's name")[0].split(" (one of")[0]
        return "" if spelled in text.replace("\\", "/") else "the report does not write it"
    if reason.kind == "words":
        return _problem_of_words(told, git)
    return ""


def _problem_of_commit(told: Told, git: Path) -> str:
    found = _COMMIT.fullmatch(told.reason.text)
    commit = told.reason.commit
    assert commit is not None
    if found is None or not commit.startswith(found[1]):
        return "it is not the commit that it points to"
    if _git(git, "merge-base", "--is-ancestor", commit, told.version) is None:
        return "the commit is not before the version"
    time, subject = (_git(git, "show", "-s", "--format=%ct%n%B", commit) or "0\n").split("\n", 1)
    day = datetime.fromtimestamp(int(time), UTC)
    opened = told.report.opened
    if day.date().isoformat() != found[3] or (opened is not None and day >= opened):
        return "the commit is of another day, or later than the report"
    first = subject.strip().split("\n")[0].strip()
    if found[4] and not first.startswith(found[4].removesuffix("…").rstrip()):
        return f"the commit says of itself: {first}"
    touched = _git(git, "diff-tree", "--root", "--no-commit-id", "--name-only", "-r", "-z", commit) or ""
    return "" if told.hit.path in touched.split("\0") else "the commit did not touch the file"


def _problem_of_words(told: Told, git: Path) -> str:
    found = _WORDS.fullmatch(told.reason.text)
    text = _git(git, "cat-file", "blob", f"{told.version}:{told.hit.path}") or ""
    report = set(terms(f"{told.report.summary} {told.report.description}"))
    inside = text
    if told.reason.lines is not None:
        first, last = told.reason.lines
        inside = "\n".join(text.split("\n")[max(0, first - 30) : last])  # with the comment above it
    assert found is not None
    held = set(terms(inside)) | set(terms(told.hit.path))
    for word in found[1].split(", "):
        if not set(terms(word)[-1:]) <= held & report:
            return f"{word} is not in {'the file' if inside == text else 'the function'}, or not in the report"
    return ""


def _git(git: Path, *arguments: str) -> str | None:
    done = subprocess.run(["git", "-C", git, *arguments], capture_output=True, check=False)
    return decode(done.stdout) if done.returncode == 0 else None


def main(argv: Sequence[str] | None = None) -> int:
    """0; the counts on standard output, and with ``--sample`` as many reasons to read."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("projects", nargs="+", metavar="GIT=REPORTS")
    parser.add_argument("--number", type=int, default=10, help="reports of each project")
    parser.add_argument("--sample", type=int, default=0, help="reasons to print, chosen at random")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    told: list[tuple[Told, Path]] = []
    for pair in options.projects:
        git, reports = map(Path, pair.split("="))
        name = reports.stem
        told += [(one, git) for one in answered(git, reports, options.number)]
        print(f"{name}: {len(told)} reasons so far", file=sys.stderr)
    problems = Counter(what for one, git in told if (what := problem(one, git)))
    filler = [one for one, _ in told if is_filler(one)]
    hits = {(one.project, one.report.id, one.hit.path): False for one, _ in told}
    for one, _ in told:
        hits[one.project, one.report.id, one.hit.path] |= one.reason.kind in ("frame", "name", "fix")
    record = {
        "answers": len({name[:2] for name in hits}),
        "hits": len(hits),
        "reasons": len(told),
        "by kind": Counter(one.reason.kind for one, _ in told),
        "filler": round(len(filler) / len(told), 4),
        "untrue": problems,
        "hits with a frame, a name or a fix": round(sum(hits.values()) / len(hits), 4),
    }
    print(json.dumps(record, indent=1))
    sample = random.Random(options.seed).sample([one for one, _ in told], min(options.sample, len(told)))
    for one in sample:
        print(f"{one.project} {one.report.id} {one.hit.path}\n    {one.reason.kind}: {one.reason.text}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
