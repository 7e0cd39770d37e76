"""Weak reports, from git alone: what commits say of the bugs that they fix, as if it had been reported so."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime
from typing import Final

from tosloc.git.fixes import says_fix
from tosloc.git.repository import Repository
from tosloc.mine import links
from tosloc.records import BugReport, Progress, silent

NO_WORDS: Final = "the message says too little"
NO_FAULT: Final = "the message speaks of formatting, typing, tests or a version, of no fault"
NO_DATE: Final = "the commit's date is in no calendar"

_TRAILER: Final = re.compile(r"(?im)^(?:git-svn-id|change-id|[a-z-]{3,30}-by|cc|bug|closes?|fix(?:es)?|refs?):.*$")
_LEADING_NUMBER: Final = re.compile(
    r"(?i)\A(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?)?[\s:(\[]*(?:(?:issue|bug|bz|pr)\s*)?(?:#?\d{2,9}|[A-Z][A-Z0-9]+-\d+)[\s:)\].,-]*"
)
_FILLERS: Final = frozenset(
    """a about according add added adding adds after again all also an and another any apply as at bit broken bug
    bugfix bugfixes bugs by change changed changes changeset clean cleaned code complaints correct corrected couple
    error errors failing failure failures few file files fix fixed fixes fixing fixup following for from further
    hopefully hotfix i improve improved in into issue issues it last left less line lines little long make many
    minor misc missing more my new non-passing now of old on one only or other our out oversight per possible pr
    prepare preparing problem problems properly quick remaining remove removed removes removing rename renamed
    review run several simple small so some stuff that the these things this to try unused up update updated updates
    updating use various wip with work""".split()
)
_OF_FORM: Final = frozenset(
    """annotation annotations autopep8 black blank bump bumped bumping capitalisation capitalization changelog
    changes.rst checkstyle ci cleanup cleanups clippy comment comments conflict conflicts copyright coverage
    deprecation doc docs docstring docstrings documentation eslint example examples finding findings flake8 format
    formatted formatter formatting gofmt grammar header headers hint hints indent indentation indents isort licence
    license lint linter linting lints merge mypy naming newline newlines nit nits pep pep-8 pep257 pep8 pep8ify
    prettier punctuation pycodestyle pyflakes pylint pyright readme refactor refactored refactoring reformat release
    rubocop ruff rustfmt space spaces spacing spelling style styles styling tab tabs test testing tests trailing
    travis type typehint typehints types typing typo typos version versions violation violations warning warnings
    white whitespace whitespaces wording""".split()
)
_NO_WORD: Final = re.compile(r"v?\d[\w.+-]*|[\w./-]*\w\.[a-z]\w{0,5}|[a-z]\w*(?:/[\w.-]+)+")
"""A number or version, a file, a path."""


def mine_messages(
    repository: Repository, *, tip: str = "HEAD", most_files: int = links.MOST_FILES, progress: Progress = silent
) -> links.Mined:
    """Weak reports, from git alone: what commits say of the bugs that they fix, as if it had been reported so.

    Each is as old as its fix, and called by its id. They are easier than what users write, who do not know the fix.
    """
    commits = links.Commits(repository, tip, progress)
    fixes = [info for info in commits.infos.values() if len(info.parents) < 2 and says_fix(info.message)]
    changes = commits.source_changes(info.id for info in fixes)
    mined = links.Mined(read=len(fixes))
    for info in fixes:
        change = changes.get(info.id, links.Change((), 0))
        summary, description = _words(info.message)
        opened = None
        with suppress(ValueError, OverflowError, OSError):
            opened = datetime.fromtimestamp(info.committed_at, UTC)
        if not mined.leaves_out(
            (info.id in commits.reverted, links.REVERTED),
            (info.id not in changes, links.NO_PARENT),
            (not change.paths, links.NO_SOURCE),
            (change.files > most_files, links.TOO_MANY.format(most_files)),
            (len(summary.split()) < 3 and not description, NO_WORDS),
            (_says_no_fault(summary, description), NO_FAULT),
            (opened is None, NO_DATE),
        ):
            report = BugReport(info.id[:12], summary, description, opened)
            mined.reports.append(links.MinedReport(report, info.id, change.paths, links.WEAK))
    mined.reports.sort(key=lambda one: (commits.infos[one.fix_commit].committed_at, one.fix_commit))
    return mined


def _words(message: str) -> tuple[str, str]:
    """Summary and description of a message: without the issue's number and the lines that tools add.

    >>> _words("Fix #12: crash on save\\n\\nThe writer was closed twice.\\n\\nSigned-off-by: A")
    ('crash on save', 'The writer was closed twice.')
    """
    subject, _, body = _TRAILER.sub("", message).strip().partition("\n")
    return _LEADING_NUMBER.sub("", subject).strip() or subject.strip(), body.strip()


def _says_no_fault(summary: str, description: str) -> bool:
    """Whether a message speaks of the form of the code alone, or its words name files and nothing else.

    >>> said = ("Whitespace fixes following PEP8.", "Update utils.py", "Bump version to 2.1", "Fix crash in utils.py")
    >>> [_says_no_fault(one, "") for one in said]
    [True, True, True, False]
    """
    words = [word.strip("./-") for word in re.findall(r"[\w./-]*\w", summary.lower())]
    left = [word for word in words if word not in _FILLERS and not _NO_WORD.fullmatch(word)]
    return all(word in _OF_FORM for word in left) and (bool(left) or len(description.split()) < 3)
