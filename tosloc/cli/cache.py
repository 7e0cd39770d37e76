"""``tosloc cache``: what is kept of repositories in the user's cache, and the room that it takes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from tosloc.cli.options import JsonOption
from tosloc.errors import ToslocError

if TYPE_CHECKING:
    from tosloc.index.cache import CacheEntry

RepositoriesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--repo",
        metavar="PATH|NAME",
        help="Only this repository, by its path or name; may be given again.",
        show_default="all",
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
def list_command(repo: RepositoriesOption = None, as_json: JsonOption = False) -> None:
    """List repositories with what is kept of them, the last used first."""
    from rich.filesize import decimal

    from tosloc.cli.printing import Table, print_json, print_table
    from tosloc.index.cache import KINDS, cache_folder

    found = _chosen(repo or [])
    if as_json:
        values = [
            {
                "folder": str(entry.folder),
                "name": entry.name,
                "repository": None if entry.repository is None else str(entry.repository),
                "there": None if entry.repository is None else not entry.gone,
                "last_used": entry.last_used.isoformat(timespec="seconds"),
                "bytes": entry.bytes,
                "total": entry.total,
            }
            for entry in found
        ]
        print_json(values)
        return
    if not found:
        print(f"tosloc: nothing is kept in {cache_folder()}", file=sys.stderr)
        return
    kinds = [kind for kind in KINDS if any(entry.bytes[kind] for entry in found)]
    rows = [
        [
            entry.folder.name,
            *(decimal(entry.bytes[kind]) for kind in kinds),
            decimal(entry.total),
            f"{entry.last_used:%Y-%m-%d %H:%M}",
            "unknown" if entry.repository is None else f"{entry.repository}{' (gone)' if entry.gone else ''}",
        ]
        for entry in found
    ]
    sums = [decimal(sum(entry.bytes[kind] for entry in found)) for kind in kinds]
    rows.append([f"all {len(found):,}", *sums, decimal(sum(entry.total for entry in found)), "", str(cache_folder())])
    print_table(Table(["kept of", *kinds, "all", "last used", "repository"], rows, left=(0, len(kinds) + 3)))


@app.command()
def prune(
    repo: RepositoriesOption = None,
    gone: Annotated[
        bool, typer.Option("--gone", help="Only of repositories that are no longer where they lay.")
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="All that is kept of all repositories.")] = False,
    max_size: Annotated[
        str | None,
        typer.Option(
            "--max-size", metavar="SIZE", help="What can be made again of the least used, until 20G are left."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Remove what is kept of the repositories that the options choose together.

    Without options what nobody misses: facts that another version of TosLoc made, and leftovers of killed processes.
    """
    from rich.filesize import decimal

    from tosloc.cli.printing import print_json
    from tosloc.index import cache as kept
    from tosloc.io import printable

    chooses = bool(repo) or gone or max_size is not None
    if everything and chooses:
        raise ToslocError("--all: takes everything, and goes with no other choice")
    most = None if max_size is None else kept.bytes_of_size(max_size, "--max-size")
    found = [entry for entry in _chosen(repo or []) if entry.gone or not gone]
    kept.remove_leftovers()
    removed: dict[CacheEntry, int] = {}
    for entry in found if most is None else kept.least_used(found, most):
        if chooses or everything:
            removed[entry] = entry.remove(tuple(kept.KINDS) if most is None else kept.MADE_AGAIN)
        else:
            removed[entry] = entry.remove_former()
    if as_json:
        print_json([{"folder": str(entry.folder), "freed": size} for entry, size in removed.items()])
        return
    for entry, size in removed.items():
        if size:
            print(printable(f"{entry.folder.name}: {decimal(size)} removed"))
    print(f"{decimal(sum(removed.values()))} freed in all" if removed else "nothing to remove")


def _chosen(repositories: list[str]) -> list[CacheEntry]:
    """All entries, or those of the repositories. Raises ToslocError for one of which nothing is kept."""
    from tosloc.index.cache import entries, entries_of

    if not repositories:
        return entries()
    found: dict[str, CacheEntry] = {}
    for text in repositories:
        some = entries_of(text)
        if not some:
            raise ToslocError(f"{text}: nothing is kept of such a repository; see: tosloc cache list")
        found |= {entry.folder.name: entry for entry in some}
    return list(found.values())
