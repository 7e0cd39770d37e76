"""What a plain installation weighs: builds the wheel, installs it into an empty environment, prints each package.

Exit code 1 where it is heavier than ``BOUND``, or brings what only extras should.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import distributions
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
BOUND = 250.0
"""MB of all packages without byte code, which is written when a module is first imported, or by pip at once.

NumPy, SciPy and LightGBM, which needs SciPy, are 184 of them, grammars 35.
"""
EXTRAS_ONLY = frozenset(
    {"torch", "transformers", "accelerate", "gensim", "scikit-learn", "bm25s", "matplotlib", "jinja2"}
    | {"starlette", "uvicorn", "mcp", "dask", "distributed"}
)


class Weight(NamedTuple):
    """An installed package and its MB (1,000,000 bytes)."""

    name: str
    version: str
    whole: float
    """With byte code."""
    bare: float
    """Without."""


def build_wheel(folder: Path) -> Path:
    """The wheel of this checkout, built as ``pip install`` builds it."""
    run(sys.executable, "-P", "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT)
    [wheel] = folder.glob("*.whl")
    return wheel


def install(wheel: Path, folder: Path) -> Path:
    """Install a wheel with all that it needs into a new environment; its Python."""
    run(sys.executable, "-P", "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    run(sys.executable, "-P", "-m", "pip", "--python", python, "install", "--quiet", wheel)
    return python


def weights(folder: Path) -> list[Weight]:
    """What the packages of an environment weigh, heaviest first."""
    [site] = folder.glob("lib/python*/site-packages")
    # by name: with importlib-metadata loaded each package is found by more than one finder
    found = {}
    for package in distributions(path=[str(site)]):
        sizes = [(file.suffix, Path(file.locate()).stat().st_size / 1e6) for file in package.files or ()]
        bare = sum(size for suffix, size in sizes if suffix != ".pyc")
        name = package.metadata["Name"].lower()
        found[name] = Weight(name, package.version, sum(size for _, size in sizes), bare)
    return sorted(found.values(), key=lambda one: (-one.whole, one.name))


def table(found: Sequence[Weight]) -> str:
    """A line a package, and one for all."""
    lines = [f"{one.name:<24}{one.version:<12}{one.whole:8.1f} MB{one.bare:8.1f} without byte code" for one in found]
    whole, bare = sum(one.whole for one in found), sum(one.bare for one in found)
    return "\n".join([*lines, f"all: {whole:.1f} MB, {bare:.1f} MB without byte code"])


def too_heavy(found: Sequence[Weight]) -> str:
    """What is wrong with an installation, in a sentence; empty where nothing is."""
    if stray := sorted(EXTRAS_ONLY & {one.name for one in found}):
        return f"a plain installation brings {', '.join(stray)}, which only extras should"
    bare = sum(one.bare for one in found)
    return f"a plain installation has {bare:.0f} MB, more than {BOUND:.0f}" if bare > BOUND else ""


def run(*command: str | Path) -> None:
    """Run a command; its output only where it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stdout}")


def main() -> int:
    """0 when an installation is light enough."""
    with tempfile.TemporaryDirectory() as folder:
        install(build_wheel(Path(folder)), Path(folder, "environment"))
        found = weights(Path(folder, "environment"))
    print(table(found))
    wrong = too_heavy(found)
    print(wrong, end="\n" if wrong else "", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
