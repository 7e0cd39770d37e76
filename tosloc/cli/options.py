"""Options that several commands share."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer
from typer.core import TyperGroup

from tosloc.git import discovery
from tosloc.terminal.printing import print_notes

if TYPE_CHECKING:
    from tosloc.rerank.llm.reranker import LanguageModelReranker

MAX_SHORT_HELP: Final = 200
"""Largest number of characters of a command's help in a list of commands."""


class FullHelpGroup(TyperGroup):
    """A group of commands whose list shows the whole first sentence of each command's help."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands in the help."""
        rows = []
        for command in self.commands.values():
            rows.append((command.name, command.get_short_help_str(MAX_SHORT_HELP)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


_AROUND = "the repository around the current folder"
_REPOSITORY = "Git repository (bare or not), or a folder inside one."


def _enclosing_repository(path: Path | None) -> Path | None:
    """Return the repository around an option's path; None without a path.

    Raises RepositoryError if there is no repository.
    """
    return None if path is None else discovery.enclosing_repository(path)


AroundRepositoryOption = Annotated[
    Path,
    typer.Option(
        help=_REPOSITORY,
        default_factory=discovery.current_repository,
        show_default=_AROUND,
        callback=_enclosing_repository,
    ),
]
NamedRepositoryOption = Annotated[
    Path | None,
    typer.Option(help=_REPOSITORY, show_default=_AROUND, callback=_enclosing_repository),
]
PublishedRepositoryOption = Annotated[
    Path | None,
    typer.Option(
        help="Git repository whose files the published ranks name.", callback=_enclosing_repository
    ),
]
NamedReportsOption = Annotated[
    Path | None,
    typer.Option(
        help="File of labelled reports: xlsx, XML or JSON lines. The format is detected.",
        show_default="the reports that tosloc mine wrote",
    ),
]
CheckpointOption = Annotated[
    Path | None,
    typer.Option(help="Folder of a trained checkpoint.", show_default="shipped weights"),
]
FoundCheckpointOption = Annotated[
    Path | None,
    typer.Option(
        help="Folder of a trained checkpoint, or none for the shipped weights.",
        show_default="what tosloc train wrote for the repository, else the shipped weights",
    ),
]
VersionOption = Annotated[
    str | None,
    typer.Option(
        help="Version to search: a commit, branch or tag.",
        show_default="the files on disk; HEAD in a bare repository",
    ),
]
CommitOption = Annotated[str, typer.Option(help="Version to read: a commit, branch or tag.")]
RerankOption = Annotated[
    Literal["llm"] | None,
    typer.Option(
        help="Let a language model reorder the first files. The report and code of these files are"
        " sent to it."
    ),
]


def repository_option(repo: Path | None) -> str:
    """Return the end of a command that is about the same repository as this one; "" without any."""
    return "" if repo is None else f" --repo {shlex.quote(str(repo))}"


def announced_language_model(
    rerank: Literal["llm"] | None, *, only_prompts: bool = False
) -> LanguageModelReranker | None:
    """Return the language model in the user's settings, if the option selects it.

    Before anything is sent, a note names the destination. With ``only_prompts`` nothing is sent,
    and no settings are needed. Raises the errors of ``user_language_model``.
    """
    if rerank is None:
        return None
    from tosloc.localize.model import user_language_model

    return user_language_model(lambda note: print_notes([note]), only_prompts=only_prompts)
