"""Add the entry of the server to a configuration file in JSON, and remove it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from tosloc.core.errors import ToslocError
from tosloc.core.io import parse_json
from tosloc.mcp.guidance import NAME

_INDENT: Final = "  "
_BLANKS: Final = re.compile(r"[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder()


class _Member(NamedTuple):
    """Positions of a JSON object's member in the text: its key, and its value's start and end."""

    key: int
    start: int
    end: int


def find_entry(text: str, servers_key: str, where: str) -> Any:
    """Return the entry of the server in a JSON text; None if there is none."""
    if not text.strip():
        return None
    document = _parse_json(text, where, "add")
    servers = document.get(servers_key, {}) if isinstance(document, dict) else None
    if not isinstance(servers, dict):
        part = servers_key if isinstance(document, dict) else "its content"
        raise ToslocError(f"{where}: {part} is not a JSON object; nothing was changed")
    return servers.get(NAME)


def put_entry(text: str, servers_key: str, entry: Mapping[str, Any], where: str) -> str:
    """Return a JSON text with an entry for the server, in place of the entry that it may have."""
    if not text.strip():
        document = {servers_key: {NAME: entry}}
        return json.dumps(document, indent=_INDENT, ensure_ascii=False) + "\n"
    document = _parse_json(text, where, "add")
    members = _members(text, _skip_blanks(text, 0))
    unit = _INDENT
    if members:
        unit = _indent_before(text, min(member.key for member in members.values())) or _INDENT
    if servers_key not in members:
        value = {NAME: entry}
        new_text = _insert_member(text, _skip_blanks(text, 0), servers_key, value, unit)
    else:
        servers_start = members[servers_key].start
        member = _members(text, servers_start).get(NAME)
        if member is None:
            new_text = _insert_member(text, servers_start, NAME, entry, unit)
        else:
            indent = _indent_before(text, member.key)
            new_value = _dump(entry, indent, unit, text)
            new_text = text[: member.start] + new_value + text[member.end :]
    document[servers_key] = {**document.get(servers_key, {}), NAME: entry}
    assert parse_json(new_text) == document
    return new_text


def remove_entry(text: str, servers_key: str, where: str) -> str:
    """Return a JSON text without the entry for the server, and without an empty list of servers."""
    if not text.strip():
        return text
    document = _parse_json(text, where, "remove")
    servers = document.get(servers_key) if isinstance(document, dict) else None
    if not isinstance(servers, dict) or NAME not in servers:
        return text
    new_text = text
    while True:  # a key may be repeated
        servers_start = _members(new_text, _skip_blanks(new_text, 0))[servers_key].start
        if NAME not in _members(new_text, servers_start):
            break
        new_text = _remove_member(new_text, servers_start, NAME)
    del servers[NAME]
    assert parse_json(new_text) == document
    if servers:
        return new_text
    del document[servers_key]
    shorter_text = _remove_member(new_text, _skip_blanks(new_text, 0), servers_key)
    # If the key of the servers is repeated, an earlier one would count again.
    return shorter_text if parse_json(shorter_text) == document else new_text


def _remove_member(text: str, start: int, key: str) -> str:
    """Return a JSON text without a member of the object at ``start``."""
    members = _list_members(text, start)
    removed = dict(members)[key]
    later_keys = [member.key for _, member in members if member.key > removed.key]
    if later_keys:
        return text[: removed.key] + text[min(later_keys) :]
    earlier_ends = [member.end for _, member in members if member.key < removed.key]
    if earlier_ends:
        return text[: max(earlier_ends)] + text[removed.end :]
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
    return dict(_list_members(text, start))


def _list_members(text: str, start: int) -> list[tuple[str, _Member]]:
    """Return keys and positions of all members, for the JSON object at ``start`` of valid JSON."""
    members = []
    position = _skip_blanks(text, start + 1)
    while text[position] != "}":
        key_start = position
        key, position = _DECODER.raw_decode(text, key_start)
        colon = _skip_blanks(text, position)
        value_start = _skip_blanks(text, colon + 1)
        _, value_end = _DECODER.raw_decode(text, value_start)
        members.append((key, _Member(key_start, value_start, value_end)))
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
