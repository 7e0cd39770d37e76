"""Set up coding agents: write the entries that start ``tosloc mcp`` to configuration files.

An entry is inserted into the text of a file: every other byte of the file stays the same. An agent
that reads skills and sub-agents also gets those, as files of their own.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from tosloc.core.errors import ToslocError
from tosloc.core.io import atomic_write, parse_json, read_regular_file
from tosloc.mcp.guidance import NAME, owns, skill, sub_agent

_MAX_BYTES: Final = 16 * 2**20
"""Largest configuration file that is read, in bytes."""
_INDENT: Final = "  "
_BLANKS: Final = re.compile(r"[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder()


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

    def arguments(self) -> list[str]:
        """Return the arguments of ``tosloc`` that start the server for this agent."""
        return ["mcp", "--text-only"] if self.text_only else ["mcp"]

    def entry(self, program: Sequence[str]) -> dict[str, Any]:
        """Return the configuration entry that starts the server.

        ``program`` contains the program and its first arguments.
        """
        entry: dict[str, Any] = {"type": "stdio"} if self.has_type else {}
        entry["command"] = program[0]
        entry["args"] = [*program[1:], *self.arguments()]
        return entry

    def path(self, root: Path | None) -> Path:
        """Return the agent's configuration file; ``root`` is the root of a work tree.

        Codex reads the folder that ``$CODEX_HOME`` names. Raises ToslocError if the file belongs to
        a project and there is no work tree, or if links lead out of the work tree.
        """
        if self.is_user_wide:
            folder = os.environ.get("CODEX_HOME") or Path.home() / ".codex"
            return Path(folder) / Path(self.file).name
        return _path_in_work_tree(root, self.file)

    def guidance_files(self) -> dict[str, str]:
        """Return path -> kind ("skill" or "sub-agent") of the agent's files of guidance."""
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


def describe(agent: Agent, program: Sequence[str]) -> str:
    """Return the set-up of an agent as text: its command if any, its file and the entry."""
    lines = []
    if agent.command:
        command = f"{agent.command} {shlex.join([*program, *agent.arguments()])}"
        lines.append(f"{agent.title}: run this command, or add the entry below to {agent.file}")
        lines.append(f"  {command}")
    else:
        lines.append(f"{agent.title}: add this entry to {agent.file}")
    lines.append(add_entry(agent, "", program).rstrip("\n"))
    for kind, name in agent.guidance_files().items():
        lines.append(f"--write also adds the {kind} {name}")
    return "\n".join(lines)


class SetupFile(NamedTuple):
    """A file of an agent's set-up, and whether it was changed."""

    path: Path
    kind: str
    """What was added or removed: "server", "skill" or "sub-agent"."""
    is_changed: bool


def write_entries(
    agents: Sequence[Agent], root: Path | None, program: Sequence[str]
) -> list[SetupFile]:
    """Add an entry for each agent to its configuration file, and write its skill and sub-agent.

    If one of the files cannot be changed, nothing is written. Raises ToslocError, and OSError for a
    file that cannot be read or written.
    """
    results = []
    new_texts = {}
    for agent in agents:
        path = agent.path(root)
        before = _read_text(path) if path.exists() else ""
        after = add_entry(agent, before, program, path)
        results.append(SetupFile(path, "server", after != before))
        if after != before:
            new_texts[path] = after
        for kind, name in agent.guidance_files().items():
            path = _path_in_work_tree(root, name)
            text = skill() if kind == "skill" else sub_agent()
            is_changed = _own_text(path) != text
            results.append(SetupFile(path, kind, is_changed))
            if is_changed:
                new_texts[path] = text
    _write_texts(new_texts)
    return results


def remove_entries(agents: Sequence[Agent], root: Path | None) -> list[SetupFile]:
    """Remove the entries and files that ``write_entries`` added.

    If one of the files cannot be changed, nothing is removed. Raises ToslocError, and OSError for a
    file that cannot be read or written.
    """
    results = []
    new_texts = {}
    unneeded_files = []
    for agent in agents:
        path = agent.path(root)
        before = _read_text(path) if path.exists() else ""
        after = remove_entry(agent, before, path)
        results.append(SetupFile(path, "server", after != before))
        if after != before:
            new_texts[path] = after
        for kind, name in agent.guidance_files().items():
            path = _path_in_work_tree(root, name)
            is_ours = bool(_own_text(path))
            results.append(SetupFile(path, kind, is_ours))
            if is_ours:
                unneeded_files.append(path)
    _write_texts(new_texts)
    for path in unneeded_files:
        path.unlink()
        if not any(path.parent.iterdir()):
            path.parent.rmdir()
    return results


def _write_texts(texts: Mapping[Path, str]) -> None:
    """Write the texts of files without changing the files' permissions."""
    for path, text in texts.items():
        with atomic_write(path) as temporary:
            temporary.write_bytes(text.encode())
            if path.exists():
                shutil.copymode(path, temporary)  # such files may contain keys of other servers


class AgentSetup:
    """The set-up of the coding agents with the given names, or of all known agents."""

    def __init__(self, names: Sequence[str] = ()) -> None:
        self._agents: Final = [AGENTS[name] for name in names or AGENTS]
        self._program: Final = server_program()

    @property
    def is_user_wide(self) -> bool:
        """Whether all files belong to the user, so that no work tree is needed."""
        return all(agent.is_user_wide for agent in self._agents)

    @property
    def has_full_path(self) -> bool:
        """Whether entries contain a full path of this machine, as tosloc is not on the PATH."""
        return Path(self._program[0]).is_absolute()

    def describe(self) -> str:
        """Return the set-up as text, see ``describe``."""
        return "\n\n".join(describe(agent, self._program) for agent in self._agents)

    def write(self, root: Path | None) -> list[SetupFile]:
        """Write the set-up, see ``write_entries``."""
        return write_entries(self._agents, root, self._program)

    def remove(self, root: Path | None) -> list[SetupFile]:
        """Remove the set-up, see ``remove_entries``."""
        return remove_entries(self._agents, root)


def _path_in_work_tree(root: Path | None, name: str) -> Path:
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


def _own_text(path: Path) -> str:
    """Return the text of TosLoc's skill or sub-agent at a path; empty if there is no file.

    Raises ToslocError for a file that TosLoc did not write.
    """
    if not path.exists():
        return ""
    text = _read_text(path)
    if not owns(text):
        raise ToslocError(f"{path} was not written by TosLoc; move it, and run the command again")
    return text


def _read_text(path: Path) -> str:
    """Return the text of a configuration file. Raises ToslocError unless it is UTF-8."""
    try:
        return read_regular_file(path, _MAX_BYTES).decode()
    except UnicodeDecodeError:
        raise ToslocError(f"{path} is not text in UTF-8; nothing was changed") from None


def add_entry(agent: Agent, text: str, program: Sequence[str], path: Path | None = None) -> str:
    """Return the text of a configuration file with the agent's entry added.

    Keys that the user added to the entry, such as ``env``, stay. A text that already contains the
    entry is returned unchanged. ``path`` is used in error messages. Raises ToslocError if the text
    is broken.
    """
    where = str(path or agent.file)
    entry = agent.entry(program)
    if agent.file.endswith(".toml"):
        return _add_toml_entry(text, agent.servers_key, entry, where)
    return _add_json_entry(text, agent.servers_key, entry, where)


def remove_entry(agent: Agent, text: str, path: Path | None = None) -> str:
    """Return the text of a configuration file without the agent's entry.

    A text without the entry is returned unchanged. ``path`` is used in error messages. Raises
    ToslocError if the text is broken.
    """
    where = str(path or agent.file)
    if agent.file.endswith(".toml"):
        return _remove_toml_entry(text, agent.servers_key, where)
    return _remove_json_entry(text, agent.servers_key, where)


# TOML


def _add_toml_entry(text: str, servers_key: str, entry: Mapping[str, Any], where: str) -> str:
    """Return a TOML text with a table for the server at its end."""
    servers = _parse_toml(text, where).get(servers_key, {})
    table = f"{servers_key}.{NAME}"
    if isinstance(servers, dict) and NAME in servers:
        old = servers[NAME]
        if isinstance(old, dict) and {**old, **entry} == old:
            return text
        raise ToslocError(
            f"{where} already has a table [{table}]; remove it, and run the same command again"
        )
    lines = [f"[{table}]"]
    for key, value in entry.items():
        lines.append(f"{key} = {json.dumps(value, ensure_ascii=False)}")
    newline = "\r\n" if "\r\n" in text else "\n"
    separator = ""
    if text:
        separator = newline if text.endswith("\n") else 2 * newline
    new_text = text + separator + newline.join(lines) + newline
    try:
        tomllib.loads(new_text)
    except tomllib.TOMLDecodeError:
        raise ToslocError(
            f"{where}: {servers_key} is not a table that can be extended; add the server by hand"
        ) from None
    return new_text


def _remove_toml_entry(text: str, servers_key: str, where: str) -> str:
    """Return a TOML text without the table of the server and the tables in it."""
    document = _parse_toml(text, where)
    servers = document.get(servers_key)
    if not isinstance(servers, dict) or NAME not in servers:
        return text
    table = f"{servers_key}.{NAME}"
    lines: list[str] = []
    is_own = False
    for line in text.splitlines(keepends=True):
        if line.startswith("["):
            is_own = line.startswith((f"[{table}]", f"[{table}."))
        if not is_own:
            lines.append(line)
    if is_own and lines and not lines[-1].strip():
        del lines[-1]  # the blank line above the last table
    new_text = "".join(lines)
    del servers[NAME]
    if not servers:
        del document[servers_key]
    try:
        is_removed = tomllib.loads(new_text) == document
    except tomllib.TOMLDecodeError:
        is_removed = False
    if not is_removed:
        raise ToslocError(f"{where}: remove the table [{table}] by hand; nothing was changed")
    return new_text


def _parse_toml(text: str, where: str) -> dict[str, Any]:
    """Return the content of a TOML text. Raises ToslocError if it is broken."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ToslocError(f"{where} is not valid TOML ({error}); nothing was changed") from None


# JSON


class _Member(NamedTuple):
    """Positions of a JSON object's member in the text: its key, and its value's start and end."""

    key: int
    start: int
    end: int


def _add_json_entry(text: str, servers_key: str, entry: Mapping[str, Any], where: str) -> str:
    """Return a JSON text with an entry for the server."""
    if not text.strip():
        document = {servers_key: {NAME: entry}}
        return json.dumps(document, indent=_INDENT, ensure_ascii=False) + "\n"
    document = _parse_json(text, where, "add")
    servers = document.get(servers_key, {}) if isinstance(document, dict) else None
    if not isinstance(servers, dict):
        part = servers_key if isinstance(document, dict) else "its content"
        raise ToslocError(f"{where}: {part} is not a JSON object; nothing was changed")
    old = servers.get(NAME)
    new = {**old, **entry} if isinstance(old, dict) else dict(entry)
    if new == old:
        return text
    members = _members(text, _skip_blanks(text, 0))
    unit = _INDENT
    if members:
        unit = _indent_before(text, min(member.key for member in members.values())) or _INDENT
    if servers_key not in members:
        value = {NAME: new}
        new_text = _insert_member(text, _skip_blanks(text, 0), servers_key, value, unit)
    else:
        servers_start = members[servers_key].start
        own = _members(text, servers_start).get(NAME)
        if own is None:
            new_text = _insert_member(text, servers_start, NAME, new, unit)
        else:
            indent = _indent_before(text, own.key)
            new_text = text[: own.start] + _dump(new, indent, unit, text) + text[own.end :]
    document[servers_key] = {**servers, NAME: new}
    assert parse_json(new_text) == document
    return new_text


def _remove_json_entry(text: str, servers_key: str, where: str) -> str:
    """Return a JSON text without the entry for the server."""
    if not text.strip():
        return text
    document = _parse_json(text, where, "remove")
    servers = document.get(servers_key) if isinstance(document, dict) else None
    if not isinstance(servers, dict) or NAME not in servers:
        return text
    new_text = text
    while True:  # a key may be repeated
        servers_start = _members(new_text, _skip_blanks(new_text, 0))[servers_key].start
        members = _members(new_text, servers_start)
        if NAME not in members:
            break
        new_text = _remove_member(new_text, servers_start, members)
    del servers[NAME]
    assert parse_json(new_text) == document
    return new_text


def _remove_member(text: str, start: int, members: Mapping[str, _Member]) -> str:
    """Return a JSON text without our entry; ``members`` belong to the object at ``start``."""
    own = members[NAME]
    others = [member for key, member in members.items() if key != NAME]
    later = [member.key for member in others if member.key > own.key]
    earlier = [member.end for member in others if member.key < own.key]
    if later:
        return text[: own.key] + text[min(later) :]
    if earlier:
        return text[: max(earlier)] + text[own.end :]
    _, end = _DECODER.raw_decode(text, start)
    return f"{text[:start]}{{}}{text[end:]}"


def _parse_json(text: str, where: str, verb: str) -> Any:
    """Return the content of a JSON text.

    Raises ToslocError, which says what to do, if the text is broken.
    """
    try:
        return parse_json(text)
    except ValueError as error:
        raise ToslocError(
            f"{where} is not plain JSON ({error}); nothing was changed, so {verb} the entry by hand"
        ) from None


def _skip_blanks(text: str, position: int) -> int:
    """Return the position of the first character from ``position`` on that is not blank."""
    match = _BLANKS.match(text, position)
    assert match is not None
    return match.end()


def _members(text: str, start: int) -> dict[str, _Member]:
    """Return key -> positions of the member, for the JSON object at ``start`` of valid JSON.

    If several members have the same key, the last one counts, as for all readers of JSON.
    """
    members = {}
    position = _skip_blanks(text, start + 1)
    while text[position] != "}":
        key_start = position
        key, position = _DECODER.raw_decode(text, key_start)
        colon = _skip_blanks(text, position)
        value_start = _skip_blanks(text, colon + 1)
        _, value_end = _DECODER.raw_decode(text, value_start)
        members[key] = _Member(key_start, value_start, value_end)
        position = _skip_blanks(text, value_end)
        if text[position] == ",":
            position = _skip_blanks(text, position + 1)
    return members


def _indent_before(text: str, position: int) -> str | None:
    """Return the blanks before a position if the line begins with them; otherwise None."""
    before = text[text.rfind("\n", 0, position) + 1 : position]
    is_first_of_line = "\n" in text[:position] and not before.strip()
    return before if is_first_of_line else None


def _insert_member(text: str, start: int, key: str, value: Any, unit: str) -> str:
    """Return a JSON text with a new last member in the object at ``start``."""
    members = _members(text, start)
    newline = _newline(text)
    if not members:
        _, end = _DECODER.raw_decode(text, start)
        line = text[text.rfind("\n", 0, start) + 1 : start]
        outer = line[: len(line) - len(line.lstrip())]
        member = f"{json.dumps(key)}: {_dump(value, outer + unit, unit, text)}"
        return f"{text[:start]}{{{newline}{outer}{unit}{member}{newline}{outer}}}{text[end:]}"
    last = max(members.values(), key=lambda member: member.end)
    indent = _indent_before(text, last.key)
    separator = ", " if indent is None else f",{newline}{indent}"
    member = f"{json.dumps(key)}: {_dump(value, indent, unit, text)}"
    return text[: last.end] + separator + member + text[last.end :]


def _dump(value: Any, indent: str | None, unit: str, text: str) -> str:
    """Return a value as JSON, indented for its place in the text; on one line for None."""
    if indent is None:
        return json.dumps(value, ensure_ascii=False)
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    return (_newline(text) + indent).join(lines)


def _newline(text: str) -> str:
    """Return the line ending of a text."""
    return "\r\n" if "\r\n" in text else "\n"
