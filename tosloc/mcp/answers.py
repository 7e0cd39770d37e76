"""What agents are answered: of which repositories, and what they read of an answer, for whom each character counts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from tosloc.core.errors import RepositoryError, pluralize
from tosloc.core.io import escape_unprintable
from tosloc.core.records import BugReport, Progress
from tosloc.git import discovery
from tosloc.localize.answer import (
    Answer,
    SearchScope,
    Weights,
    background_lines,
    is_before_first_commit,
    percent,
)
from tosloc.localize.localizer import Localizer
from tosloc.localize.session import details_of, opened
from tosloc.rank.excerpts import choose_excerpts

DETAILED: Final = 3
"""Files that have more than a path."""
LINES: Final = 6
"""Lines of source of such a file, at most."""
_LEVELS: Final = 3
"""Of folders below a root in which repositories are looked for."""


class File(BaseModel, use_attribute_docstrings=True):
    """A file of the repository."""

    rank: int
    path: str
    share: float
    """How sure the answer is, 0 to 1."""
    functions: list[str] = []
    """The likeliest first, with their lines."""
    why: list[str] = []
    source: list[str] = []
    """The likeliest lines, numbered."""


class Found(BaseModel, use_attribute_docstrings=True):
    """Files that have to be changed, the likeliest first."""

    commit: str
    searched: SearchScope
    total: int
    """Files of the answer, also those that the budget has no room for."""
    files: list[File]
    others: list[str] = []
    """Files that are no sources, and may matter, too."""
    background: list[str] = []
    """Tests of the first file, who knows it, and earlier changes like the report."""
    notes: list[str] = []
    weights: Weights = Weights("shipped")
    """The weights that ranked the files; left out where they are the shipped ones."""

    @classmethod
    def of(
        cls, answer: Answer, sources: Mapping[str, list[str]], reasons: int | None = None
    ) -> Found:
        """All that an answer may tell: its first files with ``sources`` and so many reasons, of the rest the paths."""
        files = [
            # three digits, but a small share is no missing one, which is 0
            File(rank=hit.rank, path=escape_unprintable(hit.path), share=float(f"{hit.share:.3g}"))
            for hit in answer.hits
        ]
        for file, hit in zip(files[:DETAILED], answer.hits, strict=False):
            file.functions = [
                escape_unprintable(f"{one.name}:{one.start}-{one.end}") for one in hit.functions
            ]
            file.why = [escape_unprintable(reason.text) for reason in hit.why[:reasons]]
            file.source = sources.get(hit.path, [])
        return cls(
            commit=answer.commit,
            searched=answer.searched,
            total=len(files),
            files=files,
            others=[escape_unprintable(hit.path) for hit in answer.others],
            background=[escape_unprintable(one.text) for one in background_lines(answer)],
            notes=list(map(escape_unprintable, answer.warnings)),
            weights=answer.weights,
        )

    def within(self, budget: int, form: Callable[[Found], str]) -> str:
        """A ``form`` of it that has at most so many characters: the background goes first, then other files,
        lines, reasons, functions, notes and files, and of each kind the last ones. Nothing is cut in two.
        """
        kept = self.model_copy(deep=True)
        files = kept.files[::-1]
        parts: list[list[Any]] = [kept.background, kept.others, *(file.source for file in files)]
        parts += [
            *(file.why for file in files),
            *(file.functions for file in files),
            kept.notes,
            kept.files,
        ]
        for part in parts:
            while part and len(form(kept)) > budget:
                part.pop()
        return form(kept)

    def text(self) -> str:
        """A line for each file, its reasons and its source below it."""
        of = self.searched
        hidden = f", {of.hidden_tests:,} tests left out" if of.hidden_tests else ""
        if is_before_first_commit(self.commit):
            version = "on disk, nothing is committed yet"
        else:
            changes = pluralize(of.uncommitted, "uncommitted change")
            version = f"of {self.commit[:10]}" + (f" and {changes}" if of.uncommitted else "")
        searched = f"{pluralize(of.files, 'file')} {version}{hidden}"
        lines = [f"{searched}. Rank. File (how sure): functions with lines"]
        for file in self.files:
            functions = f": {', '.join(file.functions)}" if file.functions else ""
            lines.append(f"{file.rank:,}. {file.path} ({percent(file.share)}){functions}")
            lines += [f"   - {reason}" for reason in file.why]
            lines += [f"   {line}" for line in file.source]
        if len(self.files) < self.total:
            lines.append(
                f"({self.total - len(self.files)} more left out for room; give a larger budget)"
            )
        others = [f"other files: {', '.join(self.others)}"] if self.others else []
        notes = [f"note: {note}" for note in self.notes]
        if self.weights.kind == "trained":
            notes.append(self.weights.sentence)
        return "\n".join([*lines, *others, *self.background, *notes])

    def as_json(self) -> str:
        """As structured content; what is empty is left out."""
        return self.model_dump_json(exclude_defaults=True)


def sources(localizer: Localizer, answer: Answer) -> dict[str, list[str]]:
    """Path -> the lines of the likeliest function that say most of the report, numbered, of the first files."""
    details, found = details_of(localizer, answer, DETAILED), {}
    for hit, framed, lines in details.lines:
        likeliest = hit.functions[:1]
        for one in likeliest:  # nothing else of the file is shown
            lines = [
                line if one.start <= number <= one.end else ""
                for number, line in enumerate(lines, start=1)
            ]
            # a frame's line is that of the report's version, where the function may have stood elsewhere
            framed = [line for line in framed if one.start <= line <= one.end]
        for places in choose_excerpts(lines, details.terms, likeliest, framed, (), 1, LINES):
            found[hit.path] = [
                f"{place + 1}: {escape_unprintable(lines[place])}".rstrip() for place in places
            ]
    return found


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
            found.append(discovery.enclosing_repository(place if place.is_dir() else place.parent))
    inside = [
        place for place in dict.fromkeys(found) if any(place.is_relative_to(root) for root in roots)
    ]
    if not inside:
        what = f"{named}: " if named else ""
        raise RepositoryError(
            f"{what}no git repository in {', '.join(map(str, roots))}, where this server may look; give its folder to"
            " the client, or start the server with --root"
        )
    if named is None and len(inside) > 1:
        names = ", ".join(sorted(map(str, inside)))
        raise RepositoryError(f"there are several repositories; name one in `repository`: {names}")
    discovery.check_inside_roots(inside[0], roots)
    return inside[0]


def _below(root: Path) -> Iterator[Path]:
    """Repositories in a folder, found by the names of files alone."""
    for folder, folders, _ in os.walk(root):
        place = Path(folder)
        if discovery.looks_like_repository(place):
            yield place
            folders.clear()
        deep = len(place.relative_to(root).parts) == _LEVELS
        folders[:] = [
            name for name in folders if not (deep or name.startswith(".") or name == "node_modules")
        ]


def answer(
    report: BugReport,
    checkpoint: Path | None,
    roots: Sequence[Path],
    repository: str | None,
    path: str | None,
    options: dict[str, Any],
    progress: Progress,
) -> Found:
    """Return what ``Localizer.localize`` answers, or ``explain`` if there is a ``path``. Raises as they do."""
    place = repository_in(roots, repository)
    localizer = opened(place, checkpoint)
    if path is None:
        made = localizer.localize(report, **options, progress=progress)
    else:
        inside = (place / path).is_relative_to(place)
        inner = os.path.relpath(place / path, place) if inside else path
        made = replace(localizer.explain(report, inner, **options, progress=progress), others=())
    return Found.of(made, sources(localizer, made), reasons=1 if path is None else None)
