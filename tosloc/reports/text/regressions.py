"""Decide whether a report says that something worked before, so that a change broke it."""

from __future__ import annotations

import re
from typing import Final

from tosloc.reports.text.markup import COMMENT

MAX_CHARACTERS: Final = 100_000
"""Largest number of characters of a report that are read, from the beginning."""
_NEW_VERSION: Final = r"(?:upgrad|updat|releas|version|merge|commit|deploy|refactor)"
_WORKED_BEFORE: Final = re.compile(
    rf"""(?ix)
      \b(?:regression|regressed|bisect(?:ed|ing|s)?)\b
    | \bused[ ]to[ ](?:work|run|return|pass|build|compile|load|show|give|print|support|accept)
    | \bno[ ]longer\b(?![ ]than\b)
    | \b(?:stopped|stops|quit)[ ](?:work|build|compil|load|respond|show|function)ing\b
    | \b(?:worked|working|works|fine|ok|okay|passed|correct(?:ly)?)[ ](?:\w{{1,20}}[ ]){{0,2}}
      (?:before|until|previously|earlier|prior|up[ ]to|in[ ](?:the[ ])?(?:previous|older|earlier))\b
    | \b(?:previously|formerly)[ ,]{{1,2}}(?:\w{{1,20}}[ ]){{0,3}}(?:work|return|pass|was|gave|had)
    | \bworked[ ](?:fine|well|correctly|ok|perfectly|as[ ]expected)\b
    | \bbro(?:ke|ken)[ ](?:since|after|by|in[ ](?:v?\d|the[ ](?:latest|last|new)))
    | \b(?:since|after|following)[ ](?:the|my|our|an?|this|last|latest|recent|new|\ ){{0,5}}
      {_NEW_VERSION}
    | \b(?:downgrad|roll(?:ing|ed)?[ ]back|revert)(?:ing|ed|e)?\b[^.!?\n]{{0,60}}
      \b(?:fix|help|work|solv|resolv)
    """
)


def says_that_it_worked(text: str) -> bool:
    """Return whether a text says that something worked in an earlier version.

    >>> says_that_it_worked("Sessions no longer expire. This used to work.")
    True
    >>> says_that_it_worked("Everything is slow since the last update")
    True
    >>> says_that_it_worked("Sessions never expire. I expected a new one after a day.")
    False
    """
    visible = COMMENT.sub(" ", text[:MAX_CHARACTERS])
    return _WORKED_BEFORE.search(visible) is not None
