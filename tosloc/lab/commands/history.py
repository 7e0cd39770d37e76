"""The command ``renames``, which examines how TosLoc reads the history."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from tosloc.git.repository import Repository
from tosloc.lab.renames import RenameAgreement, compare_with_git
from tosloc.terminal.options import JsonOption, MarkdownOption
from tosloc.terminal.printing import Form, Table, progress_bars, share_cell

RENAMES_HEADS = (
    "repository",
    "files",
    "renamed",
    "renames of git",
    "recall",
    "precision",
    "commits of git",
    "recall without renames",
    "recall",
    "precision",
)
RENAMES_NOTE = (
    "The commits are those of the renamed files. The history of a file ends where git follows a"
    " copy."
)


def renames(
    repositories: Annotated[
        list[Path], typer.Argument(metavar="REPO...", help="Git repositories, bare or not.")
    ],
    files: Annotated[
        int,
        typer.Option("--files", min=1, help="Number of source files of HEAD to draw at random."),
    ] = 200,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the random files.")] = 0,
    as_json: JsonOption = False,
    as_markdown: MarkdownOption = False,
) -> None:
    """Compare the renames that TosLoc follows with those of git log --follow.

    Prints how many renames, and how many commits of the renamed files, are found by both.
    """
    form = Form.chosen(as_json, as_markdown)
    values = []
    rows = []
    for path in repositories:
        with Repository(path) as repo, progress_bars() as callback:
            agreement = compare_with_git(repo, files, seed, callback)
        values.append({"repository": str(path), **dataclasses.asdict(agreement)})
        rows.append([str(path), *_rename_cells(agreement)])
    form.print(values, [Table(RENAMES_HEADS, rows, note=RENAMES_NOTE)])


def _rename_cells(agreement: RenameAgreement) -> list[str]:
    """Return the cells of one repository."""
    return [
        f"{agreement.files:,}",
        f"{agreement.renamed:,}",
        f"{agreement.renames.git:,}",
        share_cell(agreement.renames.recall),
        share_cell(agreement.renames.precision),
        f"{agreement.commits.git:,}",
        share_cell(agreement.commits_unfollowed.recall),
        share_cell(agreement.commits.recall),
        share_cell(agreement.commits.precision),
    ]
