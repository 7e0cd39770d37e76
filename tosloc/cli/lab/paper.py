"""The command ``reproduce``: the tables and figures of the paper, made again and checked. Heavy imports wait inside."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tosloc.cli.cells import UNKNOWN, p_value, share, within
from tosloc.cli.options import JsonOption, OutOption, ProgressOption
from tosloc.errors import ConfigError, ToslocError

if TYPE_CHECKING:
    from tosloc.lab.paper.expected import Check, Expected
    from tosloc.lab.paper.tables import Cell, Outcome, PaperTable, Step

EXPECTED = Path("configs", "expected")
DIFFERS = 1


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
    settings: Annotated[
        Path | None,
        typer.Option("--settings", help="Folder of NAME.toml, a technique's own.", show_default="the defaults"),
    ] = None,
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
    source: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="DIR",
            help="Train nothing for table 6 and figure 6: read results of tosloc lab.",
        ),
    ] = None,
    expected: Annotated[
        Path, typer.Option("--expected", help="Folder of TABLE.toml, the expected numbers.")
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

    Downloads nothing and goes on where it was interrupted. Numbers are checked against those expected: ok, near or
    differs (exit code 1); new where none is expected yet. The paper's stand in brackets.
    """
    from tosloc.cli.printing import print_json, print_notes
    from tosloc.cli.progress import shown
    from tosloc.lab.paper.catalogue import reproduction
    from tosloc.lab.paper.expected import read_expected
    from tosloc.lab.paper.projects import chosen, lacking, missing_file, read_projects
    from tosloc.lab.paper.workspace import Workspace

    one = reproduction(table)
    _check_places(out, runs, source, docs, figures, as_json and as_markdown)
    if not expected.is_dir():
        raise ConfigError(
            f"{expected} is no folder; run it in TosLoc's own folder, or name its numbers with --expected"
        )
    wanted = read_expected(expected / f"{table}.toml")
    if projects is None:
        raise missing_file(wanted.projects)
    known, names = read_projects(projects), _names(only)
    asked = names or wanted.projects or list(known)
    lack = lacking(known, asked) if dry_run else {}
    work = Workspace(
        [known[name] for name in asked if name not in lack] if dry_run else chosen(known, wanted.projects, names),
        out,
        runs,
        make=not finished,
        settings=settings,
        systems=tuple(_names(systems)),
        encoder=encoder,
        source=source,
        second=wanted.second,
        versions=versions,
    )
    if dry_run:
        _print_steps(one.plan(work), lack, as_json)
        return
    with shown(progress) as callback:
        outcome = one.measure(work, wanted, callback)
    checks = wanted.check(outcome.numbers)
    if figures is not None:
        _draw(outcome, figures)
    if update:
        wanted.update(outcome.numbers)
    if docs is not None:
        now = read_expected(wanted.path) if update else wanted
        _write_docs(docs, table, now, outcome, _command(wanted.command, names, systems, encoder, versions))
    if as_json:
        print_json(_values(table, wanted, outcome, checks))
    elif as_markdown:
        print(_markdown(table, wanted, outcome), end="")
    else:
        for sheet in outcome.tables:
            _print_paper_table(sheet, wanted)
        print(_summary(checks, wanted))
        print_notes(outcome.notes)
    if not update and any(check.verdict == "differs" for check in checks):
        raise typer.Exit(DIFFERS)


def _names(text: str) -> list[str]:
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def _check_places(
    out: Path, runs: Path | None, source: Path | None, docs: Path | None, figures: Path | None, two_forms: bool
) -> None:
    if two_forms:
        raise ToslocError("--json and --markdown: choose one of them")
    if source is not None and not source.is_dir():
        raise ToslocError(f"--from: there is no folder {source}")
    for option, folder in (("--out", out), ("--figures", figures)):
        if folder is not None and folder.exists() and not folder.is_dir():
            raise ToslocError(f"{option}: {folder} is a file; name a folder")
    if runs is not None and not runs.is_dir():
        raise ToslocError(f"--runs: there is no folder {runs}")
    if docs is not None and docs.is_dir():
        raise ToslocError(f"--docs: {docs} is a folder; name a Markdown file")


# What is printed


def _text(cell: str | Cell) -> str:
    """A cell as people read it, with the paper's number in brackets."""
    if isinstance(cell, str):
        return cell
    text = _number(cell.value, cell.form) + cell.mark
    if cell.interval is not None:
        from tosloc.evaluation.statistics import Interval

        text += f" {within(Interval(*cell.interval), sign=cell.form == 'change')}"
    return text if cell.paper is None else f"{text} ({_published(cell.paper, cell.form)})"


def _number(value: float | None, form: str) -> str:
    if value is None:
        return UNKNOWN
    if form == "p":
        return p_value(value)
    if form in ("share", "change"):
        return share(value, sign=form == "change")
    return f"{value:,.{ {'count': 0, 'one': 1, 'ratio': 2}[form] }f}"


def _published(value: float, form: str) -> str:
    """A number as the paper prints it: shares to two places.

    >>> _published(0.4, "share"), _published(-0.052, "change"), _published(1536, "count")
    ('.40', '-.05', '1,536')
    """
    if form in ("share", "change"):
        return f"{value:{'+' if form == 'change' else ''}.2f}".replace("0.", ".", 1)
    return _number(value, form)


def _print_paper_table(sheet: PaperTable, expected: Expected) -> None:
    from tosloc.cli.printing import print_table
    from tosloc.lab.paper.tables import checked

    made = checked(sheet, expected)
    print_table(made.heads, [[_text(cell) for cell in row] for row in made.rows], title=made.title)


def _summary(checks: Sequence[Check], expected: Expected) -> str:
    from tosloc.lab.paper.expected import VERDICTS

    counted = {verdict: sum(check.verdict == verdict for check in checks) for verdict in VERDICTS}
    numbers = "1 number" if len(checks) == 1 else f"{len(checks):,} numbers"
    said = f"{numbers}: " + (", ".join(f"{count:,} {verdict}" for verdict, count in counted.items() if count) or "none")
    absent = len(expected.ours.keys() - {check.key for check in checks})
    return f"{said}; {absent:,} expected, but not measured now" if absent else said


def _print_steps(steps: Sequence[Step], lack: dict[str, str], as_json: bool) -> None:
    from tosloc.cli.printing import print_json, print_table

    rows = [[step.state, step.what, str(step.place)] for step in steps]
    rows += [["missing", sentence, ""] for sentence in lack.values()]
    if as_json:
        print_json([dict(zip(("state", "what", "place"), row, strict=True)) for row in rows])
    else:
        print_table(["state", "work", "place"], rows, left=range(3))


def _values(table: str, expected: Expected, outcome: Outcome, checks: Sequence[Check]) -> dict[str, Any]:
    return {
        "table": table,
        "title": expected.title,
        "split": expected.split,
        "space": expected.space,
        "numbers": [
            {
                "key": list(one.key),
                "ours": one.measured,
                "paper": one.paper,
                "expected": one.expected,
                "verdict": one.verdict,
            }
            for one in checks
        ],
        "notes": list(outcome.notes),
        **outcome.details,
    }


# Documents and figures


def _draw(outcome: Outcome, folder: Path) -> None:
    from tosloc.plots.drawing import save

    for name, draw in outcome.figures.items():
        save(draw(), folder / name)


def _markdown(table: str, expected: Expected, outcome: Outcome) -> str:
    from tosloc.cli.printing import markdown_table
    from tosloc.lab.paper.tables import checked

    parts = [f"## {_label(table)}: {expected.title}"]
    said = [("Reports", expected.split), ("Files searched", expected.space), ("In brackets", expected.source)]
    parts.append("\n".join(f"- {name}: {text}" for name, text in said if text))
    for sheet in outcome.tables:
        made = checked(sheet, expected)
        parts += [made.title] if made.title else []
        parts.append(markdown_table(made.heads, [[_text(cell) for cell in row] for row in made.rows]).rstrip())
    notes = [*outcome.notes, *(f"left out: {one}" for one in expected.left_out)]
    parts.append("\n".join(f"- {note.replace('*', chr(92) + '*')}" for note in notes))
    return "\n\n".join(part for part in parts if part) + "\n"


def _label(table: str) -> str:
    return table.replace("-", " ").capitalize()


def _command(command: str, only: Sequence[str], systems: str, encoder: str, versions: int) -> str:
    """The command as a reader would type it."""
    options = {"--only": ",".join(only), "--systems": systems, "--encoder": encoder and Path(encoder).name}
    given = [f"{option} {value}" for option, value in options.items() if value]
    given += [f"--versions {versions}"] if versions else []
    return " ".join([command, *given])


def _write_docs(path: Path, table: str, expected: Expected, outcome: Outcome, command: str) -> None:
    from tosloc.files import write_text
    from tosloc.lab.paper.documents import with_part

    text = path.read_text(encoding="utf-8") if path.exists() else ""
    title, rest = _markdown(table, expected, outcome).split("\n\n", 1)
    body = f"{title}\n\n```console\n$ {command}\n```\n\n{rest}"
    folder = path.parent / "figures"
    for name in outcome.figures:
        link = os.path.relpath(folder / f"{name}.png", path.parent)
        body += f"\n![{_label(table)}: {expected.title}]({link})\n"
    made = with_part(text, table, body, str(path))  # before anything is written
    _draw(outcome, folder)
    write_text(path, made)
