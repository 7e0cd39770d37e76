"""``tosloc cache``: what is kept of repositories in the user's cache, and the room that it takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from tosloc.core.errors import ToslocError

if TYPE_CHECKING:
    from tosloc.storage.cache import CacheEntry

RepositoriesOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATH|NAME", help="Only this repository, by its path or name; may be given again."
    ),
]

app = typer.Typer(rich_markup_mode=None, invoke_without_command=True)


@app.callback()
def cache(context: typer.Context) -> None:
    """List and prune what is kept of repositories.

    Without a command: list. Where the cache lies: $TOSLOC_CACHE, else the user's cache folder. $TOSLOC_CACHE_SIZE, such
    as 20G, is its largest size: whoever writes beyond it removes what was used least; without it nothing is removed.
    """
    if context.invoked_subcommand is None:
        list_command()


@app.command("list")
def list_command(repo: RepositoriesOption = None) -> None:
    """List repositories with what is kept of them, the last used first."""
    from rich.filesize import decimal

    from tosloc.cli.printing import Table, print_notes, print_table
    from tosloc.storage.cache import cache_folder, list_entries

    found = _named(repo) if repo else list_entries()
    if not found:
        print_notes([f"nothing is kept in {cache_folder()}"])
    else:
        rows = [
            [
                entry.folder.name,
                decimal(entry.bytes()),
                f"{entry.last_used:%Y-%m-%d %H:%M}",
                f"{entry.repository or 'unknown'}{' (gone)' if entry.repository_is_gone else ''}",
            ]
            for entry in found
        ]
        rows.append(
            [
                f"all {len(found):,}",
                decimal(sum(entry.bytes() for entry in found)),
                "",
                str(cache_folder()),
            ]
        )
        print_table(Table(["kept of", "size", "last used", "repository"], rows, left=(0, 3)))


def _named(repositories: Sequence[str]) -> list[CacheEntry]:
    """What is kept of some repositories. Raises ToslocError where nothing is of one."""
    from tosloc.storage.cache import find_entries

    found = {text: find_entries(text) for text in repositories}
    if missing := [text for text, kept in found.items() if not kept]:
        raise ToslocError(
            f"{missing[0]}: nothing is kept of such a repository; see: tosloc cache list"
        )
    return [entry for kept in found.values() for entry in kept]


@app.command()
def prune(
    repo: RepositoriesOption = None,
    max_size: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Remove what was used least, until so much, as 20G, is left; trained weights and mined reports stay.",
        ),
    ] = None,
) -> None:
    """Remove what is kept of repositories that are named, or used least; else of those that are gone.

    Leftovers of killed processes go, too.
    """
    from rich.filesize import decimal

    from tosloc.core.io import escape_unprintable
    from tosloc.storage import cache as kept

    found = _named(repo or ())
    kept.remove_leftovers()
    names = kept.ENTRY_FILES if max_size is None else kept.REBUILDABLE_FILES
    if max_size is not None:
        found = kept.choose_least_used(
            found or kept.list_entries(), kept.parse_size(max_size, "--max-size")
        )
    elif not repo:
        found = [entry for entry in kept.list_entries() if entry.repository_is_gone]
    for entry in found:
        print(escape_unprintable(f"{entry.folder.name}: {decimal(entry.remove(names))} removed"))
    if not found:
        print("nothing to remove")
