"""Lines that are no messages: each is answered with an error, under the id that it was sent with."""

from __future__ import annotations

import json
import math
from typing import Any

from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCNotification
from mcp_types.jsonrpc import RequestId, jsonrpc_message_adapter
from pydantic import ValidationError


class Refusal(JSONRPCError):
    """An error; an id may be any number in JSON-RPC, if not in MCP."""

    id: RequestId | float | None  # type: ignore[assignment]


def refusals(line: str) -> list[Refusal]:
    """Errors for a line, one for each request in it; none where it is a message, or blank."""
    if not line.strip():
        return []
    code = INVALID_REQUEST
    try:
        given = json.loads(line)
    except (ValueError, RecursionError):
        given = None
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        if not (isinstance(message, JSONRPCNotification) and "id" in given):
            return []
    except ValidationError as error:
        code = PARSE_ERROR if error.errors()[0]["type"] == "json_invalid" else code
    sentence = {
        PARSE_ERROR: "this line is no JSON, or is nested too deeply",
        INVALID_REQUEST: "this line is no single message, its id text or a whole number",
    }[code]
    requests = given if isinstance(given, list) else [given]
    ids = [one["id"] for one in requests if isinstance(one, dict) and _is_id(one.get("id"))]
    return [Refusal(jsonrpc="2.0", id=one, error=ErrorData(code=code, message=sentence)) for one in ids or [None]]


def _is_id(value: Any) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return number or (isinstance(value, str) and value.isprintable())
