"""A run on disk: every ranking of a set of reports, as compressed JSON lines that are the same byte for byte.

The first line is the header. After it come lines ``{"paths": [...]}``, which number the paths in order of first
appearance over the whole file, and a line
``{"report", "files", "scores"}`` for each ranking, its files as such numbers.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import numpy as np

from tosloc.errors import RunError
from tosloc.evaluation.lines import json_lines
from tosloc.files import written_whole
from tosloc.records import Names, Ranking

FORMAT = "tosloc-run/1"
GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True, eq=False)
class Run:
    """The rankings of one method for a set of reports, with what produced them."""

    header: Mapping[str, Any]
    rankings: Mapping[str, Ranking]
    """Report id -> ranking, in file order."""
    where: str = "run"
    """The file, for messages."""


def write_run(path: str | Path, header: Mapping[str, Any], rankings: Iterable[Ranking]) -> None:
    """Write rankings as they come; scores keep six significant digits. The file appears only when it is whole.

    Raises ValueError when two rankings are of one report.
    """
    names = Names()
    seen: set[str] = set()
    with (
        written_whole(Path(path)) as temporary,
        temporary.open("wb") as raw,
        gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0) as file,
    ):
        file.write(_line({**header, "format": FORMAT}))
        for ranking in rankings:
            if ranking.report in seen:
                raise ValueError(f"report {ranking.report}: ranked twice")
            seen.add(ranking.report)
            known = len(names)
            numbers = [names.id(name) for name in ranking.paths]
            if len(names) > known:
                file.write(_line({"paths": names.names[known:]}))
            scores = ",".join([format(score, ".6g") for score in ranking.scores.tolist()])
            files = ",".join(map(str, numbers))
            file.write(f'{{"report":{json.dumps(ranking.report)},"files":[{files}],"scores":[{scores}]}}\n'.encode())


def read_run(path: str | Path) -> Run:
    """Run of a file.

    Raises RunError naming report and line for a report or a path that comes twice, for scores that are no
    numbers or increase, and for a damaged file.
    """
    where = str(path)
    rankings: dict[str, Ranking] = {}
    names: list[str] = []
    with _opened(Path(path)) as file:
        lines = json_lines(file, where)
        header = next(lines, (0, {}))[1]
        if header.get("format") != FORMAT:
            raise RunError(f"{where}: not a run of the form {FORMAT}")
        for number, value in lines:
            if "paths" in value:
                names.extend(value["paths"])
                continue
            ranking = _ranking(value, names, f"{where} line {number}")
            if ranking.report in rankings:
                raise RunError(f"{where} line {number}: report {ranking.report} is ranked twice")
            rankings[ranking.report] = ranking
    return Run({key: value for key, value in header.items() if key != "format"}, rankings, where)


def _ranking(value: Mapping[str, Any], names: list[str], where: str) -> Ranking:
    try:
        report, numbers = value["report"], value["files"]
        scores = np.array(value["scores"], dtype=np.float64)
        if scores.ndim != 1 or min(numbers, default=0) < 0:
            raise ValueError
        paths = tuple([names[number] for number in numbers])
    except KeyError as missing:
        raise RunError(f"{where}: a ranking without {missing}") from None
    except (IndexError, TypeError, ValueError):
        raise RunError(f"{where}: report {value.get('report')} is damaged: a file or a score is not a number") from None
    if len(set(paths)) < len(paths):
        twice = next(path for place, path in enumerate(paths) if path in paths[:place])
        raise RunError(f"{where}: report {report} ranks {twice} twice")
    try:
        return Ranking(str(report), paths, scores)
    except ValueError as error:
        raise RunError(f"{where}: {error}") from None


def _opened(path: Path) -> IO[bytes]:
    try:
        with path.open("rb") as file:
            compressed = file.read(2) == GZIP_MAGIC
        return cast(IO[bytes], gzip.open(path, "rb")) if compressed else path.open("rb")
    except OSError as error:
        raise RunError(f"{path}: cannot read the run: {error.strerror or error}") from None


def _line(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, sort_keys=True, separators=(",", ":")) + "\n").encode()
