"""Errors: the sentence in the words of each front end, and no option in the library's own sentences."""

import ast
import pickle
import re
from pathlib import Path

import pytest
import typer

from tosloc.cli import guard
from tosloc.cli.app import COMMAND
from tosloc.cli.lab import app as lab
from tosloc.core.errors import CheckpointError, ToslocError, user_sentence
from tosloc.mcp import server as mcp_server

PACKAGE = Path(__file__).parents[2] / "tosloc"
WHOLE_COMMAND = re.compile(r"\b(?:tosloc|git|gh|dask|ls-files|diff-index|diff-tree|rev-list) [^;]*")
"""What may name options wherever it is shown, since it is run in a shell."""
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+(?![\w=-])")
PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")


def options_of(command):
    """Return the options of a command and of the commands below it."""
    options = {option for parameter in command.params for option in parameter.opts}
    for child in getattr(command, "commands", {}).values():
        options |= options_of(child)
    return options


OPTIONS = options_of(COMMAND) | options_of(typer.main.get_group(lab))


def library_modules():
    front_ends = (PACKAGE / "cli", PACKAGE / "mcp")
    files = sorted(PACKAGE.rglob("*.py"))
    return [file for file in files if not any(file.is_relative_to(folder) for folder in front_ends)]


def sentences(file):
    """Return the string constants of a module that contain a blank, save docstrings."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    docstrings = set()
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Expr):
                docstrings.add(child.value)
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
    texts = (node.value for node in constants if node not in docstrings)
    return [text for text in texts if isinstance(text, str) and " " in text]


def hints():
    """Return the values of ``hint`` and ``about`` arguments that are written as one string."""
    found = []
    for file in library_modules():
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and isinstance(node.value, ast.Constant):
                if node.arg == "hint":
                    found.append(node.value.value)
                elif node.arg == "about":
                    found.append(f"{{{node.value.value}}}")
    return found


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


def test_text_of_the_user_in_a_message_is_never_replaced():
    assert str(ToslocError("no file {x} and {commit}")) == "no file {x} and {commit}"


def test_error_of_a_worker_process_keeps_its_hint():
    error = pickle.loads(
        pickle.dumps(CheckpointError("damaged", hint="train again", about="checkpoint"))
    )
    assert type(error) is CheckpointError
    assert str(error) == "checkpoint: damaged; train again"


def test_library_names_no_option_of_the_command_line():
    named = []
    for file in library_modules():
        for text in sentences(file):
            options = OPTION.findall(WHOLE_COMMAND.sub("", text))
            named += [(file.name, option, text) for option in options if option in OPTIONS]
    assert named == []


def test_hints_exist():
    assert len([hint for hint in hints() if PLACEHOLDER.search(hint)]) >= 20


@pytest.mark.parametrize(
    "name", sorted({name for hint in hints() for name in PLACEHOLDER.findall(hint)})
)
def test_argument_of_a_hint_is_an_option(name):
    assert guard._render(ToslocError("wrong", about=name)).partition(":")[0] in OPTIONS
