"""Commits as git stores them, parsed."""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Final

from tosloc.core.reports import VALID_TIMES
from tosloc.git import fixes

MAX_MESSAGE_BYTES: Final = 2**20
"""Largest number of bytes of a message that are kept.

The longest message that we know, of a squashed merge, has some hundred thousand.
"""
LONG_MESSAGE_BYTES: Final = 16 * 2**10
"""Number of bytes from which a message counts as long."""
MAX_LONG_MESSAGES_BYTES: Final = 32 * 2**20
"""Largest number of bytes of the long messages of commits that are read together.

Of the long messages after that, only the first LONG_MESSAGE_BYTES are kept. Without this limit, a
pack of a few megabytes could unpack to gigabytes of messages.
"""
_TREE_AND_PARENTS = re.compile(rb"tree ([0-9a-f]{40,64})\n((?:parent [0-9a-f]{40,64}\n)*+)author ")
_COMMITTER_TIME = re.compile(rb"(?m)^committer .*> ?(-?\d{1,15})(?: ([-+]?\d+))?$")
_ZONE = re.compile(rb"([-+])([01]\d|2[0-3])([0-5]\d)")
_ENCODING = re.compile(rb"(?mi)^encoding (?!idna|puny|un|raw|mbcs|oem)([\w.:-]{1,40})$")
"""Declared encoding of a message; excludes codecs of Python that are no character encodings."""


@dataclass(frozen=True, slots=True)
class CommitInfo:
    """The parsed content of a commit object."""

    id: str
    tree: str
    parents: tuple[str, ...]
    """Full ids, first parent first; empty for a commit at which a shallow clone was cut off."""
    committed_at: int
    """Committer time in seconds since 1970, UTC; 0 if it is missing or out of range for a date."""
    message: str
    message_bytes: int = 0
    """Number of bytes of the message in git, at most MAX_MESSAGE_BYTES."""
    is_shortened: bool = False
    """Whether the end of the message was cut off, because there are too many long messages."""
    zone: timezone = UTC
    """The committer's time zone."""

    @classmethod
    def of(
        cls,
        commit_id: str,
        content: bytes,
        shallow: Collection[str] = (),
        long_bytes_left: int = MAX_LONG_MESSAGES_BYTES,
    ) -> CommitInfo | None:
        """Return the parsed commit object; None if it is damaged.

        ``shallow`` are the commits at which a shallow clone was cut off: the parents of these are
        left out. A long message of more than ``long_bytes_left`` bytes is shortened.
        """
        header, _, body = content.partition(b"\n\n")
        match = _TREE_AND_PARENTS.match(header)
        if match is None:
            return None
        parents = () if commit_id in shallow else tuple(match[2].decode("ascii").split()[1::2])
        committer_time = _COMMITTER_TIME.search(header)
        seconds = int(committer_time[1]) if committer_time else 0
        message = body[:MAX_MESSAGE_BYTES].partition(b"\0")[0]  # git shows nothing after NUL either
        message_bytes = len(message)
        is_shortened = message_bytes > max(LONG_MESSAGE_BYTES, long_bytes_left)
        if is_shortened:
            message = message[:LONG_MESSAGE_BYTES]
        return cls(
            commit_id,
            match[1].decode("ascii"),
            parents,
            seconds if seconds in VALID_TIMES else 0,
            _decode_message(header, message),
            message_bytes,
            is_shortened,
            _parse_zone(committer_time[2] if committer_time else None),
        )

    @property
    def committed(self) -> datetime:
        """Committer time in the committer's time zone; in UTC if that would be no valid date."""
        time = datetime.fromtimestamp(self.committed_at, UTC)
        # OverflowError: the zone would move the time before the year 1 or after 9999.
        with suppress(OverflowError):
            return time.astimezone(self.zone)
        return time

    @property
    def subject(self) -> str:
        """First line of the message; "" if the message is empty."""
        return self.message.strip().partition("\n")[0].strip()

    @property
    def has_long_message(self) -> bool:
        """Whether the message is so long that it counts towards MAX_LONG_MESSAGES_BYTES."""
        return self.message_bytes > LONG_MESSAGE_BYTES

    @property
    def pull_request(self) -> str:
        """The pull request ("#12") or merge request ("!45") of the commit; "" if unknown."""
        return fixes.own_pull_request(self.message)

    @property
    def bug_ids(self) -> tuple[str, ...]:
        """Numbers of the bugs and issues that the message mentions, see ``fixes.bug_ids``."""
        return fixes.bug_ids(self.message)

    @property
    def declared_causes(self) -> tuple[str, ...]:
        """Commits that introduced a bug, according to the message.

        ``fixes.declared_causes`` explains them.
        """
        return fixes.declared_causes(self.message)

    @property
    def names_reporter(self) -> bool:
        """Whether a trailer of the message names the person who reported the bug."""
        return fixes.names_reporter(self.message)


@lru_cache(maxsize=64)
def _parse_zone(text: bytes | None) -> timezone:
    """Return the time zone that git writes as hours and minutes; UTC if it is missing or invalid.

    >>> _parse_zone(b"+0530")
    datetime.timezone(datetime.timedelta(seconds=19800))
    """
    match = _ZONE.fullmatch(text or b"")
    if match is None:
        return UTC
    offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
    return timezone(-offset if match[1] == b"-" else offset)


def _decode_message(header: bytes, message: bytes) -> str:
    """Return a commit's message, decoded as its header declares, or as UTF-8 by default."""
    declared = _ENCODING.search(header)
    encoding = declared[1].decode("ascii") if declared else "utf-8"
    try:
        return message.decode(encoding, "replace")
    except (LookupError, ValueError):  # no character encoding, or one that Python cannot use
        return message.decode("utf-8", "replace")
