"""What a clone lacks that an answer would need, and the command that fetches it."""

from __future__ import annotations

from collections.abc import Iterator

from tosloc.data.git import Repository


def clone_notes(repo: Repository, missing: int, fixes: int) -> Iterator[str]:
    """Sentences about a shallow or partial clone, ``missing`` files, and a history without any fix."""
    if missing:
        one = missing == 1
        said = (
            f"{missing:,} {'file' if one else 'files'} could not be read from the repository;"
            f" {'it is ranked by its path' if one else 'they are ranked by their paths'} alone"
        )
        yield said + ("; this is a partial clone, fetch the rest: git fetch --refetch --no-filter" * repo.partial)
    if repo.shallow:
        yield (
            "this is a shallow clone: earlier fixes and commits are not known and add nothing to the ranking;"
            " run: git fetch --unshallow (in a workflow of GitHub: fetch-depth: 0)"
        )
    elif not fixes:
        yield "no earlier fix is known in this repository; history adds nothing to the ranking"
