"""A question: a report, the version to search and every option of its answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Final, Literal, Self, TypeAlias, get_args

from tosloc.core.errors import ToslocError
from tosloc.core.reports import BugReport

Code: TypeAlias = Literal["lines", "body", "none"]
"""Which code an answer shows from its first files.

With "lines", these are the lines that match the report best. With "body", the first file has the
body of its first function instead. With "none", there is neither code nor a diff.
"""
_CODES: Final = get_args(Code)


@dataclass(frozen=True)
class Question:
    """A bug report and how to answer it, for all interfaces: Python, command line, page and agents.

    If ``include``, ``exclude``, ``tests`` or ``min_confidence`` is None, the repository's settings
    apply (see ``tosloc.localize.settings``). Raises ToslocError for impossible values.
    """

    report: BugReport | str
    """The report, or its text (see ``read_report``)."""
    _: KW_ONLY
    commit: str | None = None
    """Commit, branch or tag to search; None for the files on disk, or HEAD of a bare repository."""
    path: str | None = None
    """The only file to answer about, with its rank; None for the most suspicious files."""
    include: Sequence[str] | None = None
    """Globs in ``.gitignore`` syntax: only files that match one are listed."""
    exclude: Sequence[str] | None = None
    """Globs in ``.gitignore`` syntax: no file that matches one is listed."""
    tests: bool | None = None
    """Whether test files may be listed."""
    all_files: bool = False
    """Whether test, generated, minified, translated and vendored files may be listed."""
    min_confidence: float | None = None
    """Smallest confidence of a listed file, from 0 to 1."""
    top: int = 10
    """Largest number of listed files; at least 1."""
    functions: int = 3
    """Largest number of functions for each file; at least 0."""
    background: bool = True
    """Whether the answer contains similar past changes, and tests and people of its first file."""
    code: Code = "lines"
    """Which code the answer shows from its first files; "none" also omits suspects' diffs."""
    suspects: bool | None = None
    """Whether the answer contains past changes that may have introduced the bug.

    None means yes if the report says that something worked before, or if ``good`` or ``bad`` is
    given.
    """
    good: Sequence[str] = ()
    """Commits, branches or tags that work; by default those that the report states.

    Only changes that none of them contains are suspects.
    """
    bad: str | None = None
    """Commit, branch or tag that fails; by default those that the report states.

    Only changes that it contains are suspects.
    """

    @classmethod
    def about_file(
        cls, report: BugReport | str, path: str, *, commit: str | None = None, functions: int = 10
    ) -> Self:
        """Return the question why a file has its rank for a report."""
        return cls(
            report,
            commit=commit,
            path=path,
            functions=functions,
            background=False,
            suspects=False,
        )

    def __post_init__(self) -> None:
        if not isinstance(self.report, BugReport | str):
            kind = type(self.report).__name__
            raise ToslocError(f"a report must be a BugReport or its text, not {kind}")
        for name in ("include", "exclude"):
            globs = getattr(self, name)
            if isinstance(globs, str):
                raise ToslocError("this must be a list of globs, as in ['src/']", about=name)
            if globs is not None:
                object.__setattr__(self, name, tuple(globs))
        if isinstance(self.good, str):
            raise ToslocError("this must be a list of revisions, as in ['v1.2']", about="good")
        object.__setattr__(self, "good", tuple(self.good))
        if self.good or self.bad is not None:
            if self.suspects is False:
                raise ToslocError(
                    "good and bad commits bound the suspect changes, which are turned off; leave"
                    " out one of the two",
                    about="suspects",
                )
            object.__setattr__(self, "suspects", True)
        if self.code not in _CODES:
            raise ToslocError(f"this must be one of {', '.join(_CODES)}", about="code")
        for name, least in (("top", 1), ("functions", 0)):
            if getattr(self, name) < least:
                raise ToslocError(f"this must be {least} or more", about=name)
        if self.min_confidence is not None and not 0 <= self.min_confidence <= 1:
            raise ToslocError("this must be a number from 0 to 1", about="min_confidence")
