"""Set up coding agents: write the entries that start ``tosloc mcp`` to configuration files.

An entry is inserted into the text of a file: every other byte of the file stays the same. An agent
that reads skills and sub-agents also gets those, as files of their own.
"""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from tosloc.core.errors import ToslocError
from tosloc.core.io import atomic_write, read_regular_file
from tosloc.mcp import json_entries, toml_entries
from tosloc.mcp.agents import AGENTS, Agent, Server, path_in_work_tree, server_program
from tosloc.mcp.guidance import is_unedited, sign, skill, sub_agent

_MAX_BYTES: Final = 16 * 2**20
"""Largest configuration file that is read, in bytes."""


def describe(agent: Agent, server: Server) -> str:
    """Return the set-up of an agent as text: its command if any, its file and the entry."""
    lines = []
    if agent.command:
        command = f"{agent.command} {shlex.join(agent.command_line(server))}"
        lines.append(f"{agent.title}: run this command, or add the entry below to {agent.file}")
        lines.append(f"  {command}")
    else:
        lines.append(f"{agent.title}: add this entry to {agent.file}")
    lines.append(add_entry(agent, "", server).rstrip("\n"))
    for kind, name in agent.guidance_files().items():
        lines.append(f"--write also adds the {kind} {name}")
    return "\n".join(lines)


class SetupFile(NamedTuple):
    """A file of an agent's set-up, and what is done with it."""

    path: Path
    kind: str
    """What the file contains: "server", "skill" or "sub-agent"."""
    outcome: Literal["added", "changed", "removed", "unchanged"]
    text: str = ""
    """New text of the file; empty if the file is not needed any more."""

    def write(self, folder_to_keep: Path) -> None:
        """Write or remove the file, and folders below ``folder_to_keep`` that become empty."""
        if self.outcome == "unchanged":
            return
        is_needed = self.text.strip() not in ("", "{}")
        is_link = self.kind == "server" and self.path.is_symlink()
        if not is_needed and not is_link:
            _remove_file(self.path, folder_to_keep)
        else:
            _write_text(self.path, self.text)


def write_entries(agents: Sequence[Agent], root: Path | None, server: Server) -> list[SetupFile]:
    """Add an entry for each agent to its configuration file, and write its skill and sub-agent.

    If one of the files cannot be changed, nothing is written. Raises ToslocError, and OSError for a
    file that cannot be read or written.
    """
    files = []
    for agent in agents:
        path = agent.path(root)
        before = _read_text(path)
        after = add_entry(agent, before, server, path)
        is_there = _find_entry(agent, before, path) is not None
        new_files = [SetupFile(path, "server", _outcome(before, after, is_there), after)]
        for kind, name in agent.guidance_files().items():
            path = path_in_work_tree(root, name)
            before = _read_guidance(path)
            after = sign(skill() if kind == "skill" else sub_agent())
            new_files.append(SetupFile(path, kind, _outcome(before, after, bool(before)), after))
        files += [(file, agent.folder_to_keep(root)) for file in new_files]
    for file, folder in files:
        file.write(folder)
    return [file for file, _ in files]


def remove_entries(agents: Sequence[Agent], root: Path | None) -> list[SetupFile]:
    """Remove the entries and files that ``write_entries`` added.

    Files and folders in which nothing is left are removed, too. If one of the files cannot be
    changed, nothing is removed. Raises ToslocError, and OSError for a file that cannot be read or
    written.
    """
    files = []
    for agent in agents:
        path = agent.path(root)
        before = _read_text(path)
        after = remove_entry(agent, before, path)
        outcome = _removal(after != before)
        old_files = [SetupFile(path, "server", outcome, after)]
        for kind, name in agent.guidance_files().items():
            path = path_in_work_tree(root, name)
            outcome = _removal(bool(_read_guidance(path)))
            old_files.append(SetupFile(path, kind, outcome))
        files += [(file, agent.folder_to_keep(root)) for file in old_files]
    for file, folder in files:
        file.write(folder)
    return [file for file, _ in files]


def _outcome(before: str, after: str, is_there: bool) -> Literal["added", "changed", "unchanged"]:
    """Return what is done with an entry or a file that is there or not."""
    if before == after:
        return "unchanged"
    return "changed" if is_there else "added"


def _removal(is_there: bool) -> Literal["removed", "unchanged"]:
    return "removed" if is_there else "unchanged"


def _write_text(path: Path, text: str) -> None:
    """Write the text of a file without changing the file's permissions."""
    with atomic_write(path) as temporary:
        temporary.write_bytes(text.encode())
        if path.exists():
            shutil.copymode(path, temporary)  # such files may contain keys of other servers


def _remove_file(path: Path, folder_to_keep: Path) -> None:
    """Remove a file, and the folders around it in which nothing is left."""
    path.unlink()
    for folder in path.parents:
        if folder == folder_to_keep or folder_to_keep not in folder.parents:
            break
        try:
            folder.rmdir()
        except OSError:  # something else is in it
            break


class AgentSetup:
    """The set-up of the coding agents with the given names, or of all known agents."""

    def __init__(
        self,
        names: Sequence[str] = (),
        *,
        roots: Sequence[Path] = (),
        checkpoint: Path | None = None,
        text_only: bool = False,
        sampling: bool = False,
    ) -> None:
        """``names`` are agents; the other arguments are options of the server that they start."""
        self._agents: Final = [AGENTS[name] for name in names or AGENTS]
        options: list[tuple[str, ...]] = []
        if text_only:
            options.append(("--text-only",))
        if sampling:
            options.append(("--sampling",))
        for root in roots:
            options.append(("--root", str(root.absolute())))
        if checkpoint is not None:
            is_shipped = str(checkpoint) == "none"
            options.append(("--checkpoint", "none" if is_shipped else str(checkpoint.absolute())))
        self._server: Final = Server(server_program(), options)

    @property
    def is_user_wide(self) -> bool:
        """Whether all files belong to the user, so that no work tree is needed."""
        return all(agent.is_user_wide for agent in self._agents)

    @property
    def has_full_path(self) -> bool:
        """Whether entries contain a full path of this machine, as tosloc is not on the PATH."""
        return Path(self._server.program[0]).is_absolute()

    def describe(self) -> str:
        """Return the set-up as text, see ``describe``."""
        return "\n\n".join(describe(agent, self._server) for agent in self._agents)

    def write(self, root: Path | None) -> list[SetupFile]:
        """Write the set-up, see ``write_entries``."""
        return write_entries(self._agents, root, self._server)

    def remove(self, root: Path | None) -> list[SetupFile]:
        """Remove the set-up, see ``remove_entries``."""
        return remove_entries(self._agents, root)


def _read_guidance(path: Path) -> str:
    """Return the text of TosLoc's skill or sub-agent at a path; empty if there is no file.

    Raises ToslocError for a file that a person wrote or edited.
    """
    text = _read_text(path)
    if text and not is_unedited(text):
        raise ToslocError(
            f"{path} was written or edited by hand; move or remove it, and run the command again"
        )
    return text


def _read_text(path: Path) -> str:
    """Return the text of a file; empty if there is none. Raises ToslocError unless it is UTF-8."""
    if not path.exists():
        return ""
    try:
        return read_regular_file(path, _MAX_BYTES).decode()
    except UnicodeDecodeError:
        raise ToslocError(f"{path} is not text in UTF-8; nothing was changed") from None


def add_entry(agent: Agent, text: str, server: Server, path: Path | None = None) -> str:
    """Return the text of a configuration file with the agent's entry added.

    What the user added to the entry, such as ``env`` or an option, stays. A text that already
    contains the entry is returned unchanged. ``path`` is used in error messages. Raises ToslocError
    if the text is broken, or if its entry starts another program.
    """
    where = str(path or agent.file)
    current = _find_entry(agent, text, path)
    if current is None:
        entry = agent.entry(server)
    else:
        entry = agent.extend_entry(current, server, where)
        if entry == current:
            return text
    put_entry = toml_entries.put_entry if agent.has_toml else json_entries.put_entry
    return put_entry(text, agent.servers_key, entry, where)


def remove_entry(agent: Agent, text: str, path: Path | None = None) -> str:
    """Return the text of a configuration file without the agent's entry.

    A text without the entry is returned unchanged. ``path`` is used in error messages. Raises
    ToslocError if the text is broken.
    """
    remove = toml_entries.remove_entry if agent.has_toml else json_entries.remove_entry
    return remove(text, agent.servers_key, str(path or agent.file))


def _find_entry(agent: Agent, text: str, path: Path | None) -> Any:
    """Return the agent's entry in the text of a configuration file; None if there is none."""
    find_entry = toml_entries.find_entry if agent.has_toml else json_entries.find_entry
    return find_entry(text, agent.servers_key, str(path or agent.file))
