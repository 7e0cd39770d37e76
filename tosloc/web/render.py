"""The page's text: everything that a report, a path or a file says goes through the template's escaping."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import tosloc
from tosloc.answer import percent
from tosloc.io import printable
from tosloc.web.view import View

MOST_ANSWERS: Final = 100
"""Of one page."""
_COMMAND: Final = re.compile(r"[;,] [^;,]*? --[^;]*")


@dataclass(frozen=True, slots=True)
class Ask:
    """What stands in the form of a page that can be asked."""

    text: str = ""
    commit: str = ""
    tests: bool = False
    error: str = ""
    """Why what was asked last is no question."""


@dataclass(frozen=True, slots=True)
class Article:
    """One answer, or what stands where it will be."""

    number: int
    name: str
    """Of the report."""
    html: Markup | None
    """The answer; None where there is none."""
    said: str = ""
    """How far it is, or why there is none."""
    failed: bool = False


def page(views: Sequence[View]) -> str:
    """A page of answers that needs no other file and no network: the same text for the same answers."""
    articles = [Article(number, view.name, answered(view)) for number, view in enumerate(views, start=1)]
    policy = f"default-src 'none'; {_own()}; base-uri 'none'; form-action 'none'"
    return _page(articles, articles, views[0].project, policy=policy, number=int(len(views) == 1))


def served_page(known: Sequence[Article], ask: Ask, project: str, number: int = 0) -> str:
    """The page with a form to ask, at the address of a question or of none; its policy is a header.

    At its own address a question stands above those that were asked before; where it has no answer, ``ask`` says why.
    """
    before = [one for one in known if not number or one.number < number + (not one.failed)]
    return _page(before, known, project, ask=ask, number=number)


def answered(view: View) -> Markup:
    """One answer as it stands on the page."""
    return Markup(_environment().get_template("answer.html").render(view=view))


def served_policy() -> str:
    """Content-Security-Policy of the served page: its own style and script, and questions to where it came from."""
    to_self = "connect-src 'self'; form-action 'self'"
    return f"default-src 'none'; {_own()}; {to_self}; base-uri 'none'; frame-ancestors 'none'"


def _page(
    articles: Sequence[Article],
    known: Sequence[Article],
    project: str,
    *,
    ask: Ask | None = None,
    policy: str = "",
    number: int = 0,
) -> str:
    heading = f"Which files of {project}?" if project else "Which files?"
    template = _environment().get_template("page.html")
    return template.render(
        title=next((f"{one.name[:120]} – which files?" for one in known if one.number == number), heading),
        heading=heading,
        articles=articles,
        known=known,
        # what could not be asked stays in the form, and is not reloaded away
        waiting=any(not one.html and not one.failed for one in articles) and not (ask and ask.error),
        ask=ask,
        number=number,
        root="../" if number else "./",
        policy=policy,
        style=Markup(_part("page.css")),
        script=Markup(_part("page.js")),
        version=tosloc.__version__,
    )


def _own() -> str:
    """The parts of a policy that allow the page's own style and script, and no others."""
    digests = (hashlib.sha256(_part(name).encode()).digest() for name in ("page.css", "page.js"))
    style, script = (base64.b64encode(digest).decode() for digest in digests)
    return f"style-src 'sha256-{style}'; script-src 'sha256-{script}'"


@cache
def _part(name: str) -> str:
    return (files("tosloc.web") / "templates" / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("tosloc.web"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    filters: dict[str, Any] = {"shown": shown, "plain": plain, "percent": percent, "number": lambda value: f"{value:,}"}
    environment.filters |= filters
    return environment


def shown(text: str) -> str:
    r"""Text that is safe in a page, by line: control characters, and those that turn the writing, become escapes.

    >>> shown("a\r\nb\tc\u202ed")
    'a\nb   c\\u202ed'
    """
    return "\n".join(printable(line.rstrip("\r").expandtabs(4)) for line in text.split("\n"))


def plain(sentence: str) -> str:
    """A note or an error without what it says of the command line, which a reader of the page has not before them.

    >>> plain("no commit 'x'; check its spelling, or run: git fetch --all --tags")
    "no commit 'x'; check its spelling"
    """
    return _COMMAND.sub("", sentence)
