"""Lines that are no messages are answered, under their own id."""

from __future__ import annotations

import pytest

from tosloc.mcp.messages import refusal

CALL = (
    '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"localize_bug","arguments":{"id":1,"report":%s}}}'
)


@pytest.mark.parametrize(
    ("line", "sent", "code"),
    [
        (CALL % ("2", '"\\ud800"'), 2, -32700),
        (CALL % ("7", "[" * 100_000 + "]" * 100_000), None, -32700),
        (CALL % ("8", "9" * 5_000), None, -32700),
        (CALL % ("9" * 5_000, '"x"'), None, -32700),
        ("hello", None, -32700),
        (CALL % ("true", '"x"'), None, -32600),
        (CALL % ("2.5", '"x"'), None, -32600),
        (f"[{CALL % ('1', '[]')}]", None, -32600),
        ('{"jsonrpc":"2.0","id":10}', 10, -32600),
        # what is a message is let through
        (CALL % ("1", '"x"'), None, 0),
        (CALL % ('"\\u0031"', '"\\ud83d\\ude00"'), None, 0),
        ('{"jsonrpc":"2.0","method":"notifications/initialized"}', None, 0),
        ('{"jsonrpc":"2.0","id":1,"result":{}}', None, 0),
        ("\n", None, 0),
    ],
)
def test_a_line_that_is_no_message_is_answered(line: str, sent: object, code: int) -> None:
    error = refusal(line + "\n")
    assert (error.id, error.error.code) == (sent, code) if error else code == 0
    assert error is None or error.model_dump_json(by_alias=True, exclude_unset=True)
