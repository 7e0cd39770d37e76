"""Print a pip constraints file: each dependency at the lowest version that pyproject.toml allows.

    .venv/bin/python scripts/lowest_versions.py >lowest.txt
    python3.11 -m venv .venv-lowest
    .venv-lowest/bin/python -m pip install --constraint lowest.txt --editable '.[dev]'
    .venv-lowest/bin/python -m pytest -W ignore::DeprecationWarning -k 'not known_by_its_hash'

Use Python 3.11: for later ones some of these versions have no wheels, and pip takes newer versions
there. Deprecation warnings are ignored, because old versions meet newer packages of others. The
test that is left out compares what is installed with constraints.txt. The extras `dev` and `docs`
are not pinned: they are the tools of this repository, not of its users.
"""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
import tomllib
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from packaging.requirements import Requirement
    from packaging.version import Version

ROOT: Final = Path(__file__).parents[1]
TOOL_EXTRAS: Final = {"dev", "docs"}


def user_requirements(pyproject: str) -> list[Requirement]:
    """Return what the project and its extras for users require, given the text of a pyproject.toml.

    The tools of this repository, and references of the project to its own extras, are left out.
    """
    from packaging.requirements import Requirement

    project = tomllib.loads(pyproject)["project"]
    lines = list(project["dependencies"])
    for extra, requirements in project["optional-dependencies"].items():
        if extra not in TOOL_EXTRAS:
            lines += requirements
    requirements = [Requirement(line) for line in lines]
    return [requirement for requirement in requirements if requirement.name != project["name"]]


def lowest_version(requirement: Requirement) -> Version:
    """Return the version after `>=`. Raises ValueError if the requirement has none."""
    from packaging.version import Version

    for specifier in requirement.specifier:
        if specifier.operator == ">=":
            return Version(specifier.version)
    advice = f"write {requirement.name}>=VERSION"
    raise ValueError(f"pyproject.toml: {requirement} names no lowest version; {advice}")


def floors(requirements: Iterable[Requirement]) -> dict[str, Version]:
    """Return the lowest version of each package that satisfies all of its requirements, by name."""
    lowest: dict[str, Version] = {}
    for requirement in requirements:
        version = lowest_version(requirement)
        lowest[requirement.name] = max(version, lowest.get(requirement.name, version))
    return dict(sorted(lowest.items(), key=lambda item: item[0].lower()))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the constraints, one a line. Exits with code 2 if packaging is not installed."""
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=as_written)
    parser.parse_args(arguments)
    if find_spec("packaging") is None:
        install = f"{shlex.quote(sys.executable)} -m pip install packaging"
        parser.exit(2, f"{parser.prog} needs packaging; run: {install}\n")
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for name, version in floors(user_requirements(pyproject)).items():
        print(f"{name}=={version}")


if __name__ == "__main__":
    # This script runs without TosLoc, and so without run_guarded. It ends quietly if the reader of
    # its output, such as head, has seen enough.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    main()
