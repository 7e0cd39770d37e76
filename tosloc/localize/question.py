"""A question: a report, the version to search and every option of its answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Final, Literal, Self, TypeAlias, get_args

from tosloc.core.errors import ToslocError
from tosloc.core.reports import BugReport

Code: TypeAlias = Literal["lines", "body", "none"]
"""Which code an answer shows of its first files.

"lines" are those that say most about the report; with "body", the first file has its first function
instead; "none" shows no code, and no diffs.
"""
_CODES: Final = get_args(Code)


@dataclass(frozen=True)
class Question:
    """A bug report and how to answer it. Python, the command line, the page and agents make one.

    If ``include``, ``exclude``, ``tests`` or ``min_confidence`` is None, it falls back to the
    repository's settings (see ``tosloc.localize.settings``). Raises ToslocError for impossible
    values.
    """

    report: BugReport | str
    """The report, or its text (see ``read_report``)."""
    _: KW_ONLY
    commit: str | None = None
    """Commit, branch or tag to search; None for the files on disk, or HEAD of a bare repository."""
    path: str | None = None
    """The only file to answer about, at its rank; None for the most suspicious files."""
    include: Sequence[str] | None = None
    """Globs in ``.gitignore`` syntax: only files that match one are listed."""
    exclude: Sequence[str] | None = None
    """Globs in ``.gitignore`` syntax: no file that matches one is listed."""
    tests: bool | None = None
    """Whether test files are listed."""
    all_files: bool = False
    """Whether test, generated, minified, translated and vendored files are listed."""
    min_confidence: float | None = None
    """Files with less confidence, from 0 to 1, are left out."""
    top: int = 10
    """Largest number of files; at least 1."""
    functions: int = 3
    """Largest number of functions for each file; at least 0."""
    background: bool = True
    """Whether the answer has similar past changes, and tests and people of its first file."""
    code: Code = "lines"
    """Which code the first files have, and with "none" no suspect has its diff (see ``Code``)."""
    suspects: bool | None = None
    """Whether the answer has past changes that may have introduced the fault.

    None: if the report says that something worked before, or with ``good`` or ``bad``.
    """
    good: Sequence[str] = ()
    """Commits, branches or tags in which it works; by default those that the report states.

    Only changes that none of them contains are suspects."""
    bad: str | None = None
    """Commit, branch or tag in which it fails; by default those that the report states.

    Only changes that it contains are suspects."""

    @classmethod
    def about_file(
        cls, report: BugReport | str, path: str, *, commit: str | None = None, functions: int = 10
    ) -> Self:
        """Return the question of why a file has its rank."""
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
