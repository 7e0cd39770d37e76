"""A repository in which people stand is a stranger's: nothing that lies there is run or read as a setting."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

import pytest

from tests import toy

REPORT = "Cookie screen wrong: openCookie loses a click\n"
FILES = 70
"""More than one batch, so that workers are started."""
TOSLOC = Path(sys.executable).with_name("tosloc")
READ_BEFORE = "import sys; print(*{name.partition('.')[0] for name in sys.modules}, sep='\\n')"
"""What Python itself loads for ``-m`` before the module named there."""


def twins(folder: Path, without: Sequence[str] = ()) -> Path:
    """Where any module that can be imported leaves its name if it is taken from this folder."""
    marker = folder.parent / "imported"
    names = {*sys.stdlib_module_names, *metadata.packages_distributions(), "sitecustomize", "usercustomize"}
    for name in {name.partition(".")[0] for name in names if name.isidentifier()} - {*without}:
        (folder / f"{name}.py").write_text(f'open({str(marker)!r}, "a").write({name!r} + "\\n")\n')
    (folder / "matplotlibrc").write_text("no.such.setting: 1\n")
    return marker


def run(folder: Path, *words: object, program: Sequence[object] = (TOSLOC,), said: str = "") -> str:
    """Standard error of a command that is started in a folder."""
    environment = {**os.environ, "TOSLOC_CACHE": str(folder.parent / "cache")}
    command = [*map(str, program), *map(str, words)]
    done = subprocess.run(command, cwd=folder, input=said, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.fixture
def project(tmp_path: Path) -> tuple[toy.Toy, Path, Path]:
    """A project with reports, its settings for two processes, and a clone to stand in, full of twins."""
    made = toy.grow(tmp_path, bugs=12, themes=6)
    made.git.git("gc", "-q")
    made.git.commit({f"f{number}.py": f"x = {number}\n" for number in range(FILES)}, when=toy.START + 200 * toy.DAY)
    settings, clone = made.folder / "settings.toml", made.folder / "clone"
    settings.write_text(toy.SETTINGS.replace("jobs = 1", "jobs = 2"))
    made.reports()
    subprocess.run(["git", "clone", "-q", made.git.path, clone], check=True, env=made.git.environment)
    twins(clone)
    return made, settings, clone


def started(folder: Path, *words: str) -> subprocess.Popen[str]:
    """A command that goes on until it is ended."""
    environment, pipe = {**os.environ, "TOSLOC_CACHE": str(folder.parent / "cache")}, subprocess.PIPE
    command = [TOSLOC, *words]
    return subprocess.Popen(command, cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment)


def ask_server(folder: Path) -> None:
    """One question to ``tosloc mcp``."""
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    messages = [
        {"id": 1, "method": "initialize", "params": client},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "localize_bug", "arguments": {"report": REPORT}}},
    ]
    with started(folder, "mcp", "--root", ".") as process:
        process.stdin.writelines(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages)
        process.stdin.flush()
        answers = [process.stdout.readline() for _ in range(2)]
        process.stdin.close()
    assert "CookieService" in answers[1]


@pytest.mark.slow
def test_no_command_takes_anything_from_the_current_folder(project):
    made, settings, here = project
    marker = here.parent / "imported"
    labelled, runs = ("--reports", made.folder / "reports.jsonl"), made.folder / "run"
    for words in (
        ("index", "--config", settings),
        ("train", settings, *labelled, "--out", runs),
        ("rank", *labelled, "--out", made.folder / "ranked", "--config", settings),
        ("data", *labelled),
        ("evaluate", runs, "--html", made.folder / "page.html"),
        ("localize", "-", "--json", "--checkpoint", runs),
        ("cache", "list"),
    ):
        said = run(here, *words, said=REPORT)
        assert not marker.exists(), (words[0], marker.read_text())
        assert "no.such.setting" not in said
        shutil.rmtree(made.folder / "cache", ignore_errors=True)  # so that the next starts workers, too
    ask_server(here)
    with started(here, "serve", "--port", "0") as process:
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        process.terminate()
    assert not marker.exists(), marker.read_text()
    # as a module it takes no more than Python itself
    clone = made.folder / "module"
    shutil.copytree(here, clone, ignore=shutil.ignore_patterns("*.py"))
    (clone / "loaded.py").write_text(READ_BEFORE)
    python = [sys.executable, "-B", "-m"]
    loaded = subprocess.run([*python, "loaded"], cwd=clone, capture_output=True, text=True, check=True).stdout.split()
    twins(clone, [*loaded, "tosloc"]).unlink(missing_ok=True)
    run(clone, "tosloc", "localize", "-", "--json", program=python, said=REPORT)
    assert not marker.exists(), marker.read_text()
