"""Add the entry of the server to a configuration file in TOML, and remove it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Any

from tosloc.core.errors import ToslocError
from tosloc.mcp.guidance import NAME


def find_entry(text: str, servers_key: str, where: str) -> Any:
    """Return the table of the server in a TOML text; None if there is none."""
    servers = _parse_toml(text, where).get(servers_key)
    return servers.get(NAME) if isinstance(servers, dict) else None


def put_entry(text: str, servers_key: str, entry: Mapping[str, Any], where: str) -> str:
    """Return a TOML text with a table for the server.

    A new table is at the end. Of a table that is there only the arguments may differ.
    """
    document = _parse_toml(text, where)
    current = find_entry(text, servers_key, where)
    table = f"{servers_key}.{NAME}"
    if current is not None:
        new_text = text.replace(_line("args", current["args"]), _line("args", entry["args"]))
        document[servers_key][NAME] = entry
        if not _has_content(new_text, document):
            arguments = _line("args", entry["args"])
            raise ToslocError(f"{where}: write {arguments} into the table [{table}] by hand")
        return new_text
    lines = [f"[{table}]", *(_line(key, value) for key, value in entry.items())]
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


def remove_entry(text: str, servers_key: str, where: str) -> str:
    """Return a TOML text without the table of the server and the tables in it."""
    document = _parse_toml(text, where)
    servers = document.get(servers_key)
    if not isinstance(servers, dict) or NAME not in servers:
        return text
    table = f"{servers_key}.{NAME}"
    lines: list[str] = []
    is_in_table = False
    for line in text.splitlines(keepends=True):
        if line.startswith("["):
            is_in_table = line.startswith((f"[{table}]", f"[{table}."))
        if not is_in_table:
            lines.append(line)
    if is_in_table and lines and not lines[-1].strip():
        del lines[-1]  # the blank line above the last table
    new_text = "".join(lines)
    del servers[NAME]
    if not servers:
        del document[servers_key]
    if not _has_content(new_text, document):
        raise ToslocError(f"{where}: remove the table [{table}] by hand; nothing was changed")
    return new_text


def _line(key: str, value: Any) -> str:
    """Return a line of a table; texts and lists of texts are the same in JSON."""
    return f"{key} = {json.dumps(value, ensure_ascii=False)}"


def _has_content(text: str, document: Mapping[str, Any]) -> bool:
    """Return whether a TOML text has the given content."""
    try:
        return tomllib.loads(text) == document
    except tomllib.TOMLDecodeError:
        return False


def _parse_toml(text: str, where: str) -> dict[str, Any]:
    """Return the content of a TOML text. Raises ToslocError if it is broken."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ToslocError(f"{where} is not valid TOML ({error}); nothing was changed") from None
