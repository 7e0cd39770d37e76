"""Make data on which a feature is measured in minutes: clones, labelled reports, projects.toml.

    feature_data.py [SOURCE ...] [--out FOLDER] [--reports FOLDER] [--at-most N]

Each SOURCE is the address or the path of a git repository. Without one, four small projects in four
languages are cloned: 215 MB. The labelled reports of a project are, in this order:

1. the file OWNER+NAME.jsonl or NAME.jsonl of ``--reports``, if there is one;
2. the issues of its GitHub project with the commits that fixed them, if GITHUB_TOKEN is set or
   ``gh`` is logged in;
3. stand-ins: messages of commits that fix a bug, without names of files. Their authors knew the
   fix, so they are easier than what users write. Numbers from them may be compared with each other,
   but say nothing of real reports.

Finished clones and files of reports are kept. Remove one to make it again. docs/extending.md
describes how to measure a feature on this data.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Collection, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final

from tosloc.cli.guard import run_guarded
from tosloc.code.languages import SOURCE_SUFFIXES
from tosloc.core.errors import RepositoryError, ToslocError, pluralize
from tosloc.core.io import write_text
from tosloc.git.discovery import WebPages
from tosloc.git.repository import Repository
from tosloc.mine.github import fetch_issues, read_token
from tosloc.mine.issues import Exports
from tosloc.mine.links import mine, mine_messages

SOURCES: Final = (
    "https://github.com/pyro-ppl/pyro",  # Python, Apache-2.0
    "https://github.com/deepforge-dev/deepforge",  # JavaScript, Apache-2.0
    "https://github.com/fmtlib/fmt",  # C++, MIT
    "https://github.com/clap-rs/clap",  # Rust, MIT or Apache-2.0
)
"""Projects that belong to no public test of bug localization that results are reported on."""
AT_MOST: Final = 60
"""Reports of a project, evenly spread in time: enough to see a change of .01 in the mean."""


def project_name(source: str) -> str:
    """Return the name of the project of an address or path, with its owner where that is known.

    >>> project_name("https://github.com/fmtlib/fmt.git"), project_name("/srv/git/shop.git/")
    ('fmtlib+fmt', 'shop')
    """
    pages = WebPages.of(source)
    if pages is not None:
        return "+".join(pages.project.split("/")[-2:])
    return PurePosixPath(source).name.removesuffix(".git")


def clone(source: str, folder: Path) -> None:
    """Clone a repository, unless that is done. Raises RepositoryError."""
    if folder.exists():
        return
    print(f"{source}: cloning into {folder}", file=sys.stderr)
    unfinished = folder.with_suffix(".part")
    command = ["git", "clone", "--quiet", "--bare", "--", source, str(unfinished)]
    if subprocess.run(command, check=False).returncode:
        raise RepositoryError(f"{source}: git could not clone it; see its message above")
    unfinished.rename(folder)


def find_reports(name: str, folder: Path) -> Path | None:
    """Return the file of a project's reports in a folder, None if there is none."""
    wanted = {f"{name}.jsonl".lower(), f"{name.rpartition('+')[2]}.jsonl".lower()}
    files = [path for path in sorted(folder.iterdir()) if path.name.lower() in wanted]
    return files[0] if files else None


def mine_reports(source: str, repository: Path) -> tuple[list[dict[str, Any]], str]:
    """Return labelled reports of a project, and its tracker; "" for stand-ins. Raises ToslocError.

    A line of the file of reports is one of them as JSON.
    """
    pages = WebPages.of(source)
    token = read_token()
    with Repository(repository) as opened:
        if pages is None or pages.host != "github" or not token:
            return [without_paths(report) for report in mine_messages(opened).reports], ""
        project = "/".join(pages.project.split("/")[-2:])
        issues = Exports(projects={project.lower()})
        issues.add(json.dumps(fetch_issues(project, token)), f"GitHub project {project}")
        return mine(opened, issues).reports, issues.tracker


def without_paths(report: dict[str, Any]) -> dict[str, Any]:
    """Return a labelled report without the words that name a file.

    >>> line = {"summary": "Fix a.py", "description": "In lib/b, a\\nb/c", "fixed": ["x/lib/b.c"]}
    >>> cleaned = without_paths(line)
    >>> cleaned["summary"], cleaned["description"]
    ('Fix', 'In a\\nb/c')
    """
    cleaned = dict(report)
    for key in ("summary", "description"):
        lines = []
        for line in report[key].splitlines():
            words = [word for word in line.split(" ") if not _names_file(word, report["fixed"])]
            lines.append(" ".join(words))
        cleaned[key] = "\n".join(lines)
    return cleaned


def _names_file(word: str, paths: Collection[str]) -> bool:
    """Return whether a word is the name or path of a source file, or a part of one of ``paths``."""
    name = word.strip("()[]{}<>'\"`.,;:!?*").partition(":")[0]
    if PurePosixPath(name).suffix.lower() in SOURCE_SUFFIXES:
        return True
    return "/" in name and any(name in path for path in paths)


def make_project(source: str, out: Path, reports_folder: Path | None) -> tuple[str, Path]:
    """Clone a project and make its reports; return its name and the file of the reports."""
    name = project_name(source)
    repository = out / f"{name}.git"
    clone(source, repository)
    given = None if reports_folder is None else find_reports(name, reports_folder)
    if given is not None:
        return name, given.absolute()
    mined = out / f"{name}.jsonl"
    stand_ins = out / f"{name}-stand-ins.jsonl"
    for file in (mined, stand_ins):
        if file.exists():
            return name, file.absolute()
    reports, tracker = mine_reports(source, repository)
    file = mined if tracker else stand_ins
    write_text(file, "".join(json.dumps(report) + "\n" for report in reports))
    origin = f"issues of {tracker}" if tracker else "commit messages, which stand in for issues"
    print(f"{name}: {pluralize(len(reports), 'report')} from {origin}", file=sys.stderr)
    return name, file.absolute()


def make_data(sources: Sequence[str], out: Path, reports_folder: Path | None, at_most: int) -> Path:
    """Make the data of all projects, and return the file that lists them. Raises ToslocError."""
    if len(sources) < 2:
        raise ToslocError("one project is not enough: each is ranked by what the others teach")
    if reports_folder is not None and not reports_folder.is_dir():
        raise ToslocError(f"{reports_folder}: there is no such folder of reports")
    out.mkdir(parents=True, exist_ok=True)
    sections = []
    for source in sources:
        name, reports = make_project(source, out, reports_folder)
        sections.append(
            f"[{json.dumps(name)}]\n"
            f"repo = {json.dumps(f'{name}.git')}\n"
            f"reports = {json.dumps(str(reports))}\n"
            f"at_most = {at_most}\n"
        )
    file = out / "projects.toml"
    write_text(file, "\n".join(sections))
    return file


def main(argv: Sequence[str] | None = None) -> int:
    """Make the data, and print the commands that use it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sources", nargs="*", metavar="SOURCE", default=SOURCES)
    parser.add_argument("--out", type=Path, default=Path("runs/feature-data"), metavar="FOLDER")
    parser.add_argument("--reports", type=Path, metavar="FOLDER", help="labelled reports to use")
    parser.add_argument("--at-most", type=int, default=AT_MOST, metavar="N")
    options = parser.parse_args(argv)
    file = make_data(options.sources, options.out, options.reports, options.at_most)
    work = options.out / "work"
    print(f"tosloc lab feature-ablation --projects {file} --work {work} --features NAME")
    return 0


if __name__ == "__main__":
    sys.exit(run_guarded(main))
