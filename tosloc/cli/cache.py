"""``tosloc cache``: the cached data of repositories, and their size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tosloc.cli.options import FullHelpGroup

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

    from tosloc.storage.cache import Cache
    from tosloc.terminal.printing import Table, print_notes

    cache = Cache()
    entries = cache.find(repo) if repo else cache.entries()
    if not entries:
        print_notes([f"the cache {cache.folder} is empty"])
        return
    rows = [_row(entry) for entry in entries]
    total_size = decimal(sum(entry.disk_usage() for entry in entries))
    rows.append([f"total: {len(entries):,}", total_size, "", str(cache.folder)])
    Table(["folder", "size", "last used", "repository"], rows, left=(0, 3)).print()


def _row(entry: CacheEntry) -> list[str]:
    """Return the cells of a repository in the list."""
    from rich.filesize import decimal

    repository = str(entry.repository or "unknown")
    if entry.repository_is_gone:
        repository += " (gone)"
    last_used = f"{entry.last_used:%Y-%m-%d %H:%M}"
    return [entry.folder.name, decimal(entry.disk_usage()), last_used, repository]


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
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be removed; remove nothing.")
    ] = False,
) -> None:
    """Remove the data of given repositories, or of repositories that no longer exist.

    Files that killed processes left behind are removed as well.
    """
    from rich.filesize import decimal

    from tosloc.core.io import escape_unprintable
    from tosloc.storage.cache import Cache

    is_pruned = False
    verb = "would remove" if dry_run else "removed"
    for entry, size in Cache().prune(repo or (), max_size, dry_run=dry_run):
        print(escape_unprintable(f"{verb} {entry.folder.name} ({decimal(size)})"))
        is_pruned = True
    if not is_pruned:
        print("nothing to remove")
