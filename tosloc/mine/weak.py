"""Weak reports, from git alone: what commits say of the bugs that they fix, as if it had been reported so."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from tosloc.git.fixes import says_fix
from tosloc.git.repository import Repository
from tosloc.mine import links
from tosloc.records import TIMES, BugReport, Progress, silent

_TRAILER: Final = re.compile(r"(?im)^(?:git-svn-id|change-id|[a-z-]{3,30}-by|cc|bug|closes?|fix(?:es)?|refs?):.*$")
_LEADING_NUMBER: Final = re.compile(
    r"(?i)\A(?:fix(?:e[sd])?|close[sd]?|resolve[sd]?)?[\s:(\[]*(?:(?:issue|bug|bz|pr)\s*)?(?:#?\d{2,9}|[A-Z][A-Z0-9]+-\d+)[\s:)\].,-]*"
)
_FILLER: Final = re.compile(
    r"""(?ix)\b(?:(?:bug|hot)?fix(?:e[ds]|ing)? | bugs? | issues? | errors? | problems? | updated? | a | an | the | for
      | in | of | some | more | small | minor | stuff | [\w./-]+\.[a-z]\w{0,5} )\b | \#?\d+"""
)
"""What says nothing of a fault: words of fixing, numbers, names of files."""
_OF_FORM: Final = re.compile(
    r"""(?ix)\b(?: typos? | spelling | grammar | wording | white-?spaces? | spac(?:e|es|ing) | indent\w* | format\w*
      | long[ ]lines? | styles? | nits? | lint\w* | (?:auto)?pep-?8\w* | flake8 | py(?:lint|flakes|right) | mypy
      | typing | type[ ]?hints? | annotations? | warnings? | doc(?:s|strings?|umentation)? | comments? | read-?me
      | change-?log | copyright | licen[cs]es? | versions? | bump\w* | releases? | refactor\w* | clean-?ups? | reviews?
      | tests? | testing | travis | ci | coverage | examples? | merge )\b"""
)


def mine_messages(repository: Repository, *, tip: str = "HEAD", progress: Progress = silent) -> links.Mined:
    """Weak reports, from git alone: what commits say of the bugs that they fix, as if it had been reported so.

    Each is as old as its fix, and called by its id. They are easier than what users write, who do not know the fix.
    """
    infos = links.history(repository, tip, progress)
    fixes = [info for info in infos.values() if len(info.parents) < 2 and says_fix(info.message)]
    changes, gone = links.source_changes(repository, fixes), links.reverted(infos)
    mined = links.Mined(len(fixes), "")
    for info in fixes:
        change = changes.get(info.id, links.Change())
        subject, _, body = _TRAILER.sub("", info.message).strip().partition("\n")
        summary, description = _LEADING_NUMBER.sub("", subject).strip() or subject.strip(), body.strip()
        words = len(_FILLER.sub("", summary).split())
        reasons = (
            (info.id in gone, links.REVERTED),
            (info.id not in changes, links.NO_PARENT),
            (not change.paths, links.NO_SOURCE),
            (change.files > links.MOST_FILES, links.TOO_MANY),
            ((len(summary.split()) < 3 or not words) and not description, "the message says too little"),
            (words < 4 and _OF_FORM.search(summary), "the message speaks of formatting, typing, tests or a version"),
            (info.committed_at not in TIMES, "the commit's date is in no calendar"),
        )
        if why := next((why for holds, why in reasons if holds), ""):
            mined.left_out[why] += 1
        else:
            report = BugReport(info.id[:12], summary, description, datetime.fromtimestamp(info.committed_at, UTC))
            mined.reports.append(links.MinedReport(report, info.id, change.paths, links.WEAK))
    return mined
