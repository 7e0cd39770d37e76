"""What coding agents are told about TosLoc: one text in all formats, where agents look for it."""

import json
from pathlib import Path

import pytest
import yaml

from scripts.agent_files import FOLDER
from tosloc.cli import main
from tosloc.mcp import install
from tosloc.mcp.agents import AGENTS
from tosloc.mcp.guidance import guidance, plugin_files, sign, skill, sub_agent

ROOT = Path(__file__).parents[2]
GUIDANCE_FILES = [
    (agent.name, name) for agent in AGENTS.values() for name in agent.guidance_files().values()
]


@pytest.fixture
def project(repository, monkeypatch):
    """Make a work tree with ``tosloc`` on the PATH the current folder; return the work tree."""
    monkeypatch.chdir(repository.path)
    monkeypatch.setattr(install, "server_program", lambda: ["tosloc"])
    return repository.path


@pytest.mark.parametrize("text", [skill(), sub_agent()], ids=["skill", "sub-agent"])
def test_front_matter_has_the_name_and_what_it_is_for(text):
    _, front_matter, body = text.split("---\n", 2)
    assert yaml.safe_load(front_matter).keys() == {"name", "description"}
    assert body.endswith(guidance())


def test_the_guide_quotes_the_text():
    assert guidance() in (ROOT / "docs/guide.md").read_text(encoding="utf-8")


def test_the_plugin_is_up_to_date():
    """Run ``python scripts/agent_files.py`` to write its files anew."""
    files = {
        str(path.relative_to(FOLDER)): path.read_text(encoding="utf-8")
        for path in FOLDER.rglob("*")
        if path.is_file()
    }
    assert files == plugin_files()


def test_the_registry_finds_its_mark_in_the_description_of_the_package():
    name = json.loads(plugin_files()["server.json"])["name"]
    assert f"<!-- mcp-name: {name} -->" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("agent", "name"), GUIDANCE_FILES)
def test_skills_and_sub_agents_are_written_where_the_agent_looks(project, capsys, agent, name):
    assert main(["mcp", "install", agent, "--write"]) == 0
    assert str(project / name) in capsys.readouterr().out
    assert guidance() in (project / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_skill_of_an_earlier_version_is_replaced(project, capsys, newline):
    path = project / AGENTS["gemini"].skill
    path.parent.mkdir(parents=True)
    text = sign("---\nname: tosloc\ndescription: old\n---\n")
    path.write_bytes(text.replace("\n", newline).encode())
    assert main(["mcp", "install", "gemini", "--write"]) == 0
    assert f"{path}: changed the skill tosloc\n" in capsys.readouterr().out
    assert path.read_text(encoding="utf-8") == sign(skill())


def test_an_edited_skill_is_left_alone(project, capsys):
    assert main(["mcp", "install", "gemini", "--write"]) == 0
    path = project / AGENTS["gemini"].skill
    edited_text = path.read_text(encoding="utf-8").replace("ripgrep", "grep")
    path.write_text(edited_text, encoding="utf-8")
    assert main(["mcp", "install", "gemini", "--write"]) == 2
    assert "was written or edited by hand; move or remove it" in capsys.readouterr().err
    assert path.read_text(encoding="utf-8") == edited_text


def test_a_file_of_somebody_else_is_left_alone(project, capsys):
    path = project / AGENTS["claude-code"].sub_agent
    path.parent.mkdir(parents=True)
    path.write_text("my own agent\n")
    assert main(["mcp", "install", "claude-code", "--write"]) == 2
    assert "was written or edited by hand; move" in capsys.readouterr().err
    assert path.read_text() == "my own agent\n"
    assert not (project / ".mcp.json").exists()
