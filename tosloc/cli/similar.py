"""``tosloc similar``: reports of the project's own tracker that are like a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tosloc.cli.options import NamedRepositoryOption, repository_option
from tosloc.core.errors import ToslocError
from tosloc.terminal.options import JsonOption

ReportArgument = Annotated[
    str,
    typer.Argument(
        metavar="REPORT",
        help="Bug report, as for tosloc localize: a file, - for standard input, an issue, or the"
        " text in quotation marks.",
    ),
]
IssuesOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--issues",
        metavar="EXPORT",
        help="JSON export of the tracker's issues, as for tosloc mine. Repeatable.",
        show_default="the issues that tosloc mine kept",
    ),
]


def similar(
    report: ReportArgument,
    repo: NamedRepositoryOption = None,
    issues: IssuesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find issues of the project that are about the same problem.

    Prints at most three issues that were opened before the report, and none if it is not sure.
    """
    from tosloc.cli.report_arguments import read_reports
    from tosloc.core.io import escape_unprintable
    from tosloc.git import discovery
    from tosloc.git.repository import Repository
    from tosloc.mine.mining import read_tracker_issues
    from tosloc.terminal.printing import print_json, progress_bars

    with (
        Repository(repo or discovery.current_repository()) as repository,
        progress_bars() as callback,
    ):
        options = repository_option(repo)
        # Issues that are not known are noticed before the report, which may have to be fetched.
        tracker = None if issues else read_tracker_issues(repository, options=options)
        reports = read_reports(report, repo, every_failure=False)
        if len(reports) > 1:
            raise ToslocError(f"{report} contains {len(reports):,} reports; give exactly one")
        if tracker is None:
            tracker = read_tracker_issues(repository, issues or (), callback)
    matches = tracker.find_similar(reports[0])
    if as_json:
        values = {
            "report": reports[0].id,
            "searched": len(tracker),
            "similar": [match.as_dict() for match in matches],
        }
        print_json(values)
        return
    for match in matches:
        print(f"{match.confidence:4.0%}  {escape_unprintable(match.heading)}")
        if match.url:
            print(f"      {escape_unprintable(match.url)}")
    if not matches:
        print(f"None of the {len(tracker):,} issues is surely about the same problem.")
