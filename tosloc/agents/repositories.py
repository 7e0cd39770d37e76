"""Which repositories a client may ask of, and those that are kept open between its questions."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tosloc.data import git_files
from tosloc.errors import RepositoryError

if TYPE_CHECKING:
    from tosloc.localizer import Localizer

OPEN: Final = 4
"""Repositories that stay open; the one that was not asked for longest is closed for a fifth."""


def repository_in(roots: Sequence[Path], named: str | None = None) -> Path:
    """The repository that a client names by a path in it, else the only one that the roots are in; links resolved.

    A relative path is one below a root. Raises RepositoryError for what lies outside all roots, or has its git
    directory there, and where the roots are in several repositories, or in none.
    """
    roots = [root.resolve() for root in roots]
    if named is not None:
        return _inside(roots, git_files.containing(_named(roots, named)))
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
        return git_files.containing(root).resolve()
    except RepositoryError:
        return None


def _inside(roots: Sequence[Path], place: Path) -> Path:
    """The repository, which with all that git reads of it has to lie under the roots."""
    if not _is_under(roots, place):
        raise RepositoryError(f"the repository {place} lies outside {_listed(roots)}, {_MAY_ASK}")
    git_files.check_roots(place, roots)
    return place


def _is_under(roots: Sequence[Path], place: Path) -> bool:
    return any(place.is_relative_to(root) for root in roots)


def _listed(places: Sequence[Path]) -> str:
    return ", ".join(map(str, places))


_MAY_ASK: Final = "where this server may look; give the folder to the client, or start the server with --root"


class Repositories:
    """Localizers of repositories, kept open while they are among the last OPEN that were asked; for one thread."""

    def __init__(self, checkpoint: Path | None = None, number: int = OPEN) -> None:
        self.checkpoint, self.number = checkpoint, number
        self._open: OrderedDict[Path, Localizer] = OrderedDict()

    def localizer(self, repository: Path) -> Localizer:
        """Raises what ``Localizer.open`` raises."""
        from tosloc.localizer import Localizer  # which takes a while: a client should not wait for it to be greeted

        found = self._open.pop(repository, None) or Localizer.open(repository, self.checkpoint, commit=None)
        self._open[repository] = found
        while len(self._open) > self.number:
            self._open.popitem(last=False)[1].close()
        return found

    def close(self) -> None:
        """Close them all."""
        while self._open:
            self._open.popitem()[1].close()
