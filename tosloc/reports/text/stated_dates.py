"""Find the dates on which, as a report says, something still worked or began to fail.

Only a few plain sentences are read: "worked on 2024-03-01", "yesterday it was fine", "crashes since
last week", "stopped working two days ago". Any other date says nothing, such as a date in a log or
in "I use it since May".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from itertools import islice
from typing import Final, NamedTuple

from tosloc.reports.text.markup import COMMENT
from tosloc.reports.text.verbs import is_doubted, is_failure, is_negation, nearest_statement

MAX_DATES: Final = 50
"""Largest number of dates that are examined in a text."""
WINDOW: Final = 80
"""Number of characters before and after a date that are examined."""
MAX_DAYS: Final = 366
"""Largest number of days before the opening; an older date says little about the cause."""
UPDATE_DAYS: Final = 14
"""Number of days whose changes an update brings."""
_MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS: Final = {
    **{"a": 1, "an": 1, "one": 1, "two": 2, "couple of": 2, "three": 3, "four": 4},
    **{"few": 5, "five": 5, "six": 6, "several": 7, "seven": 7},
}
_VAGUE_NUMBERS: Final = frozenset(["couple of", "few", "several"])
_DAYS: Final = {"hour": 1, "day": 1, "night": 1, "week": 7, "month": 31}
"""Unit of time -> its number of days, at least one."""
_MONTH: Final = "(?:" + "|".join(f"{name[:3]}(?:{name[3:]})?" for name in _MONTHS) + ")"
_ORDINAL: Final = r"(?:st|[nr]d|th)?"
_DATE: Final = re.compile(
    rf"""(?ix)(?<![\w./:-])(?:
      (?P<year>20\d\d)-(?P<month>[01]\d)-(?P<day>[0-3]\d)
    | (?P<month_name>{_MONTH})\.?[ ](?P<month_day>\d{{1,2}}){_ORDINAL}
      (?:,?[ ](?P<own_year>20\d\d))?
    | (?P<day_month>\d{{1,2}}){_ORDINAL}[ ](?P<name_month>{_MONTH})\.?
      (?:,?[ ](?P<their_year>20\d\d))?
    | (?P<today>today|this[ ]morning) | (?P<yesterday>yesterday)
    | (?:(?:a|the)[ ])?(?P<number>\d{{1,2}}|{"|".join(_NUMBERS)})
      [ ](?P<unit>hour|day|week|month)s?[ ]ago
    | last[ ](?P<last>night|week|month)
    | (?:last[ ]|this[ ])?(?P<weekday>{"|".join(_WEEKDAYS)})
    )
    (?P<update>['’]s[ ](?:\w{{1,20}}[ ])?
      (?:update|release|build|nightly|deploy\w{{0,5}}|version|upgrade|merge))?
    (?![\w/:-]|\.\w)"""
)
_CLAUSE_END: Final = re.compile(r"[.!?;](?=\s)|\n")
_TOKEN: Final = re.compile(r"[^\s,;:!?()|\[\]\"`*]+")
_WORKED: Final = ("worked", "passed", "succeeded")
"""Verbs that say on their own that something worked."""
_WAS: Final = frozenset("was were".split())
_WORKING: Final = ("working", "fine", "ok", "okay", "good", "correct", "passing", "compiling")
"""Words that, after "was" or "were", say that something worked."""
_BROKE: Final = ("broke", "broken", "regressed")
"""Verbs that say on their own that something began to fail."""
_STARTS: Final = ("started", "began")
"""Verbs that, before a failure, say that something began to fail."""
_STOPS: Final = ("stopped", "quit")
"""Verbs that, before "working", say that something began to fail."""
_STEPS: Final = frozenset("on until till in at of nightly build version from the".split())
"""Words between a verb and a date."""
_FILLERS: Final = frozenset("just only still even about around approximately sometime".split())
_GOOD_NOW: Final = frozenset("work works working fine fixed solved resolved again".split())
"""Words that praise an update."""
_DOUBTS: Final = frozenset("if whether unless should would".split())
_CLAUSE_STARTS: Final = frozenset("but and however because while whereas".split())


class DatedStatement(NamedTuple):
    """A date on which something worked or began to fail, as a report writes it."""

    begins: bool
    """Whether something began to fail on the date; otherwise something worked on it."""
    absolute: date | None = None
    """The date; if ``has_year`` is false, its year is that of the opening or the one before."""
    has_year: bool = True
    weekday: int | None = None
    """A day of the week, from 0 for Monday, if nothing else is known of the date."""
    days_ago: int = 0
    """Days before the opening, if neither a date nor a day of the week is known."""
    is_vague: bool = False
    """Whether ``days_ago`` is only the earliest day that the words allow, as for "last week"."""
    is_update: bool = False
    """Whether an update on the date is blamed, which also brought changes of the days before."""

    def time(self, opened: float) -> float | None:
        """Return a time at which something worked, for a report opened at ``opened``.

        Both are in seconds since 1970. The time is early rather than late. It is None if the date
        is later than the opening, or more than ``MAX_DAYS`` days before the opening.
        """
        day = self.day(opened)
        if day is None:
            return None
        if self.begins:
            day -= timedelta(days=UPDATE_DAYS if self.is_update else 1)
        return datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()

    def day(self, opened: float) -> date | None:
        """Return the day that a report opened at ``opened`` states, under the same conditions."""
        opened_on = datetime.fromtimestamp(opened, UTC).date()
        if self.absolute is not None:
            day = self.absolute
            if not self.has_year:
                day = _with_year(day, opened_on)
        elif self.weekday is not None:
            day = opened_on - timedelta(days=(opened_on.weekday() - self.weekday) % 7 or 7)
        else:
            day = opened_on - timedelta(days=self.days_ago)
        return day if 0 <= (opened_on - day).days <= MAX_DAYS else None


def _with_year(day: date, opened_on: date) -> date:
    """Return the last date with the month and day of ``day`` that is not later than the opening."""
    for year in (opened_on.year, opened_on.year - 1):
        last = date(year, day.month, min(day.day, 28)) + timedelta(days=max(day.day - 28, 0))
        if last <= opened_on:
            return last
    return day


def find_dated_statements(text: str) -> tuple[DatedStatement, ...]:
    """Return the statements of a text on when something worked or began to fail, in its order.

    >>> [statement] = find_dated_statements("It worked on 2024-03-01.")
    >>> statement.absolute, statement.begins
    (datetime.date(2024, 3, 1), False)
    >>> [statement] = find_dated_statements("Saving crashes since yesterday")
    >>> statement.days_ago, statement.begins
    (1, True)
    >>> find_dated_statements("I use it since last week. Built on 2024-03-01.")
    ()
    """
    visible = COMMENT.sub(" ", text)
    statements: dict[DatedStatement, None] = {}
    for match in islice(_DATE.finditer(visible), MAX_DATES):
        begins = _state(visible, match)
        statement = None if begins is None else _read_date(match, begins)
        if statement is not None:
            statements[statement._replace(is_update=match["update"] is not None)] = None
    return tuple(statements)


def find_working_time(statements: Sequence[DatedStatement], opened: float) -> float | None:
    """Return the last time at which something worked, for a report opened at ``opened``; or None.

    What worked after something began to fail was an older version, or another installation, so such
    statements do not count. If no other statement says that something worked, return the earliest
    time before something began to fail. Times are in seconds since 1970.
    """
    dated = [(statement, statement.day(opened)) for statement in statements]
    began = date.max
    for statement, day in dated:
        if statement.begins and not statement.is_vague and day is not None:
            began = min(began, day)
    working: list[float] = []
    beginning: list[float] = []
    for statement, day in dated:
        time = statement.time(opened)
        if time is None or day is None:
            continue
        if statement.begins:
            beginning.append(time)
        elif day <= began:
            working.append(time)
    return max(working) if working else min(beginning, default=None)


def _state(text: str, match: re.Match[str]) -> bool | None:
    """Return True if something began to fail on a date, False if it worked, None otherwise."""
    clause_before = _CLAUSE_END.split(text[max(0, match.start() - WINDOW) : match.start()])[-1]
    clause_after = _CLAUSE_END.split(text[match.end() : match.end() + WINDOW])[0]
    is_question = "?" in text[match.end() : match.end() + len(clause_after) + 1]
    before = [word for word in _words(clause_before) if word not in _FILLERS]
    after = [word for word in _words(clause_after) if word not in _FILLERS]
    if is_question or is_doubted(before) or not _DOUBTS.isdisjoint(before):
        return None
    if before[-1:] == ["since"]:
        statement = nearest_statement(before[:-1], after)
        fails = statement == "fails" or (statement is None and is_failure((*before, *after)))
        is_blamed = match["update"] is not None and not any(word in _GOOD_NOW for word in after[:6])
        is_blamed = is_blamed and nearest_statement(before[:-1], ()) != "works"
        return True if fails or is_blamed else None
    while before and before[-1] in _STEPS:
        before.pop()
    state = _state_of_verbs(before[-4:])
    if state is None and (not before or before[-1] in _CLAUSE_STARTS):
        state = _state_of_verbs(after[:4])
    # "It works today" says nothing about the past.
    return None if match["today"] and state is False else state


def _state_of_verbs(words: Sequence[str]) -> bool | None:
    """Return True if words say that something began to fail, False if it worked; otherwise None."""
    is_denied = any(map(is_negation, words))
    for position, word in enumerate(words):
        if word in _BROKE or (word in _STARTS and is_failure(words[position:])):
            return None if is_denied else True
        following = words[position + 1 : position + 2]
        if word in _STOPS and following and following[0].startswith("work"):
            return True
        is_state = word in _WAS and any(verb in _WORKING for verb in words[position + 1 :])
        if word in _WORKED or is_state:
            return None if is_denied else False
    return None


def _words(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    words = (token.strip(".'’") for token in _TOKEN.findall(text.lower()))
    return [word for word in words if word]


def _read_date(match: re.Match[str], begins: bool) -> DatedStatement | None:
    """Return the statement of a date; None for a day that no month has."""
    if match["weekday"]:
        return DatedStatement(begins, weekday=_WEEKDAYS.index(match["weekday"].lower()))
    if match["today"]:
        return DatedStatement(begins)
    if match["yesterday"]:
        return DatedStatement(begins, days_ago=1)
    if match["last"]:
        unit = match["last"].lower()
        # The last week began up to two weeks ago.
        if unit == "night":
            return DatedStatement(begins, days_ago=_DAYS[unit])
        return DatedStatement(begins, days_ago=2 * _DAYS[unit], is_vague=True)
    if match["unit"]:
        number = match["number"].lower()
        count = int(number) if number.isdigit() else _NUMBERS[number]
        unit = match["unit"].lower()
        days = 1 if unit == "hour" else count * _DAYS[unit]
        is_vague = unit in ("week", "month") or number in _VAGUE_NUMBERS
        return DatedStatement(begins, days_ago=days, is_vague=is_vague)
    year = match["year"] or match["own_year"] or match["their_year"]
    name = match["month_name"] or match["name_month"]
    month = int(match["month"]) if match["month"] else _month_number(name)
    day = int(match["day"] or match["month_day"] or match["day_month"])
    try:
        # 2024 has all days.
        absolute = date(int(year or 2024), month, day)
    except ValueError:
        return None
    return DatedStatement(begins, absolute, year is not None)


def _month_number(name: str) -> int:
    """Return the number of a month from its name, or from the beginning of its name."""
    beginnings = [month[:3] for month in _MONTHS]
    return 1 + beginnings.index(name[:3].lower())
