"""Set up coding agents: write the entries that start ``tosloc mcp`` to configuration files.

An entry is inserted into the text of a file: every other byte of the file stays the same. An agent
that reads skills and sub-agents also gets those, as files of their own.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tosloc.core.errors import ToslocError
from tosloc.core.io import atomic_write, read_regular_file
from tosloc.mcp.agents import AGENTS, Agent, path_in_work_tree, server_program
from tosloc.mcp.guidance import owns, skill, sub_agent
from tosloc.mcp.json_entries import add_json_entry, remove_json_entry
from tosloc.mcp.toml_entries import add_toml_entry, remove_toml_entry

_MAX_BYTES: Final = 16 * 2**20
"""Largest configuration file that is read, in bytes."""


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
            path = path_in_work_tree(root, name)
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
            path = path_in_work_tree(root, name)
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
        return add_toml_entry(text, agent.servers_key, entry, where)
    return add_json_entry(text, agent.servers_key, entry, where)


def remove_entry(agent: Agent, text: str, path: Path | None = None) -> str:
    """Return the text of a configuration file without the agent's entry.

    A text without the entry is returned unchanged. ``path`` is used in error messages. Raises
    ToslocError if the text is broken.
    """
    where = str(path or agent.file)
    if agent.file.endswith(".toml"):
        return remove_toml_entry(text, agent.servers_key, where)
    return remove_json_entry(text, agent.servers_key, where)
