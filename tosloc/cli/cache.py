"""``tosloc cache``: the cached data of repositories, and the room that it takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tosloc.cli.options import FullHelpGroup
from tosloc.core.errors import ToslocError

if TYPE_CHECKING:
    from tosloc.storage.cache import CacheEntry

RepositoriesOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATH|NAME", help="Use only this repository, given by path or name. Repeatable."
    ),
]

app = typer.Typer(cls=FullHelpGroup, rich_markup_mode=None, invoke_without_command=True)


@app.callback()
def cache(context: typer.Context) -> None:
    """List and prune the cached data of repositories.

    Without a command, the data are listed. The cache is in $TOSLOC_CACHE, else in the user's cache
    folder. $TOSLOC_CACHE_SIZE, such as 20G, limits its size: a command that exceeds it removes the
    least recently used data. If it is not set, nothing is removed.
    """
    if context.invoked_subcommand is None:
        list_command()


@app.command("list", epilog="Example: tosloc cache list --repo flask")
def list_command(repo: RepositoriesOption = None) -> None:
    """List repositories with the size of their data, the most recently used first."""
    from rich.filesize import decimal

    from tosloc.storage.cache import cache_folder, list_entries
    from tosloc.terminal.printing import Table, print_notes

    entries = _find_all(repo) if repo else list_entries()
    if not entries:
        print_notes([f"the cache {cache_folder()} is empty"])
        return
    rows = [_row(entry) for entry in entries]
    total_size = decimal(sum(entry.disk_usage() for entry in entries))
    rows.append([f"total: {len(entries):,}", total_size, "", str(cache_folder())])
    Table(["folder", "size", "last used", "repository"], rows, left=(0, 3)).print()


def _row(entry: CacheEntry) -> list[str]:
    """Return the cells of a repository."""
    from rich.filesize import decimal

    repository = str(entry.repository or "unknown")
    if entry.repository_is_gone:
        repository += " (gone)"
    last_used = f"{entry.last_used:%Y-%m-%d %H:%M}"
    return [entry.folder.name, decimal(entry.disk_usage()), last_used, repository]


def _find_all(repositories: Sequence[str]) -> list[CacheEntry]:
    """Return the cache entries of the given repositories. Raises ToslocError if one has none."""
    from tosloc.storage.cache import find_entries

    all_entries = []
    for repository in repositories:
        entries = find_entries(repository)
        if not entries:
            raise ToslocError(
                f"{repository}: the cache has no data of this repository; see: tosloc cache list"
            )
        all_entries += entries
    return all_entries


@app.command(epilog="Example: tosloc cache prune --max-size 20G")
def prune(
    repo: RepositoriesOption = None,
    max_size: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Remove the least recently used data until the cache has at most this size, such"
            " as 20G. Trained weights and mined reports are kept.",
        ),
    ] = None,
) -> None:
    """Remove the data of given repositories, or of repositories that no longer exist.

    Files that killed processes left behind are removed as well.
    """
    from rich.filesize import decimal

    from tosloc.core.io import escape_unprintable
    from tosloc.storage import cache as storage

    entries = _find_all(repo or ())
    storage.remove_leftovers()
    file_names = storage.ENTRY_FILES if max_size is None else storage.REBUILDABLE_FILES
    if max_size is not None:
        max_bytes = storage.parse_size(max_size, "--max-size")
        entries = storage.choose_least_used(entries or storage.list_entries(), max_bytes)
    elif not repo:
        entries = [entry for entry in storage.list_entries() if entry.repository_is_gone]
    for entry in entries:
        size = decimal(entry.remove(file_names))
        print(escape_unprintable(f"removed {entry.folder.name} ({size})"))
    if not entries:
        print("nothing to remove")
