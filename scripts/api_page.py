"""Write docs/api.md: signatures and first sentences of the public names, taken from the code.

python scripts/api_page.py
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Final

PAGE: Final = Path(__file__).parents[1] / "docs/api.md"
MAX_COLUMNS: Final = 88
"""Columns of a signature in one line."""
INTRODUCTION: Final = """\
# Python API

These are the names that you need to use TosLoc from Python, and to write a feature or a reranker.
All other names may change without notice. `help()` shows the whole docstrings. The
[README](../README.md#python-and-json) has a first example, and [`examples/`](../examples/README.md)
has whole scripts.

`scripts/api_page.py` writes this page from the code.
"""
ERRORS: Final = """\
Every error that your input or environment causes is a `ToslocError`. Its text is one sentence that
says what is wrong, where, and what to do.
"""
FEATURE: Final = """\
A feature of stage one is a function from a query context to one value for each file of the version.
[How to add](architecture.md#how-to-add) lists the files that change, and
[`examples/add_feature.py`](../examples/add_feature.py) tries one out.
"""
RERANKER: Final = """\
A reranker scores the first files of stage one's ranking again. `Localizer.open` uses the one that
you pass as `rerank`. [How to add](architecture.md#how-to-add) lists the files that change, and
[`examples/write_reranker.py`](../examples/write_reranker.py) has a whole one.
"""
SECTIONS: Final = {
    "Ask about a bug report": ("", ["tosloc.Localizer", "tosloc.Question"]),
    "Answers": (
        "",
        [
            "tosloc.Answer",
            "tosloc.Hit",
            "tosloc.Function",
            "tosloc.Reason",
            "tosloc.SuspectChange",
            "tosloc.core.answers.CodeLine",
            "tosloc.core.answers.Background",
            "tosloc.core.answers.EarlierChange",
            "tosloc.core.answers.Person",
            "tosloc.localize.answer.SearchScope",
            "tosloc.localize.answer.Weights",
        ],
    ),
    "Reports, repositories and weights": (
        "",
        [
            "tosloc.BugReport",
            "tosloc.read_report",
            "tosloc.read_reports",
            "tosloc.reports.formats.LabelledReport",
            "tosloc.Repository",
            "tosloc.Model",
        ],
    ),
    "Errors": (
        ERRORS,
        [
            "tosloc.ToslocError",
            "tosloc.RepositoryError",
            "tosloc.UnknownCommit",
            "tosloc.ReportError",
            "tosloc.ConfigError",
            "tosloc.StoreError",
            "tosloc.CheckpointError",
            "tosloc.RunError",
            "tosloc.MissingExtra",
        ],
    ),
    "Write a feature": (
        FEATURE,
        [
            "tosloc.localize.scores.Scores",
            "tosloc.rank.features.registry.Formula",
            "tosloc.rank.features.registry.Feature",
            "tosloc.rank.features.query_context.QueryContext",
            "tosloc.retrieval.version_index.VersionIndex",
            "tosloc.retrieval.query.Query",
        ],
    ),
    "Write a reranker": (
        RERANKER,
        [
            "tosloc.rerank.base.Reranker",
            "tosloc.rerank.base.Candidates",
            "tosloc.rerank.base.Reranked",
            "tosloc.rerank.base.RerankingContext",
            "tosloc.rerank.base.TrainingSet",
        ],
    ),
}
"""Heading -> introduction, and the names below it."""
MEMBERS: Final = {
    "tosloc.Repository": [
        "name",
        "work_tree",
        "remote_url",
        "resolve",
        "commits",
        "snapshot",
        "texts",
        "close",
    ],
    "tosloc.Model": ["with_encoder", "save", "load"],
}
"""Class -> the members that are shown, if these are not all public ones."""


def api_page() -> str:
    """Return the text of the page."""
    parts = [INTRODUCTION]
    for heading, (introduction, names) in SECTIONS.items():
        parts.append(f"## {heading}\n")
        if introduction:
            parts.append(introduction)
        for name in names:
            parts += _describe(name)
    return "\n".join(parts)


def _describe(name: str) -> Iterator[str]:
    """Yield the paragraphs about a name."""
    value = resolve_name(name)
    yield f"### `{name}`\n"
    if not inspect.isclass(value):
        if inspect.isfunction(value):
            yield _code(_signature(value))
        yield f"{_first_paragraph(inspect.getdoc(value))}\n"
        return
    bases = [base.__name__ for base in value.__bases__ if base.__module__.startswith("tosloc")]
    if bases:
        yield f"Base: `{', '.join(bases)}`\n"
    yield f"{_first_paragraph(inspect.getdoc(value))}\n"
    attribute_meanings = _attribute_docstrings(value)
    rows = []
    if is_dataclass(value):
        for field in fields(value):
            meaning = attribute_meanings.get(field.name, "")
            rows.append(_row(field.name, _annotation(field.type), meaning))
    members = MEMBERS.get(name, _public_members(value))
    calls = []
    for member in members:
        static = inspect.getattr_static(value, member)
        function = _function_of(static)
        if function is not None and _is_property(static):
            returned = _annotation(inspect.signature(function).return_annotation)
            meaning = _first_sentence(inspect.getdoc(function))
            rows.append(_row(member, returned, meaning))
        elif function is not None:
            calls.append(_code(f"{value.__name__}.{_signature(function)}"))
            calls.append(f"{_first_paragraph(inspect.getdoc(getattr(value, member)))}\n")
    if rows:
        yield "\n".join(["| attribute | type | meaning |", "|---|---|---|", *rows, ""])
    yield from calls


def _row(name: str, kind: str, meaning: str) -> str:
    """Return a row of the table of attributes."""
    cells = [f"`{name}`", f"`{kind}`", meaning]
    escaped = [cell.replace("|", r"\|") for cell in cells]
    return f"| {' | '.join(escaped)} |"


def _public_members(value: type) -> list[str]:
    """Return the public methods and properties that a class defines itself, in their order."""
    names = []
    for name, member in vars(value).items():
        if not name.startswith("_") and _function_of(member) is not None:
            names.append(name)
    return names


def _is_property(member: Any) -> bool:
    """Return whether a member of a class is read without a call."""
    return isinstance(member, property) or hasattr(member, "attrname")


def _function_of(member: Any) -> Callable[..., Any] | None:
    """Return the function behind a method or property."""
    if isinstance(member, property):
        return member.fget
    function = getattr(member, "func", None) or getattr(member, "__func__", member)
    return function if inspect.isfunction(function) else None


def _annotation(annotation: Any) -> str:
    """Return an annotation as the code writes it."""
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _signature(function: Callable[..., Any]) -> str:
    """Return a function's name, parameters, defaults and result."""
    signature = inspect.signature(function)
    parameters = []
    has_star = False
    for parameter in signature.parameters.values():
        if parameter.name in ("self", "cls"):
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not has_star:
            has_star = True
            parameters.append("*")
        text = parameter.name
        if parameter.annotation is not parameter.empty:
            text += f": {_annotation(parameter.annotation)}"
        if parameter.default is not parameter.empty:
            default = getattr(parameter.default, "__name__", repr(parameter.default))
            text += f" = {default}"
        parameters.append(text)
    returned = f" -> {_annotation(signature.return_annotation)}"
    if signature.return_annotation is signature.empty:
        returned = ""
    line = f"{function.__name__}({', '.join(parameters)}){returned}"
    if len(line) <= MAX_COLUMNS:
        return line
    lines = "".join(f"    {parameter},\n" for parameter in parameters)
    return f"{function.__name__}(\n{lines}){returned}"


def _code(text: str) -> str:
    """Return a block of code."""
    return f"```python\n{text}\n```\n"


def _first_paragraph(docstring: str | None) -> str:
    """Return the first paragraph of a docstring in Markdown, wrapped."""
    paragraph = (docstring or "").partition("\n\n")[0]
    return textwrap.fill(_markdown(paragraph), 100, break_long_words=False, break_on_hyphens=False)


def _first_sentence(docstring: str | None) -> str:
    """Return the first paragraph of a docstring in Markdown, in one line."""
    return _markdown((docstring or "").partition("\n\n")[0])


def _markdown(text: str) -> str:
    """Return a text of a docstring in one line of Markdown."""
    return re.sub(r"``(.+?)``", r"`\1`", " ".join(text.split()))


def _attribute_docstrings(value: type) -> dict[str, str]:
    """Return the texts below the attributes of a class, by name."""
    [definition] = ast.parse(textwrap.dedent(inspect.getsource(value))).body
    assert isinstance(definition, ast.ClassDef)
    meanings = {}
    for statement, following in zip(definition.body, definition.body[1:], strict=False):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant):
                meanings[statement.target.id] = _first_sentence(str(following.value.value))
    return meanings


if __name__ == "__main__":
    PAGE.write_text(api_page(), encoding="utf-8")
