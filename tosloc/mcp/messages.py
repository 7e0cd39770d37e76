"""Lines that are no messages: each is answered with an error, under the id that it was sent with."""

from __future__ import annotations

import re
from typing import Final

from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCNotification
from mcp_types.jsonrpc import RequestId, jsonrpc_message_adapter
from pydantic_core import from_json

_TOKEN: Final = re.compile(
    r'"id"\s*+:\s*+(?P<id>"[^"\\\x00-\x1f]*+"|-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,17})?)(?=\s*+(?:[],}]|\Z))'
    r'|"(?:[^"\\]|\\.)*+"?|(?P<bracket>[][{}])'
)
"""An id; else a string, within which nothing is looked for; else a bracket."""


class Refusal(JSONRPCError):
    """An error; an id may be any number in JSON-RPC, if not in MCP."""

    id: RequestId | float | None  # type: ignore[assignment]


def refusals(line: str) -> list[Refusal]:
    """Errors for a line, one for each request in it; none where it is a message, or blank."""
    error = ErrorData(code=PARSE_ERROR, message="this line is no JSON, or is nested too deeply")
    try:
        given = from_json(line)
        error = ErrorData(code=INVALID_REQUEST, message="this line is no single message, its id text or a whole number")
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        wrong = isinstance(message, JSONRPCNotification) and "id" in given
    except ValueError:
        wrong = bool(line.strip())
    return [Refusal(jsonrpc="2.0", id=one, error=error) for one in _ids(line) or [None]] if wrong else []


def _ids(line: str) -> list[RequestId | float | None]:
    """Ids of the requests in a line that may be a list of them, cut, or nested too deeply.

    >>> _ids('{"params": {"id": 1}, "id": "a", "method": "x'), _ids('[{"id": 1}, {"id": 2.5}]'), _ids('{"id": null}')
    (['a'], [1, 2.5], [])
    """
    level, depth = 2 if line.lstrip("\ufeff \t").startswith("[") else 1, 0
    found = []
    for token in _TOKEN.finditer(line):
        if token["bracket"]:
            depth += 1 if token["bracket"] in "[{" else -1
        elif token["id"] and depth == level:
            found.append(from_json(token["id"]))
    return found
