"""Which repositories a client may ask of, and the answers from those that stay open in this process."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any, Final

from tosloc.errors import RepositoryError
from tosloc.git import discovery
from tosloc.mcp.answers import Found, sources
from tosloc.records import Progress
from tosloc.reports.issues import read_report
from tosloc.session import opened

_LEVELS: Final = 3
"""Of folders below a root in which repositories are looked for."""
_MOST: Final = 20
"""Repositories that are listed."""
_MAY_ASK: Final = "where this server may look; give the folder to the client, or start the server with --root"


def repository_in(roots: Sequence[Path], named: str | None = None) -> Path:
    """The repository that a client names by a path in it, else the only one around or below the roots; links resolved.

    A relative path is one below a root. Raises RepositoryError for what lies outside all roots, or has its git
    directory there, and where there are several repositories, which it lists, or none.
    """
    roots = [root.resolve() for root in roots]
    listed, found = ", ".join(map(str, roots)), set[Path]()
    for root in roots:
        if named is None:
            try:
                found.add(discovery.containing(root).resolve())
            except RepositoryError:
                found.update(_below(root))
        elif not found:
            # what does not exist; a loop of links, no such user; a NUL byte
            with suppress(OSError, RuntimeError, ValueError):
                place = (root / Path(named).expanduser()).resolve(strict=True)
                if _is_under(roots, place):
                    found.add(discovery.containing(place if place.is_dir() else place.parent))
    inside = [place for place in sorted(found) if _is_under(roots, place)]
    if named is not None and not found:  # in the same words for what is outside and for what does not exist
        raise RepositoryError(f"{named}: not a folder in {listed}, {_MAY_ASK}")
    if not found:
        raise RepositoryError(f"no git repository at {listed}, nor {_LEVELS} folders below; name one in `repository`")
    if not inside:
        raise RepositoryError(f"the repository {min(found)} lies outside {listed}, {_MAY_ASK}")
    if len(inside) > 1:
        names = [str(place.relative_to(roots[0]) if len(roots) == 1 else place) for place in inside]
        more = f" and {len(names) - _MOST:,} more" if len(names) > _MOST else ""
        raise RepositoryError(
            f"there are several repositories; name one in `repository`: {', '.join(names[:_MOST])}{more}"
        )
    discovery.check_roots(inside[0], roots)
    return inside[0]


def _below(root: Path, levels: int = _LEVELS) -> Iterator[Path]:
    """Repositories in a folder, found by the names of files alone."""
    with suppress(OSError):  # a folder that may not be read
        for place in sorted(root.iterdir()):
            if place.name.startswith(".") or place.name == "node_modules" or place.is_symlink() or not place.is_dir():
                continue
            if discovery.is_repository(place):
                yield place
            elif levels > 1:
                yield from _below(place, levels - 1)


def _is_under(roots: Sequence[Path], place: Path) -> bool:
    return any(place.is_relative_to(root) for root in roots)


def answer(
    checkpoint: Path | None,
    roots: Sequence[Path],
    repository: str | None,
    report: str,
    path: str | None,
    options: dict[str, Any],
    progress: Progress,
) -> Found:
    """What ``Localizer.localize`` says of a report, or ``explain`` of a ``path``. Raises what they raise."""
    place = repository_in(roots, repository)
    localizer, asked = opened(place, checkpoint), read_report(StringIO(report))
    if path is None:
        made, reasons = localizer.localize(asked, **options, progress=progress), 1
    else:
        given = Path(os.path.normpath(path))
        inner = given.relative_to(place) if given.is_absolute() and given.is_relative_to(place) else given
        made = replace(localizer.explain(asked, inner.as_posix(), **options, progress=progress), others=())
        reasons = len(made.hits[0].why)
    return Found.of(made, sources(localizer, made), reasons)
