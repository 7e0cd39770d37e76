"""A repository in which people stand is a stranger's: nothing that lies there is run or read as a setting."""

import json
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from tests import toy

REPORT = "Cookie screen wrong: openCookie loses a click\n"
FILES = 70  # more than one batch, so that workers are started
TOSLOC = Path(sys.executable).with_name("tosloc")
READ_BEFORE = "import sys; print(*{name.partition('.')[0] for name in sys.modules}, sep='\\n')"
"""What Python itself loads for ``-m`` before the module named there."""


def twins(folder, without=()):
    """Where any module that can be imported leaves its name if it is taken from this folder."""
    marker = folder.parent / "imported"
    names = {
        *sys.stdlib_module_names,
        *metadata.packages_distributions(),
        "sitecustomize",
        "usercustomize",
    }
    for name in {name.partition(".")[0] for name in names if name.isidentifier()} - {*without}:
        (folder / f"{name}.py").write_text(f'open({str(marker)!r}, "a").write({name!r} + "\\n")\n')
    (folder / "matplotlibrc").write_text("no.such.setting: 1\n")
    return marker


def started(folder, *words, program=(TOSLOC,)):
    """A command that is started in a folder."""
    command, pipe = [*map(str, program), *map(str, words)], subprocess.PIPE
    environment = {**os.environ, "TOSLOC_CACHE": str(folder.parent / "cache")}
    return subprocess.Popen(
        command, cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment
    )


def run(*given, **options):
    """Standard error of a command that gets a report."""
    with started(*given, **options) as process:
        _, said = process.communicate(REPORT)
    assert process.returncode == 0, said
    return said


def ask_server(folder):
    """One question to ``tosloc mcp``."""
    client = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    messages = [
        {"id": 1, "method": "initialize", "params": client},
        {"method": "notifications/initialized"},
        {
            "id": 2,
            "method": "tools/call",
            "params": {"name": "localize_bug", "arguments": {"report": REPORT}},
        },
    ]
    with started(folder, "mcp", "--root", ".") as process:
        process.stdin.writelines(
            json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages
        )
        process.stdin.flush()
        assert "CookieService" in [process.stdout.readline() for _ in range(2)][1]
        process.stdin.close()


@pytest.mark.slow
def test_no_command_takes_anything_from_the_current_folder(tmp_path):
    made, here, marker = (
        toy.make_project(tmp_path, bugs=12, themes=6),
        tmp_path / "clone",
        tmp_path / "imported",
    )
    made.git.commit(
        {f"f{number}.py": f"x = {number}\n" for number in range(FILES)},
        when=toy.START + 200 * toy.DAY,
    )
    settings = tmp_path / "settings.toml"
    settings.write_text(toy.SETTINGS.replace("jobs = 1", "jobs = 2"))
    subprocess.run(
        ["git", "clone", "-q", made.git.path, here], check=True, env=made.git.environment
    )
    twins(here)
    for words in (
        ("train", settings, "--reports", made.write_reports(), "--out", tmp_path / "run"),
        ("evaluate", tmp_path / "run", "--html", tmp_path / "page.html"),
        ("localize", "-", "--json", "--checkpoint", tmp_path / "run"),
    ):
        said = run(here, *words)
        assert not marker.exists(), (words[0], marker.read_text())
        assert "no.such.setting" not in said
    ask_server(here)
    with started(here, "serve", "--port", "0") as process:
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        process.terminate()
    assert not marker.exists(), marker.read_text()
    # as a module it takes no more than Python itself
    clone = tmp_path / "module"
    shutil.copytree(here, clone, ignore=shutil.ignore_patterns("*.py"))
    (clone / "loaded.py").write_text(READ_BEFORE)
    python = [sys.executable, "-B", "-m"]
    loaded = subprocess.run(
        [*python, "loaded"], cwd=clone, capture_output=True, text=True, check=True
    ).stdout.split()
    twins(clone, [*loaded, "tosloc"]).unlink(missing_ok=True)
    run(clone, "tosloc", "localize", "-", "--json", program=python)
    assert not marker.exists(), marker.read_text()
