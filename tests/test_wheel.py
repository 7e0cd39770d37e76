"""The wheel, installed into an empty environment and used outside the checkout."""

import json
import os
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests import toy

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
PYTHON = (sys.executable, "-P", "-m")
MAX_BYTES = 330e6
EXTRAS_ONLY = set(
    "torch transformers accelerate gensim scikit-learn bm25s matplotlib jinja2 starlette uvicorn "
    "mcp dask distributed lizard httpx2".split()
)
"""Packages that a plain installation does not have."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Return the path of the wheel, which twine has checked."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([*PYTHON, "build", "--outdir", folder, ROOT], check=True)
    subprocess.run([*PYTHON, "twine", "check", "--strict", *folder.iterdir()], check=True)
    [path] = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    """Return the folder of an environment with the wheel and what it requires."""
    folder = tmp_path_factory.mktemp("installed") / "environment"
    subprocess.run([*PYTHON, "venv", "--without-pip", folder], check=True)
    pip = [*PYTHON, "pip", "--quiet", "--python", folder / "bin/python"]
    subprocess.run([*pip, "install", wheel], check=True)
    return folder


@pytest.fixture(scope="module")
def site_packages(environment):
    """Return the folder of the installed packages."""
    [folder] = environment.glob("lib/python*/site-packages")
    return folder


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    """Return an empty folder in which commands run."""
    return tmp_path_factory.mktemp("run")


@pytest.fixture(scope="module")
def run(environment, run_folder):
    """Return a function that runs the installed ``tosloc`` and returns its standard output."""
    inherited = {}
    for name, value in os.environ.items():
        if not name.startswith(("PYTHON", "TOSLOC")):
            inherited[name] = value

    def run_command(*arguments):
        result = subprocess.run(
            [environment / "bin/tosloc", *map(str, arguments)],
            capture_output=True,
            env=inherited | {"XDG_CACHE_HOME": str(run_folder / "cache")},
            cwd=run_folder,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        return result.stdout

    return run_command


def test_a_plain_installation_is_light(site_packages):
    """NumPy, SciPy and LightGBM, which needs SciPy, have 184 MB, and grammars 51."""
    total = 0
    for path in site_packages.rglob("*"):
        if path.is_file() and path.suffix != ".pyc":
            total += path.stat().st_size
    assert total < MAX_BYTES


def test_a_plain_installation_has_nothing_of_extras(site_packages):
    installed = distributions(path=[str(site_packages)])
    names = {distribution.metadata["Name"].lower() for distribution in installed}
    assert names & EXTRAS_ONLY == set()


def test_the_wheel_contains_the_package_and_the_configurations(wheel):
    command = ["git", "ls-files", "tosloc", "configs"]
    result = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    expected = set()
    for name in result.stdout.splitlines():
        expected.add(name if name.startswith("tosloc/") else f"tosloc/{name}")
    with ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == expected


@pytest.fixture(scope="module")
def report_options(project):
    return ["--repo", project.git.path, "--reports", project.write_reports()]


@pytest.fixture(scope="module")
def checkpoint(run, run_folder, report_options):
    """Train with settings that extend a configuration by its shipped name; return the folder."""
    (run_folder / "own.toml").write_text(f'extends = "tomcat"\n{toy.SETTINGS}', encoding="utf-8")
    run("train", "own", *report_options, "--out", "runs")
    return run_folder / "runs"


def test_it_ranks_and_compares(run, run_folder, report_options, checkpoint):
    ranked = run_folder / "ranked"
    run("rank", *report_options, "--checkpoint", checkpoint, "--split", "test", "--out", ranked)
    run("compare", checkpoint, ranked, "--split", "test")


def test_it_localizes_in_a_repository(run, project):
    run("localize", "openParser is slow", "--repo", project.git.path)


def test_it_localizes_with_a_checkpoint(run, checkpoint):
    answer = json.loads(run("localize", "openParser is slow", "--checkpoint", checkpoint, "--json"))
    assert answer["schema"] == "tosloc.answer/1"
    assert answer["hits"][0]["path"] == toy.class_path("Parser")
