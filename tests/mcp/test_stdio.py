"""``tosloc mcp`` itself, asked by messages on its standard input."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import TIMEOUT_SECONDS
from tosloc.cli import main

pytestmark = pytest.mark.slow
REPORT = "Cart.add forgets an item that is equal to another one"
NOISY_MODULE = """
import os, re, subprocess
from tosloc.localize.localizer import Localizer
original = Localizer.answer
def noisy(self, question, *arguments, **options):
    print("noise", flush=True)
    os.write(1, b"more noise\\n")
    subprocess.run(["git", "--version"])
    if question.report.summary == "seized":
        re.match("(a+)+$", "a" * 60 + "b")  # never gives the interpreter back
    return original(self, question, *arguments, **options)
Localizer.answer = noisy
"""
"""A module that each new Python process imports when it starts, also the one that answers."""


TOOL_CALL = (
    '{"jsonrpc":"2.0","id":"a","method":"tools/call",'
    '"params":{"name":"localize_bug","arguments":{"report":"%s"}}}'
)


def send(process, method, number=None, **params):
    """Send a request, or without a number a notification."""
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    if number is not None:
        message["id"] = number
    process.stdin.write(json.dumps(message) + "\n")
    process.stdin.flush()


def request(process, method, number, **params):
    """Send a request and return the result, which must be the next line."""
    send(process, method, number, **params)
    answer = json.loads(process.stdout.readline())
    assert answer["id"] == number
    return answer["result"]


def send_line(process, line):
    """Send a line as it is and return the next message."""
    process.stdin.write(line + "\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


class RawClient:
    """A client that answers the requests of a server with given results or errors."""

    def __init__(self, folder, *options, **answers):
        """``answers`` maps capabilities (roots, sampling) to the answer to their request."""
        command = [sys.executable, "-m", "tosloc", "mcp", *options]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=folder)
        self.answers = answers
        client = {
            "protocolVersion": "2025-06-18",
            "capabilities": {name: {} for name in answers},
            "clientInfo": {"name": "t", "version": "1"},
        }
        request(self.process, "initialize", 1, **client)
        send(self.process, "notifications/initialized")

    def call(self, **arguments):
        """Return the result of ``localize_bug``."""
        send(self.process, "tools/call", 2, name="localize_bug", arguments=arguments)
        while True:
            message = json.loads(self.process.stdout.readline())
            if "method" not in message:
                return message["result"]
            capability = message["method"].partition("/")[0]
            answer = {"jsonrpc": "2.0", "id": message["id"], **self.answers[capability]}
            self.process.stdin.write(json.dumps(answer) + "\n")
            self.process.stdin.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({"result": {"roots": [{"uri": "https://example.org"}]}}, "its answer is not valid"),
        ({"result": {}}, "its answer is not valid"),
        ({"error": {"code": -32601, "message": "not here"}}, "not here"),
    ],
    ids=["web address", "no list", "error"],
)
def test_a_client_that_does_not_name_its_folders_is_told_what_to_do(shop, answer, problem):
    with RawClient(shop, roots=answer) as client:
        result = client.call(report=REPORT)
    message = f"the client does not name its folders ({problem}); start the server with --root"
    assert result["isError"]
    assert message in result["content"][0]["text"]


@pytest.mark.parametrize(
    "answer", [{"result": {"role": "assistant"}}, {"error": {"code": -1, "message": "declined"}}]
)
def test_a_client_whose_model_gives_no_answer_gets_the_usual_one(shop, answer):
    with RawClient(shop, "--sampling", sampling=answer) as client:
        result = client.call(report=REPORT)
    assert not result["isError"]
    assert "1. shop/cart.py" in result["content"][0]["text"]


@pytest.fixture
def noisy_server(shop, tmp_path, monkeypatch):
    """Start a server whose work prints, and yield it after the handshake."""
    (tmp_path / "sitecustomize.py").write_text(NOISY_MODULE)
    python_path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])
    monkeypatch.setenv("PYTHONPATH", python_path)
    command = [sys.executable, "-m", "tosloc", "mcp", "--root", str(shop)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        client = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        assert request(process, "initialize", 1, **client)["serverInfo"]["name"] == "tosloc"
        send(process, "notifications/initialized")
        yield process
        process.kill()


@pytest.mark.parametrize(
    "signal_number", [0, signal.SIGINT, signal.SIGTERM], ids=["closed input", "SIGINT", "SIGTERM"]
)
def test_a_question_that_never_ends_does_not_keep_the_server(noisy_server, signal_number):
    send(noisy_server, "tools/call", 2, name="localize_bug", arguments={"report": "seized"})
    assert any("git version" in line for line in noisy_server.stderr)
    if signal_number:
        noisy_server.send_signal(signal_number)
    else:
        noisy_server.stdin.close()
    assert noisy_server.wait(TIMEOUT_SECONDS) == (128 + signal_number if signal_number else 0)
    # Standard error ends here, so the process that answered has ended, too.
    rest = noisy_server.stderr.read()
    interrupted = "tosloc: interrupted; run the same command again to continue\n"
    assert rest == (interrupted if signal_number else "")


def test_printed_text_never_reaches_the_client(noisy_server):
    arguments = {"report": REPORT * 600}
    answer = request(noisy_server, "tools/call", 2, name="localize_bug", arguments=arguments)
    assert "1. shop/cart.py" in answer["content"][0]["text"]
    # A client that leaves ends the server.
    out, err = noisy_server.communicate(timeout=TIMEOUT_SECONDS)
    assert out == ""
    assert noisy_server.returncode == 0
    assert "noise\nmore noise\ngit version" in err


def test_lines_that_are_no_messages_are_skipped(noisy_server):
    nested = "[" * 100_000
    fractional_id = '{"jsonrpc":"2.0","id":2.5,"method":"tools/list"}'
    noisy_server.stdin.write(f"hello\n[1]\n\n{nested}\n{fractional_id}\n")
    assert request(noisy_server, "tools/list", 3)["tools"]


@pytest.mark.parametrize("half", [r"\ud800", r"\uDFFF", r"\udc00\ud800", r"\\\ud800"])
def test_half_a_character_in_a_report_does_not_silence_the_answer(noisy_server, half):
    answer = send_line(noisy_server, TOOL_CALL % f"{REPORT} {half}")
    assert answer["id"] == "a"
    assert "1. shop/cart.py" in answer["result"]["content"][0]["text"]


@pytest.mark.parametrize(
    "rest",
    [
        r'"method":"tools/\ud800","params":{}',
        r'"method":"tools/list","params":{"\ud800":"\udc00"}',
        r'"method":"tools/call","params":{"name":"\ud800","arguments":{}}',
    ],
    ids=["method", "parameter", "name of the tool"],
)
def test_half_a_character_elsewhere_does_not_silence_the_answer(noisy_server, rest):
    assert send_line(noisy_server, f'{{"jsonrpc":"2.0","id":5,{rest}}}')["id"] == 5


def test_whole_characters_arrive_as_they_are(noisy_server):
    name = r"\ud83d\ude00\u2028\\ud800"
    params = f'{{"name":"{name}","arguments":{{}}}}'
    line = f'{{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{params}}}'
    answer = json.dumps(send_line(noisy_server, line), ensure_ascii=False)
    assert "\U0001f600\u2028\\ud800" in answer.replace("\\\\", "\\")


def test_a_client_that_closes_the_output_ends_the_server_quietly(shop):
    read_end, write_end = os.pipe()
    command = [sys.executable, "-m", "tosloc", "mcp", "--root", str(shop)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=write_end, stderr=pipe, text=True) as process:
        os.close(write_end)
        os.close(read_end)
        send(process, "ping", 1)
        _, err = process.communicate(timeout=TIMEOUT_SECONDS)
    assert err == ""
    assert process.returncode == 1


def test_a_missing_root_is_one_sentence(tmp_path, capsys):
    assert main(["mcp", "--root", str(tmp_path / "none")]) == 2
    message = f"{tmp_path}/none' does not exist; see: tosloc mcp --help"
    assert message in capsys.readouterr().err
