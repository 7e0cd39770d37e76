"""``tosloc cache``: what is kept of repositories in the user's cache, and the room that it takes."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Final, TextIO

import typer

from tosloc.cli.options import JsonOption, ProgressOption
from tosloc.errors import counted

if TYPE_CHECKING:
    from tosloc.cache import Findings, Removed
    from tosloc.index.user_cache import Kept

DAMAGED: Final = 1
"""Exit code of a check that found damage, and of a removal by name where something is left."""

RepositoriesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--repo",
        metavar="PATH|NAME",
        help="Only this repository, by its path or name; may be given again.",
        show_default="all",
    ),
]
DryRunOption = Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")]

app = typer.Typer(rich_markup_mode=None, invoke_without_command=True)


@app.callback()
def cache(context: typer.Context) -> None:
    """List, prune, check and vacuum what is kept of repositories.

    Without a command: list. Where the cache lies: $TOSLOC_CACHE, else the user's cache folder. $TOSLOC_CACHE_SIZE, such
    as 20G, is its largest size: whoever writes beyond it removes what was used least; without it nothing is removed.
    """
    if context.invoked_subcommand is None:
        _list([], False)


@app.command("list")
def list_command(repo: RepositoriesOption = None, as_json: JsonOption = False) -> None:
    """List repositories with what is kept of them, the last used first."""
    _list(repo or [], as_json)


@app.command()
def prune(
    repo: RepositoriesOption = None,
    older_than: Annotated[
        str | None,
        typer.Option("--older-than", metavar="AGE", help="Only what was not used for so long: 36h, 90d, 12w, 1y."),
    ] = None,
    gone: Annotated[
        bool, typer.Option("--gone", help="Only of repositories that are no longer where they lay.")
    ] = False,
    everything: Annotated[bool, typer.Option("--all", help="All that is kept of all repositories.")] = False,
    former_analysers: Annotated[
        bool, typer.Option("--former-analysers", help="Not all of it, but facts and versions made by another TosLoc.")
    ] = False,
    former_files: Annotated[
        bool,
        typer.Option(
            "--former-files", help="Not all of it, but facts of files that stand in no version that is kept ready."
        ),
    ] = False,
    max_size: Annotated[
        str | None,
        typer.Option(
            "--max-size",
            metavar="SIZE",
            help="Facts, versions and vectors of the least used, until 500M, 20G are left.",
        ),
    ] = None,
    dry_run: DryRunOption = False,
    as_json: JsonOption = False,
) -> None:
    """Remove what is kept of the repositories that the options choose together.

    Without options what nobody misses: facts that another version of TosLoc made, and leftovers of killed processes.
    What a process uses stays.
    """
    from tosloc import cache
    from tosloc.cli.printing import print_json
    from tosloc.errors import ToslocError
    from tosloc.index import user_cache

    chooses = bool(repo) or older_than is not None or gone
    rows = former_analysers or former_files
    if everything and (chooses or rows or max_size is not None):
        raise ToslocError("--all: takes everything, and goes with no other choice")
    if max_size is not None and rows:
        raise ToslocError("--max-size: takes the least used as a whole; not together with --former-...")
    most = None if max_size is None else user_cache.bytes_of_size(max_size, "--max-size")
    old = None if older_than is None else cache.age(older_than, "--older-than")
    if not dry_run:
        user_cache.remove_leftovers()
    found = cache.chosen(repo or (), old, gone=gone)
    if most is not None:
        removed = cache.remove_least_used(found, most, dry_run=dry_run)
    elif rows or not (chooses or everything):
        removed = cache.remove_rows(
            found, former_analysers=former_analysers or not rows, former_files=former_files, dry_run=dry_run
        )
    else:
        removed = cache.remove(found, dry_run=dry_run)
    if as_json:
        print_json([_removed(one) for one in removed])
    else:
        _print_removed(removed, dry_run)
    if repo and not all(one.done for one in removed):
        raise typer.Exit(DAMAGED)


@app.command()
def check(repo: RepositoriesOption = None, as_json: JsonOption = False, progress: ProgressOption = None) -> None:
    """Compare all that is kept with its checksums; exit code 1 where something is damaged."""
    from tosloc import cache
    from tosloc.cli.printing import print_json
    from tosloc.cli.progress import shown

    with shown(progress) as callback:
        findings = cache.check(cache.chosen(repo or ()), callback)
    if as_json:
        print_json([_finding(one) for one in findings])
    else:
        _print_findings(findings)
    if any(one.damaged for one in findings):
        raise typer.Exit(DAMAGED)


@app.command()
def vacuum(repo: RepositoriesOption = None, as_json: JsonOption = False, progress: ProgressOption = None) -> None:
    """Give back the room that databases hold and do not need."""
    from tosloc import cache
    from tosloc.cli.printing import print_json
    from tosloc.cli.progress import shown

    with shown(progress) as callback:
        made = cache.vacuum(cache.chosen(repo or ()), callback)
    if as_json:
        print_json([{"folder": str(kept.folder), "freed": size} for kept, size in made])
        return
    for kept, size in made:
        if size:
            _print(f"{kept.folder.name}: {_size(size)} freed")
    print(f"{_size(sum(size for _, size in made))} freed in all")


def _list(repositories: list[str], as_json: bool) -> None:
    from tosloc import cache
    from tosloc.cli.printing import print_json, print_table
    from tosloc.index.user_cache import KINDS, cache_folder

    found = cache.chosen(repositories)
    if as_json:
        print_json([_kept(kept) for kept in found])
        return
    if not found:
        _print(f"tosloc: nothing is kept in {cache_folder()}", file=sys.stderr)
        return
    kinds = [kind for kind in (*KINDS, "other") if any(kept.bytes[kind] >= 1000 for kept in found)]
    rows = [
        [
            kept.folder.name,
            *(_size(kept.bytes[kind]) for kind in kinds),
            _size(kept.total),
            _ago(kept.last_used),
            _place(kept),
        ]
        for kept in found
    ]
    sums = [_size(sum(kept.bytes[kind] for kept in found)) for kind in kinds]
    rows.append([f"all {len(found):,}", *sums, _size(sum(kept.total for kept in found)), "", str(cache_folder())])
    print_table(["kept of", *kinds, "all", "last used", "repository"], rows, left=(0, len(kinds) + 3))


def _kept(kept: Kept) -> dict[str, Any]:
    return {
        "folder": str(kept.folder),
        "name": kept.name,
        "repository": None if kept.repository is None else str(kept.repository),
        "there": None if kept.repository is None else not kept.gone,
        "in_use": kept.in_use,
        "last_used": kept.last_used.isoformat(timespec="seconds"),
        "bytes": kept.bytes,
        "total": kept.total,
    }


def _removed(one: Removed) -> dict[str, Any]:
    return {"folder": str(one.kept.folder), "what": one.what, "freed": one.bytes, "left": one.left or None}


def _finding(one: Findings) -> dict[str, Any]:
    return {"folder": str(one.kept.folder), "read": one.counted, "damaged": one.damaged}


def _print_removed(removed: list[Removed], dry_run: bool) -> None:
    would = "would be " if dry_run else ""
    for one in removed:
        if one.done:
            room = f": {_size(one.bytes)}" if one.bytes else ""
            _print(f"{one.kept.folder.name}: {one.what} {would}removed{room}")
        else:
            _print(f"{one.kept.folder.name}: {one.left}", file=sys.stderr)
    if not any(one.done for one in removed):
        print("nothing to remove")
    elif freed := sum(one.bytes for one in removed):
        print(f"{_size(freed)} {would}freed in all")


def _print_findings(findings: list[Findings]) -> None:
    for one in findings:
        counted = "".join(f", {kind} {number:,}" for kind, number in one.counted.items() if number)
        _print(f"{one.kept.folder.name}: {'DAMAGED' if one.damaged else 'well'}{counted}")
        for sentence in one.damaged:
            _print(f"  {sentence}")
    if not findings:
        print("nothing is kept")


def _print(line: str, file: TextIO | None = None) -> None:
    """Print a line with names of folders in it, which may hold anything."""
    from tosloc.files import printable

    print(printable(line), file=file)


def _place(kept: Kept) -> str:
    if kept.repository is None:
        return "unknown"
    return f"{kept.repository} (gone)" if kept.gone else str(kept.repository)


def _size(number: int) -> str:
    """Bytes for people.

    >>> _size(0), _size(999_949), _size(26_700_000), _size(3_140_000_000)
    ('0', '999.9 kB', '26.7 MB', '3.1 GB')
    """
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 1000)):
        if number >= size:
            return f"{number / size:,.1f} {unit}"
    return f"{number} B" if number else "0"


def _ago(then: datetime) -> str:
    """How long ago, in whole units."""
    seconds = max(0, int((datetime.now(UTC) - then).total_seconds()))
    for unit, size in (("day", 86_400), ("hour", 3600), ("minute", 60)):
        if seconds >= size:
            return f"{counted(seconds // size, unit)} ago"
    return "just now"
