"""The command ``bisect`` of the laboratory, which simulates bisections by weights and by count."""

from __future__ import annotations

from tosloc.core.errors import ToslocError
from tosloc.lab.bisect import RangeRuns, collect_reports, simulate
from tosloc.lab.commands.options import ProjectsOption
from tosloc.lab.projects import read_projects
from tosloc.terminal.options import JsonOption, MarkdownOption
from tosloc.terminal.printing import Form, Table, progress_bars


def bisect(
    projects: ProjectsOption,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Simulate how many test runs bisection by weights needs, compared with git bisect.

    The commits to find are those that last wrote most of the lines which the fix changed or
    removed. Each report needs a fix_commit.
    """
    form = Form.chosen(as_json, as_markdown)
    project_list = read_projects(projects)
    reports = []
    with progress_bars() as callback:
        for project in project_list:
            reports += collect_reports(project, callback)
    if not reports:
        raise ToslocError("no fix changes or removes a line that is older than its report")
    results = simulate(reports)
    form.print([row._asdict() for row in results], [_table(results)])


def _table(results: list[RangeRuns]) -> Table:
    """Return the table of test runs by size of the range."""
    heads = ["commits", "reports", "by weights", "git bisect", "most by weights", "most worse"]
    rows = []
    for row in results:
        means = [f"{row.weighted:.1f}", f"{row.plain:.1f}"]
        rows.append(
            [f"{row.commits:,}", f"{row.reports:,}", *means, str(row.worst), str(row.most_worse)]
        )
    weighted = sum(row.weighted for row in results) / len(results)
    plain = sum(row.plain for row in results) / len(results)
    most_worse = str(max(row.most_worse for row in results))
    rows.append(["mean", "", f"{weighted:.1f}", f"{plain:.1f}", "", most_worse])
    return Table(heads, rows, "Test runs by number of commits in the range")
