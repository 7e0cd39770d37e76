"""Every option of every command that takes a path: one that does not fit is one sentence."""

import inspect
import json
import shutil
import typing
from importlib import import_module

import pytest

from tests.cli.test_judging import GOOD, write_split
from tosloc.cli import cache, serve
from tosloc.cli.app import COMMANDS as COMMANDS_BY_HEADING
from tosloc.lab.commands import app as lab

REPOSITORY = "repository"
FILE = "file"
EITHER = "file or folder"
NEW_FOLDER = "new folder"
FOLDER = "folder"
NEW_FILE = "new file"
NAME_PREFIX = "prefix of names of files"
KINDS = {
    **dict.fromkeys(("repo", "repositories"), REPOSITORY),
    "root": EITHER,
    **dict.fromkeys(("reports", "config", "qrels", "exports", "issues", "file", "bundle"), FILE),
    **dict.fromkeys(("projects", "unseen"), FILE),
    **dict.fromkeys(
        ("run", "runs", "first", "second", "checkpoint", "baseline", "advanced", "data_sets"),
        EITHER,
    ),
    **dict.fromkeys(("our_baseline", "our_advanced", "prompts", "answers"), EITHER),
    **dict.fromkeys(("out", "figures", "work"), NEW_FOLDER),
    "left_out": FOLDER,
    "html": NEW_FILE,
    "figure": NAME_PREFIX,
}
"""Parameter of a command -> what its path leads to."""
NEW_FILES = ("lab presence", "mine", "lab pack")
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
    "similar": "bug.md --repo repo",
    "serve": "--repo repo --port 0",
    "mcp": "",
    "mcp install": "cursor --write",
    "mcp uninstall": "cursor",
    "index": "--repo repo",
    "lab bisect": "--projects projects.toml",
    "lab evaluate": "runs",
    "lab compare": "runs others",
    "lab baselines": "--repo repo --reports reports.jsonl --out new",
    "lab bm25": "--repo repo --reports reports.jsonl --out new",
    "lab renames": "repo",
    "lab reproduce": "table-2 --out new --projects projects.toml",
    "lab reproduce-check": (
        "--our-baseline run --our-advanced other --baseline run --advanced other"
    ),
    "lab truncation": "run",
    "lab calibration": "run",
    "lab feature-ablation": "--projects projects.toml",
    "lab function-weights": "--projects projects.toml",
    "lab report-parts": "reports.jsonl",
    "lab evidence-lines": "--projects projects.toml",
    "lab llm-prompts": "--projects projects.toml --out new",
    "lab llm-answers": "prompts answers",
    "lab evidence": "--projects projects.toml",
    "lab presence": "--projects projects.toml",
    "lab pretrain": "--projects projects.toml",
    "lab pack": "run --repo repo --reports reports.jsonl --out new",
    "lab suspects": "--projects projects.toml --work new",
    "lab train-encoder": "pack settings.toml --out new",
    "cache list": "",
    "cache prune": "",
}
"""Command -> words with which it would work; a test replaces those of one parameter."""
OTHER_WORDS = {
    "mine out": "--repo repo",
    "import-run qrels": "trec.run --out new",
}
"""Command and parameter -> words with which the command would work, where they differ."""
WRONG_PATHS = {
    REPOSITORY: (
        "nowhere",
        "plain.txt",
        "plain",
        "https://example.org/a/b.git",
        "git@example.org:a/b.git",
    ),
    FILE: ("nowhere", "plain", "https://example.org/a/b"),
    EITHER: ("nowhere", "https://example.org/a/b"),
    FOLDER: ("nowhere", "plain.txt"),
    NEW_FOLDER: ("plain.txt",),
    NEW_FILE: ("plain",),
    NAME_PREFIX: (),
}
NOT_READ = ("lab reproduce figures", "lab reproduce runs", "lab pack reports")
"""Commands and parameters whose path is read for some tables only, or late in the work."""


def functions_of_commands():
    """Yield each command with its function."""
    yield "mcp", serve.mcp
    for rows in COMMANDS_BY_HEADING.values():
        for place, _ in rows:
            module, _, name = place.partition(":")
            function = getattr(import_module(f"tosloc.cli.{module}"), name)
            if inspect.isfunction(function):
                yield name.replace("_", "-"), function
    for group, commands in (("lab ", lab), ("cache ", cache.app), ("mcp ", serve.mcp_app)):
        for command in commands.registered_commands:
            name = command.name or command.callback.__name__.replace("_", "-")
            yield f"{group}{name}", command.callback


def path_parameters():
    """Yield each command with each parameter that takes a path, and the flag of an option."""
    for name, function in functions_of_commands():
        hints = typing.get_type_hints(function, include_extras=True)
        for parameter in inspect.signature(function).parameters:
            value_type, *metadata = typing.get_args(hints[parameter]) or (hints[parameter],)
            if "Path" not in str(value_type):
                continue
            is_option = type(metadata[0]).__name__ == "OptionInfo"
            yield name, parameter, f"--{parameter.replace('_', '-')}" if is_option else None


def cases():
    """Yield a case for each wrong path of each parameter."""
    for command, parameter, flag in path_parameters():
        if f"{command} {parameter}" in NOT_READ:
            continue
        kind = NEW_FILE if parameter == "out" and command in NEW_FILES else KINDS[parameter]
        for path in WRONG_PATHS[kind]:
            yield pytest.param(command, parameter, flag, path, id=f"{command} {parameter} {path}")


@pytest.fixture(scope="module")
def input_folder(project, tmp_path_factory):
    """Write what the words of COMMANDS name into a folder; return the folder."""
    folder = tmp_path_factory.mktemp("input")
    (folder / "plain").mkdir()
    for name in ("prompts", "answers"):
        (folder / name).mkdir()
    files = {"fixed": ["A.java"], "ranking": ["A.java"]}
    task = {"name": "01", "project": "one", "report": "1", "commit": "HEAD", **files}
    (folder / "prompts" / "tasks.jsonl").write_text(json.dumps(task))
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
def here(input_folder, tmp_path, monkeypatch):
    """Make a copy of that folder the current one; return the copy."""
    folder = shutil.copytree(input_folder, tmp_path / "here", symlinks=True)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    return folder


POSITIONS = {"second": 1, "config": 1, "answers": 1}
"""Parameter -> position of the argument, where it is not the first."""


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(("command", "parameter", "flag", "path"), list(cases()))
def test_a_wrong_path_is_named_in_one_sentence(fails, command, parameter, flag, path):
    words = OTHER_WORDS.get(f"{command} {parameter}", COMMANDS[command]).split()
    if flag is None:
        position = POSITIONS.get(parameter, 0)
        words[position : position + 1] = [path]
    elif flag in words:
        words[words.index(flag) + 1] = path
    else:
        words += [flag, path]
    sentence = fails(*command.split(), *words)
    assert path in sentence or path.replace("//", "/") in sentence


def test_each_command_is_tested():
    commands_with_paths = {command for command, _, _ in path_parameters()}
    assert commands_with_paths == {name for name in COMMANDS if not name.startswith("cache")}


@pytest.mark.parametrize("command", ["localize bug.md", "index", "data --reports reports.jsonl"])
def test_a_folder_in_a_repository_names_the_repository(here, make_repository, tosloc, command):
    repository = make_repository("here/tree")
    repository.git("fetch", "-q", str(here / "repo"), "main")
    repository.git("reset", "-q", "--hard", "FETCH_HEAD")
    tosloc(*command.split(), "--repo", repository.path / "src/org")
