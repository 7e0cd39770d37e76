"""The page's text: everything that a report, a path or a file says goes through the template's escaping."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import tosloc
from tosloc.answer import percent
from tosloc.io import cut, printable
from tosloc.web.excerpts import LONGEST_LINE
from tosloc.web.view import View

MOST_ANSWERS: Final = 100
"""Of one page."""


@dataclass(frozen=True, slots=True)
class Ask:
    """What stands in the form of a page that can be asked."""

    text: str = ""
    commit: str = "HEAD"
    tests: bool = False
    error: str = ""
    """Why what was asked last is no question."""


@dataclass(frozen=True, slots=True)
class Article:
    """One answer, or what stands where it will be."""

    number: int
    name: str
    """Of the report."""
    html: Markup
    waits: bool = False


def page(views: Sequence[View]) -> str:
    """A page of answers that needs no other file and no network: the same text for the same answers."""
    articles = [Article(number, name_of(view), answered(view, number)) for number, view in enumerate(views, start=1)]
    return _page(articles, None, f"default-src 'none'; {_own()}; base-uri 'none'; form-action 'none'", views[0].project)


def served_page(articles: Sequence[Article], ask: Ask, project: str) -> str:
    """The page with a form to ask; its policy is a header, see ``served_policy``."""
    return _page(articles, ask, "", project)


def answered(view: View, number: int, *, removable: bool = False) -> Markup:
    """One answer as an element of the page; a served one that is ``removable`` can be taken away."""
    macros: Any = _environment().get_template("answer.html").module
    return Markup(macros.answered(view, number, removable))


def waiting(number: int, title: str, said: str, failed: bool = False) -> Markup:
    """What stands in the place of an answer: how far it is, or why there is none."""
    template = _environment().get_template("waiting.html")
    return Markup(template.render(number=number, title=title, said=said, state="failed" if failed else "waiting"))


def name_of(view: View) -> str:
    """What an answer is called in lists."""
    report = view.answer.report
    return cut(f"{report.id}: {report.summary}" if report.summary else report.id, LONGEST_LINE)


def served_policy() -> str:
    """Content-Security-Policy of the served page: its own style and script, and questions to where it came from."""
    to_self = "connect-src 'self'; form-action 'self'"
    return f"default-src 'none'; {_own()}; {to_self}; base-uri 'none'; frame-ancestors 'none'"


def _page(articles: Sequence[Article], ask: Ask | None, policy: str, project: str) -> str:
    title = articles[0].name if len(articles) == 1 else f"{len(articles)} bug reports" if articles else "TosLoc"
    return (
        _environment()
        .get_template("page.html")
        .render(
            title=f"{title[:120]} – which files?",
            heading=f"Which files of {project}?" if project else "Which files?",
            articles=[article.html for article in articles],
            names=[(one.number, one.name if len(one.name) <= 60 else f"{one.name[:59]}…") for one in articles],
            # what could not be asked stays in the form, and is not reloaded away
            waiting=any(article.waits for article in articles) and not (ask and ask.error),
            framed=ask is not None
            or any('class="frame"' in article.html or "line framed" in article.html for article in articles),
            ask=ask,
            policy=policy,
            style=Markup(_part("page.css")),
            script=Markup(_part("page.js")),
            version=tosloc.__version__,
        )
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
    filters: dict[str, Any] = {"shown": shown, "percent": percent, "number": lambda value: f"{value:,}"}
    environment.filters |= filters
    return environment


def shown(text: str) -> str:
    r"""Text that is safe in a page, by line: control characters, and those that turn the writing, become escapes.

    >>> shown("a\r\nb\tc\u202ed")
    'a\nb   c\\u202ed'
    """
    return "\n".join(printable(line.rstrip("\r").expandtabs(4)) for line in text.split("\n"))
