"""Files that are no sources, for a report: those that it names, then templates, styles and configuration by words."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Final

from tosloc.index import bm25
from tosloc.index.context import QueryContext
from tosloc.index.postings import leaders
from tosloc.rank.reasons import ReasonsOf
from tosloc.records import Hit, Reason
from tosloc.reports.text import without_addresses

MOST: Final = 3  # how many are told
_LOOKED_AT: Final = 10  # so many are asked for words that tell anything
_SEVERAL: Final = 3  # a name that more files have means none of them
_WRITTEN: Final = re.compile(r"[\w@+.-]+(?:/[\w@+.-]+)*")


def other_files(context: QueryContext, common: frozenset[str] = frozenset()) -> list[Hit]:
    """The first such files for a query of a version that holds them, with a reason each; by words where they share two
    and one is not ``common`` in the sources, or one that their name has, too.
    """
    reasons, paths = ReasonsOf(context), context.version.text.snapshot.paths
    scores = context.in_files(bm25.WHOLE, context.text_terms[1]) + context.version.paths.bm25(context.query.weights)
    told = {file: Reason("name", f"the report names {written}") for file, written in named(context).items()}
    likely = leaders(scores, _LOOKED_AT).tolist()
    reasons.look_at(likely)
    for file in likely:
        words, _ = reasons.words(file)
        rare = [word for word in words if word not in common]
        if file not in told and rare and (len(words) > 1 or reasons.name_words(file)):
            told[file] = Reason("words", f"words {reasons.listed([*rare, *words])}")
    return [
        Hit(place, paths[file], round(float(scores[file]), 6), 0.0, why=(why,))
        for place, (file, why) in enumerate(list(told.items())[:MOST], start=1)
    ]


def named(context: QueryContext) -> dict[int, str]:
    """File -> how the report writes it, in the report's order: as the end of its path, or as a whole name that it alone
    has, or two others, or at the root. A name in capitals (README) needs no suffix.
    """
    paths, report = context.version.text.snapshot.paths, context.query.report
    by_name: defaultdict[str, list[int]] = defaultdict(list)
    for file, path in enumerate(paths):
        name = path.rpartition("/")[2]
        stem = name.partition(".")[0]
        for key in {name, stem} if len(stem) > 3 and stem.isupper() else {name}:
            by_name[key].append(file)
    found: dict[int, str] = {}
    for written in _WRITTEN.findall(without_addresses(f"{report.summary}\n{report.description}")):
        written = written.removeprefix("./").rstrip(".")
        folder, _, name = written.rpartition("/")
        files = [file for file in by_name.get(name, ()) if f"/{paths[file]}".endswith(f"/{written}") or not folder]
        files = [file for file in files if paths[file].rpartition("/")[0] == folder] or files
        if len(files) <= _SEVERAL and (folder or "." in name or name[:1].isupper()):
            found |= {file: written for file in files if file not in found}
    return found
