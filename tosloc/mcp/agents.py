"""The coding agents that TosLoc knows how to set up, with their files and formats."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from tosloc.core.errors import ToslocError
from tosloc.mcp.guidance import NAME

_COMMAND: Final = "mcp"
"""The command of ``tosloc`` that starts the server."""
_TEXT_ONLY: Final = ("--text-only",)


class Server(NamedTuple):
    """How agents start the server."""

    program: Sequence[str]
    """The program, and its arguments before the command ``mcp``."""
    options: Sequence[tuple[str, ...]] = ()
    """The options of ``tosloc mcp``, each with its value if it has one."""


@dataclass(frozen=True)
class Agent:
    """A coding agent, and the format in which it is configured."""

    name: str
    """Name of the agent on the command line."""
    title: str
    file: str
    """Its configuration file: in the root of a work tree or, after "~/", in the user's folder."""
    servers_key: str
    """Key of the servers in the file."""
    text_only: bool = False
    """Whether the agent gives its model structured content instead of the short text."""
    has_type: bool = True
    """Whether an entry for this agent names the transport."""
    command: str = ""
    """Beginning of the agent's own command that adds a server; "" if it has none."""
    skill: str = ""
    """Path of the agent's skills in the root of a work tree; "" if it reads none."""
    sub_agent: str = ""
    """Path of the agent's sub-agents in the root of a work tree; "" if it reads none."""

    @property
    def is_user_wide(self) -> bool:
        """Whether the configuration file belongs to the user and applies to all projects."""
        return self.file.startswith("~/")

    @property
    def has_toml(self) -> bool:
        """Whether the configuration file is in TOML, and not in JSON."""
        return self.file.endswith(".toml")

    def command_line(self, server: Server) -> list[str]:
        """Return the program and the arguments that start a server for this agent."""
        options = list(server.options)
        if self.text_only and _TEXT_ONLY not in options:
            options.insert(0, _TEXT_ONLY)
        command_line = [*server.program, _COMMAND]
        for option in options:
            command_line += option
        return command_line

    def entry(self, server: Server) -> dict[str, Any]:
        """Return the configuration entry that starts a server."""
        entry: dict[str, Any] = {"type": "stdio"} if self.has_type else {}
        entry["command"], *entry["args"] = self.command_line(server)
        return entry

    def extend_entry(self, current: Any, server: Server, where: str) -> dict[str, Any]:
        """Return an existing entry with the options of a server that it lacks.

        All that a person wrote into the entry stays. Raises ToslocError if the entry starts another
        program; ``where`` names the file in the message.
        """
        program, *first_arguments = [*server.program, _COMMAND]
        number = len(first_arguments)
        arguments = current.get("args") if isinstance(current, dict) else None
        if (
            not isinstance(arguments, list)
            or arguments[:number] != first_arguments
            or current.get("command") != program
        ):
            command = shlex.join([program, *first_arguments])
            raise ToslocError(
                f"{where}: the entry {NAME} does not start {command!r}; remove this entry and run"
                " the same command again, or leave the entry as it is"
            )
        extended_arguments = list(arguments)
        for option in server.options:
            starts = range(number, len(arguments))
            if not any(arguments[start : start + len(option)] == [*option] for start in starts):
                extended_arguments += option
        return {**current, "args": extended_arguments}

    def folder_to_keep(self, root: Path | None) -> Path:
        """Return the folder that contains all files of the agent, and existed before them."""
        if root is not None and not self.is_user_wide:
            return root
        return Path(os.environ.get("CODEX_HOME") or Path.home())

    def path(self, root: Path | None) -> Path:
        """Return the agent's configuration file; ``root`` is the root of a work tree.

        Codex reads the folder that ``$CODEX_HOME`` names. Raises ToslocError if the file belongs to
        a project and there is no work tree, or if links lead out of the work tree.
        """
        if self.is_user_wide:
            folder = os.environ.get("CODEX_HOME") or Path.home() / ".codex"
            return Path(folder) / Path(self.file).name
        return path_in_work_tree(root, self.file)

    def guidance_files(self) -> dict[str, str]:
        """Return kind ("skill" or "sub-agent") -> path of the agent's files of guidance."""
        files = {"skill": self.skill, "sub-agent": self.sub_agent}
        return {kind: name for kind, name in files.items() if name}


AGENTS: Final[Mapping[str, Agent]] = {
    agent.name: agent
    for agent in (
        Agent(
            "claude-code",
            "Claude Code",
            ".mcp.json",
            "mcpServers",
            text_only=True,
            command="claude mcp add tosloc --",
            skill=".claude/skills/tosloc/SKILL.md",
            sub_agent=".claude/agents/tosloc.md",
        ),
        Agent(
            "cursor",
            "Cursor",
            ".cursor/mcp.json",
            "mcpServers",
            skill=".cursor/skills/tosloc/SKILL.md",
            sub_agent=".cursor/agents/tosloc.md",
        ),
        Agent(
            "vscode",
            "VS Code",
            ".vscode/mcp.json",
            "servers",
            text_only=True,
            skill=".github/skills/tosloc/SKILL.md",
        ),
        Agent(
            "codex",
            "Codex",
            "~/.codex/config.toml",
            "mcp_servers",
            has_type=False,
            command="codex mcp add tosloc --",
        ),
        Agent(
            "gemini",
            "Gemini CLI",
            ".gemini/settings.json",
            "mcpServers",
            has_type=False,
            command="gemini mcp add tosloc",
            skill=".gemini/skills/tosloc/SKILL.md",
            sub_agent=".gemini/agents/tosloc.md",
        ),
    )
}
"""Agents by name, with the formats that their manuals describe."""


def server_program() -> list[str]:
    """Return the program that an agent starts: ``tosloc`` if it is on the PATH, else its path."""
    if shutil.which("tosloc"):
        return ["tosloc"]
    script = Path(sys.executable).with_name("tosloc")
    if script.exists():
        return [str(script)]
    # With -P nothing is imported from the folder in which the agent starts the server.
    return [sys.executable, "-P", "-m", "tosloc"]


def path_in_work_tree(root: Path | None, name: str) -> Path:
    """Return a path in a work tree.

    Raises ToslocError if there is no work tree, or if links lead out of it.
    """
    if root is None or not (root / ".git").exists():
        raise ToslocError(
            f"{root} has no work tree that could contain {name}",
            hint="name a folder of a work tree with {repo}",
        )
    path = root / name
    if not path.resolve().is_relative_to(root.resolve()):
        raise ToslocError(f"{path}: a symbolic link leads out of the work tree; remove it")
    return path
