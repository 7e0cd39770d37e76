"""What commands over many projects say of them, and how they end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import typer

from tosloc.cli.mine import mined_reports
from tosloc.cli.printing import print_notes
from tosloc.errors import RepositoryError, ToslocError

SOME_FAILED: Final = 1
"""Exit code where some projects failed and the others are finished."""
_NAMED: Final = 10


def not_with_projects(**named: Path | None) -> None:
    """Raise ToslocError for an option of one project that was given together with --projects."""
    for name, value in named.items():
        if value is not None:
            raise ToslocError(f"--{name.replace('_', '-')}: is of one project; leave it out with --projects")


def not_without(repo: Path | None, reports: Path | None, **many: Path | None) -> tuple[Path, Path]:
    """The repository and the reports of one project: by default the one around this folder, and what was mined of it.

    Raises ToslocError where one is neither named nor there.
    """
    from tosloc.git import discovery
    from tosloc.git.repository import Repository

    for name, value in many.items():
        if value is not None:
            raise ToslocError(f"--{name}: goes with --projects, which names many projects at once")
    if repo is not None and reports is not None:
        return repo, reports
    if repo is None:
        with suppress(RepositoryError):
            repo = discovery.around(Path.cwd())
    if repo is None:
        raise ToslocError("Missing option '--repo'; or name many projects with --projects")
    if reports is not None:
        return repo, reports
    with Repository(repo) as repository:
        mined = mined_reports(repository)
    if not mined.exists():
        raise ToslocError("Missing option '--reports'; or run tosloc mine first, or name many projects with --projects")
    print_notes([f"the reports are those of tosloc mine, {mined}"])
    return repo, mined


def named(projects: Sequence[str], one: str, many: str) -> str:
    """How many projects, what is said of one or of many, and the first by name.

    >>> named(["a"], "has none", "have none"), named(["a", "b"], "has none", "have none")
    ('1 project has none: a', '2 projects have none: a, b')
    """
    shown = ", ".join(projects[:_NAMED]) + (" ..." if len(projects) > _NAMED else "")
    return f"1 project {one}: {shown}" if len(projects) == 1 else f"{len(projects)} projects {many}: {shown}"


def show_outcomes(found: Any, outcomes: Sequence[Any], then: str = "") -> None:
    """Say which projects were made, kept, left out and failed. Exits with 1 if one failed."""
    counts = Counter(outcome.state for outcome in outcomes)
    said = f"{counts['made']} of {len(outcomes)} projects made"
    if counts["kept"]:
        said += f", {counts['kept']} {'was' if counts['kept'] == 1 else 'were'} finished before"
    notes = [said]
    if found.missing:
        why = "no repository and"
        notes.append(named(found.missing, f"has {why} is left out", f"have {why} are left out"))
    notes += [f"{outcome.project} failed: {outcome.why}" for outcome in outcomes if outcome.state == "failed"]
    if then and counts["failed"] < len(outcomes):
        notes.append(then)
    print_notes(notes)
    if counts["failed"]:
        raise typer.Exit(SOME_FAILED)
