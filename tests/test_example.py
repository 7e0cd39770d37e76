"""The example repository in ``scripts/example`` and what the README shows of it."""

import html
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.example import refresh

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "scripts/example"
COMMIT = (EXAMPLE / "commit.txt").read_text().strip()
FIX = "b707bf443afe856b77e09b7a41592f10d46e02df"
PARTS = ("HEAD", "refs", "objects/pack/*.pack", "objects/pack/*.idx", ".")
SVG_TEXT = re.compile(r'<text class="terminal-(?:r\d+|title)"[^>]* y="([^"]*)"[^>]*>([^<]*)</text>')


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the project's scripts, whose ``.venv`` is ready and runs this Python."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(ROOT / "scripts", folder / "scripts")
    for name in ("pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    python = folder / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    ready = "cat pyproject.toml constraints.txt <(pwd) | cksum >.venv/.ready"
    subprocess.run(["bash", "-c", ready], cwd=folder, check=True)
    return folder


@pytest.fixture(scope="module")
def printed(checkout):
    """What ``try.sh`` prints on a terminal when it is called from a subfolder."""
    return refresh.run(["bash", "try.sh"], checkout / "scripts")


@pytest.fixture(scope="module")
def repository(checkout, printed):
    """The example repository as ``try.sh`` unpacks it."""
    return checkout / ".venv/flask.git"


@pytest.fixture
def unpack(tmp_path, repository):
    """Function () -> the folder of an unpacked example repository that a test may damage."""
    folder = tmp_path / "flask.git"
    shutil.copytree(repository, folder)

    def run():
        subprocess.run(["bash", EXAMPLE / "unpack.sh", folder], check=True)
        return folder

    return run


def git(repository, *arguments):
    command = ["git", f"--git-dir={repository}", *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def shown_lines(picture):
    """The lines of text in a picture of a terminal."""
    lines = {}
    for y, text in SVG_TEXT.findall(picture):
        lines[y] = lines.get(y, "") + html.unescape(text).replace("\xa0", " ")
    return [line.rstrip() for line in lines.values()]


def first_functions(repository, report):
    """The first file that TosLoc names for a report, and the first of its functions."""
    command = [sys.executable, "-m", "tosloc", "localize", report, "--repo", repository, "--json"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    [first, *_] = json.loads(done.stdout)["hits"]
    return first["path"], first["functions"][0]["name"]


def test_picture_shows_what_try_prints(printed):
    shown = shown_lines(refresh.PICTURE.read_text(encoding="utf-8"))
    assert len(shown) > 15
    assert shown == shown_lines(refresh.draw(printed))


def test_answers_in_readme_are_what_is_printed(repository):
    page = refresh.README.read_text(encoding="utf-8")
    assert page.count("\n$ tosloc localize ") == 1
    assert refresh.with_answers(page, repository) == page


def test_answers_are_replaced_by_what_is_printed(repository):
    page = '```console\n$ tosloc localize "session cookie" --top 1\nan old answer\n```\nEnd\n'
    lines = refresh.with_answers(page, repository).splitlines()
    assert lines[:3] == [*page.splitlines()[:2], "report: session cookie"]
    assert "an old answer" not in lines
    assert lines[-2:] == ["```", "End"]


def test_fixed_function_is_the_first_of_the_first_file(repository):
    # The commit FIX changed this function alone.
    fixed = ("src/flask/sessions.py", "SecureCookieSessionInterface.save_session")
    assert first_functions(repository, EXAMPLE / "flask-4485.md") == fixed


def test_example_repository_ends_with_the_asked_commit(repository):
    assert git(repository, "rev-list", "--all", "--max-count=1") == COMMIT
    assert git(repository, "rev-list", "--count", "HEAD") == "4564"
    cat_file = ["git", f"--git-dir={repository}", "cat-file", "-e", FIX]
    assert subprocess.run(cat_file, stderr=subprocess.DEVNULL).returncode != 0


def test_example_repository_is_small():
    assert sum(path.stat().st_size for path in EXAMPLE.iterdir() if path.is_file()) < 3_000_000


def test_complete_repository_is_left_alone(unpack):
    folder = unpack()
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    unpack()
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


@pytest.mark.parametrize("damaged", PARTS)
@pytest.mark.parametrize("how", ["removed", "cut off"])
def test_damaged_repository_is_unpacked_again(unpack, damaged, how):
    folder = unpack()
    [path] = folder.glob(damaged) if "*" in damaged else [folder / damaged]
    path.chmod(0o755)
    if path.is_dir():
        shutil.rmtree(path)
        if how == "cut off":
            path.mkdir()
    elif how == "removed":
        path.unlink()
    else:
        os.truncate(path, path.stat().st_size // 2)
    unpack()
    assert git(folder, "rev-parse", "HEAD^{commit}") == COMMIT
    assert [path.name for path in folder.parent.glob("flask.git*")] == ["flask.git"]


def test_variables_of_a_git_hook_do_not_mislead_the_unpacking(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other"))
    folder = tmp_path / "flask.git"
    subprocess.run(["bash", EXAMPLE / "unpack.sh", folder], check=True)
    assert not (tmp_path / "other").exists()
    assert (folder / "HEAD").exists()


def test_shipped_checkpoint_answers_without_a_repository(tmp_path):
    checkpoint = ROOT / "checkpoints/tomcat"
    report = checkpoint / "example-report.md"
    command = [sys.executable, "-m", "tosloc", "localize", report, "--checkpoint", checkpoint]
    environment = os.environ | {"GIT_CEILING_DIRECTORIES": str(tmp_path), "PYTHONPATH": str(ROOT)}
    (tmp_path / "plain").mkdir()
    pipe = subprocess.PIPE
    done = subprocess.run(command, cwd=tmp_path / "plain", env=environment, stdout=pipe, text=True)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[1] == "1,616 files of b430e29171, 2014-01-18; 426 test files hidden (--tests)"
    assert lines[2].endswith("java/org/apache/catalina/session/PersistentManagerBase.java")
