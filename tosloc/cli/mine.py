"""``tosloc mine``: issues that a project already has become labelled reports, from which ``tosloc train`` learns."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tosloc.cli.options import CommitOption, JsonOption, NamedRepositoryOption
from tosloc.errors import ReportError, ToslocError, counted

if TYPE_CHECKING:
    from tosloc.git.repository import Repository
    from tosloc.mine.issues import Exports
    from tosloc.mine.links import Mined
    from tosloc.records import Progress

ExportsArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="EXPORT",
        help="JSON of gh issue list and gh pr list, or of GitHub, GitLab, Jira or Bugzilla; - is standard input.",
        show_default="commit messages stand in, as weak reports",
    ),
]
GitHubOption = Annotated[
    str | None, typer.Option(metavar="OWNER/NAME", help="Read closed issues there, by $GITHUB_TOKEN or gh.")
]
PatternOption = Annotated[
    list[str] | None,
    typer.Option(metavar="REGEX", help="How commits name issues: 'Bug-Id: (\\d+)'; may be given again."),
]
AllLabelsOption = Annotated[
    bool, typer.Option("--all-labels", help="Keep issues that are labelled as something else than a bug.")
]
MinedOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="JSON lines to write.", show_default="where tosloc train finds them"),
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
    from tosloc.cli.printing import shown
    from tosloc.git import discovery
    from tosloc.git.repository import Repository
    from tosloc.index.cache import default_store, note_use
    from tosloc.io import write_text
    from tosloc.mine import links, mentions

    patterns = [mentions.compiled(one) for one in pattern or ()]
    if patterns and not exports and github is None:
        raise ToslocError("--pattern: says which issues commits name, and none are given; name an export of issues")
    with Repository(repo or discovery.around()) as repository, shown() as callback:
        file = out or mined_reports(repository)
        if not exports and github is None:
            mined = links.mine_messages(repository, tip=commit)
        else:
            pages = discovery.WebPages.of(repository.remote_url())
            own = None if pages is None else pages.project.partition("://")[2].partition("/")[2]
            mined = links.mine(
                repository,
                _issues(exports or (), github, callback),
                tip=commit,
                patterns=patterns,
                all_labels=all_labels,
                projects=[name.lower() for name in (own, github) if name is not None],
            )
        if mined.reports and out is None:
            note_use(repository, default_store(repository))
    if mined.reports:
        write_text(file, "".join(json.dumps(report) + "\n" for report in mined.reports))
    _show(mined, file, as_json)
    if not mined.reports:
        what = "issues" if mined.tracker else "commits that say that they fix a bug"
        raise ReportError(f"none of {mined.read:,} {what} has a fix to learn from, so nothing is written")
    how = "".join(f" --{name} {path}" for name, path in (("repo", repo), ("reports", out)) if path is not None)
    number = counted(len(mined.reports), "report")
    print(f"tosloc: {file} holds {number}; now run: tosloc train{how}", file=sys.stderr)


def mined_reports(repository: Repository) -> Path:
    """Where what was mined of a repository is kept: beside its facts in the user's cache."""
    from tosloc.index.cache import default_store

    return default_store(repository).with_name("reports.jsonl")


def _issues(exports: Sequence[Path], github: str | None, progress: Progress) -> Exports:
    """What the exports and GitHub hold together. Raises ReportError."""
    from tosloc.mine.github import fetch, read_token
    from tosloc.mine.issues import Exports
    from tosloc.reports.source import read_text

    read = Exports()
    for export in exports:
        read.add(*read_text("-" if str(export) == "-" else export))
    if github is not None:
        read.add(json.dumps(fetch(github, read_token(), progress=progress)), f"GitHub's {github}")
    return read


def _show(mined: Mined, file: Path, as_json: bool) -> None:
    """Print how many reports were linked how, and how many were left out why."""
    from tosloc.cli.printing import Form, Table, show

    left_out = dict(mined.left_out.most_common())
    values = {
        "tracker": mined.tracker or None,
        "weak": not mined.tracker,
        "read": mined.read,
        "linked": mined.kinds,
        "left_out": left_out,
        "reports": len(mined.reports),
        "file": str(file) if mined.reports else None,
    }
    weak = (
        "" if mined.tracker else "weak reports: what commits say of their own fixes, which is easier than users' words"
    )
    tracker = {"": "git alone", "lines": "reports"}.get(mined.tracker, mined.tracker)
    tables = [
        Table(heads, [[name, f"{number:,}"] for name, number in (*of.items(), ("all", sum(of.values())))], note=note)
        for heads, of, note in (
            ([f"linked by ({tracker})", "reports"], mined.kinds, weak),
            (["left out", "issues" if mined.tracker else "commits"], left_out, ""),
        )
        if of or note
    ]
    show(Form.json if as_json else Form.terminal, values, tables)
