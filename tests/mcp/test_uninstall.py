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
        '{\n\t"z": null\n}',
        '{"servers": {"a": 1, "b": 2}}',
        '{\r\n  "servers": {\r\n    "a": 1\r\n  }\r\n}',
    ],
    ids=["beside another", "no servers", "one line", "CRLF"],
)
def test_a_json_file_is_as_before_the_addition(before):
    assert remove("vscode", add("vscode", before)) == before


def test_an_empty_object_of_servers_is_removed():
    before = '{\n\t"servers": {},\n\t"z": null\n}'
    assert remove("vscode", add("vscode", before)) == '{\n\t"z": null\n}'


def test_an_empty_object_stays_where_an_earlier_one_would_count_again():
    before = '{"mcpServers": {"a": 1}, "mcpServers": {}}'
    assert json.loads(remove("cursor", add("cursor", before))) == {"mcpServers": {}}


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


@pytest.mark.parametrize("name", [name for name in AGENTS if name != "codex"])
def test_nothing_is_left_in_the_work_tree(project, capsys, name):
    before = sorted(project.rglob("*"))
    assert main(["mcp", "install", name, "--write"]) == 0
    number = capsys.readouterr().out.count(": added the ")
    assert sorted(project.rglob("*")) != before
    assert main(["mcp", "uninstall", name]) == 0
    assert capsys.readouterr().out.count(": removed the ") == number
    assert sorted(project.rglob("*")) == before


@pytest.mark.parametrize("is_named", [True, False])
def test_nothing_is_left_in_the_home_folder(tmp_path, monkeypatch, is_named):
    """A folder that $CODEX_HOME names stays, because Codex does not make it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CODEX_HOME", raising=False)
    if is_named:
        (tmp_path / "codex").mkdir()
        monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    before = sorted(tmp_path.rglob("*"))
    assert main(["mcp", "install", "codex", "--write"]) == 0
    assert main(["mcp", "uninstall", "codex"]) == 0
    assert sorted(tmp_path.rglob("*")) == before


def test_other_files_of_the_folders_stay(project):
    (project / ".claude/skills").mkdir(parents=True)
    (project / ".claude/skills/notes.md").write_text("mine\n")
    before = files_of(project)
    assert main(["mcp", "install", "claude-code", "--write"]) == 0
    assert main(["mcp", "uninstall", "claude-code"]) == 0
    assert files_of(project) == before


def test_a_link_stays_and_its_target_is_emptied(project):
    (project / "shared.json").write_text("{}")
    (project / ".mcp.json").symlink_to("shared.json")
    assert main(["mcp", "install", "claude-code", "--write"]) == 0
    assert main(["mcp", "uninstall", "claude-code"]) == 0
    assert (project / ".mcp.json").is_symlink()
    assert json.loads((project / "shared.json").read_text()) == {}


def test_an_edited_skill_is_left_to_the_user(project, capsys):
    assert main(["mcp", "install", "gemini", "--write"]) == 0
    skill = project / AGENTS["gemini"].skill
    with skill.open("a") as file:
        file.write("Ask it about the folder server first.\n")
    before = files_of(project)
    assert main(["mcp", "uninstall", "gemini"]) == 2
    assert "SKILL.md was written or edited by hand; move or remove" in capsys.readouterr().err
    assert files_of(project) == before


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
    assert "was written or edited by hand" in capsys.readouterr().err
    assert files_of(project) == before
