"""``tosloc serve``: what it says before it serves, where it listens, how it ends."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from tests.waiting import TIMEOUT_SECONDS, wait_until
from tosloc.cli import main

SIGNALS = pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])


@pytest.mark.parametrize("address", ["code -g", "javascript:alert(1)"])
def test_an_editors_address_without_a_path_is_refused(capsys, address):
    assert main(["serve", "--editor", address]) == 2
    message = f"--editor {address}: this address does not contain {{path}}; write one like vscode:"
    assert message in capsys.readouterr().err


def test_a_port_in_use_is_refused_before_any_work(repository, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert main(["serve", "--repo", str(repository.path), "--port", str(port)]) == 2
    message = f"tosloc: port {port} is already in use; choose another with --port"
    assert message in capsys.readouterr().err
    assert not list((tmp_path / "cache").glob("*"))


def start_server(repository):
    """Start ``tosloc serve`` on a free port."""
    command = [sys.executable, "-m", "tosloc", "serve", "--repo", str(repository.path)]
    return subprocess.Popen(
        [*command, "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.slow
@SIGNALS
def test_it_listens_on_the_loopback_alone_until_a_signal(
    repository, tmp_path, signal_number, monkeypatch
):
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    repository.commit({"parser.py": "def parser(): pass\n"})
    process = start_server(repository)
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    [port] = re.findall(r"^http://127\.0\.0\.1:(\d+)/[\w-]{22}/ \(press Ctrl-C to stop\)$", line)
    sockets = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()]
    hex_port = f"{int(port):04X}"
    assert [one for one in sockets if one.endswith(f":{hex_port}")] == [f"0100007F:{hex_port}"]
    # The version is indexed before anybody asks.
    wait_until(lambda: list(tmp_path.glob("cache/*/*.versions/*")))
    process.send_signal(signal_number)
    assert process.communicate(timeout=TIMEOUT_SECONDS) == ("", "")
    assert process.returncode == 0


READS_FOREVER = """
import time
from tosloc.localize import session

def read_forever(text, progress):
    print("reading", flush=True)
    time.sleep(600)

session.read_whole = read_forever
"""
"""A module that each new Python process imports when it starts, also the one that answers."""


@pytest.mark.slow
@SIGNALS
def test_a_signal_ends_it_while_a_report_is_read(repository, tmp_path, signal_number, monkeypatch):
    repository.commit({"parser.py": "def parser(): pass\n"})
    (tmp_path / "sitecustomize.py").write_text(READS_FOREVER)
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    python_path = os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])
    monkeypatch.setenv("PYTHONPATH", python_path)
    with start_server(repository) as process:
        assert process.stdout is not None
        page = process.stdout.readline().split()[0]
        origin = "/".join(page.split("/")[:3])
        question = Request(f"{page}questions", b"text=a", {"Origin": origin})
        # The reply is that of the question's own address, and does not wait for the answer.
        with urlopen(question, timeout=TIMEOUT_SECONDS) as reply:
            assert reply.status == 200
        assert process.stdout.readline() == "reading\n"
        process.send_signal(signal_number)
        assert process.communicate(timeout=TIMEOUT_SECONDS) == ("", "")
    assert process.returncode == 0
