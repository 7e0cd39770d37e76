"""The command itself, asked over standard input and output: by the SDK's own client, and by hand."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from mcp_types import ListRootsResult, Root

from tosloc.cli import main

pytestmark = pytest.mark.slow
REPORT = "Cart.add forgets an item that is equal to another one"
COMMAND = [sys.executable, "-m", "tosloc", "mcp"]


def test_listing_calls_and_two_questions_at_once(shop: Path) -> None:
    texts: list[str] = []

    async def named(_: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=shop.as_uri())])

    async def one(client: Client, arguments: dict[str, Any]) -> None:
        result = await client.call_tool("localize_bug", arguments)
        texts.append(result.content[0].text)  # type: ignore[union-attr]

    async def run() -> None:
        parameters = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], env=dict(os.environ))
        async with Client(stdio_client(parameters), list_roots_callback=named) as client:
            assert [tool.name for tool in (await client.list_tools()).tools] == ["localize_bug", "explain_file"]
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(one, client, {"report": REPORT})
                tasks.start_soon(one, client, {"report": REPORT, "repository": "/"})
            await one(client, {"report": REPORT, "top": 0})
            await one(client, {"report": (REPORT + "\n") * 30_000})

    anyio.run(run)
    outside, found, wrong, large = sorted(texts[:2], key=lambda text: "not a folder in" not in text) + texts[2:]
    assert "not a folder in" in outside
    assert "1. shop/cart.py" in found
    assert "top: Input should be greater than or equal to 1" in wrong
    assert "1. shop/cart.py" in large


class Running:
    """The command, with messages written and read by hand."""

    def __init__(self, shop: Path, *command: str) -> None:
        self.process = subprocess.Popen(
            [*command, "--root", str(shop)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.number = 0
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        assert self.asked("initialize", client)["result"]["serverInfo"]["name"] == "tosloc"
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def asked(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The next line that comes, which has to be the answer."""
        self.number += 1
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        assert self.process.stdout is not None
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        assert answer["id"] == self.number
        return answer


PRINTS = """
import os, re, subprocess, sys
from tosloc.localizer import Localizer
original = Localizer.localize
def noisy(self, report, *given, **more):
    print("noise", flush=True)
    os.write(1, b"more noise\\n")
    subprocess.run(["git", "--version"])
    if report.summary == "seized":
        re.match("(a+)+$", "a" * 60 + "b")  # holds the interpreter for good
    return original(self, report, *given, **more)
Localizer.localize = noisy  # also where questions are answered: a new process runs this file
if __name__ == "__main__":
    from tosloc.__main__ import main
    sys.exit(main())
"""


@pytest.fixture
def noisy(shop: Path, tmp_path: Path) -> Iterator[Running]:
    (tmp_path / "noisy.py").write_text(PRINTS)
    started = Running(shop, sys.executable, str(tmp_path / "noisy.py"), "mcp")
    yield started
    started.process.kill()
    started.process.communicate()


@pytest.mark.parametrize("way", ["closed", signal.SIGINT, signal.SIGTERM])
def test_a_question_that_never_ends_does_not_keep_it(noisy: Running, way: str | signal.Signals) -> None:
    noisy.send(
        {
            "jsonrpc": "2.0",
            "id": 5,
            "method": "tools/call",
            "params": {"name": "localize_bug", "arguments": {"report": "seized"}},
        }
    )
    process = noisy.process
    assert process.stderr is not None
    assert process.stdin is not None
    while "git version" not in process.stderr.readline():
        pass
    if isinstance(way, signal.Signals):
        process.send_signal(way)
    else:
        process.stdin.close()
        process.stdin = None
    assert process.wait(5) == (128 + way if isinstance(way, signal.Signals) else 0)
    said = process.stderr.read()  # nobody holds it any more: what answered has ended, too
    assert said == ("" if way == "closed" else "tosloc: interrupted; run the same command again to go on\n")


def test_what_is_printed_never_reaches_the_client_and_lines_that_are_no_messages_are_passed_over(
    noisy: Running,
) -> None:
    answer = noisy.asked("tools/call", {"name": "localize_bug", "arguments": {"report": REPORT}})
    assert "1. shop/cart.py" in answer["result"]["content"][0]["text"]
    process = noisy.process
    assert process.stdin is not None
    process.stdin.write("hello\n[1]\n\n" + "[" * 100_000 + '\n{"jsonrpc":"2.0","id":2.5,"method":"tools/list"}\n')
    assert noisy.asked("tools/list", {})["result"]["tools"]
    out, error = process.communicate(timeout=120)  # a client that goes ends it
    assert (out, process.returncode) == ("", 0)
    assert "noise\nmore noise\ngit version" in error


def test_a_root_that_is_not_there_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", "--root", str(tmp_path / "none")]) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert error.endswith("none: no such folder; give one that holds repositories to --root\n")
