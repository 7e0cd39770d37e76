"""``tosloc mine``: issues that a project already has become labelled reports, from which ``tosloc train`` learns."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tosloc.cli.options import CommitOption, JsonOption, NamedRepositoryOption
from tosloc.core.errors import ReportError, ToslocError, pluralize

if TYPE_CHECKING:
    from tosloc.git.repository import Repository
    from tosloc.mine.links import Mined

ExportsArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="EXPORT",
        help="JSON of gh issue list and gh pr list, or of GitHub, GitLab, Jira or Bugzilla; - is standard input.",
        show_default="commit messages stand in, as weak reports",
    ),
]
GitHubOption = Annotated[
    str | None,
    typer.Option(metavar="OWNER/NAME", help="Read closed issues there, by $GITHUB_TOKEN or gh."),
]
PatternOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="REGEX", help="How commits name issues: 'Bug-Id: (\\d+)'; may be given again."
    ),
]
AllLabelsOption = Annotated[
    bool,
    typer.Option(
        "--all-labels", help="Keep issues that are labelled as something else than a bug."
    ),
]
MinedOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        dir_okay=False,
        help="JSON lines to write.",
        show_default="where tosloc train finds them",
    ),
]


def mine(
    exports: ExportsArgument = None,
    repo: NamedRepositoryOption = None,
    github: GitHubOption = None,
    commit: CommitOption = "HEAD",
    pattern: PatternOption = None,
    all_labels: AllLabelsOption = False,
    out: MinedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make labelled reports of a project's own issues.

    Links issues with the commits that fixed them, and says how many were linked how and what was left out.
    """
    from tosloc.cli.printing import progress_bars
    from tosloc.core.io import write_text
    from tosloc.git import discovery
    from tosloc.git.repository import Repository
    from tosloc.mine import links, mentions
    from tosloc.mine.github import fetch, read_token
    from tosloc.mine.issues import Exports
    from tosloc.reports.source import read_text
    from tosloc.storage.cache import default_store, note_use

    patterns, read = [mentions.compiled(one) for one in pattern or ()], Exports(all_labels)
    if patterns and not exports and github is None:
        raise ToslocError(
            "--pattern: says which issues commits name, and none are given; name an export of issues"
        )
    with (
        Repository(repo or discovery.current_repository()) as repository,
        progress_bars() as callback,
    ):
        file = out or mined_reports_path(repository)
        for export in exports or ():
            read.add(*read_text("-" if str(export) == "-" else export))
        if github is not None:
            read.projects.add(github.lower())
            read.add(
                json.dumps(fetch(github, read_token(), progress=callback)), f"GitHub's {github}"
            )
        if pages := discovery.WebPages.of(repository.remote_url()):
            read.projects.add(pages.project.split("/", 3)[3].lower())
        if exports or github is not None:
            mined = links.mine(repository, read, tip=commit, patterns=patterns)
        else:
            mined = links.mine_messages(repository, tip=commit)
        if mined.reports and out is None:
            note_use(repository, default_store(repository))
    if mined.reports:
        write_text(file, "".join(json.dumps(report) + "\n" for report in mined.reports))
    _show(mined, file, as_json)
    if not mined.reports:
        what = "issues" if mined.tracker else "commits that say that they fix a bug"
        raise ReportError(
            f"none of {mined.read:,} {what} has a fix to learn from, so nothing is written"
        )
    how = "".join(
        f" --{name} {path}" for name, path in (("repo", repo), ("reports", out)) if path is not None
    )
    number = pluralize(len(mined.reports), "report")
    print(f"tosloc: {file} holds {number}; now run: tosloc train{how}", file=sys.stderr)


def mined_reports_path(repository: Repository) -> Path:
    """Where what was mined of a repository is kept: beside its facts in the user's cache."""
    from tosloc.storage.cache import default_store

    return default_store(repository).with_name("reports.jsonl")


def _show(mined: Mined, file: Path, as_json: bool) -> None:
    """Print how many reports were linked how, and how many were left out why."""
    from tosloc.cli.printing import Table, count_cell, output_form, print_results

    values = {
        "tracker": mined.tracker or None,
        "weak": not mined.tracker,
        "read": mined.read,
        "linked": mined.kinds,
        "left_out": dict(mined.left_out.most_common()),
        "reports": len(mined.reports),
        "file": str(file) if mined.reports else None,
    }
    rows = [(f"linked by {kind}", number) for kind, number in mined.kinds.items()]
    rows += [(f"left out: {why}", number) for why, number in mined.left_out.most_common()]
    cells = [[what, count_cell(number)] for what, number in (*rows, ("read", mined.read))]
    note = (
        ""
        if mined.tracker
        else "weak: what commits say of their own fixes, which is easier than users' words"
    )
    print_results(
        output_form(as_json, False),
        values,
        [Table([mined.tracker or "git alone", "number"], cells, note=note)],
    )
