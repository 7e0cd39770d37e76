"""How well ``tosloc mine`` links reports with their fixes, where these are known: ``links.py GIT=REPORTS ...``.

The answer is taken out of the labelled reports, what is left is mined, and each link is compared with the known fix, by
kind of link. "same" is the very commit; "same file" another one that changed a file of the known fix. A report that the
data links with several commits counts once, and any of them is right. Of the reports that were not linked, it says how
many known fixes name a pull request, which an export of pull requests would link.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from tosloc.cli.guard import guarded
from tosloc.cli.printing import Table, print_rows, print_table
from tosloc.code.languages import SOURCE_SUFFIXES
from tosloc.git.repository import Repository
from tosloc.mine.issues import Exports
from tosloc.mine.links import KINDS, history, mine, pull_of
from tosloc.reports.formats import LabelledReport, read_reports


def main(arguments: Sequence[str] | None = None) -> int:
    """Print, for all projects together, what was linked how, and what was not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("projects", nargs="+", metavar="GIT=REPORTS")
    parser.add_argument("--zone", default="UTC", help="time zone of opening times that carry none")
    options = parser.parse_args(arguments)
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    left: Counter[str] = Counter()
    for one in options.projects:
        place, _, reports = one.partition("=")
        with Repository(place) as repository:
            _compare(
                repository, Path(reports), read_reports(reports, options.zone, suffixes=SOURCE_SUFFIXES), counts, left
            )
    rows = [
        [kind, f"{found['all']:,}", *(f"{found[how] / found['all']:.3f}" for how in ("same", "same file"))]
        for kind in (*KINDS, "all")
        if (found := counts[kind] if kind != "all" else sum(counts.values(), Counter()))["all"]
    ]
    print_table(Table(["linked by", "reports", "same", "same or same file"], rows))
    print_rows([{"left out": "reports", **dict(left.most_common())}])
    return 0


def _compare(
    repository: Repository,
    file: Path,
    labelled: Sequence[LabelledReport],
    counts: defaultdict[str, Counter[str]],
    left: Counter[str],
) -> None:
    resolved = repository.resolve_many(one.commit for one in labelled if one.commit)
    fixes: defaultdict[str, set[str]] = defaultdict(set)
    files: defaultdict[str, set[str]] = defaultdict(set)
    lines = {}
    for one in labelled:
        report = one.report
        assert report.opened is not None
        lines[one.bug] = {"id": one.bug, "summary": report.summary, "description": report.description}
        lines[one.bug]["opened"] = report.opened.isoformat()
        fixes[one.bug] |= {commit for commit in (resolved.get(one.commit or ""),) if commit}
        files[one.bug].update(one.listed)
    exports = Exports()
    exports.add("\n".join(map(json.dumps, lines.values())), str(file))
    named = {repository.path.parent.name, file.stem}
    mined = mine(repository, exports, projects={name.replace("+", "/", 1).lower() for name in named if "+" in name})
    for linked in mined.reports:
        bug = linked.report.id
        counts[linked.link]["all"] += 1
        same = linked.fix_commit in fixes[bug]
        counts[linked.link]["same"] += same
        counts[linked.link]["same file"] += same or bool(files[bug] & set(linked.fixed))
    left.update(mined.left_out)
    commits = history(repository)
    for bug in lines.keys() - {linked.report.id for linked in mined.reports}:
        if any(commit in commits and pull_of(commits[commit]) for commit in fixes[bug]):
            left["(of all these: the known fix names a pull request)"] += 1


if __name__ == "__main__":
    raise SystemExit(guarded(main))
