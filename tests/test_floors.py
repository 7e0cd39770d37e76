"""Imports go down only: data, analysis, retrieval, reranking, pipeline, experiment, cli; evaluation stands beside."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

FLOORS = {
    "records": 0,
    "config": 0,
    "errors": 0,
    "files": 0,
    "ranks": 0,
    "data": 1,
    "analysis": 2,
    "retrieval": 3,
    "reranking": 4,
    "pipeline": 5,
    "baselines": 5,
    "experiment": 6,
    "ablation": 6,
    "report": 6,
    "systems": 7,
    "reproduce": 8,
    "cli": 9,
    "__main__": 10,
    "scripts": 10,
}
GROUND = {name for name, floor in FLOORS.items() if floor == 0}
BESIDE = "evaluation"
ONLY_IMPORTERS = {
    "lizard": {"analysis", "scripts"},  # the benchmark times it alone
    "tree_sitter": {"analysis"},
    "git": {"data"},
    "gitdb": {"data"},
    "defusedxml": {"data"},
    "openpyxl": {"data"},
    "torch": {"reranking", "baselines", "pipeline", "scripts"},
    "transformers": {"reranking", "baselines"},
    "matplotlib": {"report"},
    "jinja2": {"report"},
    "typer": {"cli"},
    "rich": {"cli", "scripts"},
}


def modules() -> list[Path]:
    return sorted((ROOT / "tosloc").rglob("*.py")) + sorted((ROOT / "scripts").glob("*.py"))


def part_of(path: Path) -> str:
    """The part of the house a module is in: data of tosloc/data/git.py; empty for tosloc/__init__.py."""
    names = path.relative_to(ROOT).with_suffix("").parts
    if names[0] == "scripts":
        return "scripts"
    return "" if names[1] == "__init__" else names[1]


def imports(source: str) -> Iterator[tuple[int, str]]:
    """Line and full name of everything that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                yield node.lineno, "." * node.level + (node.module or "")
            elif node.module == "tosloc":
                yield from ((node.lineno, f"tosloc.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, node.module or ""


def wrong(part: str, source: str) -> list[str]:
    """What a module of ``part`` must not import."""
    found = []
    for line, name in imports(source):
        package, _, rest = name.partition(".")
        target = rest.partition(".")[0]
        if not package:
            found.append(f"line {line}: relative import")
        elif package == "tosloc":
            if part and not allowed(part, target):
                found.append(f"line {line}: {part} imports {name}")
        else:
            for library, importers in ONLY_IMPORTERS.items():
                if (package == library or package.startswith(f"{library}_")) and part not in importers:
                    found.append(f"line {line}: {part or 'the package'} imports {name}")
    return found


def allowed(part: str, target: str) -> bool:
    if part == target:
        return True
    if part == "config":
        return target == "errors"
    if part == BESIDE:
        return target in GROUND
    if target == BESIDE:
        return FLOORS[part] >= FLOORS["experiment"]
    if target in ("", "__version__"):  # the package itself, which loads nothing
        return True
    if target not in FLOORS:  # a name of its public face, such as tosloc.Localizer
        return part == "scripts"
    return FLOORS[target] < FLOORS[part] or (target in GROUND and part in GROUND)


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_down_only(path: Path) -> None:
    part = part_of(path)
    assert not part or part in FLOORS or part == BESIDE, f"{part} has no floor"
    assert wrong(part, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("part", "source", "problems"),
    [
        ("data", "from tosloc.records import Case\nimport git", []),
        ("data", "def f():\n    from tosloc.retrieval import x", ["line 2: data imports tosloc.retrieval"]),
        ("pipeline", "import tosloc.lab.baselines.blia", ["line 1: pipeline imports tosloc.lab.baselines.blia"]),
        ("retrieval", "from tosloc.evaluation import evaluate", ["line 1: retrieval imports tosloc.evaluation"]),
        ("evaluation", "from tosloc import data, records", ["line 1: evaluation imports tosloc.data"]),
        ("config", "from tosloc.records import Names", ["line 1: config imports tosloc.records"]),
        ("analysis", "import tree_sitter_java, lizard", []),
        ("retrieval", "import tree_sitter_java", ["line 1: retrieval imports tree_sitter_java"]),
        ("cli", "from . import app", ["line 1: relative import"]),
        ("experiment", "from tosloc.evaluation import evaluate\nfrom tosloc.pipeline import Localizer", []),
    ],
)
def test_the_check_sees_what_it_should(part: str, source: str, problems: list[str]) -> None:
    assert wrong(part, source) == problems
