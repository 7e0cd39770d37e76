"""Recognize blocks of a report that configure another program, such as a server.

A project's own settings are evidence, because its files contain their names. How nginx, Docker or
systemd run the project says little, and the words of such settings (host, header, cache) occur in
many files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tosloc.code.text import compounds
from tosloc.core.patterns import lazy_pattern
from tosloc.reports.text.line_shapes import is_setting

_LANGUAGES: Final = frozenset(
    "apache apacheconf caddy caddyfile compose conf desktop docker docker-compose dockerfile dotenv"
    " env haproxy hcl ini nginx properties service systemd toml yaml yml".split()
)
"""Languages of blocks that configure a program."""
_DATA_LANGUAGES: Final = frozenset("json jsonc json5 jsonnet xml html".split())
"""Languages of blocks with values, which may be the program's input or output."""
_QUOTED_KEY: Final = lazy_pattern(r"\s*+[\"']")
"""Beginning of a line of JSON, or of another value of a program."""
_DIRECTIVE: Final = lazy_pattern(
    r"""(?x) \s*+ (?:
      \# | -\s | [}\]]\s*+$
    | [a-z][a-z0-9_]{0,40} (?:[ \t]{1,20}[^\s;{}()=]{1,200}){0,12} [ \t]{0,20} [;{] \s*+$
    | </?[A-Z][A-Za-z]{1,30}\b[^<>\n]{0,200}>\s*+$
    | [A-Z][a-z]{1,20}(?:[A-Z][a-z]{1,20}){1,5} [ \t]{1,20} [^\s({=]
    | \[[\w.@:\-]{1,60}\]\s*+$
    | (?:ADD|CMD|COPY|ENTRYPOINT|ENV|EXPOSE|FROM|RUN|USER|VOLUME|WORKDIR)[ \t]{1,9}\S
    )"""
)
"""Beginnings of lines that configure a program: nginx, Apache, systemd and Docker."""
_MIN_LINES: Final = 3
"""Smallest number of lines of a block that is recognized without its language."""
_MIN_NAMES: Final = 2
"""Smallest number of names with several words that show that a block is for another program."""
_LARGEST_OWN_SHARE: Final = 0.2
"""Largest share of these names that the project's files may contain."""


def is_foreign_configuration(
    language: str, heads: Sequence[str], is_own_term: Callable[[str], bool]
) -> bool:
    """Return whether a block configures a program other than the project's.

    ``language`` is the fence's language, or empty, and ``heads`` are the beginnings of the lines.
    ``is_own_term`` returns whether files of the project contain a term. A block without names of
    several words may belong to any program, so it is not foreign.

    >>> server = ["server {", "  server_name x.org;", "  proxy_pass http://y;", "}"]
    >>> is_foreign_configuration("", server, {"invoice"}.__contains__)
    True
    >>> is_foreign_configuration("", server, {"proxypass", "servername"}.__contains__)
    False
    """
    if language in _DATA_LANGUAGES or not _is_configuration(language, heads):
        return False
    names = set(compounds("\n".join(heads)))
    own = sum(map(is_own_term, names))
    return len(names) >= _MIN_NAMES and own <= _LARGEST_OWN_SHARE * len(names)


def _is_configuration(language: str, heads: Sequence[str]) -> bool:
    """Return whether a block configures a program, by its language or by most of its lines."""
    if language in _LANGUAGES:
        return True
    matching = 0
    for head in heads:
        if _DIRECTIVE.match(head) or (is_setting(head) and not _QUOTED_KEY.match(head)):
            matching += 1
    return len(heads) >= _MIN_LINES and matching * 3 > len(heads) * 2
