"""What a project's past says beside an answer: changes like the report, who changed the first file, its tests.

Nothing of it goes into a ranking, and nothing later than the report's opening is in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import numpy as np

from tosloc.git.fixes import issue_named
from tosloc.git.repository import Repository, decode
from tosloc.rank.reasons import PastChange, ReasonsOf, Sources
from tosloc.records import Background, EarlierChange, Person, Snapshot

MOST: Final = 3  # earlier changes, and tests, that are told
PEOPLE: Final = 2
_CHANGES: Final = 50  # changes of the first file whose authors are looked up, the last ones
_CODE_OWNERS: Final = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS", ".gitlab/CODEOWNERS")
"""Where GitHub and GitLab look for owners, in this order."""
_WIDE: Final = 30  # files of a change from which on it says nothing of two of them


def background(reasons: ReasonsOf, first: int | None, sources: Sources) -> Background:
    """What is known for the query that was answered; of people and tests that of its ``first`` file."""
    similar = reasons.similar()[:MOST]
    subjects = sources.subjects([change.commit for change in similar])
    earlier = tuple(_told(reasons, change, subjects, sources) for change in similar)
    if first is None:
        return Background(earlier)
    paths = reasons.paths
    path = paths.table.paths[paths.path_ids[first]]
    return Background(earlier, _people(reasons, first, sources), tuple(sources.owners(path)), _tests(reasons, first))


def _told(reasons: ReasonsOf, change: PastChange, subjects: Mapping[str, str], sources: Sources) -> EarlierChange:
    subject = subjects.get(change.commit, "")
    files = tuple(reasons.paths.table.paths[row] for row in change.rows)
    issue = change.bug or issue_named(subject)
    return EarlierChange(change.commit, _day(change.at), issue, subject, files, sources.commit_url(change.commit))


def _people(reasons: ReasonsOf, file: int, sources: Sources) -> tuple[Person, ...]:
    """The last two who changed a file, programs aside."""
    view = reasons.context.history.commits
    touching = view.documents.of_file(int(reasons.paths.path_ids[file]))
    last = touching[view.known[touching]][: -_CHANGES - 1 : -1].tolist()
    names = sources.authors([view.documents.commit_ids[number] for number in last])
    found: dict[str, Person] = {}
    for number in last:
        name = names.get(view.documents.commit_ids[number], "")
        if name and not name.endswith("[bot]"):
            found.setdefault(name, Person(name, _day(int(view.documents.times[number]))))
    return tuple(found.values())[:PEOPLE]


def _tests(reasons: ReasonsOf, file: int) -> tuple[str, ...]:
    """Tests of the version that are named like a file, then those that changed with it, in small changes, most."""
    paths, view = reasons.paths, reasons.context.history.commits
    table, documents, row = paths.table, view.documents, int(paths.path_ids[file])
    if table.test[row]:
        return ()
    there = np.zeros(len(table), dtype=np.bool_)
    there[paths.path_ids] = True
    tests = there & table.test
    named = np.flatnonzero(tests & (table.counterpart_group == table.counterpart_group[row])).tolist()
    weights: Counter[int] = Counter()
    touching = documents.of_file(row)
    for number in touching[view.known[touching] & (documents.sizes[touching] <= _WIDE)].tolist():
        touched = documents.files[documents.file_starts[number] : documents.file_starts[number + 1]]
        weights.update(dict.fromkeys(touched[tests[touched]].tolist(), 1 / float(documents.sizes[number])))
    changed = sorted(weights, key=lambda other: (-weights[other], other))
    return tuple(table.paths[other] for other in dict.fromkeys([*named, *changed]))[:MOST]


def _day(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()


def code_owners(repo: Repository, files: Snapshot | None) -> str:
    """The CODEOWNERS among some files of a repository; empty where there is none."""
    blobs = {} if files is None else dict(zip(files.paths, files.blobs, strict=True))
    chosen = [blobs[path] for path in _CODE_OWNERS if path in blobs][:1]
    return "".join(decode(content or b"") for _, content in repo.texts(chosen))


def owners_of(rules: str, path: str) -> Sequence[str]:
    r"""Whom a CODEOWNERS file names for a path: by the last of its patterns that matches.

    >>> owners_of("* @all\n/docs/ @writers a@b.org  # prose\n*.md", "docs/a.txt")
    ['@writers', 'a@b.org']
    >>> owners_of("* @all\n*.md", "README.md"), owners_of("", "a")
    ([], [])
    """
    from pathspec import GitIgnoreSpec  # here: few answers need it

    for line in reversed(rules.splitlines()):
        pattern, *owners = line.partition("#")[0].split() or [""]
        if not pattern or pattern[0] in "[^!":  # GitLab's sections
            continue
        if GitIgnoreSpec.from_lines([pattern]).match_file(path):
            return owners
    return []
