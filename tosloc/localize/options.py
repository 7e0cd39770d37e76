"""Options for an answer: the same in Python, on the command line, on the page and in MCP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypedDict


class LocalizeOptions(TypedDict, total=False):
    """Options of ``Localizer.localize`` and ``localize_many``.

    ``include``, ``exclude``, ``tests`` and ``min_share`` fall back to the repository's settings
    (see ``tosloc.core.settings``) when they are left out or None.
    """

    commit: str | None
    """The version to search; None for the files on disk."""
    include: Sequence[str] | None
    """Globs in ``.gitignore`` syntax: only files that match one are listed."""
    exclude: Sequence[str] | None
    """Globs in ``.gitignore`` syntax: no file that matches one is listed."""
    tests: bool | None
    """Whether test files are listed."""
    every_class: bool
    """Whether test, generated, minified, translated and vendored files are listed."""
    min_share: float | None
    """Files with a smaller share, from 0 to 1, are left out."""
    top: int
    """Largest number of files; at least 1."""
    functions: int
    """Largest number of functions for each file; at least 0."""
    background: bool
    """Whether the answer has similar past changes, and tests and people of its first file."""
    code: bool
    """Whether the first files have the lines of code that say most."""
    suspects: bool | None
    """Whether the answer has past changes that may have introduced the fault.

    None: if the report says that something worked before.
    """


DEFAULTS: Final = LocalizeOptions(
    commit=None,
    include=None,
    exclude=None,
    tests=None,
    every_class=False,
    min_share=None,
    top=10,
    functions=3,
    background=True,
    code=True,
    suspects=None,
)


def complete_options(options: LocalizeOptions) -> LocalizeOptions:
    """Return the options with defaults for those that are missing.

    Raises TypeError for an unknown option, and ValueError for ``top`` below 1, ``functions``
    below 0, or a glob in place of a list of globs.
    """
    unknown = options.keys() - DEFAULTS.keys()
    if unknown:
        raise TypeError(f"localize has no option {min(unknown)!r}")
    complete: LocalizeOptions = {**DEFAULTS, **options}
    if complete["top"] < 1:
        raise ValueError("top must be 1 or more")
    if complete["functions"] < 0:
        raise ValueError("functions must be 0 or more")
    if isinstance(complete["include"], str) or isinstance(complete["exclude"], str):
        raise ValueError("include and exclude must be lists of globs")
    return complete
