"""Find the folders of a repository, and read its own configuration and list of shallow commits."""

from __future__ import annotations

import os
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import Final

from tosloc.core.children import start_child
from tosloc.git.discovery import find_git_directories, read_git_file
from tosloc.git.process import clean_environment, git_program


class Layout:
    """The folders of a repository, its own configuration and its list of shallow commits.

    Raises RepositoryError if ``folder`` is not a repository.
    """

    def __init__(self, folder: Path) -> None:
        self.path: Final = folder
        """The folder that was opened: a work tree, or the git directory itself."""
        directory, common = find_git_directories(folder)
        self.directory: Final = directory
        """The git directory: a linked work tree has one of its own."""
        self.common: Final = common
        """The git directory that all work trees of the repository share."""
        is_sha256 = self._setting("extensions", "objectformat") == "sha256"
        self.hash_name: Final = "sha256" if is_sha256 else "sha1"

    @property
    def name(self) -> str:
        """Short name: that of the folder, or of its parent if the folder is .git or repo."""
        folder = self.home
        if folder.name in (".git", "repo", "repository", "git"):
            folder = folder.parent
        return folder.name.removesuffix(".git") or "repository"

    @property
    def home(self) -> Path:
        """Folder of the main repository if ``path`` is a linked work tree, otherwise ``path``."""
        if self.directory == self.common:
            return self.path
        common = self.common.resolve()
        return common.parent if common.name == ".git" else common

    def _setting(self, section: str, name: str) -> str:
        """Return a setting in the repository's own configuration as it is now; "" if not set."""
        # GitPython would wait for a named pipe, so the file is read here.
        content = read_git_file(self.common / "config")
        if name.encode() not in content.lower():
            return ""
        git_program()  # GitPython cannot be imported without it
        from git import GitConfigParser  # here: it takes a while, and starts git

        file = BytesIO(content)
        file.name = "config"
        return str(GitConfigParser(file, merge_includes=False).get_value(section, name, ""))

    @property
    def shallow(self) -> frozenset[str]:
        """Ids of the commits at which a shallow clone was cut off; empty in a complete clone."""
        return frozenset(read_git_file(self.common / "shallow").decode("ascii", "replace").split())

    @property
    def work_tree(self) -> Path | None:
        """Folder whose files the user edits; None for a bare repository.

        It is also None if the files of the repository are in another folder.
        """
        has_files = os.path.lexists(self.path / ".git") and self.other_work_tree is None
        return self.path if has_files else None

    @property
    def other_work_tree(self) -> Path | None:
        """Folder that ``core.worktree`` names instead of this folder; None if it names none.

        The files there are not read, because whoever wrote the configuration could name any folder.
        """
        folder = self._setting("core", "worktree")
        # Git does not apply the setting to linked work trees.
        if not folder or self.directory != self.common:
            return None
        named = self.directory / folder
        return None if os.path.realpath(named) == os.path.realpath(self.path) else named

    def remote_url(self) -> str | None:
        """Return the address of the remote ``origin`` in the repository's own configuration.

        Return None if there is none.
        """
        return _read_remote_url(read_git_file(self.common / "config")) or None


@lru_cache(maxsize=16)
def _read_remote_url(config: bytes) -> str:
    """Return the address of the remote ``origin`` in a configuration; "" if there is none.

    Git reads it, because nearly every clone has a remote, and importing GitPython would take a
    tenth of a question's processor time.
    """
    if b"url" not in config.lower():
        return ""
    command = [git_program(), "config", "--file", "-", "--no-includes", "remote.origin.url"]
    with start_child(command, clean_environment()) as process:
        output, _ = process.communicate(config)
    return output.decode(errors="replace").removesuffix("\n")
