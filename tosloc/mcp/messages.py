"""Lines that are no messages: each is answered with an error, under the id that it was sent with."""

from __future__ import annotations

import json

from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, JSONRPCNotification
from mcp_types.jsonrpc import jsonrpc_message_adapter
from pydantic import ValidationError

_MEANINGS = {
    PARSE_ERROR: "this line is no JSON, or is nested too deeply",
    INVALID_REQUEST: "this line is no single message, its id text or a whole number",
}


def refusal(line: str) -> JSONRPCError | None:
    """The error for a line, its id null where none can be told; None where it is a message, or blank."""
    try:
        given = json.loads(line)
    except (ValueError, RecursionError):
        given = None
    sent = given.get("id") if isinstance(given, dict) else None
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        if not (isinstance(message, JSONRPCNotification) and "id" in given):
            return None
        code = INVALID_REQUEST
    except ValidationError as error:
        code = PARSE_ERROR if error.errors()[0]["type"] == "json_invalid" else INVALID_REQUEST
    known = type(sent) is int or (isinstance(sent, str) and sent.isprintable())
    error_data = ErrorData(code=code, message=_MEANINGS[code])
    return JSONRPCError(jsonrpc="2.0", id=sent if known else None, error=error_data) if line.strip() else None
