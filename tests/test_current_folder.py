"""No command imports modules or reads settings from the current folder, which may be hostile."""

import json
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from tests import toy

pytestmark = pytest.mark.slow

REPORT = "Cookie screen wrong: openCookie loses a click\n"
MANY_FILES = 70
"""Number of further files: more than one batch, so that workers are started."""
TOSLOC = Path(sys.executable).with_name("tosloc")
PYTHON = (sys.executable, "-B", "-m")
PRINT_LOADED_MODULES = (
    "import sys; print(*{name.partition('.')[0] for name in sys.modules}, sep='\\n')"
)


def plant_modules(folder, without=()):
    """Plant a module for every name that can be imported, and settings that matplotlib warns of.

    A module that is imported from this folder adds its name to a file beside the folder.
    """
    names = {*sys.stdlib_module_names, *metadata.packages_distributions()}
    names |= {"sitecustomize", "usercustomize"}
    tops = {name.partition(".")[0] for name in names if name.isidentifier()}
    log = imports_log(folder)
    for name in tops - {*without}:
        statement = f'open({str(log)!r}, "a").write({name!r} + "\\n")\n'
        (folder / f"{name}.py").write_text(statement)
    (folder / "matplotlibrc").write_text("no.such.setting: 1\n")


def imports_log(folder):
    """Return the path of the file with the names of the modules imported from a folder."""
    return folder.parent / "imported"


def take_imported_names(folder):
    """Return the names of the modules that were imported from a folder, and forget them."""
    log = imports_log(folder)
    if not log.exists():
        return []
    names = log.read_text().splitlines()
    log.unlink()
    return names


def start(folder, *words, program=(TOSLOC,)):
    """Start a command in a folder, with pipes for its standard streams."""
    return subprocess.Popen(
        [*map(str, program), *map(str, words)],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"TOSLOC_CACHE": str(folder.parent / "cache")},
    )


def run(folder, *words, **options):
    """Run a command that reads a report from standard input; return its standard error."""
    with start(folder, *words, **options) as process:
        _, errors = process.communicate(REPORT)
    assert process.returncode == 0, errors
    return errors


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Return a project with more files than fit into a batch."""
    project = toy.make_project(tmp_path_factory.mktemp("project"), bugs=12, themes=6)
    files = {f"f{number}.py": f"x = {number}\n" for number in range(MANY_FILES)}
    project.git.commit(files, when=toy.START + 200 * toy.DAY)
    return project


@pytest.fixture(scope="module")
def clean_clone(project, tmp_path_factory):
    """Return a clone of the project without planted modules."""
    folder = tmp_path_factory.mktemp("clean") / "clone"
    clone = ["git", "clone", "-q", project.git.path, folder]
    subprocess.run(clone, check=True, env=project.git.environment)
    return folder


@pytest.fixture(scope="module")
def hostile_clone(clean_clone, tmp_path_factory):
    """Return a clone of the project with planted modules."""
    folder = tmp_path_factory.mktemp("hostile") / "clone"
    shutil.copytree(clean_clone, folder)
    plant_modules(folder)
    return folder


@pytest.fixture(scope="module")
def training(hostile_clone, project):
    """Train in the hostile clone; return the folder of the run, imported names and errors."""
    settings = hostile_clone.parent / "settings.toml"
    settings.write_text(toy.SETTINGS.replace("jobs = 1", "jobs = 2"))
    out = hostile_clone.parent / "run"
    errors = run(
        hostile_clone, "train", settings, "--reports", project.write_reports(), "--out", out
    )
    return out, take_imported_names(hostile_clone), errors


def test_train_takes_nothing_from_the_current_folder(training):
    _, names, errors = training
    assert names == []
    assert "no.such.setting" not in errors


def test_evaluate_takes_nothing_from_the_current_folder(hostile_clone, training, tmp_path):
    errors = run(hostile_clone, "evaluate", training[0], "--html", tmp_path / "page.html")
    assert take_imported_names(hostile_clone) == []
    assert "no.such.setting" not in errors


def test_localize_takes_nothing_from_the_current_folder(hostile_clone, training):
    errors = run(hostile_clone, "localize", "-", "--json", "--checkpoint", training[0])
    assert take_imported_names(hostile_clone) == []
    assert "no.such.setting" not in errors


def ask_agents_server(folder):
    """Ask ``tosloc mcp`` one question, and return the line with its answer."""
    client = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    call = {"name": "localize_bug", "arguments": {"report": REPORT}}
    messages: list[dict[str, object]] = [
        {"id": 1, "method": "initialize", "params": client},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": call},
    ]
    with start(folder, "mcp", "--root", ".") as process:
        for message in messages:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        process.stdin.flush()
        process.stdout.readline()
        answer = process.stdout.readline()
        process.stdin.close()
    return answer


def test_mcp_takes_nothing_from_the_current_folder(hostile_clone):
    assert "CookieService" in ask_agents_server(hostile_clone)
    assert take_imported_names(hostile_clone) == []


def test_serve_takes_nothing_from_the_current_folder(hostile_clone):
    with start(hostile_clone, "serve", "--port", "0") as process:
        assert process.stdout.readline().startswith("http://127.0.0.1:")
        process.terminate()
    assert take_imported_names(hostile_clone) == []


@pytest.fixture
def clone_for_module(clean_clone, tmp_path):
    """Return a clone with planted modules, except those that Python itself loads for ``-m``."""
    folder = tmp_path / "clone"
    shutil.copytree(clean_clone, folder, ignore=shutil.ignore_patterns("*.py"))
    (folder / "loaded.py").write_text(PRINT_LOADED_MODULES)
    command = [*PYTHON, "loaded"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    plant_modules(folder, [*result.stdout.split(), "tosloc"])
    return folder


def test_running_the_module_takes_no_more_than_python_does(clone_for_module):
    run(clone_for_module, "tosloc", "localize", "-", "--json", program=PYTHON)
    assert take_imported_names(clone_for_module) == []
