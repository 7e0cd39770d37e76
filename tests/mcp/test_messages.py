"""Lines that are no messages are answered, under their own id."""

from __future__ import annotations

import pytest

from tosloc.mcp.messages import refusals

CALL = (
    '{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":"localize_bug","arguments":{"id":1,"report":%s}}}'
)


@pytest.mark.parametrize(
    ("line", "ids", "code"),
    [
        (CALL % ("2", '"\\ud800"'), [2], -32700),
        (CALL % ("7", "[" * 100_000 + "]" * 100_000), [None], -32700),
        (CALL % ("8", "9" * 5_000), [None], -32700),
        (CALL % ("9" * 5_000, '"x"'), [None], -32700),
        ("hello", [None], -32700),
        (CALL % ("true", '"x"'), [None], -32600),
        (f"[{CALL % ('1', '[]')}, {CALL % ('2.5', '{}')}]", [1, 2.5], -32600),
        ('{"jsonrpc":"2.0","id":10}', [10], -32600),
        # what is a message is let through
        (CALL % ("1", '"x"'), [], 0),
        (CALL % ('"\\u0031"', '"\\ud83d\\ude00"'), [], 0),
        ('{"jsonrpc":"2.0","method":"notifications/initialized"}', [], 0),
        ('{"jsonrpc":"2.0","id":1,"result":{}}', [], 0),
        ("\n", [], 0),
    ],
)
def test_a_line_that_is_no_message_is_answered(line: str, ids: list[object], code: int) -> None:
    errors = refusals(line + "\n")
    assert [error.id for error in errors] == ids
    assert {error.error.code for error in errors} <= {code}
    assert all(error.model_dump_json(by_alias=True, exclude_unset=True) for error in errors)
