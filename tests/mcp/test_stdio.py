"""The command itself, asked over standard input and output by hand."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tosloc.cli import main

pytestmark = pytest.mark.slow
REPORT = "Cart.add forgets an item that is equal to another one"
PRINTS = """
import os, re, subprocess
from tosloc.localize.localizer import Localizer
original = Localizer.localize
def noisy(self, report, *given, **more):
    print("noise", flush=True)
    os.write(1, b"more noise\\n")
    subprocess.run(["git", "--version"])
    if report.summary == "seized":
        re.match("(a+)+$", "a" * 60 + "b")  # holds the interpreter for good
    return original(self, report, *given, **more)
Localizer.localize = noisy
"""
"""A module that each new Python process imports when it starts, the worker that answers questions too."""


def send(process, method, number=None, **params):
    message = {"jsonrpc": "2.0", "method": method, "params": params} | (
        {} if number is None else {"id": number}
    )
    process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()


def asked(process, method, number, **params):
    """The next line that comes, which has to be the answer."""
    send(process, method, number, **params)
    answer = json.loads(process.stdout.readline())
    assert answer["id"] == number
    return answer["result"]


@pytest.fixture
def noisy(shop, tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(PRINTS)
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])
    )
    command, pipe = [sys.executable, "-m", "tosloc", "mcp", "--root", str(shop)], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        client = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        assert asked(process, "initialize", 1, **client)["serverInfo"]["name"] == "tosloc"
        send(process, "notifications/initialized")
        yield process
        process.kill()


@pytest.mark.parametrize("way", [0, signal.SIGINT, signal.SIGTERM])
def test_a_question_that_never_ends_does_not_keep_it(noisy, way):
    send(noisy, "tools/call", 2, name="localize_bug", arguments={"report": "seized"})
    while "git version" not in noisy.stderr.readline():
        pass
    noisy.send_signal(way) if way else noisy.stdin.close()
    assert noisy.wait(5) == (128 + way if way else 0)
    said = noisy.stderr.read()  # nobody holds it any more: what answered has ended, too
    assert said == ("tosloc: interrupted; run the same command again to go on\n" if way else "")


def test_what_is_printed_never_reaches_the_client_and_lines_that_are_no_messages_are_passed_over(
    noisy,
):
    answer = asked(noisy, "tools/call", 2, name="localize_bug", arguments={"report": REPORT * 600})
    assert "1. shop/cart.py" in answer["content"][0]["text"]
    noisy.stdin.write(
        "hello\n[1]\n\n" + "[" * 100_000 + '\n{"jsonrpc":"2.0","id":2.5,"method":"tools/list"}\n'
    )
    assert asked(noisy, "tools/list", 3)["tools"]
    out, error = noisy.communicate(timeout=120)  # a client that goes ends it
    assert (out, noisy.returncode) == ("", 0)
    assert "noise\nmore noise\ngit version" in error


def raw(process, line):
    """The answer to a line that is sent as it is."""
    process.stdin.write(line + "\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


@pytest.mark.parametrize("half", [r"\ud800", r"\uDFFF", r"\udc00\ud800", r"\\\ud800"])
def test_half_a_character_does_not_silence_the_answer(noisy, half):
    call = '{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"localize_bug","arguments":{"report":"%s"}}}'
    answer = raw(noisy, call % f"{REPORT} {half}")
    assert answer["id"] == "a"
    assert "1. shop/cart.py" in answer["result"]["content"][0]["text"]


def test_half_a_character_elsewhere_does_not_silence_the_answer(noisy):
    for number, line in enumerate(
        (
            r'{"jsonrpc":"2.0","id":%d,"method":"tools/\ud800","params":{}}',
            r'{"jsonrpc":"2.0","id":%d,"method":"tools/list","params":{"\ud800":"\udc00"}}',
            r'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"\ud800","arguments":{}}}',
        ),
        start=5,
    ):
        assert raw(noisy, line % number)["id"] == number


def test_whole_characters_arrive_as_they_are(noisy):
    line = r'{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"\ud83d\ude00\u2028\\ud800","arguments":{}}}'
    assert "\U0001f600\u2028\\ud800" in json.dumps(raw(noisy, line), ensure_ascii=False).replace(
        "\\\\", "\\"
    )


def test_a_root_that_is_not_there_is_a_sentence(tmp_path, capsys):
    assert main(["mcp", "--root", str(tmp_path / "none")]) == 2
    assert f"{tmp_path}/none' does not exist; see: tosloc mcp --help" in capsys.readouterr().err
