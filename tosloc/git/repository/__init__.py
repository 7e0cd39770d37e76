"""Read versions, commits and blobs of a git repository, and uncommitted files of its work tree.

Committed content is read from the object store alone: nothing is checked out, and no program of the
repository is run. Git is started on an empty git directory of our own that borrows the repository's
objects, so that git cannot read the repository's hooks, configuration, replacements or remotes.
Only names of revisions ("HEAD", "v1.0~3") are resolved in the repository itself.
"""

from tosloc.git.commit_info import CommitInfo
from tosloc.git.repository.blobs import decode_text
from tosloc.git.repository.changes import AuthorNames, list_changes
from tosloc.git.repository.repository import Repository, resolve_revision
from tosloc.git.repository.tags import Tag, Tags
from tosloc.git.repository.trees import suffix_matcher
from tosloc.git.repository.work_tree import Change, WorkTreeState

__all__ = [
    "AuthorNames",
    "Change",
    "CommitInfo",
    "Repository",
    "Tag",
    "Tags",
    "WorkTreeState",
    "decode_text",
    "list_changes",
    "resolve_revision",
    "suffix_matcher",
]
