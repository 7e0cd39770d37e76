"""Read failures in events of Sentry (JSON), as an SDK sends or the interface returns them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tosloc.core.errors import ReportError
from tosloc.reports.failures.failure import MAX_BODY_LINES, MAX_FAILURES, Failure
from tosloc.reports.failures.log import MAX_LINE_LENGTH, Log

_BEGIN: Final = re.compile(r"[\s\[]{0,99}\{")
_EVENT_KEYS: Final = ('"event_id"', '"eventID"')
_CONTENT_KEYS: Final = ('"exception"', '"stacktrace"', '"logentry"', '"entries"', '"culprit"')
_RELEASE: Final = re.compile(r"(?:.{1,200}@)?(?P<version>\d[\w.\-]{0,60})(?:\+.{0,200})?\Z")
"""A release such as ``shop@1.4.2+107``."""
_MAX_EXCEPTIONS: Final = 20


def is_sentry(log: Log) -> bool:
    """Return whether a text is JSON of Sentry's events."""
    text = log.text
    return (
        _BEGIN.match(text) is not None
        and any(key in text for key in _EVENT_KEYS)
        and any(key in text for key in _CONTENT_KEYS)
    )


def read_sentry(log: Log) -> Iterator[Failure]:
    """Yield the error of each event in a text. Raises ReportError for malformed events.

    The text contains one event, a list of events, or one event a line.
    """
    lines = [line for line in log.text.split("\n") if line.strip()]
    try:
        if len(lines) > 1 and all(line.startswith("{") and line.endswith("}") for line in lines):
            parsed = list(map(json.loads, lines))
        else:
            parsed = json.loads(log.text)
    except (ValueError, RecursionError) as error:
        raise ReportError(f"{log.name}: the Sentry event is malformed JSON ({error})") from error
    events = parsed if isinstance(parsed, list) else [parsed]
    for event in events[:MAX_FAILURES]:
        failure = _failure(_event_within(event))
        if failure is not None:
            yield failure


def _event_within(value: Any) -> Mapping[str, Any]:
    """Return the event inside the data that a webhook sends, or ``value`` itself."""
    for key in ("data", "event"):
        inner = _mapping(value).get(key)
        if isinstance(inner, dict):
            value = inner
    return _mapping(value)


def _failure(event: Mapping[str, Any]) -> Failure | None:
    """Return the error of an event; None if the event contains none."""
    body: list[str] = []
    message = ""
    for exception in _exceptions(event)[:_MAX_EXCEPTIONS]:
        kind = _text(exception.get("type"))
        value = _text(exception.get("value"))
        error = ": ".join(filter(None, [kind, value]))
        message = message or error
        body.append(f"Caused by: {error}" if body else error)
        body += _frames(_mapping(exception.get("stacktrace")))
    if not body:
        message = _message(event)
        body = [message, *_frames(_mapping(event.get("stacktrace")))]
    place = _text(event.get("culprit")) or _text(event.get("transaction"))
    if not message and not place:
        return None
    release = event.get("release")
    version = _RELEASE.match(_text(_mapping(release).get("version") or release))
    if version is not None:
        body += ["", f"Version: {version['version']}"]
    opened = event.get("dateCreated") or event.get("timestamp") or event.get("datetime")
    return Failure(place, body[:MAX_BODY_LINES], message, opened=opened or None)


def _exceptions(event: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the exceptions of an event, the last raised first."""
    data = event.get("exception")
    for entry in _sequence(event.get("entries")):
        if _mapping(entry).get("type") == "exception":
            data = _mapping(entry).get("data")
    values = _mapping(data).get("values", data)
    return [_mapping(value) for value in _sequence(values)][::-1]


def _message(event: Mapping[str, Any]) -> str:
    """Return the message of an event that has no exception."""
    for entry in _sequence(event.get("entries")):
        if _mapping(entry).get("type") == "message":
            data = _mapping(_mapping(entry).get("data"))
            return _text(data.get("formatted") or data.get("message"))
    logged = _mapping(event.get("logentry"))
    message = logged.get("formatted") or logged.get("message") or event.get("message")
    return _text(message or event.get("title"))


def _frames(stacktrace: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a stack trace in the order of the event's language.

    Sentry stores the innermost frame last. Frames of libraries are left out if any frame is marked
    as the project's own.
    """
    frames = [_mapping(frame) for frame in _sequence(stacktrace.get("frames"))]
    own = [frame for frame in frames if frame.get("in_app") or frame.get("inApp")]
    frames = own or frames
    is_python = any(_path(frame).endswith(".py") for frame in frames)
    for frame in frames[-MAX_BODY_LINES:] if is_python else frames[: -MAX_BODY_LINES - 1 : -1]:
        yield from _frame(frame)


def _frame(frame: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a frame: its position, and its code if the event contains it."""
    path = _path(frame)
    function = _text(frame.get("function"))
    module = _text(frame.get("module"))
    line = _text(frame.get("lineno") or frame.get("lineNo"))
    if path.endswith(".py"):
        yield f'  File "{path}", line {line or 0}, in {function or "<module>"}'
    elif module and "/" not in path and path.endswith((".java", ".kt", ".scala", ".groovy")):
        yield f"    at {module}.{function}({path}:{line or 0})"
    elif function:
        yield f"{path}:{line or 0}: in {function}"
    elif path:
        yield f"{path}:{line or 0}"
    code = _text(frame.get("context_line"))
    for numbered in _sequence(frame.get("context")):
        if isinstance(numbered, list) and len(numbered) == 2 and _text(numbered[0]) == line:
            code = _text(numbered[1])
    if code.strip():
        yield f"    {code.strip()}"


def _path(frame: Mapping[str, Any]) -> str:
    """Return the file of a frame."""
    return _text(frame.get("filename")) or _text(frame.get("abs_path") or frame.get("absPath"))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _sequence(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    """Return a text or number as one line of limited length; "" for any other value."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return " ".join(str(value)[:MAX_LINE_LENGTH].split())
