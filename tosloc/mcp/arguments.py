"""Describe what is wrong with the arguments of a tool's call, in the terms of its schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import ValidationError

from tosloc.core.config import did_you_mean
from tosloc.core.io import escape_unprintable, truncate_text

_KINDS: Final = {
    "string": "text",
    "boolean": "true or false",
    "integer": "a whole number",
    "array": "a list of texts",
}
"""Type of an argument in a JSON Schema -> its name in sentences."""
_NEAR_NAMES: Final = {
    "repo": "repository",
    "include": "paths",
    "globs": "paths",
    "file": "path",
    "revision": "commit",
}
"""Names that agents try, and that other parts of TosLoc use -> name of the argument."""
_MAX_NAME_CHARACTERS: Final = 100


def describe_invalid(error: ValidationError, schema: Mapping[str, Any]) -> str:
    """Return a line that says why a tool's JSON Schema refuses the arguments."""
    properties = schema["properties"]
    problems = {}
    for item in error.errors(include_url=False, include_input=False, include_context=False):
        name = str(item["loc"][0])
        if name not in properties:
            shown_name = truncate_text(escape_unprintable(name), _MAX_NAME_CHARACTERS)
            near_name = _NEAR_NAMES.get(name.lower(), name)
            advice = did_you_mean(near_name, [*properties])
            problems[name] = f"unknown argument {shown_name!r}{advice}"
        elif item["type"] == "missing":
            problems[name] = f"`{name}` is missing; it must be {expected(properties[name])}"
        else:
            problems[name] = f"`{name}` must be {expected(properties[name])}"
    return "; ".join(problems.values())


def expected(argument: Mapping[str, Any]) -> str:
    """Return a description of the values that the JSON Schema of an argument allows.

    >>> expected({"type": "integer", "minimum": 300, "maximum": 20000})
    'a whole number from 300 to 20,000'
    >>> expected({"anyOf": [{"type": "string", "maxLength": 1000}, {"type": "null"}]})
    'text of at most 1,000 characters'
    """
    # The first alternative is the value; the other one says that it may be left out.
    value = argument.get("anyOf", [argument])[0]
    words: str = _KINDS[value["type"]]
    if "minimum" in value:
        words += f" from {value['minimum']:,} to {value['maximum']:,}"
    if "maxLength" in value:
        words += f" of at most {value['maxLength']:,} characters"
    if "maxItems" in value:
        words += f", at most {value['maxItems']:,}"
    return words
