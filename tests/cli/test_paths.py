"""Every option of every command that takes a path, given one that does not fit: one sentence names it."""

import inspect
import shutil
import typing

import pytest

from tests.cli.test_judging import GOOD, write_split
from tosloc.cli import cache
from tosloc.cli.app import app
from tosloc.cli.lab import app as lab

REPOSITORY = "repository"
FILE = "file"
EITHER = "file or folder"
NEW_FOLDER = "new folder"
NEW_FILE = "new file"
BEGINNING = "beginning of names of files"
KINDS = {
    "repo": REPOSITORY,
    "root": EITHER,
    **dict.fromkeys(("reports", "config", "qrels", "exports", "file", "projects", "bundle"), FILE),
    **dict.fromkeys(
        ("run", "runs", "first", "second", "checkpoint", "baseline", "advanced"), EITHER
    ),
    **dict.fromkeys(("our_baseline", "our_advanced"), EITHER),
    **dict.fromkeys(("out", "figures", "work"), NEW_FOLDER),
    "html": NEW_FILE,
    "figure": BEGINNING,
}
"""Parameter of a command -> what its path leads to."""
NEW_FILES = ("mine", "lab pack")
"""Commands whose --out is a file."""
COMMANDS = {
    "localize": "bug.md --repo repo",
    "mine": "issues.json --repo repo",
    "data": "--repo repo --reports reports.jsonl",
    "train": "--repo repo --reports reports.jsonl --out new",
    "rank": "--repo repo --reports reports.jsonl --out new",
    "evaluate": "run",
    "compare": "run other",
    "import-run": "reports.jsonl --out new --repo repo",
    "export-run": "run --out new",
    "serve": "--repo repo --port 0",
    "mcp": "",
    "index": "--repo repo",
    "lab evaluate": "runs",
    "lab compare": "runs others",
    "lab baselines": "--repo repo --reports reports.jsonl --out new",
    "lab bm25": "--repo repo --reports reports.jsonl --out new",
    "lab reproduce": "table-2 --out new --projects projects.toml",
    "lab reproduce-check": "--our-baseline run --our-advanced other --baseline run --advanced other",
    "lab truncation": "run",
    "lab calibration": "run",
    "lab feature-ablation": "--projects projects.toml",
    "lab pretrain": "--projects projects.toml",
    "lab pack": "run --repo repo --reports reports.jsonl --out new",
    "lab train-encoder": "pack settings.toml --out new",
    "cache list": "",
    "cache prune": "",
}
"""Command -> words with which it would go on; those of the parameter that is tested are replaced."""
OTHER_WORDS = {
    "mine out": "--repo repo",
    "import-run qrels": "trec.run --out new",
}
"""Command and parameter -> words with which it would go on, where they differ."""
BAD = {
    REPOSITORY: (
        "nowhere",
        "plain.txt",
        "plain",
        "https://example.org/a/b.git",
        "git@example.org:a/b.git",
    ),
    FILE: ("nowhere", "plain", "https://example.org/a/b"),
    EITHER: ("nowhere", "https://example.org/a/b"),
    NEW_FOLDER: ("plain.txt",),
    NEW_FILE: ("plain",),
    BEGINNING: (),
}
NOT_READ = ("lab reproduce figures", "lab reproduce runs", "lab pack reports")
"""Read for some tables only, or after the tables of a training."""


def parameters():
    """Yield each command with each of its parameters that takes a path, and its flag if it is an option."""
    for group, commands in (("", app), ("lab ", lab), ("cache ", cache.app)):
        for command in commands.registered_commands:
            name = f"{group}{command.name or command.callback.__name__.replace('_', '-')}"
            hints = typing.get_type_hints(command.callback, include_extras=True)
            for parameter in inspect.signature(command.callback).parameters:
                taken, *about = typing.get_args(hints[parameter]) or (hints[parameter],)
                if "Path" in str(taken):
                    option = type(about[0]).__name__ == "OptionInfo"
                    yield name, parameter, f"--{parameter.replace('_', '-')}" if option else None


def cases():
    for command, parameter, flag in parameters():
        kind = NEW_FILE if parameter == "out" and command in NEW_FILES else KINDS[parameter]
        if f"{command} {parameter}" not in NOT_READ:
            for bad in BAD[kind]:
                yield pytest.param(command, parameter, flag, bad, id=f"{command} {parameter} {bad}")


@pytest.fixture(scope="module")
def made(project, tmp_path_factory):
    """A folder with what the words of COMMANDS name."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "plain").mkdir()
    for name in ("plain.txt", "settings.toml", "pack"):
        (folder / name).write_text("")
    (folder / "bug.md").write_text("Parser fails\n\nThe parser fails.\n")
    (folder / "trec.run").write_text("1 Q0 A.java 1 1.0 other\n")
    (folder / "issues.json").write_text("[]")
    (folder / "projects.toml").write_text('[one]\nrepo = "repo"\nreports = "reports.jsonl"\n')
    shutil.copytree(project.git.path, folder / "repo")
    shutil.copy(project.write_reports(), folder / "reports.jsonl")
    for run in ("run", "other", "runs/one", "others/one"):
        write_split(folder / run / "test", GOOD)
    return folder


@pytest.fixture
def here(made, tmp_path, monkeypatch):
    place = shutil.copytree(made, tmp_path / "here", symlinks=True)
    monkeypatch.chdir(place)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    return place


POSITIONS = {"second": 1, "config": 1}
"""Position of the argument, where it is not the first."""


@pytest.mark.parametrize(("command", "parameter", "flag", "bad"), list(cases()))
def test_a_path_that_does_not_fit_is_one_sentence_that_names_it(
    fails, here, command, parameter, flag, bad
):
    words = OTHER_WORDS.get(f"{command} {parameter}", COMMANDS[command]).split()
    if flag is None:
        position = POSITIONS.get(parameter, 0)
        words[position : position + 1] = [bad]
    elif flag in words:
        words[words.index(flag) + 1] = bad
    else:
        words += [flag, bad]
    sentence = fails(*command.split(), *words)
    assert bad in sentence or bad.replace("//", "/") in sentence


def test_each_command_is_tested():
    assert {command for command, _, _ in parameters()} == {
        name for name in COMMANDS if not name.startswith("cache")
    }


@pytest.mark.parametrize("command", ["localize bug.md", "index", "data --reports reports.jsonl"])
def test_a_folder_in_a_repository_names_the_repository(here, make_repository, tosloc, command):
    repository = make_repository("here/tree")
    repository.git("fetch", "-q", str(here / "repo"), "main")
    repository.git("reset", "-q", "--hard", "FETCH_HEAD")
    tosloc(*command.split(), "--repo", repository.path / "src/org")
