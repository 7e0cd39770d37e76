"""Imports go down only: which package may import which, and which of its modules, wherever the import stands."""

import ast
import re
from graphlib import TopologicalSorter
from itertools import product
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

LAYERS = [
    {"core"},
    {"git", "code", "paths"},
    {"reports"},
    {"retrieval", "evaluate"},
    {"storage"},
    {"rank", "rerank", "plots"},
    {"localize"},
    {"train"},
    {"mine", "web", "mcp", "lab"},
    {"cli"},
]
"""A package may import packages of lower layers; packages of one layer never import each other."""
LAYER = {package: number for number, layer in enumerate(LAYERS) for package in layer}
LAYER |= {"__main__": len(LAYERS), "scripts": len(LAYERS)}  # entries from outside
MODELS = {"retrieval", "storage", "rank", "rerank", "localize"}
FORBIDDEN = {
    *product(MODELS, {"evaluate"}),
    *product(LAYER.keys() - {"cli", "lab", "__main__", "scripts"}, {"lab"}),
    *product({"mine", "web", "plots", "mcp"}, {"train"}),
}
"""What the layers allow and is forbidden all the same: (importing package, imported package)."""
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
    "openai": {"rerank"},
    "dask": {"core"},
    "distributed": {"core"},
    "bm25s": {"lab", "scripts"},
    "typer": {"cli"},
    "rich": {"cli", "scripts"},
}
BUILT_IN = {"import_module", "__import__"}
PUBLIC_MODULES = re.compile(r"Modules for other packages: ([^.]+)\.")


def package_of(path):
    """Return the package and the module of a file: ("", "") for tosloc/__init__.py."""
    names = path.relative_to(ROOT).with_suffix("").parts
    if names[0] == "scripts":
        return "scripts", names[1]
    return ("", "") if names[1] == "__init__" else (names[1], names[2] if len(names) > 2 else "")


def public_modules(package):
    """Return the modules that the docstring of a package offers to other packages."""
    source = (ROOT / "tosloc" / package / "__init__.py").read_text(encoding="utf-8")
    listed = PUBLIC_MODULES.search(ast.get_docstring(ast.parse(source)))
    return set(listed[1].replace("\n", " ").replace(" ", "").split(","))


def modules_of(package):
    """Return the names of the modules and packages inside a package."""
    return {
        path.stem
        for path in (ROOT / "tosloc" / package).iterdir()
        if path.suffix == ".py" or path.is_dir()
    }


PUBLIC = {package: public_modules(package) for layer in LAYERS for package in layer}
MODULES = {package: modules_of(package) for package in PUBLIC}


def imports(source):
    """Yield the full name of everything that a module imports, also by ``importlib.import_module``."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).split(".")[-1] in BUILT_IN
            and node.args
        ):
            if isinstance(node.args[0], ast.Constant):
                yield str(node.args[0].value)


def problems_of(package, module, imported):
    """Return a sentence for each import that the module must not have."""
    problems = []
    for name in imported:
        top, target, inner = (*name.split("."), "", "")[:3]
        if top != "tosloc":
            library = next(
                (
                    library
                    for library in ONLY_IMPORTERS
                    if top == library or top.startswith(f"{library}_")
                ),
                "",
            )
            if package not in ONLY_IMPORTERS.get(library, {package}):
                problems.append(f"{package} imports {name}")
        elif target == package == "rerank" and inner not in (module, "base"):
            problems.append(
                f"{package}.{module} imports {package}.{inner}"
            )  # rerankers don't know each other
        elif package and target in LAYER and target != package:  # tosloc itself loads nothing
            if LAYER[target] >= LAYER[package] or (package, target) in FORBIDDEN:
                problems.append(f"{package} imports {target}")
            elif inner in MODULES[target] - PUBLIC[target]:
                problems.append(
                    f"{package} imports {target}.{inner}, which its package does not offer"
                )
    return problems


def source_files():
    return [*(ROOT / "tosloc").rglob("*.py"), *(ROOT / "scripts").rglob("*.py")]


def test_every_package_has_a_layer():
    assert {package_of(path)[0] for path in source_files()} - {""} == LAYER.keys()


def test_imports_go_down_only():
    problems = {}
    for path in source_files():
        found = problems_of(*package_of(path), imports(path.read_text(encoding="utf-8")))
        if found:
            problems[str(path)] = found
    assert problems == {}


def test_packages_import_each_other_in_no_circle():
    targets = {package: set() for package in LAYER}
    for path in source_files():
        package = package_of(path)[0]
        if package:
            names = imports(path.read_text(encoding="utf-8"))
            targets[package] |= {
                name.split(".")[1] for name in names if name.startswith("tosloc.")
            } - {package}
    TopologicalSorter(targets).prepare()  # raises CycleError


@pytest.mark.parametrize("package", sorted(PUBLIC))
def test_modules_that_a_package_offers_exist(package):
    assert PUBLIC[package] <= MODULES[package]


@pytest.mark.parametrize("package", sorted(PUBLIC.keys() - {"cli"}))
def test_modules_that_a_package_offers_are_used_by_others(package):
    used = set()
    for path in source_files():
        if package_of(path)[0] != package:
            names = (name.split(".") for name in imports(path.read_text(encoding="utf-8")))
            used |= {name[2] for name in names if name[:2] == ["tosloc", package] and len(name) > 2}
    assert PUBLIC[package] <= used


@pytest.mark.parametrize(
    ("package", "module", "source", "problems"),
    [
        ("git", "history", "from tosloc.core.records import Case\nimport git", []),
        (
            "rerank",
            "terms",
            "from tosloc.rerank.encoder import x",
            ["rerank.terms imports rerank.encoder"],
        ),
        ("rerank", "encoder", "from tosloc.rerank.base import x\nimport torch", []),
        (
            "rank",
            "features",
            "def f():\n    import_module('tosloc.evaluate')",
            ["rank imports evaluate"],
        ),
        ("rank", "features", "import tree_sitter_java", ["rank imports tree_sitter_java"]),
        ("rank", "features", "from tosloc.code.complexity import x", []),
        (
            "mine",
            "links",
            "from tosloc.rerank.terms import x",
            ["mine imports rerank.terms, which its package does not offer"],
        ),
    ],
)
def test_the_check_finds_forbidden_imports(package, module, source, problems):
    assert problems_of(package, module, imports(source)) == problems
