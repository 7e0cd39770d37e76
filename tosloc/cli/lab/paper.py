"""The command ``reproduce``: the tables and figures of the paper, made again. Heavy imports wait inside."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from tosloc.cli.options import JsonOption, OutOption, ProgressOption
from tosloc.config import shipped_configs
from tosloc.errors import ToslocError

EXPECTED = shipped_configs() / "expected"
_DIFFERS = 1


def reproduce(
    table: Annotated[
        str,
        typer.Argument(metavar="TABLE", help="table-2, table-3, table-4, table-5, table-6, figure-5 or figure-6."),
    ],
    out: OutOption,
    projects: Annotated[
        Path | None,
        typer.Option("--projects", metavar="FILE", help="TOML file: repo, reports, config and store of each project."),
    ] = None,
    only: Annotated[str, typer.Option("--only", metavar="NAMES", help="Projects, with commas between.")] = "",
    systems: Annotated[
        str, typer.Option("--systems", metavar="NAMES", help="Systems of tables 4 and 5, with commas between.")
    ] = "",
    runs: Annotated[
        Path | None,
        typer.Option(
            "--runs", metavar="DIR", help="Finished runs: DIR/PROJECT, PROJECT-two, baselines/PROJECT/SYSTEM."
        ),
    ] = None,
    finished: Annotated[
        bool, typer.Option("--finished", help="Make no run: read those that are finished, say which are missing.")
    ] = False,
    encoder: Annotated[
        str,
        typer.Option(
            "--encoder",
            metavar="NAME",
            help="Encoder (folder or name on the hub) whose tokens table 2 counts; that table 6 and figure 6 train on.",
            show_default="words; the configuration's",
        ),
    ] = "",
    versions: Annotated[
        int, typer.Option("--versions", min=0, help="Versions of tables 2 and 5.", show_default="all; 6")
    ] = 0,
    expected: Annotated[
        Path,
        typer.Option(
            "--expected",
            help="Folder of TABLE.toml: the paper's numbers, and ours as stored.",
            show_default="the shipped one",
        ),
    ] = EXPECTED,
    update: Annotated[bool, typer.Option("--update", help="Write the measured numbers there.")] = False,
    docs: Annotated[
        Path | None,
        typer.Option("--docs", metavar="FILE", help="Markdown file to write the table into; figures go beside it."),
    ] = None,
    figures: Annotated[
        Path | None, typer.Option("--figures", metavar="DIR", help="Folder to write figures to, as SVG and PNG.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what is finished, what would be made and what is missing.")
    ] = False,
    as_json: JsonOption = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    progress: ProgressOption = None,
) -> None:
    """Make a table or figure of the paper again.

    Downloads nothing and goes on where it was interrupted. The paper's numbers stand in brackets, and how far ours are
    off in a column of their own. "As stored" compares with what this project measured before, not with the paper: same,
    near or differs (exit code 1); new where nothing is stored yet.
    """
    from tosloc.cli.lab import paper_tables as show
    from tosloc.cli.printing import print_json
    from tosloc.cli.progress import shown
    from tosloc.lab.paper import reproduction
    from tosloc.lab.paper.expected import read_expected
    from tosloc.lab.paper.workspace import Workspace

    if as_json and as_markdown:
        raise ToslocError("--json and --markdown: choose one of them")
    _check_paths(out, figures, runs, docs)
    work = Workspace((), out, runs, not finished, _names(systems), encoder, versions)
    request = reproduction.Request(table, projects, _names(only), expected, work)
    if dry_run:
        show.print_steps(reproduction.plan(request), as_json)
        return
    with shown(progress) as callback:
        made = reproduction.reproduce(request, callback)
    if figures is not None:
        made.draw(figures)
    if update:
        made.expected.update(made.outcome.numbers)
    if docs is not None:
        show.write_document(docs, replace(made, expected=read_expected(made.expected.path)) if update else made)
    if as_json:
        print_json(show.plain_values(made))
    elif as_markdown:
        print(show.markdown(made), end="")
    else:
        show.print_reproduced(made)
    if not update and any(check.verdict == "differs" for check in made.checks):
        raise typer.Exit(_DIFFERS)


def _names(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _check_paths(out: Path, figures: Path | None, runs: Path | None, docs: Path | None) -> None:
    """Raises ToslocError for what is no folder, or no file, before hours of work."""
    for option, folder in (("--out", out), ("--figures", figures)):
        if folder is not None and folder.exists() and not folder.is_dir():
            raise ToslocError(f"{option}: {folder} is a file; name a folder")
    if runs is not None and not runs.is_dir():
        raise ToslocError(f"--runs: there is no folder {runs}")
    if docs is not None and docs.is_dir():
        raise ToslocError(f"--docs: {docs} is a folder; name a Markdown file")
