"""``tosloc mcp uninstall``: what ``install`` added is removed, and all else stays."""

import json

import pytest

from tests.mcp.test_install import COMMENTED_TOML, PROGRAM, add
from tosloc.cli import main
from tosloc.core.errors import ToslocError
from tosloc.mcp import install
from tosloc.mcp.agents import AGENTS
from tosloc.mcp.install import remove_entry


def remove(name, text):
    """Return a configuration file's text without the entry for an agent."""
    return remove_entry(AGENTS[name], text)


@pytest.fixture
def project(repository, monkeypatch):
    """Make a work tree with ``tosloc`` on the PATH the current folder; return the work tree."""
    monkeypatch.chdir(repository.path)
    monkeypatch.setattr(install, "server_program", lambda: PROGRAM)
    return repository.path


def files_of(folder):
    """Return the contents of a work tree's files, without git's."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".git" not in path.parts
    }


@pytest.mark.parametrize(
    "before",
    [
        '{\n    "x": 1.50,\n    "servers": {\n        "a": {"k":  1}\n    }\n}\n',
        '{\n\t"servers": {},\n\t"z": null\n}',
        '{"servers": {"a": 1, "b": 2}}',
        '{\r\n  "servers": {\r\n    "a": 1\r\n  }\r\n}',
    ],
    ids=["beside another", "alone", "one line", "CRLF"],
)
def test_a_json_file_is_as_before_the_addition(before):
    assert remove("vscode", add("vscode", before)) == before


def test_a_first_entry_of_a_json_file_is_removed():
    before = '{"mcpServers": {"tosloc": {"command": "x"},  "b": {"c":1}}}'
    assert remove("cursor", before) == '{"mcpServers": {"b": {"c":1}}}'


def test_repeated_entries_of_a_json_file_are_removed():
    before = '{"mcpServers": {"tosloc": 1, "b": 2, "tosloc": 3}}'
    assert remove("cursor", before) == '{"mcpServers": {"b": 2}}'


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_toml_file_is_as_before_the_addition(newline):
    before = COMMENTED_TOML.replace("\n", newline)
    assert remove("codex", add("codex", before)) == before


def test_tables_in_the_table_of_a_toml_file_are_removed():
    own = '\n[mcp_servers.tosloc]\ncommand = "x"\n[mcp_servers.tosloc.env]\nA = "1"\n'
    other = '\n[mcp_servers.z]\ncommand = "z"\n'
    assert remove("codex", COMMENTED_TOML + own + other) == COMMENTED_TOML + other


def test_an_entry_that_is_no_table_of_its_own_is_left_to_the_user():
    with pytest.raises(ToslocError) as error:
        remove("codex", '[mcp_servers]\ntosloc = {command = "x"}\n')
    assert "remove the table [mcp_servers.tosloc] by hand" in str(error.value)


@pytest.mark.parametrize("name", [name for name in AGENTS if name != "codex"])
@pytest.mark.parametrize("text", ["", "{}", '{"other": 1}'])
def test_a_json_file_without_the_entry_stays(name, text):
    assert remove(name, text) == text


def test_a_toml_file_without_the_entry_stays():
    assert remove("codex", COMMENTED_TOML) == COMMENTED_TOML


def test_skill_and_sub_agent_are_removed(project, capsys):
    before = files_of(project)
    assert main(["mcp", "install", "claude-code", "--write"]) == 0
    assert main(["mcp", "uninstall", "claude-code"]) == 0
    assert capsys.readouterr().out.count(": removed the ") == 3
    after = files_of(project)
    assert json.loads(after.pop(".mcp.json")) == {"mcpServers": {}}
    assert after == before
    assert not (project / ".claude/skills/tosloc").exists()


def test_a_second_run_removes_nothing(project, capsys):
    before = files_of(project)
    assert main(["mcp", "uninstall", "gemini"]) == 0
    assert "there was no skill tosloc; nothing was changed" in capsys.readouterr().out
    assert files_of(project) == before


def test_nothing_is_removed_if_one_file_is_not_ours(project, capsys):
    assert main(["mcp", "install", "cursor", "--write"]) == 0
    (project / AGENTS["cursor"].sub_agent).write_text("my own agent\n")
    before = files_of(project)
    assert main(["mcp", "uninstall", "cursor"]) == 2
    assert "was not written by TosLoc" in capsys.readouterr().err
    assert files_of(project) == before
