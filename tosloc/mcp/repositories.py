"""Which repositories a client may ask of, and the answers from those that stay open in this process."""

from __future__ import annotations

import os
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tosloc.errors import RepositoryError
from tosloc.git import discovery
from tosloc.records import Progress
from tosloc.reports.issues import read_report
from tosloc.session import opened

if TYPE_CHECKING:
    from tosloc.answer import Answer


def repository_in(roots: Sequence[Path], named: str | None = None) -> Path:
    """The repository that a client names by a path in it, else the only one that the roots are in; links resolved.

    A relative path is one below a root. Raises RepositoryError for what lies outside all roots, or has its git
    directory there, and where the roots are in several repositories, or in none.
    """
    roots = [root.resolve() for root in roots]
    if named is not None:
        return _inside(roots, discovery.containing(_named(roots, named)))
    found = {place for root in roots if (place := _around(root)) is not None}
    if not found:
        raise RepositoryError(f"no git repository at {_listed(roots)}; name one in `repository`")
    inside = [place for place in sorted(found) if _is_under(roots, place)]
    if len(inside) > 1:
        raise RepositoryError(f"there are several repositories; name one in `repository`: {_listed(inside)}")
    return _inside(roots, inside[0] if inside else min(found))


def _named(roots: Sequence[Path], named: str) -> Path:
    """What a path of the client names. The sentence is the same for what is outside and for what does not exist."""
    for root in roots:
        try:
            place = (root / Path(named).expanduser()).resolve(strict=True)
        except (OSError, RuntimeError, ValueError):  # none there; a loop of links, no such user; a NUL byte
            continue
        if _is_under(roots, place):
            return place if place.is_dir() else place.parent
    raise RepositoryError(f"{named}: not a folder in {_listed(roots)}, {_MAY_ASK}")


def _around(root: Path) -> Path | None:
    try:
        return discovery.containing(root).resolve()
    except RepositoryError:
        return None


def _inside(roots: Sequence[Path], place: Path) -> Path:
    """The repository, which with all that git reads of it has to lie under the roots."""
    if not _is_under(roots, place):
        raise RepositoryError(f"the repository {place} lies outside {_listed(roots)}, {_MAY_ASK}")
    discovery.check_roots(place, roots)
    return place


def _is_under(roots: Sequence[Path], place: Path) -> bool:
    return any(place.is_relative_to(root) for root in roots)


def _listed(places: Sequence[Path]) -> str:
    return ", ".join(map(str, places))


_MAY_ASK: Final = "where this server may look; give the folder to the client, or start the server with --root"


def answer(
    checkpoint: Path | None,
    roots: Sequence[Path],
    repository: str | None,
    report: str,
    path: str | None,
    options: dict[str, Any],
    progress: Progress,
) -> Answer:
    """What ``Localizer.localize`` says of a report, or ``explain`` of a ``path``. Raises what they raise."""
    place = repository_in(roots, repository)
    localizer, asked = opened(place, checkpoint), read_report(StringIO(report))
    if path is None:
        return localizer.localize(asked, **options, progress=progress)
    given = Path(os.path.normpath(path))
    inner = given.relative_to(place) if given.is_absolute() and given.is_relative_to(place) else given
    return localizer.explain(asked, inner.as_posix(), **options, progress=progress)
