"""Imports go down only: who may import whom, for every pair of rooms, wherever in a module the import stands."""

import ast
from graphlib import TopologicalSorter
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

FLOORS = [
    {
        "children",
        "closing_cache",
        "errors",
        "memo",
        "records",
        "config",
        "io",
        "arrays",
        "processes",
        "metrics",
        "calibration",
        "answer",
        "settings",
    },
    {"git", "code"},
    {"reports", "cluster"},
    {"index", "evaluate"},
    {"rank", "rerank", "plots"},
    {"checkpoint", "localization", "localizer", "function_runs", "session"},
    {"candidates", "experiment", "training"},
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
ONLY_IMPORTERS = {
    "lizard": {"code"},
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
    "pygments": {"web"},
    "mcp": {"mcp"},
    "dask": {"cluster"},
    "distributed": {"cluster"},
    "bm25s": {"lab", "scripts"},
    "typer": {"cli"},
    "rich": {"cli", "scripts"},
}
BUILT_IN = {"import_module", "__import__"}


def room_of(path):
    """The room of a module and its part: git and history of tosloc/git/history.py; ("", "") for tosloc/__init__.py."""
    names = path.relative_to(ROOT).with_suffix("").parts
    if names[0] == "scripts":
        return "scripts", names[1]
    return ("", "") if names[1] == "__init__" else (names[1], names[2] if len(names) > 2 else "")


def imports(source):
    """Full name of everything that a module imports, wherever, also by ``importlib.import_module``."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in BUILT_IN and node.args:
            if isinstance(node.args[0], ast.Constant):
                yield str(node.args[0].value)


def wrong(room, part, imported):
    """What a module must not import."""
    found = []
    for name in imported:
        package, target, inner = (*name.split("."), "", "")[:3]
        if package != "tosloc":
            library = next((one for one in ONLY_IMPORTERS if package == one or package.startswith(f"{one}_")), "")
            found += [f"{room} imports {name}"] if room not in ONLY_IMPORTERS.get(library, {room}) else []
        elif target == room == "rerank" and inner not in (part, "base"):  # rerankers know nothing of each other
            found.append(f"{room}.{part} imports {room}.{inner}")
        elif room and target in FLOOR and target != room:  # not the package itself, which loads nothing
            modules_of_a_floor = FLOOR[target] == FLOOR[room] and not {room, target} & ROOMS
            if not (FLOOR[target] < FLOOR[room] or modules_of_a_floor) or (room, target) in FORBIDDEN:
                found.append(f"{room} imports {target}")
    return found


def test_imports_go_down_only_in_no_circle_and_through_nine_floors_at_most():
    targets = {room: set() for room in FLOOR}
    found = {}
    for path in (*(ROOT / "tosloc").rglob("*.py"), *(ROOT / "scripts").rglob("*.py")):
        (room, part), imported = room_of(path), list(imports(path.read_text(encoding="utf-8")))
        assert not room or room in FLOOR, f"{room} has no floor"
        if problems := wrong(room, part, imported):
            found[str(path)] = problems
        if room:
            targets[room] |= {name.split(".")[1] for name in imported if name.startswith("tosloc.")} - {room}
    assert found == {}
    TopologicalSorter(targets).prepare()  # raises CycleError
    assert len(FLOORS) <= 9


@pytest.mark.parametrize(
    ("room", "part", "source", "problems"),
    [
        ("git", "history", "from tosloc.records import Case\nimport git", []),
        ("rerank", "terms", "from tosloc.rerank.encoder import x", ["rerank.terms imports rerank.encoder"]),
        ("rerank", "encoder", "from tosloc.rerank.base import x\nimport torch", []),
        ("rank", "features", "def f():\n    import_module('tosloc.evaluate')", ["rank imports evaluate"]),
        ("rank", "features", "import tree_sitter_java", ["rank imports tree_sitter_java"]),
    ],
)
def test_the_check_sees_what_it_should(room, part, source, problems):
    assert wrong(room, part, imports(source)) == problems
