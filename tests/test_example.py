"""The example repository in ``scripts/example``, and what the README shows of it."""

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
REPOSITORY_PARTS = ("HEAD", "refs", "objects/pack/*.pack", "objects/pack/*.idx", ".")
SVG_TEXT = re.compile(r'<text class="terminal-(?:r\d+|title)"[^>]* y="([^"]*)"[^>]*>([^<]*)</text>')


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """Return a copy of the project's scripts whose ``.venv`` is ready and runs this Python."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(ROOT / "scripts", folder / "scripts")
    for name in ("pyproject.toml", "constraints.txt", "action/requirements.txt"):
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    python = folder / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    dependencies = "pyproject.toml constraints.txt action/requirements.txt"
    mark_ready = f"cat {dependencies} <(pwd) | cksum >.venv/.ready"
    subprocess.run(["bash", "-c", mark_ready], cwd=folder, check=True)
    return folder


@pytest.fixture(scope="module")
def output(checkout):
    """Return what ``try.sh`` prints on a terminal when it is called from a subfolder."""
    return refresh.run(["bash", "try.sh"], checkout / "scripts")


@pytest.fixture(scope="module")
def repository(checkout, output):
    """Return the path of the example repository as ``try.sh`` unpacks it."""
    return checkout / ".venv/flask.git"


@pytest.fixture
def copied_repository(tmp_path, repository):
    """Return the path of a copy of the example repository that a test may damage."""
    return Path(shutil.copytree(repository, tmp_path / "flask.git"))


def unpack(folder):
    """Unpack the example repository into a folder, unless it is complete there."""
    subprocess.run(["bash", EXAMPLE / "unpack.sh", folder], check=True)


def git(repository, *arguments):
    """Run a git command in a repository; return its standard output, stripped."""
    command = ["git", f"--git-dir={repository}", *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def lines_of_picture(picture):
    """Return the lines of text in a picture of a terminal."""
    lines = {}
    for y, text in SVG_TEXT.findall(picture):
        lines[y] = lines.get(y, "") + html.unescape(text).replace("\xa0", " ")
    return [line.rstrip() for line in lines.values()]


def test_picture_shows_what_try_prints(output):
    lines = lines_of_picture(refresh.PICTURE.read_text(encoding="utf-8"))
    assert len(lines) > 15
    assert lines == lines_of_picture(refresh.draw(output))


def test_answers_in_readme_are_what_is_printed(repository):
    page = refresh.README.read_text(encoding="utf-8")
    assert page.count("\n$ tosloc localize ") == 1
    assert refresh.with_answers(page, repository) == page


def test_answers_are_replaced_by_what_is_printed(repository):
    page = '```console\n$ tosloc localize "session cookie" --top 1\nan old answer\n```\nEnd\n'
    lines = refresh.with_answers(page, repository).splitlines()
    assert lines[:3] == [*page.splitlines()[:2], "session cookie"]
    assert "an old answer" not in lines
    assert lines[-2:] == ["```", "End"]


def test_fixed_function_is_the_first_of_the_first_file(repository):
    """The commit FIX changed this function alone."""
    report = EXAMPLE / "flask-4485.md"
    command = [sys.executable, "-m", "tosloc", "localize", report, "--repo", repository, "--json"]
    result = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    first = json.loads(result.stdout)["hits"][0]
    assert first["path"] == "src/flask/sessions.py"
    assert first["functions"][0]["name"] == "SecureCookieSessionInterface.save_session"


def test_example_repository_ends_with_the_asked_commit(repository):
    assert git(repository, "rev-list", "--all", "--max-count=1") == COMMIT
    assert git(repository, "rev-list", "--count", "HEAD") == "4564"


def test_example_repository_lacks_the_fix(repository):
    cat_file = ["git", f"--git-dir={repository}", "cat-file", "-e", FIX]
    assert subprocess.run(cat_file, stderr=subprocess.DEVNULL).returncode != 0


def test_example_repository_is_small():
    assert sum(path.stat().st_size for path in EXAMPLE.iterdir() if path.is_file()) < 3_000_000


def modification_times(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*")}


def test_complete_repository_is_left_alone(copied_repository):
    unpack(copied_repository)
    before = modification_times(copied_repository)
    unpack(copied_repository)
    assert modification_times(copied_repository) == before


def damage(path, how):
    """Remove a file or a folder, or cut off a file's second half or a folder's content."""
    path.chmod(0o755)
    if path.is_dir():
        shutil.rmtree(path)
        if how == "cut off":
            path.mkdir()
    elif how == "removed":
        path.unlink()
    else:
        os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize("part", REPOSITORY_PARTS)
@pytest.mark.parametrize("how", ["removed", "cut off"])
def test_damaged_repository_is_unpacked_again(copied_repository, part, how):
    unpack(copied_repository)
    [path] = copied_repository.glob(part) if "*" in part else [copied_repository / part]
    damage(path, how)
    unpack(copied_repository)
    assert git(copied_repository, "rev-parse", "HEAD^{commit}") == COMMIT
    assert [path.name for path in copied_repository.parent.glob("flask.git*")] == ["flask.git"]


def test_variables_of_a_git_hook_do_not_mislead_the_unpacking(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other"))
    unpack(tmp_path / "flask.git")
    assert not (tmp_path / "other").exists()
    assert (tmp_path / "flask.git/HEAD").exists()


def test_shipped_checkpoint_answers_without_a_repository(tmp_path):
    checkpoint = ROOT / "checkpoints/tomcat"
    report = checkpoint / "example-report.md"
    command = [sys.executable, "-m", "tosloc", "localize", str(report)]
    command += ["--checkpoint", str(checkpoint)]
    environment = os.environ | {"GIT_CEILING_DIRECTORIES": str(tmp_path), "PYTHONPATH": str(ROOT)}
    folder = tmp_path / "plain"
    folder.mkdir()
    result = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=False
    )
    assert result.returncode == 0
    lines = result.stdout.splitlines()
    searched = "1,616 files of b430e29171 (2014-01-18); 426 test files hidden (--tests)"
    assert lines[1] == searched
    assert lines[3].endswith("java/org/apache/catalina/session/PersistentManagerBase.java")
