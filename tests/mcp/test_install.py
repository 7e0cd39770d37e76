"""``tosloc mcp install``: entries in configuration files of coding agents, and all else kept."""

import io
import json
import stat
import tomllib
from pathlib import Path

import pytest

from tosloc.cli import main
from tosloc.core.errors import ToslocError
from tosloc.mcp import install
from tosloc.mcp.agents import AGENTS, Server, server_program
from tosloc.mcp.install import add_entry, describe, write_entries

PROGRAM = ["tosloc"]
SERVER = Server(PROGRAM)
SAMPLING = Server(PROGRAM, [("--sampling",)])
JSON_AGENTS = [name for name in AGENTS if name != "codex"]
COMMENTED_TOML = """# my settings
model = "large"  # the best

[mcp_servers.other]
command = "other"
"""


def add(name, text, server=SERVER):
    """Return a configuration file's text with the entry for an agent."""
    return add_entry(AGENTS[name], text, server)


@pytest.fixture
def project(repository, monkeypatch):
    """Make a work tree with ``tosloc`` on the PATH the current folder; return the work tree."""
    monkeypatch.chdir(repository.path)
    monkeypatch.setattr(install, "server_program", lambda: PROGRAM)
    return repository.path


def run_install(*words):
    return main(["mcp", "install", *words])


@pytest.mark.parametrize("name", JSON_AGENTS)
def test_a_new_json_file_has_the_entry(name):
    agent = AGENTS[name]
    document = json.loads(add(name, ""))
    assert document == {agent.servers_key: {"tosloc": agent.entry(SERVER)}}


def test_entries_have_what_the_agents_read():
    assert AGENTS["vscode"].entry(Server(["/a/python", "-m"])) == {
        "type": "stdio",
        "command": "/a/python",
        "args": ["-m", "mcp", "--text-only"],
    }
    assert AGENTS["gemini"].entry(SERVER) == {"command": "tosloc", "args": ["mcp"]}


def test_a_new_toml_file_has_the_entry():
    document = tomllib.loads(add("codex", ""))
    assert document == {"mcp_servers": {"tosloc": {"command": "tosloc", "args": ["mcp"]}}}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '{\n    "x": 1.50,\n    "servers": {\n        "a": {"k":  1}\n    }\n}\n',
            '{\n    "x": 1.50,\n    "servers": {\n        "a": {"k":  1},\n'
            '        "tosloc": ENTRY\n    }\n}\n',
        ),
        (
            '{\n\t"servers": {},\n\t"z": null\n}',
            '{\n\t"servers": {\n\t\t"tosloc": ENTRY\n\t},\n\t"z": null\n}',
        ),
        ("{}\n", '{\n  "servers": {\n    "tosloc": ENTRY\n  }\n}\n'),
        ('{"a": [{}, "}"]}', '{"a": [{}, "}"], "servers": {"tosloc": ENTRY}}'),
        (
            '{\r\n  "servers": {\r\n    "a": 1\r\n  }\r\n}',
            '{\r\n  "servers": {\r\n    "a": 1,\r\n    "tosloc": ENTRY\r\n  }\r\n}',
        ),
    ],
    ids=["beside another", "no server yet", "empty", "one line", "CRLF"],
)
def test_all_other_bytes_of_a_json_file_stay(before, after):
    result = add("vscode", before)
    beginning, end = after.split("ENTRY")
    assert result.startswith(beginning)
    assert result.endswith(end)
    entry = json.loads(result[len(beginning) : len(result) - len(end)])
    assert entry == AGENTS["vscode"].entry(SERVER)


@pytest.mark.parametrize("before", ["", "{}", '{"mcpServers": {}}', '{\n  "a": 1\n}'])
def test_a_second_addition_changes_nothing(before):
    once = add("cursor", before)
    assert add("cursor", once) == once


def test_lines_of_an_added_entry_are_indented_like_the_file():
    before = '{\n    "mcpServers": {\n        "a": {}\n    }\n}\n'
    lines = add("gemini", before).splitlines()
    assert lines[3] == '        "tosloc": {'
    assert lines[4] == '            "command": "tosloc",'
    assert lines[5] == '            "args": ['


def test_options_are_added_to_an_entry_and_all_else_in_it_stays():
    before = (
        '{"mcpServers": {"tosloc": {"command": "tosloc", "args": ["mcp", "--root", "/a"],'
        ' "env": {"A": "1"}}, "b": {"c":1}}}'
    )
    document = json.loads(add("gemini", before, SAMPLING))
    arguments = ["mcp", "--root", "/a", "--sampling"]
    entry = {"command": "tosloc", "args": arguments, "env": {"A": "1"}}
    assert document == {"mcpServers": {"tosloc": entry, "b": {"c": 1}}}


def test_an_option_with_another_value_is_added():
    server = Server(PROGRAM, [("--root", "/a"), ("--root", "/b")])
    before = add("cursor", "", Server(PROGRAM, [("--root", "/b")]))
    entry = json.loads(add("cursor", before, server))["mcpServers"]["tosloc"]
    assert entry["args"] == ["mcp", "--root", "/b", "--root", "/a"]


@pytest.mark.parametrize("name", AGENTS)
def test_an_entry_with_more_options_stays_as_it_is(name):
    before = add(name, "", SAMPLING)
    assert add(name, before) == before


def test_of_repeated_keys_the_last_gets_the_entry():
    before = '{"mcpServers": {"a": 1}, "mcpServers": {"b": 2}}'
    after = add("gemini", before)
    assert after.startswith('{"mcpServers": {"a": 1}, "mcpServers": {"b": 2, "tosloc": ')


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_all_of_a_toml_file_stays(newline):
    before = COMMENTED_TOML.replace("\n", newline)
    after = add("codex", before)
    lines = ["", "[mcp_servers.tosloc]", 'command = "tosloc"', 'args = ["mcp"]', ""]
    assert after == before + newline.join(lines)


def test_a_toml_file_without_a_last_newline_gets_one():
    assert add("codex", "a = 1").startswith("a = 1\n\n[mcp_servers.tosloc]\n")


def test_an_entry_in_a_toml_file_is_left_alone():
    before = add("codex", COMMENTED_TOML) + "startup_timeout_sec = 30\n"
    assert add("codex", before) == before


def test_options_are_added_to_an_entry_in_a_toml_file():
    before = add("codex", COMMENTED_TOML) + "startup_timeout_sec = 30  # slow disk\n"
    after = add("codex", before, SAMPLING)
    assert after == before.replace('args = ["mcp"]', 'args = ["mcp", "--sampling"]')


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("cursor", '{"mcpServers": ', ".cursor/mcp.json is not plain JSON (Expecting value: line"),
        ("vscode", "// mine\n{}", ".vscode/mcp.json is not plain JSON"),
        ("cursor", "[" * 100_000, ".cursor/mcp.json is not plain JSON (nested too deeply)"),
        ("cursor", "[]", ".cursor/mcp.json: its content is not a JSON object; nothing was changed"),
        ("gemini", '{"mcpServers": []}', ".gemini/settings.json: mcpServers is not a JSON object"),
        ("codex", "a = ", "~/.codex/config.toml is not valid TOML (Invalid value (at"),
        (
            "codex",
            "mcp_servers = {}",
            "config.toml: mcp_servers is not a table that can be extended",
        ),
        (
            "codex",
            "mcp_servers = 1",
            "config.toml: mcp_servers is not a table that can be extended",
        ),
        (
            "codex",
            '[mcp_servers.tosloc]\ncommand = "old"\n',
            "~/.codex/config.toml: the entry tosloc does not start 'tosloc mcp'; remove this entry",
        ),
        (
            "gemini",
            '{"mcpServers": {"tosloc": {"command": "uvx", "args": ["tosloc", "mcp"]}}}',
            ".gemini/settings.json: the entry tosloc does not start 'tosloc mcp'; remove this",
        ),
        (
            "cursor",
            '{"mcpServers": {"tosloc": {"url": "http://localhost"}}}',
            ".cursor/mcp.json: the entry tosloc does not start 'tosloc mcp'",
        ),
        ("cursor", '{"mcpServers": {"tosloc": 1}}', "the entry tosloc does not start"),
    ],
    ids=[
        "broken JSON",
        "comment",
        "deep",
        "list",
        "servers in a list",
        "broken TOML",
        "inline table",
        "number",
        "another entry",
        "another program",
        "web address",
        "number as entry",
    ],
)
def test_a_file_that_cannot_be_extended_is_refused(name, text, sentence):
    with pytest.raises(ToslocError) as error:
        add(name, text)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_arguments_in_another_form_of_toml_are_left_to_the_user():
    before = "[mcp_servers.tosloc]\ncommand = 'tosloc'\nargs = ['mcp']\n"
    with pytest.raises(ToslocError) as error:
        add("codex", before, SAMPLING)
    assert 'write args = ["mcp", "--sampling"] into the table' in str(error.value)


def test_it_prints_and_writes_nothing_unless_asked_to(project, capsys):
    before = set(project.iterdir())
    assert run_install() == 0
    out = capsys.readouterr().out
    assert out == "\n\n".join(describe(agent, SERVER) for agent in AGENTS.values()) + "\n"
    assert "claude mcp add tosloc -- tosloc mcp --text-only" in out
    assert set(project.iterdir()) == before


def test_an_unknown_agent_is_one_plain_sentence(capsys):
    assert run_install("nope") == 2
    assert "tosloc: Invalid value for 'AGENT': 'nope' is not one of" in capsys.readouterr().err


def test_it_writes_into_the_root_of_the_work_tree(project, capsys, monkeypatch):
    (project / "src").mkdir()
    monkeypatch.chdir(project / "src")
    assert run_install("claude-code", "vscode", "--write") == 0
    assert capsys.readouterr().out.count("added the server tosloc") == 2
    assert "tosloc" in json.loads((project / ".mcp.json").read_text())["mcpServers"]
    assert "tosloc" in json.loads((project / ".vscode/mcp.json").read_text())["servers"]


def test_a_second_run_writes_nothing(project, capsys):
    run_install("gemini", "--write")
    path = project / ".gemini/settings.json"
    before = path.stat()
    assert run_install("gemini", "--write") == 0
    assert "the server tosloc was already there" in capsys.readouterr().out
    assert path.stat() == before


def test_options_of_the_server_are_written_to_the_entry(project, capsys, monkeypatch):
    (project / "src").mkdir()
    monkeypatch.chdir(project / "src")
    options = ["--sampling", "--text-only", "--root", "..", "--checkpoint", "none"]
    assert run_install("gemini", "--write", *options) == 0
    entry = json.loads((project / ".gemini/settings.json").read_text())["mcpServers"]["tosloc"]
    assert entry["args"][1:3] == ["--text-only", "--sampling"]
    assert entry["args"][3] == "--root"
    assert Path(entry["args"][4]).samefile(project)
    assert Path(entry["args"][4]).is_absolute()
    assert entry["args"][5:] == ["--checkpoint", "none"]


def test_options_of_the_server_are_in_the_printed_commands(project, capsys):
    assert run_install("codex", "--sampling") == 0
    assert "codex mcp add tosloc -- tosloc mcp --sampling\n" in capsys.readouterr().out


def test_an_entry_that_gets_an_option_is_changed(project, capsys):
    run_install("gemini", "--write")
    capsys.readouterr()
    assert run_install("gemini", "--write", "--sampling") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("settings.json: changed the server tosloc")
    assert lines[1].endswith("the skill tosloc was already there; nothing was changed")


def test_a_missing_checkpoint_is_refused_before_it_is_written(project, capsys):
    assert run_install("cursor", "--write", "--checkpoint", "nothing") == 2
    assert "nothing contains no checkpoint" in capsys.readouterr().err
    assert not (project / ".cursor").exists()


@pytest.mark.parametrize("options", [["--sampling"], ["--text-only"], ["--checkpoint", "none"]])
def test_options_before_the_command_are_refused(capsys, options):
    assert main(["mcp", *options, "install"]) == 2
    assert "write them after the command" in capsys.readouterr().err


def test_the_file_of_codex_is_the_users(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    monkeypatch.chdir(tmp_path)
    assert run_install("codex", "--write") == 0
    capsys.readouterr()
    document = tomllib.loads((tmp_path / "codex/config.toml").read_text())
    assert document["mcp_servers"]["tosloc"]["args"][-1] == "mcp"


def test_rights_of_a_file_stay(tmp_path, monkeypatch):
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    path = tmp_path / "config.toml"
    path.write_text('key = "secret"\n')
    path.chmod(0o600)
    write_entries([AGENTS["codex"]], None, SERVER)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_nothing_is_written_if_one_file_is_broken(project, capsys):
    (project / ".vscode").mkdir()
    (project / ".vscode/mcp.json").write_text("{")
    assert run_install("cursor", "vscode", "--write") == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (project / ".cursor").exists()


def test_a_link_out_of_the_work_tree_is_refused(project, tmp_path, capsys):
    (tmp_path / "outside").mkdir()
    (project / ".cursor").symlink_to(tmp_path / "outside")
    assert run_install("cursor", "--write") == 2
    assert "a symbolic link leads out of the work tree; remove it" in capsys.readouterr().err
    assert not list((tmp_path / "outside").iterdir())


def test_writing_needs_the_name_of_an_agent(project, capsys):
    assert run_install("--write") == 2
    assert (
        "--write needs at least one agent; choose from claude-code, cursor"
        in capsys.readouterr().err
    )


def test_a_bare_repository_is_refused(make_repository, capsys):
    bare = make_repository("bare.git", bare=True)
    assert run_install("cursor", "--write", "--repo", str(bare.path)) == 2
    assert "has no work tree that could contain .cursor/mcp.json" in capsys.readouterr().err


def test_a_text_that_is_no_utf_8_is_refused(project, capsys):
    (project / ".mcp.json").write_bytes(b'{"a": "\xff"}')
    assert run_install("claude-code", "--write") == 2
    assert ".mcp.json is not text in UTF-8" in capsys.readouterr().err


def test_a_program_that_is_not_on_the_path_has_its_path(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    assert server_program() == [str(tmp_path / "python"), "-P", "-m", "tosloc"]
    (tmp_path / "tosloc").write_text("")
    assert server_program() == [str(tmp_path / "tosloc")]
    (tmp_path / "tosloc").chmod(0o755)
    assert server_program() == ["tosloc"]


@pytest.mark.parametrize("name", ["claude-code", "codex", "gemini"])
def test_a_command_of_the_agent_is_printed_if_it_has_one(name):
    agent = AGENTS[name]
    words = " ".join([agent.command, *agent.command_line(SERVER)])
    assert f"\n  {words}\n" in describe(agent, SERVER)


class Terminal(io.StringIO):
    """A standard input that a person types into."""

    def isatty(self):
        """Return True."""
        return True


@pytest.mark.parametrize(("stdin", "is_described"), [(Terminal, True), (io.StringIO, False)])
def test_a_server_in_a_terminal_says_how_to_set_up_an_agent(
    monkeypatch, capsys, stdin, is_described
):
    monkeypatch.setattr("sys.stdin", stdin())
    monkeypatch.setattr("tosloc.mcp.server.run_server", lambda *_, **options: None)
    monkeypatch.setattr("tosloc.cli.serve.end_at_signals", lambda: None)
    assert main(["mcp"]) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert ("set up an agent with: tosloc mcp install" in captured.err) is is_described
