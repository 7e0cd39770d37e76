"""Decide whether a report says that something worked before, so that a change broke it."""

from __future__ import annotations

import re
from typing import Final

from tosloc.reports.text.markup import COMMENT

MAX_CHARACTERS: Final = 100_000
"""Largest number of characters of a report that are read, from the beginning."""
_RECENT: Final = r"(?:last|latest|newest|new|recent|most[ ]recent|this|that)"
_ARTICLES: Final = r"(?:(?:the|my|our|your|an?)[ ]{1,3}){0,2}"
_COMMIT: Final = r"(?:\W?\#\d|\W?(?=[a-z]{0,39}\d)[0-9a-f]{7,40}\b)"
"""An issue, a pull request or the id of a commit."""
_LEFT_OUT: Final = r"[ ]{0,3}(?:$|[.,;:!?()])|[ ]{2}"
"""What follows if nothing is named: an end, or two blanks, which replace the project's name."""
_RELEASE: Final = rf"""(?:
      {_ARTICLES}(?:{_RECENT}[ ]{{1,3}}){{0,2}}
      (?:(?:v|m|rc)?\d|{_COMMIT}|(?:version|release|build|commit|master|main|nightly)\b
         (?![ ](?:of|for)[ ]\w))
    | {_ARTICLES}{_RECENT}(?={_LEFT_OUT})
    | (?={_LEFT_OUT})
    )"""
"""A version of the project, after "to"; the version of another thing has that thing's name."""
_CLAUSE: Final = (
    r"[ ](?:i|we|it|they|there|everything|nothing|all|no|and|but|when|is|was|are|has|have|can|will"
    r"|today|yesterday|this[ ](?:morning|week))\b"
)
"""Words that go on after an update of which the report does not say what was updated."""
_OWN_UPDATE: Final = rf"""(?=
      {_LEFT_OUT}|{_CLAUSE}
    | [ ]{{1,3}}(?:to|from|with)(?:[ ]{{2}}|[ ]?{_RELEASE})
    | [ ](?:v?\d|(?:the|this|your)[ ](?:library|package|crate|app|project|tool|plugin|version)\b)
    )"""
"""What follows an update of the project, but not "updating my settings" or "updating Python"."""
_NO_USE: Final = (
    r"(?![ ](?:of|for|to|from)[ ]\w|[ ](?:method|function|call|command|script|statement|query"
    r"|request|event|button|hook|instruction|step)s?\b)"
)
"""Excludes an update that is a use of the project: "after the update of a row"."""
_NEW_VERSION: Final = rf"""(?:
      (?:(?:i|we)[ ](?:have[ ]|just[ ])?)?(?:upgrad|updat)(?:ed|es?|ing)\b{_OWN_UPDATE}
    | {_ARTICLES}(?:{_RECENT}[ ])?(?:upgrade|update)\b{_OWN_UPDATE}
    | (?:the|our|my)[ ](?:upgrade|update|release|merge|refactor(?:ing)?)s?\b{_NO_USE}
    | {_ARTICLES}{_RECENT}[ ]
      (?:upgrade|update|version|release|commit|merge|deploy|deployment|refactor(?:ing)?)s?\b
      {_NO_USE}
    | (?:the[ ])?(?:version|release)[ ]{{1,3}}v?\d
    | (?:the[ ])?(?:commit|merge|merging|pr|pull[ ]request)[ ](?:of[ ]|pr[ ])?{_COMMIT}
    )"""
"""A change of the project, after "since" or "after"."""
_WORKED_BEFORE: Final = re.compile(
    rf"""(?imx)
      \b(?:regression|regressed|bisect(?:ed|ing|s)?)\b
    | \bused[ ]to[ ](?:work|run|return|pass|build|compile|load|show|give|print|support|accept)
    | \bno[ ]longer\b(?![ ]than\b)
    | \b(?:stopped|stops|quit)[ ](?:work|build|compil|load|respond|show|function)ing\b
    | \b(?:worked|working|works|fine|ok|okay|passed|correct(?:ly)?)[ ](?:\w{{1,20}}[ ]){{0,2}}
      (?:before|until|previously|earlier|prior|up[ ]to|in[ ](?:the[ ])?(?:previous|older|earlier))\b
    | \b(?:previously|formerly)[ ,]{{1,2}}(?:\w{{1,20}}[ ]){{0,3}}(?:work|return|pass|was|gave|had)
    | \bworked[ ](?:fine|well|correctly|ok|perfectly|as[ ]expected)\b
    | \bbro(?:ke|ken)[ ](?:since\b|in[ ](?:v?\d|the[ ](?:latest|last|new)))
    | \bbro(?:ke|ken)[ ](?:after|by|with)[ ]{{1,3}}(?:
        v?\d+\.\d | {_COMMIT} | bug[ ]\#?\d | our[ ]new\b
      | {_ARTICLES}(?:{_RECENT}[ ])?(?:fix|commit|patch|pr|pull[ ]request|refactor(?:ing)?)\b
      | {_ARTICLES}{_RECENT}[ ]changes?\b)
    | \b(?:ci|builds?|nightly)[ ](?:(?:is|was|are)[ ])?broken[ ]by\b
    | \b(?:since|after|(?<!the[ ])following)[ ]{{1,3}}{_NEW_VERSION}
    | \b(?:downgrad|roll(?:ing|ed)?[ ]back|revert)(?:ing|ed|e)?\b[^.!?\n]{{0,60}}
      \b(?:fix|help|work|solv|resolv)
    """
)


def says_that_it_worked(text: str) -> bool:
    """Return whether a text says that something worked in an earlier version of the project.

    The project's name should be replaced by a blank in the text, as ``without_name`` does: an
    update of anything that has a name is no change of the project.

    >>> says_that_it_worked("Sessions no longer expire. This used to work.")
    True
    >>> says_that_it_worked("Everything is slow since the last update")
    True
    >>> says_that_it_worked("The shell is slow since updating my settings")
    False
    >>> says_that_it_worked("Sessions never expire. I expected a new one after a day.")
    False
    """
    visible = COMMENT.sub(" ", text[:MAX_CHARACTERS])
    return _WORKED_BEFORE.search(visible) is not None
