"""Imports go down only: who may import whom, for every pair of rooms, wherever in a module the import stands."""

import ast
from collections.abc import Iterable, Iterator
from graphlib import TopologicalSorter
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

FLOORS: list[set[str]] = [
    {"errors", "records", "config", "io", "arrays", "processes", "metrics", "calibration", "answer", "settings"},
    {"git", "code"},
    {"reports", "cluster"},
    {"index", "evaluate"},
    {"rank", "rerank", "plots"},
    {"checkpoint", "localization", "localizer", "function_runs", "session"},
    {"experiment", "training"},
    {"mine", "web", "mcp", "lab"},
    {"cli"},
]
"""A module may import what stands on lower floors; rooms of one floor never import each other, single modules may."""
FLOOR = {room: number for number, floor in enumerate(FLOORS) for room in floor}
FLOOR |= {"__main__": len(FLOORS), "scripts": len(FLOORS)}  # entries from outside
ROOMS = {room for room in FLOOR if (ROOT / "tosloc" / room).is_dir()}
MODELS = {"index", "rank", "rerank", "checkpoint", "localization", "localizer"}
FORBIDDEN = {
    *product(MODELS, {"evaluate"}),
    *product(FLOOR.keys() - {"cli", "lab", "__main__", "scripts"}, {"lab"}),
    *product({"mine", "web", "plots", "mcp"}, {"training", "experiment"}),
}
"""What no floor forbids and yet shall not be: (who, whom)."""
LAZILY = {("cli", "lab")}
"""Pairs whose import has to stand inside a function, but in the part of the room that is itself imported so."""
INSIDE: dict[str, dict[str, set[str]]] = {
    "rerank": {"base": set(), "terms": {"base"}, "encoder": {"base"}},
    "index": {
        "postings": set(),
        "query": set(),
        "documents": {"postings"},
        "paths": {"postings"},
        "corpus": {"postings"},
        "history_index": {"postings", "query", "documents", "paths"},
        "context": {"postings", "query", "documents", "paths", "corpus", "history_index", "bm25"},
    },
}
"""Order inside a room: part -> the other parts of the room that it may import; parts that are not named are free."""
ONLY_IMPORTERS = {
    "lizard": {"code", "scripts"},  # the benchmark times it alone
    "tree_sitter": {"code"},
    "git": {"git"},
    "gitdb": {"git"},
    "defusedxml": {"reports"},
    "openpyxl": {"reports"},
    "lightgbm": {"rank"},
    "torch": {"rerank", "lab", "scripts"},
    "transformers": {"rerank", "lab", "scripts"},
    "matplotlib": {"plots", "lab"},
    "jinja2": {"web", "plots"},
    "starlette": {"web"},
    "uvicorn": {"web"},
    "mcp": {"mcp", "scripts"},
    "dask": {"cluster"},
    "distributed": {"cluster"},
    "bm25s": {"lab", "scripts"},
    "typer": {"cli"},
    "rich": {"cli", "scripts"},
}
BUILT_IN = {"import_module", "__import__"}
Import = tuple[int, str, bool]


def room_of(path: Path) -> tuple[str, str]:
    """The room of a module and its part: git and history of tosloc/git/history.py; ("", "") for tosloc/__init__.py."""
    names = path.relative_to(ROOT).with_suffix("").parts
    if names[0] == "scripts":
        return "scripts", names[1]
    return ("", "") if names[1] == "__init__" else (names[1], names[2] if len(names) > 2 else "")


def imports(source: str) -> Iterator[Import]:
    """Line and full name of everything that a module imports, and whether it does so inside a function.

    Imports under ``TYPE_CHECKING`` count like all others, and so do names given to ``importlib.import_module``.
    """
    left: list[tuple[ast.AST, bool]] = [(ast.parse(source), False)]
    while left:
        node, lazy = left.pop()
        lazy = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        left += ((child, lazy) for child in ast.iter_child_nodes(node))
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, lazy) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                yield node.lineno, "." * node.level + (node.module or ""), lazy
            else:
                yield from ((node.lineno, f"{node.module}.{alias.name}", lazy) for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in BUILT_IN and node.args:
            first = node.args[0]
            text = first.values[0] if isinstance(first, ast.JoinedStr) and first.values else first
            if isinstance(text, ast.Constant) and isinstance(text.value, str):
                yield node.lineno, text.value, lazy


def wrong(room: str, part: str, imported: Iterable[Import]) -> list[str]:
    """What a module must not import."""
    found = []
    for line, name, lazy in imported:
        package, *rest = name.split(".")
        target, inner = (*rest, "", "")[:2]
        if not package:
            found.append(f"line {line}: relative import")
        elif package == "tosloc":
            if room and (problem := forbidden(room, part, target, inner, lazy)):
                found.append(f"line {line}: {problem}")
        else:
            for library, importers in ONLY_IMPORTERS.items():
                if (package == library or package.startswith(f"{library}_")) and room not in importers:
                    found.append(f"line {line}: {room or 'the package'} imports {name}")
    return found


def forbidden(room: str, part: str, target: str, inner: str, lazy: bool) -> str:
    """Why ``room`` must not import ``tosloc.target.inner``; empty when it may."""
    if target not in FLOOR:  # the package itself, which loads nothing, or a name of its public face
        return ""
    if target == room:
        allowed = INSIDE.get(room, {}).get(part)
        known = inner == part or allowed is None or inner not in INSIDE[room]
        return "" if known or inner in (allowed or ()) else f"{room}.{part} imports {room}.{inner}"
    modules_of_a_floor = FLOOR[target] == FLOOR[room] and not {room, target} & ROOMS
    if not (FLOOR[target] < FLOOR[room] or modules_of_a_floor) or (room, target) in FORBIDDEN:
        return f"{room} imports {target}"
    outside = (room, target) in LAZILY and part != target and not lazy
    return f"{room} imports {target} outside a function" if outside else ""


def test_imports_go_down_only_in_no_circle_and_through_nine_floors_at_most() -> None:
    targets: dict[str, set[str]] = {room: set() for room in FLOOR}
    found = {}
    for path in (*(ROOT / "tosloc").rglob("*.py"), *(ROOT / "scripts").rglob("*.py")):
        (room, part), imported = room_of(path), list(imports(path.read_text(encoding="utf-8")))
        assert not room or room in FLOOR, f"{room} has no floor"
        if problems := wrong(room, part, imported):
            found[str(path)] = problems
        for _, name, _ in imported:
            package, target = (*name.split("."), "")[:2]
            if room and package == "tosloc" and target in FLOOR and target != room:
                targets[room].add(target)
    assert found == {}
    TopologicalSorter(targets).prepare()  # raises CycleError
    assert len(FLOORS) <= 9


@pytest.mark.parametrize(
    ("room", "part", "source", "problems"),
    [
        ("git", "history", "from tosloc.records import Case\nimport git", []),
        ("rerank", "terms", "from tosloc.rerank.encoder import x", ["rerank.terms imports rerank.encoder"]),
        ("rerank", "base", "from tosloc.rerank import terms", ["rerank.base imports rerank.terms"]),
        ("cli", "app", "from tosloc.lab import x", ["cli imports lab outside a function"]),
        ("cli", "app", "def f():\n    from tosloc.lab import x", []),
        ("cli", "lab", "if TYPE_CHECKING:\n    from tosloc.lab import x", []),
        ("rank", "features", "import tree_sitter_java", ["rank imports tree_sitter_java"]),
        ("cli", "app", "from . import app", ["relative import"]),
    ],
)
def test_the_check_sees_what_it_should(room: str, part: str, source: str, problems: list[str]) -> None:
    assert [problem.partition(": ")[2] for problem in wrong(room, part, imports(source))] == problems
