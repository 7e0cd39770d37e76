"""Imports go down only: which package may import which, and which of its modules.

Imports inside functions and by ``importlib.import_module`` count, too.
"""

import ast
import re
from functools import cache
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
    {"rank", "rerank", "plots", "terminal"},
    {"localize"},
    {"train", "bisect"},
    {"mine", "web", "mcp", "lab"},
    {"cli"},
]
"""A package may import packages of lower layers; packages of one layer never import each other."""
LAYER = {package: number for number, layer in enumerate(LAYERS) for package in layer}
LAYER |= {"__main__": len(LAYERS), "scripts": len(LAYERS)}  # they start the commands
MODELS = {"retrieval", "storage", "rank", "rerank", "localize"}
FORBIDDEN = {
    *product(MODELS, {"evaluate"}),
    *product(LAYER.keys() - {"cli", "lab", "__main__", "scripts"}, {"lab"}),
    *product({"mine", "web", "plots", "mcp"}, {"train"}),
}
"""Imports that the layers allow and that are forbidden nonetheless: (importer, imported)."""
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
    "httpx2": {"rerank"},
    "dask": {"core"},
    "distributed": {"core"},
    "bm25s": {"lab", "scripts"},
    "typer": {"cli", "lab", "terminal"},
    "rich": {"cli", "scripts", "terminal"},
}
"""Library -> packages that may import it."""
MAX_PUBLIC_MODULES = 6
"""Most modules that a package offers to others. Core is for all."""
MAX_CROSSING_NAMES = 433
"""Most names that one package defines and another uses. Lower it whenever fewer are left."""
HOW_TO_CROSS_LESS = (
    "Move a name with one user to its user. Let the package do the whole job with one function or"
    " class, in place of parts that the caller strings together. Keep constants where they are used"
)
OPENS_ALL = {"lab", "scripts"}
"""Who may import every module: the laboratory and the scripts take the other packages apart."""
IMPORT_FUNCTIONS = {"import_module", "__import__"}
PUBLIC_MODULES = re.compile(r"Modules for other packages: (.+)\.", re.DOTALL)


def package_and_module(path):
    """Return the package and the module of a file: ("", "") for tosloc/__init__.py."""
    names = path.relative_to(ROOT).with_suffix("").parts
    if names[0] == "scripts":
        return "scripts", names[1]
    if names[1] == "__init__":
        return "", ""
    return names[1], names[2] if len(names) > 2 else ""


def public_modules(package):
    """Return the modules that the docstring of a package offers to other packages."""
    source = (ROOT / "tosloc" / package / "__init__.py").read_text(encoding="utf-8")
    listed = PUBLIC_MODULES.search(ast.get_docstring(ast.parse(source)))
    return set(listed[1].replace("\n", " ").replace(" ", "").split(","))


def all_modules(package):
    """Return the dotted names of the modules and sub-packages inside a package."""
    folder = ROOT / "tosloc" / package
    modules = set()
    for path in folder.rglob("*.py"):
        parts = path.relative_to(folder).with_suffix("").parts
        modules.add(".".join(parts).removesuffix("__init__").removesuffix("."))
    return modules - {""}


def find_module(package, names):
    """Return the dotted name of the module of a package that an imported name is, or is in."""
    while names and ".".join(names) not in MODULES[package]:
        names = names[:-1]
    return ".".join(names)


PUBLIC = {package: public_modules(package) for layer in LAYERS for package in layer}
MODULES = {package: all_modules(package) for package in PUBLIC}


def imports(source):
    """Yield the full name of everything that a module imports, in functions and by name, too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and node.args:
            function = ast.unparse(node.func).split(".")[-1]
            if function in IMPORT_FUNCTIONS and isinstance(node.args[0], ast.Constant):
                yield str(node.args[0].value)


@cache
def read_imports(path):
    """Return the full names of everything that a file imports."""
    return list(imports(path.read_text(encoding="utf-8")))


def find_problems(package, module, imported):
    """Return a sentence for each import that the module must not have."""
    problems = []
    for name in imported:
        top, target, *inner = f"{name}.".split(".")
        if top == "tosloc":
            problem = package_problem(package, module, target, inner)
        else:
            problem = library_problem(package, name)
        if problem:
            problems.append(problem)
    return problems


def library_problem(package, name):
    """Return a sentence if a package must not import a library, or None."""
    top = name.partition(".")[0]
    for library, importers in ONLY_IMPORTERS.items():
        if top == library or top.startswith(f"{library}_"):
            return None if package in importers else f"{package} imports {name}"
    return None


def package_problem(package, module, target, inner):
    """Return a sentence if a module must not import a name ``inner`` of a package, or None.

    ``inner`` are the parts of the name below the package.
    """
    if package == target == "rerank" and inner[0] not in (module, "base"):
        return f"{package}.{module} imports {package}.{inner[0]}"  # rerankers are independent
    is_own = not package or target == package  # tosloc/__init__.py has no layer
    if is_own or target not in LAYER:
        return None
    if LAYER[target] >= LAYER[package] or (package, target) in FORBIDDEN:
        return f"{package} imports {target}"
    name = find_module(target, inner)
    if name and name not in PUBLIC[target] and package not in OPENS_ALL:
        offered = ", ".join(sorted(PUBLIC[target]))
        return f"{package} imports {target}.{name}, but {target} offers only {offered}"
    return None


def crossing_names():
    """Return the names, with their module, that a package defines and another one uses."""
    names = set()
    for path in sorted((ROOT / "tosloc").rglob("*.py")):
        package, _ = package_and_module(path)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        modules = {}
        for node in ast.walk(tree):
            if not isinstance(node, ast.ImportFrom):
                continue
            for alias in node.names:
                full_name = f"{node.module}.{alias.name}"
                if is_module(full_name):
                    modules[alias.asname or alias.name] = full_name
                elif is_module(node.module):
                    names.add((package, node.module, alias.name))
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                if node.value.id in modules:
                    names.add((package, modules[node.value.id], node.attr))
    return {
        f"{module}.{name}" for package, module, name in names if module.split(".")[1:2] != [package]
    }


def is_module(name):
    """Return whether a full name is a module or a package of tosloc."""
    path = ROOT.joinpath(*name.split("."))
    is_ours = name.split(".")[0] == "tosloc"
    return is_ours and (path.is_dir() or path.with_suffix(".py").is_file())


def source_files():
    """Return the paths of all modules of the package and of all scripts."""
    return [*(ROOT / "tosloc").rglob("*.py"), *(ROOT / "scripts").rglob("*.py")]


def test_every_package_has_a_layer():
    packages = {package_and_module(path)[0] for path in source_files()}
    assert packages - {""} == LAYER.keys()


def test_imports_go_down_only():
    problems = {}
    for path in source_files():
        package, module = package_and_module(path)
        sentences = find_problems(package, module, read_imports(path))
        if sentences:
            problems[str(path)] = sentences
    assert problems == {}


def test_packages_import_each_other_in_no_circle():
    targets = {package: set() for package in LAYER}
    for path in source_files():
        package, _ = package_and_module(path)
        for name in read_imports(path):
            top, _, inner = name.partition(".")
            target = inner.partition(".")[0]
            if package and top == "tosloc" and inner and target != package:
                targets[package].add(target)
    TopologicalSorter(targets).prepare()  # raises CycleError


@pytest.mark.parametrize("package", sorted(PUBLIC))
def test_modules_that_a_package_offers_exist(package):
    assert PUBLIC[package] <= MODULES[package]


@pytest.mark.parametrize("package", sorted(PUBLIC.keys() - {"cli"}))
def test_modules_that_a_package_offers_are_used_by_others(package):
    used = set()
    for path in source_files():
        importer, _ = package_and_module(path)
        for name in read_imports(path):
            top, target, *inner = f"{name}.".split(".")
            if importer not in {package, *OPENS_ALL} and top == "tosloc" and target == package:
                used.add(find_module(package, inner))
    assert PUBLIC[package] <= used


@pytest.mark.parametrize("package", sorted(PUBLIC.keys() - {"core"}))
def test_a_package_offers_few_modules(package):
    assert len(PUBLIC[package]) <= MAX_PUBLIC_MODULES


def test_few_names_cross_borders_of_packages():
    number = len(crossing_names())
    assert number <= MAX_CROSSING_NAMES, HOW_TO_CROSS_LESS


def test_names_that_cross_borders_are_counted_once():
    names = crossing_names()
    assert "tosloc.core.errors.ToslocError" in names
    assert "tosloc.core.errors._ARGUMENT" not in names


@pytest.mark.parametrize(
    ("package", "module", "source"),
    [
        ("git", "history", "from tosloc.core.reports import Case\nimport git"),
        ("rerank", "encoder", "from tosloc.rerank.base import x\nimport torch"),
        ("rank", "features", "from tosloc.code.functions import x"),
        ("lab", "levels", "from tosloc.code.complexity import x"),
    ],
    ids=["lower layer and own library", "own base module", "public module", "laboratory"],
)
def test_allowed_imports_have_no_problem(package, module, source):
    assert find_problems(package, module, imports(source)) == []


@pytest.mark.parametrize(
    ("package", "module", "source", "problem"),
    [
        (
            "rerank",
            "terms",
            "from tosloc.rerank.encoder import x",
            "rerank.terms imports rerank.encoder",
        ),
        (
            "rank",
            "features",
            "def f():\n    import_module('tosloc.evaluate')",
            "rank imports evaluate",
        ),
        ("rank", "features", "import tree_sitter_java", "rank imports tree_sitter_java"),
        (
            "mine",
            "links",
            "from tosloc.rerank.terms import x",
            "mine imports rerank.terms, but rerank offers only "
            + ", ".join(sorted(PUBLIC["rerank"])),
        ),
    ],
    ids=["another reranker", "forbidden package", "library of another", "private module"],
)
def test_forbidden_imports_are_found(package, module, source, problem):
    assert find_problems(package, module, imports(source)) == [problem]
