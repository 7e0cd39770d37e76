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
PIP = (sys.executable, "-P", "-m", "pip", "--quiet")
EXTRAS_ONLY = set(
    "torch transformers accelerate gensim scikit-learn bm25s matplotlib jinja2 starlette uvicorn".split()
)
EXTRAS_ONLY |= {"mcp", "dask", "distributed", "lizard", "openai"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-P", "-m", "build", "--outdir", folder, ROOT], check=True)
    subprocess.run(
        [sys.executable, "-P", "-m", "twine", "check", "--strict", *folder.iterdir()], check=True
    )
    [made] = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed") / "environment"
    subprocess.run([sys.executable, "-P", "-m", "venv", "--without-pip", folder], check=True)
    subprocess.run([*PIP, "--python", folder / "bin/python", "install", wheel], check=True)
    return folder


@pytest.fixture
def run(environment, tmp_path):
    """Runs the installed ``tosloc`` in an empty folder."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PYTHON", "TOSLOC"))
    }
    settings = {
        "env": kept | {"XDG_CACHE_HOME": str(tmp_path / "cache")},
        "cwd": tmp_path,
        "text": True,
    }

    def run(*arguments):
        return subprocess.run(
            [environment / "bin/tosloc", *map(str, arguments)], capture_output=True, **settings
        )

    return run


def test_it_is_light(environment):
    """250 MB at most, without byte code: NumPy, SciPy and LightGBM, which needs SciPy, are 184 of them, grammars 35."""
    [site] = environment.glob("lib/python*/site-packages")
    sizes = {
        path: path.stat().st_size
        for path in site.rglob("*")
        if path.is_file() and path.suffix != ".pyc"
    }
    assert sum(sizes.values()) < 250e6
    assert EXTRAS_ONLY.isdisjoint(
        package.metadata["Name"].lower() for package in distributions(path=[str(site)])
    )


def test_it_holds_all_that_the_package_and_the_configurations_do(wheel):
    listed = subprocess.run(
        ["git", "ls-files", "tosloc", "configs"], cwd=ROOT, stdout=subprocess.PIPE, check=True
    )
    names = listed.stdout.decode().splitlines()
    wanted = {name if name.startswith("tosloc/") else f"tosloc/{name}" for name in names}
    with ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == wanted


def test_it_trains_ranks_evaluates_and_localizes_by_shipped_names(run, project, tmp_path):
    (tmp_path / "own.toml").write_text(f'extends = "tomcat"\n{toy.SETTINGS}', encoding="utf-8")
    given = ["--repo", project.git.path, "--reports", project.write_reports()]
    for command in (
        ["train", "own", *given, "--out", "runs"],
        ["rank", *given, "--checkpoint", "runs", "--split", "test", "--out", "ranked"],
        ["compare", "runs", "ranked", "--split", "test"],
        ["localize", "openParser is slow", "--repo", project.git.path],
        ["localize", "openParser is slow", "--checkpoint", "runs", "--json"],
    ):
        done = run(*command)
        assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert (answer["schema"], answer["hits"][0]["path"]) == (
        "tosloc.answer/1",
        toy.class_path("Parser"),
    )
