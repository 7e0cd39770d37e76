"""Which form a run or judgements have, ours (JSON lines) or TREC's: the first line tells it, not the file's name."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal, TypeAlias

from tosloc.errors import RunError
from tosloc.evaluate.jsonl import open_unpacked
from tosloc.evaluate.judgements import Qrels, read_judgements
from tosloc.evaluate.runs import Run, read_run
from tosloc.evaluate.trec import QRELS_COLUMNS, RUN_COLUMNS, read_trec_qrels, read_trec_run

FileFormat: TypeAlias = Literal["JSON lines", "TREC run", "TREC qrels"]

_BY_COLUMNS: Final[Mapping[int, FileFormat]] = {len(RUN_COLUMNS): "TREC run", len(QRELS_COLUMNS): "TREC qrels"}
_LONGEST: Final = 1_000_000
"""Bytes of a first line that are looked at."""


def format_of(path: str | Path) -> FileFormat | None:
    """Form of a file; None when it is of no form that runs or judgements have. RunError when it cannot be read."""
    try:
        with open_unpacked(Path(path)) as file:
            start = file.read(_LONGEST).lstrip()
    except (EOFError, zlib.error, OSError) as error:
        raise RunError(f"{path}: cannot read it: {getattr(error, 'strerror', None) or error}") from None
    if start.startswith(b"{"):
        return "JSON lines"
    line = start.partition(b"\n")[0]
    if b"\0" in line or start.startswith((b"<", b"PK\x03\x04")):  # binary, XML, a spreadsheet
        return None
    return _BY_COLUMNS.get(len(line.split()))


def read_any_run(path: str | Path) -> Run:
    """Run of a file in either form. Raises RunError as its reader does, and for a file of neither form."""
    form = format_of(path)
    if form == "JSON lines":
        return read_run(path)
    if form == "TREC run":
        return read_trec_run(path)
    raise RunError(
        f"{path}: {_instead(form)}; expected a run, as JSON lines or in TREC's form: {' '.join(RUN_COLUMNS)}"
    )


def read_any_judgements(path: str | Path) -> Qrels:
    """Judgements of a file in either form. Raises RunError as its reader does, and for a file of neither form."""
    form = format_of(path)
    if form == "JSON lines":
        return read_judgements(path)
    if form == "TREC qrels":
        return read_trec_qrels(path)
    expected = f"expected judgements, as JSON lines or in TREC's form: {' '.join(QRELS_COLUMNS)}"
    raise RunError(f"{path}: {_instead(form)}; {expected}")


def _instead(form: FileFormat | None) -> str:
    """What the file is, which is not what was asked for."""
    if form is None:
        return "of no known form"
    return "a run in TREC's form" if form == "TREC run" else "judgements in TREC's form"
