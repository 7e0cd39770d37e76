"""What stands beside an answer: changes like the report, who changed the first file, its tests; files that are no
sources: those that the report names, then templates, styles and configuration by words.

Nothing of it goes into a ranking, and nothing later than the report's opening is in it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Final

import numpy as np

from tosloc.core.records import Background, BoolArray, EarlierChange, Hit, Person, Reason
from tosloc.git.fixes import first_issue
from tosloc.git.repository import Repository, decode_text
from tosloc.rank.reasons import FileReasons, RepositoryLookups, day
from tosloc.reports.text import without_addresses
from tosloc.retrieval import bm25
from tosloc.retrieval.context import QueryContext
from tosloc.retrieval.postings import top_k

MAX_ITEMS: Final = 3  # earlier changes, tests, and files that are no sources, that are told
MAX_PEOPLE: Final = 2
_CHANGES: Final = 50  # changes of the first file whose authors are looked up, the last ones
_CODE_OWNERS: Final = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
"""Where GitHub and GitLab look for owners, in this order."""
_LOOKED_AT: Final = 10  # so many are asked for words that tell anything
_SEVERAL: Final = 3  # a name that more files have means none of them
_WRITTEN: Final = re.compile(r"[\w@+.-]+(?:/[\w@+.-]+)*")


def collect_background(
    reasons: FileReasons, first: int | None, sources: RepositoryLookups
) -> Background:
    """What is known for the query that was answered; of people and tests that of its ``first`` file."""
    earlier, table = [], reasons.paths.table
    alike = [
        change for change in reasons.past() if len(change.words) > 1
    ]  # one shared word is chance
    for change in alike[:MAX_ITEMS]:
        subject, files = (
            sources.subject(change.commit) or "",
            tuple(table.paths[row] for row in change.rows),
        )
        issue, url = change.bug or first_issue(subject), sources.commit_url(change.commit)
        earlier.append(EarlierChange(change.commit, day(change.at), issue, subject, files, url))
    if first is None:
        return Background(tuple(earlier))
    row = int(reasons.paths.path_ids[first])
    owners = tuple(sources.owners(table.paths[row]))
    return Background(tuple(earlier), _people(reasons, row, sources), owners, _tests(reasons, row))


def _people(reasons: FileReasons, row: int, sources: RepositoryLookups) -> tuple[Person, ...]:
    """The last two who changed the file of a path, programs aside."""
    view = reasons.context.history.commits
    touching = view.documents.find_by_file(row)
    last = touching[view.known[touching]][: -_CHANGES - 1 : -1].tolist()
    commits = {
        view.documents.commit_ids[number]: day(int(view.documents.times[number])) for number in last
    }
    names, found = sources.authors(list(commits)), dict[str, Person]()
    for commit, changed in commits.items():
        name = names.get(commit, "")
        if name and not name.endswith("[bot]"):
            found.setdefault(name, Person(name, changed))
    return tuple(found.values())[:MAX_PEOPLE]


def _tests(reasons: FileReasons, row: int) -> tuple[str, ...]:
    """Tests of the version that are named like the file of a path, then those that changed with it most."""
    table, view = reasons.paths.table, reasons.context.history.commits
    if table.test[row]:
        return ()
    tests = reasons.paths.present & table.test
    named = np.flatnonzero(
        tests & (table.counterpart_group == table.counterpart_group[row])
    ).tolist()
    touching = view.documents.find_by_file(row)
    chosen = touching[view.known[touching]]
    weights = view.scatter_to_files(chosen, 1 / view.documents.sizes[chosen], len(table)) * tests
    changed = [other for other in top_k(weights, len(named) + MAX_ITEMS).tolist() if weights[other]]
    return tuple(table.paths[other] for other in dict.fromkeys([*named, *changed]))[:MAX_ITEMS]


def read_code_owners(repo: Repository, commit: str) -> str:
    """Return the text of a version's CODEOWNERS file; empty if there is none."""
    contents = repo.objects([f"{commit}:{path}" for path in _CODE_OWNERS], b"blob")
    return decode_text(next((content for _, content in contents if content is not None), b""))


def find_other_files(
    context: QueryContext, common: frozenset[str] = frozenset(), kept: BoolArray | None = None
) -> list[Hit]:
    """The first such files for a query of a version that holds them, with a reason each; by words where they share two
    that are not ``common`` in the sources, or one where their name has one, too. Of all, or of those that are ``kept``.
    """
    reasons, paths = FileReasons(context), context.version.text.snapshot.paths
    scores = context.score_files(bm25.WHOLE, context.text_terms[1]) + context.version.paths.bm25(
        context.query.weights
    )
    kept = np.ones(len(paths), dtype=np.bool_) if kept is None else kept
    told = (
        (file, Reason("name", f"the report names {written}"))
        for file, written in mentioned_files(context).items()
    )
    found, likely = (
        {file: why for file, why in told if kept[file]},
        top_k(np.where(kept, scores, -np.inf), _LOOKED_AT),
    )
    for file in likely[kept[likely]].tolist():
        words, _ = reasons.words(file)
        rare = [word for word in words if word not in common]
        if file not in found and rare and (len(rare) > 1 or reasons.name_words(file)):
            found[file] = Reason("words", f"words {reasons.join_words([*rare, *words])}")
    return [
        Hit(place, paths[file], round(float(scores[file]), 6), 0.0, why=(why,))
        for place, (file, why) in enumerate(list(found.items())[:MAX_ITEMS], start=1)
    ]


def mentioned_files(context: QueryContext) -> dict[int, str]:
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
        files = [
            file
            for file in by_name.get(name, ())
            if f"/{paths[file]}".endswith(f"/{written}") or not folder
        ]
        files = [file for file in files if paths[file].rpartition("/")[0] == folder] or files
        if len(files) <= _SEVERAL and (folder or "." in name or name[:1].isupper()):
            found |= {file: written for file in files if file not in found}
    return found
