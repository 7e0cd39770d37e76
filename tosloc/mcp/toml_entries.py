"""Add the entry of the server to a configuration file in TOML, and remove it."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from typing import Any

from tosloc.core.errors import ToslocError
from tosloc.mcp.guidance import NAME


def add_toml_entry(text: str, servers_key: str, entry: Mapping[str, Any], where: str) -> str:
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


def remove_toml_entry(text: str, servers_key: str, where: str) -> str:
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
