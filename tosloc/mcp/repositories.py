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


def repository_in(roots: Sequence[Path], named: str | None = None) -> Path:
    """The repository that a client names by a path in it, else the only one at or below the roots; links resolved.

    A relative path is one below a root. Raises RepositoryError for what lies outside all roots, or has its git
    directory there, and where there are several repositories, which it lists, or none.
    """
    roots = [root.resolve() for root in roots]
    found: list[Path] = []
    for root in roots:
        if named is None:
            found += _below(root)
            continue
        # what does not exist, or is in no repository; a loop of links, no such user; a NUL byte
        with suppress(OSError, RepositoryError, RuntimeError, ValueError):
            place = (root / Path(named).expanduser()).resolve(strict=True)
            found.append(discovery.containing(place if place.is_dir() else place.parent))
    inside = [place for place in dict.fromkeys(found) if any(place.is_relative_to(root) for root in roots)]
    if not inside:
        what = f"{named}: " if named else ""
        raise RepositoryError(
            f"{what}no git repository in {', '.join(map(str, roots))}, where this server may look; give its folder to"
            " the client, or start the server with --root"
        )
    if named is None and len(inside) > 1:
        names = [str(place.relative_to(roots[0]) if len(roots) == 1 else place) for place in inside]
        raise RepositoryError(f"there are several repositories; name one in `repository`: {', '.join(sorted(names))}")
    discovery.check_roots(inside[0], roots)
    return inside[0]


def _below(root: Path) -> Iterator[Path]:
    """Repositories in a folder, found by the names of files alone."""
    for folder, folders, _ in os.walk(root):
        place = Path(folder)
        if discovery.is_repository(place):
            yield place
            folders.clear()
        deep = len(place.relative_to(root).parts) == _LEVELS
        folders[:] = [name for name in folders if not (deep or name.startswith(".") or name == "node_modules")]


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
        made = localizer.localize(asked, **options, progress=progress)
        return Found.of(made, sources(localizer, made), reasons=1)
    inner = os.path.relpath(place / path, place)
    made = localizer.explain(asked, inner, **options, progress=progress)
    return Found.of(replace(made, others=()), sources(localizer, made))
