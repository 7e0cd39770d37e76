"""The page's text: everything that a report, a path or a file says goes through the template's escaping."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, TypeAlias

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import tosloc
from tosloc.answer import Answer, background_told, percent
from tosloc.git.discovery import WebPages
from tosloc.io import cut, printable
from tosloc.localizer import Localizer
from tosloc.records import BugReport, Progress
from tosloc.session import opened, told
from tosloc.web.excerpts import LONGEST_LINE, LONGEST_REPORT, Piece, Stretch, marked, marked_report, stretches

MOST_ANSWERS: Final = 100
"""Of one page."""
FILES: Final = 5
"""Files of which lines are shown."""
Opening: TypeAlias = tuple[Path, Path | None]
"""What a session's process opens: a repository and a checkpoint."""
_COMMAND: Final = re.compile(r"[;,] [^;,]*? --[^;]*")


@dataclass(frozen=True)
class View:
    """An answer, ready for its page."""

    answer: Answer
    title: tuple[Piece, ...]
    description: tuple[Piece, ...]
    sources: Mapping[str, tuple[Stretch, ...]] = field(default_factory=dict)
    """Path -> lines of that file, of the first files that have any."""
    pages: WebPages | None = None
    """Where the project is seen on the web."""
    editor: str = ""
    """Address that opens a file in the reader's editor, with ``{path}`` and ``{line}``; else empty."""

    @classmethod
    def of(cls, answer: Answer, localizer: Localizer | None = None, editor: str = "") -> View:
        """An answer with lines of its first files from the localizer's repository; without one there are none.

        With ``editor`` the page tells where the files of a work tree lie: it is for this machine.
        """
        title, text = cut(answer.report.summary, LONGEST_LINE), cut(answer.report.description, LONGEST_REPORT)
        if localizer is None or localizer.repository is None:
            return cls(answer, (Piece(title),), (Piece(text),))
        beside, sources = told(localizer, answer, FILES), {}
        for hit, framed, lines in beside.lines:
            # those of frames are of the report's version
            named = [reason.lines for reason in hit.why if reason.lines is not None and reason.kind != "frame"]
            sources[hit.path] = stretches(lines, beside.terms, hit.functions, framed, named, hit.path)
        pages = WebPages.of(localizer.repository.remote_url())
        return cls(answer, marked(title, beside.terms), marked_report(text, beside), sources, pages, editor)

    @property
    def name(self) -> str:
        """What the answer is called in lists."""
        report = self.answer.report
        return cut(f"{report.id}: {report.summary}" if report.summary else report.id, LONGEST_LINE)

    @property
    def project(self) -> str:
        """The project's name on the web, else its folder's."""
        return project_of(self.answer.repository or "", self.pages)

    def editor_link(self, path: str, line: int) -> str | None:
        """What opens a line of a file in the editor; None where there is no such file, as in a bare repository."""
        file = Path(self.answer.repository or "", path)
        if not self.editor or not file.is_file():
            return None
        return self.editor.replace("{path}", file.as_uri().removeprefix("file://")).replace("{line}", str(line))


def project_of(repository: str, pages: WebPages | None) -> str:
    """A repository's name on the web, else its folder's: where it lies is nobody's business who is sent the page.

    >>> project_of("/home/ada/toy/.git", None), project_of("/srv/toy.git", None), project_of("", None)
    ('toy', 'toy', '')
    >>> project_of("/home/ada/x", WebPages.of("git@github.com:ada/toy.git"))
    'ada/toy'
    """
    if pages is not None:
        return pages.project.split("/", 3)[-1]
    path = Path(repository)
    return (path.parent.name if path.name == ".git" else path.name).removesuffix(".git")


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
    html: Markup | None = None
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


def page_of(opening: Opening, report: BugReport, commit: str, tests: bool, editor: str, progress: Progress) -> Markup:
    """What the page shows of an answer, in a session's process. Raises as ``Localizer.localize`` does."""
    localizer = opened(*opening)
    answer = localizer.localize(report, commit=commit or None, tests=tests or None, progress=progress)
    return answered(View.of(answer, localizer, editor))


def warm(opening: Opening, commit: str, progress: Progress) -> None:
    """There, too: make a version, or with "" the files on disk, ready. Raises as ``Localizer.open`` does."""
    opened(*opening).version(commit or None, progress)


def served_policy() -> str:
    """Content-Security-Policy of the served page: its own style and script, and questions to where it came from."""
    to_self = "connect-src 'self'; form-action 'self'"
    return f"default-src 'none'; {_own()}; {to_self}; base-uri 'none'; frame-ancestors 'none'"


def _page(articles: Sequence[Article], known: Sequence[Article], project: str, *, number: int, **more: Any) -> str:
    heading = f"Which files of {project}?" if project else "Which files?"
    return (
        _environment()
        .get_template("page.html")
        .render(
            title=next((f"{one.name[:120]} – which files?" for one in known if one.number == number), heading),
            heading=heading,
            articles=articles,
            known=known,
            number=number,
            root="../" if number else "./",
            style=Markup(_part("page.css")),
            script=Markup(_part("page.js")),
            version=tosloc.__version__,
            **{"ask": None, "policy": "", **more},
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
    options = {"autoescape": True, "trim_blocks": True, "lstrip_blocks": True, "keep_trailing_newline": True}
    environment = Environment(loader=PackageLoader("tosloc.web"), undefined=StrictUndefined, **options)
    environment.filters |= {"shown": shown, "plain": plain, "percent": percent, "number": "{:,}".format}
    environment.filters["background"] = background_told
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
