"""What lies in a work tree and is not committed: files that are changed, new and not ignored, or gone."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import Final, NamedTuple

from tosloc.git.process import LARGEST_SOURCE, parts
from tosloc.git.repository import Repository, ends_with
from tosloc.io import read_inside

_COMPARE: Final = "diff-index --raw -z --no-abbrev --no-renames --ignore-submodules=all".split()
_LIST_NEW: Final = "ls-files -z --others --full-name --exclude-per-directory=.gitignore".split()


class Change(NamedTuple):
    """One file that is not as the commit has it."""

    path: str
    blob: str | None
    """The id that its content would have as a blob; None where it is gone."""


def uncommitted(repo: Repository, commit: str, suffixes: Iterable[str]) -> frozenset[Change]:
    """Files with one of the ``suffixes`` that differ from a commit's, as they are on disk now; none where no work tree
    is checked out. ``repo.texts`` knows their blobs from then on.

    Git compares by the repository's index and ignore files, and sees nothing else of it: no configuration, so no
    filter is run. Only regular files of at most LARGEST_SOURCE bytes that no link leads to are read. Raises
    RepositoryError.
    """
    root, index, ignored = repo.work_tree, repo.index_file, repo.ignore_file
    if root is None or not index.is_file() or index.is_symlink():
        return frozenset()
    place = {"GIT_WORK_TREE": str(root), "GIT_INDEX_FILE": str(index)}
    wanted, before = ends_with(suffixes), dict[bytes, str]()
    with repo.stream([*_COMPARE, commit], b"", **place) as output:
        fields = parts(output)
        for field in fields:  # ":100644 100644 BEFORE AFTER M", then the path
            path = next(fields, b"")
            if wanted(path):
                before[path] = field.split()[2].decode("ascii") if field.startswith(b":100") else ""
    more = [f"--exclude-from={ignored}"] if ignored.is_file() else []
    with repo.stream([*_LIST_NEW, *more, ":/"], b"", **place) as output:
        for path in filter(wanted, parts(output)):
            before.setdefault(path, "")
    found = []
    for path, committed in before.items():
        name = os.fsdecode(path)
        with suppress(OSError):  # too large, or not to be read: as if it were not changed
            content = read_inside(root, name, LARGEST_SOURCE)
            if content is None:
                found += [Change(name, None)] * bool(committed)
            # a checkout may end lines as other systems do
            elif committed not in (blob := repo.blob_id(content), repo.blob_id(content.replace(b"\r\n", b"\n"))):
                found.append(Change(name, blob))
                repo.on_disk[blob] = name
    return frozenset(found)
