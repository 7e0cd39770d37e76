"""Describe TosLoc to coding agents, in the formats that they read.

All formats are made from one text, ``guidance.md``: a skill, a sub-agent, a plugin of Claude Code,
and the entry in the registry of MCP servers.
"""

from __future__ import annotations

import json
import zlib
from importlib import resources
from typing import Any, Final

import tosloc

NAME: Final = "tosloc"
"""Name of the server, the skill, the sub-agent and the plugin."""
DESCRIPTION: Final = (
    "Rank the files, functions and past changes of this git repository that are most likely behind"
    " a bug report, an error message or a failed test, before searching the code by hand."
)
_REPOSITORY: Final = "OWNER/tosloc"
"""The project's repository at GitHub; docs/releasing.md says how to replace it."""
_REGISTRY_SCHEMA: Final = (
    "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
)
_MARK: Final = "<!-- Written by tosloc mcp install. Checksum: {} -->"
"""Last line of the skills and sub-agents that are written to repositories."""


def guidance() -> str:
    """Return the text that tells agents when to use TosLoc, and when to search the text instead."""
    return resources.files("tosloc.mcp").joinpath("guidance.md").read_text(encoding="utf-8")


def skill() -> str:
    """Return the text of a skill (``SKILL.md``, see agentskills.io)."""
    return f"{_front_matter()}\n{guidance()}"


def sub_agent() -> str:
    """Return the text of a sub-agent, which finds the code that a report is about."""
    task = (
        "You find the code behind a bug report. Answer with at most five places (file, function,"
        " lines), each with\none sentence that says why, and with the suspect change if there is"
        " one. Change no file.\n"
    )
    return f"{_front_matter()}\n{task}\n{guidance()}"


def sign(text: str) -> str:
    """Return the text of a skill or a sub-agent with a last line that contains its checksum."""
    return f"{text}\n{_MARK.format(_checksum(text))}\n"


def is_unedited(text: str) -> bool:
    """Return whether a version of TosLoc wrote a signed text, and nobody has edited it since."""
    unified_text = text.replace("\r\n", "\n")  # git may have changed the ends of lines
    body, _, mark = unified_text.removesuffix("\n").rpartition("\n")
    return mark == _MARK.format(_checksum(body))


def _checksum(text: str) -> str:
    return f"{zlib.crc32(text.encode()):08x}"


def _front_matter() -> str:
    return f"---\nname: {NAME}\ndescription: {DESCRIPTION}\n---\n"


def plugin_files() -> dict[str, str]:
    """Return path -> text for the files of Claude Code's plugin and the registry's entry."""
    return {
        ".claude-plugin/plugin.json": _json(_plugin_manifest()),
        ".mcp.json": _json({"mcpServers": {NAME: _server()}}),
        f"agents/{NAME}.md": sub_agent(),
        f"skills/{NAME}/SKILL.md": skill(),
        "server.json": _json(_registry_entry()),
    }


def _server() -> dict[str, Any]:
    """Return the configuration with which Claude Code starts the server."""
    return {"type": "stdio", "command": "tosloc", "args": ["mcp", "--text-only"]}


def _plugin_manifest() -> dict[str, Any]:
    return {
        "name": NAME,
        "version": tosloc.__version__,
        "description": DESCRIPTION,
        "repository": f"https://github.com/{_REPOSITORY}",
        "license": "Apache-2.0",
    }


def _registry_entry() -> dict[str, Any]:
    """Return ``server.json`` for the MCP registry: the package at PyPI, started with uvx."""
    return {
        "$schema": _REGISTRY_SCHEMA,
        "name": f"io.github.{_REPOSITORY}",
        "title": "TosLoc",
        "description": "Rank the files, functions and past changes behind a bug report.",
        "version": tosloc.__version__,
        "repository": {"url": f"https://github.com/{_REPOSITORY}", "source": "github"},
        "packages": [
            {
                "registryType": "pypi",
                "identifier": "tosloc",
                "version": tosloc.__version__,
                "runtimeHint": "uvx",
                "runtimeArguments": [{"type": "named", "name": "--with", "value": "tosloc[mcp]"}],
                "packageArguments": [{"type": "positional", "value": "mcp"}],
                "transport": {"type": "stdio"},
            }
        ],
    }


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
