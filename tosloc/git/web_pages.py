"""Pages of commits and files on the web, where a repository's remote is at a host that is known."""

from __future__ import annotations

import re
from os import PathLike, fspath
from typing import Final, NamedTuple
from urllib.parse import quote

_REMOTE: Final = re.compile(
    r"(?:https?://(?:[^/@\s]*@)?|ssh://(?:[^/@\s]*@)?|git://|(?:[\w.\-]+@))"
    r"(?P<host>[A-Za-z0-9.\-]+)(?::\d+(?=/))?[/:](?P<path>[\w.\-~]+(?:/[\w.\-~]+)+)"
)
_ADDRESS: Final = re.compile(
    r"(?:\A|/)(?:(?P<scheme>https?|ssh|git):/+(?P<rest>[^/].*)|(?P<account>[\w.\-]+@[\w.\-]+:.+))"
)
_FOLDERS: Final = {
    "github": ("commit", "blob"),
    "gitlab": ("-/commit", "-/blob"),
    "codeberg": ("commit", "src/commit"),
    "bitbucket": ("commits", "src"),
}
"""Part of a host's name -> folders of its pages of commits and of files."""


def address(path: str | PathLike[str]) -> str | None:
    """The address that somebody gave where a path is wanted, with the slash that paths lose; None for other paths.

    >>> address("/home/me/https:/github.com/a/b"), address("git@github.com:a/b.git"), address("/home/me/b.git")
    ('https://github.com/a/b', 'git@github.com:a/b.git', None)
    """
    found = _ADDRESS.search(fspath(path))
    return None if found is None else found["account"] or f"{found['scheme']}://{found['rest']}"


class WebPages(NamedTuple):
    """Where a project is seen on the web; nothing is asked of it."""

    project: str
    """Address of its page, without an account's name or password."""
    host: str
    """A key of the hosts that are known."""

    @classmethod
    def of(cls, remote: str | None) -> WebPages | None:
        """Pages of a remote's address; None where the host is none of the known ones.

        >>> WebPages.of("git@github.com:pallets/flask.git").commit("12ab")
        'https://github.com/pallets/flask/commit/12ab'
        >>> WebPages.of("https://me:secret@gitlab.example.org/a/b/c.git").file("12ab", "x y.c", (3, 5))
        'https://gitlab.example.org/a/b/c/-/blob/12ab/x%20y.c#L3-5'
        >>> WebPages.of("/srv/git/flask"), WebPages.of("https://example.org/flask/x.git")
        (None, None)
        """
        found = None if remote is None else _REMOTE.fullmatch(remote.strip().rstrip("/").removesuffix(".git"))
        if found is None:
            return None
        name = found["host"].lower()
        host = next((known for known in _FOLDERS if known in name.split(".")), None)
        return None if host is None else cls(f"https://{name}/{found['path']}", host)

    def commit(self, commit: str) -> str:
        """Page of a commit."""
        return f"{self.project}/{_FOLDERS[self.host][0]}/{quote(commit)}"

    def file(self, commit: str, path: str, lines: tuple[int, int] | None = None) -> str:
        """Page of a file in a version, at some of its lines."""
        name = quote(path.encode("utf-8", "surrogateescape"))
        place = f"{self.project}/{_FOLDERS[self.host][1]}/{quote(commit)}/{name}"
        if lines is None or self.host == "bitbucket":
            return place
        return f"{place}#L{lines[0]}-{'' if self.host == 'gitlab' else 'L'}{lines[1]}"
