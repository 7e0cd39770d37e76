"""Errors: each front end renders the sentence in its own words; the library names no options."""

import ast
import inspect
import pickle
import re
from pathlib import Path

import pytest
import typer

import tosloc
from tosloc.cli import guard
from tosloc.cli.app import COMMAND
from tosloc.core.errors import CheckpointError, ToslocError, user_sentence
from tosloc.lab.commands import app as lab
from tosloc.mcp import server as mcp_server

PACKAGE = Path(__file__).parents[2] / "tosloc"
WHOLE_COMMAND = re.compile(r"\b(?:tosloc|git|gh|dask|ls-files|diff-index|diff-tree|rev-list) [^;]*")
"""Command for a shell, which may contain options wherever it is shown."""
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+(?![\w=-])")
PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def test_every_error_is_imported_from_the_package():
    public_names = dir(tosloc)
    for name, value in vars(tosloc.core.errors).items():
        if inspect.isclass(value) and issubclass(value, ToslocError):
            assert name in public_names


def list_options(command):
    """Return the options of a command and of the commands below it."""
    options = {option for parameter in command.params for option in parameter.opts}
    for child in getattr(command, "commands", {}).values():
        options |= list_options(child)
    return options


OPTIONS = list_options(COMMAND) | list_options(typer.main.get_group(lab))


def library_modules():
    """Return the files of all packages but the front ends."""
    files = []
    for file in sorted(PACKAGE.rglob("*.py")):
        package, *inner = file.relative_to(PACKAGE).parts
        is_front_end = package in ("cli", "mcp", "terminal") or inner[:1] == ["commands"]
        if not is_front_end:
            files.append(file)
    return files


def sentences(file):
    """Return the string constants with a blank of a module, except docstrings and patterns."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    docstrings = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and node not in docstrings:
            if isinstance(node.value, str) and " " in node.value and "(?" not in node.value:
                texts.append(node.value)
    return texts


def hints():
    """Return the values of ``hint`` and ``about`` arguments that are written as one string."""
    texts = []
    for file in library_modules():
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and isinstance(node.value, ast.Constant):
                if node.arg == "hint":
                    texts.append(node.value.value)
                elif node.arg == "about":
                    texts.append("{" + str(node.value.value) + "}")
    return texts


@pytest.mark.parametrize(
    ("render", "sentence"),
    [
        (str, "qrels: no such run; name one with repo, not with include"),
        (guard._render, "--qrels: no such run; name one with --repo, not with --include"),
        (mcp_server._render, "`qrels`: no such run; name one with `repository`, not with `paths`"),
        (ToslocError.without_arguments, "no such run"),
    ],
    ids=["python", "command line", "mcp", "page"],
)
def test_each_front_end_names_arguments_in_its_own_words(render, sentence):
    hint = "name one with {repo}, not with {include}"
    assert user_sentence(ToslocError("no such run", hint=hint, about="qrels"), render) == sentence


def test_page_keeps_a_hint_without_arguments():
    assert (
        ToslocError("no {commit}", hint="run: git fetch").without_arguments()
        == "no {commit}; run: git fetch"
    )


def test_braces_in_a_message_are_not_replaced():
    assert str(ToslocError("no file {x} and {commit}")) == "no file {x} and {commit}"


def test_error_of_a_worker_process_keeps_its_hint():
    error = pickle.loads(
        pickle.dumps(CheckpointError("damaged", hint="train again", about="checkpoint"))
    )
    assert type(error) is CheckpointError
    assert str(error) == "checkpoint: damaged; train again"


def test_library_names_no_option_of_the_command_line():
    named_options = []
    for file in library_modules():
        for text in sentences(file):
            for option in OPTION.findall(WHOLE_COMMAND.sub("", text)):
                if option in OPTIONS:
                    named_options.append((file.name, option, text))
    assert named_options == []


def test_many_hints_mention_arguments():
    assert len([hint for hint in hints() if PLACEHOLDER.search(hint)]) >= 20


@pytest.mark.parametrize(
    "name", sorted({name for hint in hints() for name in PLACEHOLDER.findall(hint)})
)
def test_each_argument_in_a_hint_is_an_option(name):
    assert guard._render(ToslocError("wrong", about=name)).partition(":")[0] in OPTIONS
