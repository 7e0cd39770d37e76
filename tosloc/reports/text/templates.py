"""Read the lines of a project's own issue forms in a version."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tosloc.git.repository import Repository, decode_text
from tosloc.reports.text.forms import is_issue_template, template_keys

MAX_TEMPLATES: Final = 20
"""Largest number of issue forms that are read."""
MAX_TEMPLATE_BYTES: Final = 100_000
"""Largest number of bytes of an issue form that are read."""
_FOLDERS: Final = frozenset(
    ".github .github/issue_template .gitea .gitea/issue_template .forgejo .forgejo/issue_template"
    " .gitlab .gitlab/issue_templates docs docs/issue_template issue_template".split()
)
"""Folders, in lower case, that may contain forms or folders of forms."""


class IssueTemplates:
    """The issue forms of a repository's versions; each form is read only once."""

    def __init__(self, repo: Repository) -> None:
        self._repo = repo
        self._keys_by_form: dict[str, frozenset[str]] = {}
        """Blob id -> keys of its lines."""
        self._forms_by_tree: dict[tuple[str, str], list[str]] = {}
        """Path and id of a folder's tree -> blob ids of the forms in it and below."""

    def of_commit(self, commit: str) -> frozenset[str]:
        """Return the keys of the lines of a version's issue forms, see ``template_keys``.

        The result is empty for a version without forms, or a missing version. Raises
        RepositoryError.
        """
        root = f"{commit}^{{tree}}"
        if ("", commit) not in self._forms_by_tree:
            self._forms_by_tree["", commit] = list(self._find_forms("", root))
        return self.of_blobs(self._forms_by_tree["", commit])

    def of_blobs(self, blobs: Sequence[str]) -> frozenset[str]:
        """Return the keys of the lines of issue forms with these blob ids."""
        blobs = blobs[:MAX_TEMPLATES]
        missing = [blob for blob in blobs if blob not in self._keys_by_form]
        for blob, data in self._repo.texts(missing):
            text = decode_text((data or b"")[:MAX_TEMPLATE_BYTES])
            self._keys_by_form[blob] = template_keys(text)
        keys: set[str] = set()
        for blob in blobs:
            keys |= self._keys_by_form[blob]
        return frozenset(keys)

    def _find_forms(self, folder: str, tree: str) -> Iterator[str]:
        """Yield the blob ids of the forms in a folder, and in the folders of forms below it."""
        for entry in self._repo.trees.entries(tree):
            path = f"{folder}{entry.name}"
            if not entry.is_folder:
                if is_issue_template(path):
                    yield entry.id
            elif path.lower() in _FOLDERS:
                key = path, entry.id
                if key not in self._forms_by_tree:
                    self._forms_by_tree[key] = list(self._find_forms(f"{path}/", entry.id))
                yield from self._forms_by_tree[key]
