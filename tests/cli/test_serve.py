"""``tosloc serve``: what is said before it serves, where it listens, how it ends."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.request import Request, urlopen

import pytest

from tosloc.cli import main


def test_an_editors_address_without_a_path_is_refused(capsys):
    for address in ("code -g", "javascript:alert(1)"):
        assert main(["serve", "--editor", address]) == 2
        assert (
            f"--editor {address}: is no address with {{path}} in it; give one as vscode:"
            in capsys.readouterr().err
        )


def test_a_port_in_use_is_said_before_anything_is_made(repository, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert main(["serve", "--repo", str(repository.path), "--port", str(port)]) == 2
    assert (
        f"tosloc: port {port} is already in use; choose another with --port"
        in capsys.readouterr().err
    )
    assert not (tmp_path / "cache").exists()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_listens_on_the_loopback_alone_and_a_signal_ends_it(repository, tmp_path, number):
    repository.commit({"parser.py": "def parser(): pass\n"})
    command = [
        sys.executable,
        "-m",
        "tosloc",
        "serve",
        "--repo",
        str(repository.path),
        "--port",
        "0",
    ]
    environment = {**os.environ, "TOSLOC_CACHE": str(tmp_path / "cache")}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    said = process.stdout.readline().strip()
    [place] = re.findall(r"^http://127\.0\.0\.1:(\d+)/[\w-]{22}/ \(Ctrl-C ends it\)$", said)
    listening = Path("/proc/net/tcp").read_text().splitlines()
    assert [
        line.split()[1] for line in listening if line.split()[1].endswith(f":{int(place):04X}")
    ] == [f"0100007F:{int(place):04X}"]
    until = time.monotonic() + 30  # the version is made before anybody asks
    while not (made := [*tmp_path.glob("cache/*/*.versions/*")]) and time.monotonic() < until:
        time.sleep(0.05)
    assert made
    process.send_signal(number)
    assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == 0


READS_FOR_EVER = """
import time
from tosloc.localize import session

def read_for_ever(text, progress):
    print("reading", flush=True)
    time.sleep(600)

session.read_whole = read_for_ever
"""
"""A module that each new Python process imports when it starts, the worker that answers questions too."""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_while_a_report_is_read(repository, tmp_path, number, monkeypatch):
    repository.commit({"parser.py": "def parser(): pass\n"})
    (tmp_path / "sitecustomize.py").write_text(READS_FOR_EVER)
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(
        "PYTHONPATH", os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])])
    )
    command = [
        sys.executable,
        "-m",
        "tosloc",
        "serve",
        "--repo",
        str(repository.path),
        "--port",
        "0",
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        page = process.stdout.readline().split()[0]
        origin = "/".join(page.split("/")[:3])
        asked = Request(f"{page}questions", b"text=a", {"Origin": origin})
        with urlopen(asked, timeout=60) as reply:  # follows to the question, which waits
            assert reply.status == 200
        assert process.stdout.readline() == "reading\n"
        began = time.monotonic()
        process.send_signal(number)
        assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == 0
    assert time.monotonic() - began < 10
