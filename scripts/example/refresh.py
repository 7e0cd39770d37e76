"""Write the README's answers and the picture docs/figures/terminal.svg again, as they are today.

Run ``.venv/bin/python scripts/example/refresh.py`` after a change that alters what answers say, and
look at the difference with ``git diff``. ``tests/test_example.py`` fails until that is done.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from io import StringIO
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

ROOT: Final = Path(__file__).parents[2]
README: Final = ROOT / "README.md"
PICTURE: Final = ROOT / "docs/figures/terminal.svg"
TRY: Final = "bash scripts/try.sh"
COLUMNS: Final = 104
"""Width of the picture's terminal, in characters."""
_EXAMPLE = re.compile(r"^\$ tosloc (?P<words>localize .*)\n(?:(?!\$ |```).*\n)+", re.M)
_FONT_FACE = re.compile(r" *@font-face \{.*?\}\n", re.S)


def main() -> None:
    """Write the picture and the README's answers."""
    PICTURE.write_text(draw(run(["bash", "scripts/try.sh"], ROOT)), encoding="utf-8")
    page = README.read_text(encoding="utf-8")
    repository = ROOT / ".venv/flask.git"  # try.sh unpacks the example repository there
    README.write_text(with_answers(page, repository), encoding="utf-8")


def run(command: Sequence[str], folder: Path) -> str:
    """Return what a command prints on a terminal with colours."""
    colours = {"FORCE_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": str(COLUMNS)}
    return _output(command, folder, colours)


def draw(output: str) -> str:
    """Return an SVG picture of a terminal that shows ``scripts/try.sh`` and its output."""
    console = Console(record=True, width=COLUMNS, file=StringIO())
    console.print(Text(f"$ {TRY}"))
    console.print(Text.from_ansi(output.rstrip()))
    console.print()  # Rich cuts off the lower edge of the last line.
    picture = console.export_svg(title="tosloc", unique_id="terminal")
    # Browsers load no fonts for a picture, so the addresses of fonts in it would have no effect.
    return _FONT_FACE.sub("", picture)


def with_answers(page: str, repository: Path) -> str:
    """Return a page with the answer below each ``$ tosloc localize`` as it is in a repository."""

    def answered(example: re.Match[str]) -> str:
        words = shlex.split(example["words"])
        command = [sys.executable, "-m", "tosloc", *words, "--repo", str(repository)]
        return f"$ tosloc {example['words']}\n{_output(command, ROOT, {})}"

    return _EXAMPLE.sub(answered, page)


def _output(command: Sequence[str], folder: Path, variables: Mapping[str, str]) -> str:
    environment = dict(os.environ)
    for name in ("FORCE_COLOR", "NO_COLOR"):
        environment.pop(name, None)
    environment.update(variables)
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    )
    return done.stdout


if __name__ == "__main__":
    main()
