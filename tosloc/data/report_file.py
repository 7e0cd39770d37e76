"""What the readers of all report formats share: the file, the labelled record, times, lists of paths, texts."""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from functools import cached_property
from itertools import zip_longest
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, Final, TypeAlias
from xml.etree.ElementTree import Element, ParseError
from zoneinfo import ZoneInfo

import defusedxml.ElementTree
from defusedxml.common import DefusedXmlException

from tosloc.data.web import address
from tosloc.errors import ConfigError, ReportError
from tosloc.files import read_plain
from tosloc.records import BugReport

Json: TypeAlias = dict[str, object]

_NO_RANKS: Mapping[str, int] = MappingProxyType({})
_MISSING = frozenset({"", "nan", "none", "null"})
_EPOCH = re.compile(r"-?[0-9]{9,13}(?:\.[0-9]{1,20})?")
_RANK = re.compile(r"(?:^|(?<=\s))[0-9]{1,9}:")

LARGEST_FILE: Final = 100_000_000
"""Bytes of a file of labelled reports: some thirty times the largest published one."""
MOST_TAGS: Final = 2_000_000
"""Tags of its XML, or of the XML inside a spreadsheet: five times those of the largest published one."""


@dataclass(frozen=True, slots=True)
class ChangedFunction:
    """A function that a fix changed, as data names it."""

    path: str
    name: str
    start: int = 0
    """Its first line after the fix; 0 where the data gives none, and then the name is the qualified one before it."""


@dataclass(frozen=True)
class LabelledReport:
    """A bug report with its answer, as a file of reports lists it: nothing is checked against a repository yet."""

    report: BugReport
    """Its id is the tracker's number; a number that comes again with another commit becomes ``55937#2``, and so on."""
    commit: str | None
    """The fixing commit as listed: full, abbreviated, or None when the format has none."""
    listed: tuple[str, ...]
    """The fixed source files as listed, each once, in order: paths, or dotted class names (``org.x.Y.java``)."""
    status: str = ""
    published_ranks: Mapping[str, int] = field(default_factory=lambda: _NO_RANKS, hash=False)
    """path -> rank that the authors of the data published for it; empty where they gave none."""
    fixed_on: datetime | None = None
    """When the tracker says that the bug was fixed; only formats without commits have it."""
    bug: str = ""
    """The tracker's number: the report's id without the ``#2`` of a repeated one."""
    version: str | None = None
    """The commit to search, where the data names that in place of the fix."""
    functions: tuple[ChangedFunction, ...] = ()
    """Truth of the function level; each once."""
    changed_lines: tuple[tuple[str, int, int], ...] = ()
    """(path, first line, last line) of what the fix changed, in ``version``."""

    def __post_init__(self) -> None:
        if not self.bug:
            object.__setattr__(self, "bug", self.report.id)


@dataclass(frozen=True)
class ReportFile:
    """A file of labelled reports, of whatever format, and how it is to be understood."""

    name: str
    """Its path, for errors."""
    data: bytes
    zone: tzinfo
    """Where times without a zone are read."""
    suffixes: frozenset[str]
    """Listed files that end with one of them are kept."""

    @property
    def text(self) -> str:
        """Its text; ReportError when it is binary."""
        return decoded_text(self.data, self.name)

    @cached_property
    def beginning(self) -> bytes:
        """What it begins with, blanks aside."""
        return self.data[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()

    @property
    def is_xml(self) -> bool:
        """Whether it begins like XML."""
        return self.beginning.startswith((b"<", b"\xff\xfe<", b"\xfe\xff\0<"))

    @cached_property
    def xml(self) -> Element:
        """Root of the XML. ReportError when it is malformed, too large, declares entities or points outside itself."""
        if self.data.count(b"<") > MOST_TAGS:
            raise ReportError(f"{self.name}: has more than {MOST_TAGS:,} tags; split it into smaller files")
        try:
            root: Element = defusedxml.ElementTree.fromstring(self.data)
        except DefusedXmlException as error:
            raise ReportError(
                f"{self.name}: declares XML entities, which are not expanded; remove its <!DOCTYPE ...>"
            ) from error
        except (ParseError, LookupError, ValueError, RecursionError) as error:
            raise ReportError(f"{self.name}: malformed XML ({error})") from error
        return root


def zone_of(name: str) -> tzinfo:
    """Time zone of an IANA name such as ``America/New_York``; ConfigError when there is none."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ConfigError(f"no time zone is named {name!r}; give an IANA name, such as America/New_York") from error


def time_of(value: object, zone: tzinfo, where: str) -> datetime:
    """The time ``value`` names, in UTC: ISO text, a date, or seconds (milliseconds) since 1970.

    A time that carries no zone is read in ``zone``. One that the clock skipped in spring is read as if it had not been
    put forward, and one that it showed twice in autumn is the first of the two. ReportError when it is no time.

    >>> time_of("2014-03-09 02:30:00", zone_of("America/New_York"), "row 2").isoformat()
    '2014-03-09T07:30:00+00:00'
    """
    try:
        if isinstance(value, datetime):
            time = value
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            time = _since_1970(value)
        elif isinstance(value, str) and _EPOCH.fullmatch(value.strip()):
            time = _since_1970(float(value))
        elif isinstance(value, str):
            time = datetime.fromisoformat(value.strip())
        else:
            raise ValueError(f"{type(value).__name__} is no time")
        if time.tzinfo is None:
            time = time.replace(tzinfo=zone)
        return time.astimezone(UTC)
    except (ValueError, OverflowError, OSError) as error:
        shown = value if isinstance(value, str) else repr(value)
        raise ReportError(f"{where}: {shown[:60]!r} is no time; write it like 2014-01-15T07:30:17+00:00") from error


def _since_1970(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds / 1000 if abs(seconds) >= 1e11 else seconds, UTC)


def split_paths(text: str, suffixes: Iterable[str]) -> tuple[str, ...]:
    """Paths of a cell, each once, in order; they end with a source suffix, in either case, and may contain blanks.

    What does not end with a suffix (a path cut at the end of its cell, a file that is no source) is left out.

    >>> split_paths("a/Eclipse SWT/B.java c/D.java", [".java"])
    ('a/Eclipse SWT/B.java', 'c/D.java')
    """
    suffixes = sorted(suffixes)
    ends = "|".join(map(re.escape, suffixes))
    end = re.compile(rf"(?:{ends})(?=\s|$)", re.IGNORECASE)
    lowered = [suffix.lower() for suffix in suffixes]
    found = []
    for line in text.splitlines():
        start = 0
        for suffix in end.finditer(line):
            path = line[start : suffix.end()].lstrip()
            if any(
                path.lower().endswith(one, 1) for one in lowered
            ):  # else it is a suffix alone: a path begins with it
                found.append(path)
                start = suffix.end()
    return tuple(dict.fromkeys(found))


def split_ranks(text: str) -> dict[str, int]:
    """path -> rank from ``rank:path rank:path``; paths may contain blanks, the best rank of a repeated path counts.

    >>> split_ranks("2:a/Eclipse SWT/B.java 13:c/D.java")
    {'a/Eclipse SWT/B.java': 2, 'c/D.java': 13}
    """
    ranks: dict[str, int] = {}
    starts = list(_RANK.finditer(text))
    for start, following in zip_longest(starts, starts[1:]):
        path = text[start.end() : len(text) if following is None else following.start()].strip()
        if path:
            rank = int(start.group()[:-1])
            ranks[path] = min(rank, ranks.get(path, rank))
    return ranks


def source_files(paths: Iterable[str], suffixes: Iterable[str]) -> tuple[str, ...]:
    """Those of ``paths`` that end with a suffix, in either case, each once, in order."""
    ends = tuple(suffix.lower() for suffix in suffixes)
    return tuple(dict.fromkeys(path for path in paths if path.lower().endswith(ends)))


def text_or_empty(value: object) -> str:
    """Text of a cell or element: "" where it is missing, also when written as ``nan``, ``None`` or ``NULL``."""
    text = clean("" if value is None else str(value)).strip()
    return "" if text.casefold() in _MISSING else text


def clean(text: str) -> str:
    """``text`` with line breaks as ``\\n`` and what UTF-8 cannot hold (halves of surrogate pairs) replaced."""
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def without_bug_number(summary: str, bug: str) -> str:
    """``summary`` without a leading ``Bug 123456`` of this very bug.

    >>> without_bug_number("Bug 425999 [GTK3] Running", "425999")
    '[GTK3] Running'
    """
    return re.sub(rf"^Bug {re.escape(bug)}(?:\s*[:-])?(?:\s+|$)", "", summary).strip()


def unique(reports: Iterable[LabelledReport], source: str) -> list[LabelledReport]:
    """The reports with ids made unique: the second of one id becomes ``id#2``, in the order of the file.

    ReportError when an id comes again with the same commit, or without any: then a report is listed twice.
    """
    seen: dict[str, set[str | None]] = {}
    kept = []
    for report in reports:
        number = report.report.id
        commits = seen.setdefault(number, set())
        if report.commit in commits:
            which = f"with commit {report.commit}" if report.commit else "without a commit"
            raise ReportError(f"{source}: report {number} is listed twice {which}; keep one of them")
        commits.add(report.commit)
        if len(commits) > 1:
            report = replace(report, report=replace(report.report, id=f"{number}#{len(commits)}"), bug=number)
        kept.append(report)
    ids = {report.report.id for report in kept}
    if len(ids) < len(kept):
        raise ReportError(f"{source}: two reports get the same id; do not end ids with # and a number")
    return kept


def read_bytes(source: Path | BinaryIO, name: str, limit: int) -> bytes:
    """Content of a plain file or a stream; ReportError when it cannot be read, is empty, or has ``limit`` or more."""
    try:
        if isinstance(source, Path):
            data = read_plain(source, limit - 1)
        else:
            data = source.read(limit)
    except FileNotFoundError as error:
        if (given := address(name)) is not None:
            raise ReportError(
                f"{given}: is an address, and nothing is asked of the web; name a file of what stands there, for an"
                " issue of GitHub what `gh issue view NUMBER --json number,title,body,createdAt` prints"
            ) from error
        raise ReportError(f"{name}: no such file; check the path") from error
    except IsADirectoryError as error:
        raise ReportError(f"{name}: is a folder; give a file inside it") from error
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == errno.EFBIG:
            raise too_large(name, limit) from error
        raise ReportError(f"{name}: cannot be read ({getattr(error, 'strerror', None) or error})") from error
    if len(data) >= limit:
        raise too_large(name, limit)
    if not data.strip():
        raise ReportError(f"{name}: is empty; a report was expected")
    return data


def too_large(name: str, limit: int) -> ReportError:
    """What to say of a file that holds ``limit`` bytes or more."""
    if limit < LARGEST_FILE:
        what = "keep the description and the stack trace, and leave out the rest"
    else:
        what = "split it into smaller files"
    return ReportError(f"{name}: is {limit // 1_000_000} MB or larger; {what}")


def decoded_text(data: bytes, name: str) -> str:
    """Text of UTF-8 bytes, or UTF-16 with a byte order mark; wrong bytes are replaced. ReportError when binary."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if b"\0" in data:
        raise ReportError(f"{name}: is binary (it has NUL bytes); give text, Markdown or JSON")
    return data.decode("utf-8-sig", "replace")


def json_of(text: str, name: str) -> object:
    """The JSON value that ``text`` holds; ReportError with line and column when it is malformed."""
    try:
        value: object = json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}" if "\n" in text else f"column {error.colno}"
        raise ReportError(f"{name}: malformed JSON in {where}: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise ReportError(f"{name}: JSON that cannot be read ({error})") from error
    return value


def text_field(record: Json, key: str, where: str) -> str:
    """Text at ``key``: "" when it is absent or null, digits when it is a number. ReportError when it is no text."""
    value = record.get(key)
    if isinstance(value, bool) or not isinstance(value, (str, int, float, type(None))):
        raise ReportError(f"{where}: {key!r} must be text, and is {type(value).__name__}")
    return "" if value is None else clean(str(value)).strip()
