"""The page's text: everything that a report, a path or a file says goes through the template's escaping."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

import tosloc
from tosloc.core.io import escape_unprintable, truncate_text
from tosloc.core.records import BugReport, Progress
from tosloc.git.discovery import WebPages
from tosloc.localize.answer import Answer, background_lines, percent
from tosloc.localize.localizer import Localizer
from tosloc.localize.session import details_of, opened
from tosloc.web.excerpts import (
    LONGEST_LINE,
    LONGEST_REPORT,
    Excerpt,
    Piece,
    excerpts,
    marked,
    marked_report,
)

FILES: Final = 5
"""Files of which lines are shown."""
_TEMPLATES: Final = Path(__file__).with_name("templates")


@dataclass(frozen=True, slots=True)
class Ask:
    """What stands in the form of a page that can be asked."""

    text: str = ""
    commit: str = ""
    tests: bool = False
    error: str = ""
    """Why what was asked last is no question."""


@dataclass
class Article:
    """One answer, or what stands where it will be."""

    number: int
    name: str
    """Of the report."""
    html: Markup | None = None
    """The answer; None where there is none."""
    error: str = ""
    """Why there will be none."""
    said: str = "waits for its turn"
    """How far it is."""
    asked: Ask = Ask()

    @property
    def state(self) -> str:
        """``done``, ``failed`` or ``waiting``."""
        return "done" if self.html else "failed" if self.error else "waiting"


def page(answers: Iterable[Answer], localizer: Localizer | None = None) -> str:
    """A page of answers that needs no other file and no network: the same text for the same answers."""
    articles = [
        Article(number, name_of(answer.report), answered(answer, localizer))
        for number, answer in enumerate(answers, start=1)
    ]
    return rendered(articles, project_of(localizer), number=int(len(articles) == 1))


def rendered(
    known: Sequence[Article], project: str, ask: Ask | None = None, number: int = 0
) -> str:
    """A page of what is known, with a form where there is one to ``ask``, at the address of a question or of none (0).

    At its own address a question stands above those that were asked before; where it has failed, ``ask`` says why.
    """
    heading = f"Which files of {project}?" if project else "Which files?"
    return (
        _environment()
        .get_template("page.html")
        .render(
            articles=[
                one for one in known if not number or one.number < number + (one.state != "failed")
            ],
            known=known,
            number=number,
            ask=ask,
            policy="" if ask else policy("form-action 'none'"),  # that of a served page is a header
            heading=heading,
            title=next(
                (f"{one.name[:120]} – which files?" for one in known if one.number == number),
                heading,
            ),
        )
    )


def answered(answer: Answer, localizer: Localizer | None = None, editor: str = "") -> Markup:
    """One answer as it stands on the page, with lines of its first files from the localizer's repository, if any.

    With ``editor``, an address with ``{path}`` and ``{line}``, it tells where the files of a work tree lie: it is for
    this machine.
    """
    title, text = (
        truncate_text(answer.report.summary, LONGEST_LINE),
        truncate_text(answer.report.description, LONGEST_REPORT),
    )
    titled, described, pages = [Piece(title)], [Piece(text)], None
    sources: dict[str, list[Excerpt]] = {}
    if localizer is not None and (repository := localizer.repository) is not None:
        pages, details = WebPages.of(repository.remote_url()), details_of(localizer, answer, FILES)
        titled, described = marked(title, details.terms), marked_report(text, details)
        for hit, framed, lines in details.lines:
            # those of frames are of the report's version
            named = [
                reason.lines
                for reason in hit.why
                if reason.lines is not None and reason.kind != "frame"
            ]
            sources[hit.path] = excerpts(
                lines, details.terms, hit.functions, framed, named, hit.path
            )

    def editor_link(
        path: str, line: int
    ) -> str | None:  # None where there is no such file, as in a bare repository
        file = Path(answer.repository or "", path)
        if not editor or not file.is_file():
            return None
        return editor.replace("{path}", file.as_uri().removeprefix("file://")).replace(
            "{line}", str(line)
        )

    return Markup(
        _environment()
        .get_template("answer.html")
        .render(
            answer=answer,
            title=titled,
            description=described,
            sources=sources,
            pages=pages,
            project=project_of(localizer),
            editor_link=editor_link,
        )
    )


def page_of(
    report: BugReport,
    number: int,
    repository: Path,
    checkpoint: Path | None,
    ask: Ask,
    editor: str,
    progress: Progress,
) -> tuple[str, Markup]:
    """Return a report's name and what the page shows of its answer, in a session's process.

    Raises as ``Localizer.localize`` does.
    """
    if report.id == "report":  # pasted text has no name of its own
        report = replace(report, id=pasted_id(number))
    localizer = opened(repository, checkpoint)
    answer = localizer.localize(
        report, commit=ask.commit or None, tests=ask.tests or None, progress=progress
    )
    return name_of(report), answered(answer, localizer, editor)


def pasted_id(number: int) -> str:
    """Return what a pasted report is called that says no name of its own."""
    return f"report {number}"


def warm(repository: Path, checkpoint: Path | None, commit: str, progress: Progress) -> None:
    """There, too: make a version, or with "" the files on disk, ready. Raises as ``Localizer.open`` does."""
    opened(repository, checkpoint).version(commit or None, progress)


def name_of(report: BugReport) -> str:
    """What a report is called in lists."""
    return truncate_text(f"{report.id}: {report.summary or report.description}", LONGEST_LINE)


def project_of(localizer: Localizer | None) -> str:
    """A repository's name on the web, else its folder's: where it lies is nobody's business who is sent the page."""
    if localizer is None or (repository := localizer.repository) is None:
        return ""
    if (pages := WebPages.of(repository.remote_url())) is not None:
        return pages.project.split("/", 3)[-1]
    path = repository.path
    return (path.parent.name if path.name == ".git" else path.name).removesuffix(".git")


def policy(more: str) -> str:
    """Content-Security-Policy of a page: its own style and script, and no others; ``more`` is what else it may do."""
    digests = (hashlib.sha256(_part(name).encode()).digest() for name in ("page.css", "page.js"))
    style, script = (base64.b64encode(digest).decode() for digest in digests)
    own = f"style-src 'sha256-{style}'; script-src 'sha256-{script}'"
    return f"default-src 'none'; {own}; base-uri 'none'; {more}"


def _part(name: str) -> Markup:
    return Markup((_TEMPLATES / name).read_text(encoding="utf-8"))


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "style": _part("page.css"),
        "script": _part("page.js"),
        "version": tosloc.__version__,
    }
    environment.filters.update(
        shown=shown, percent=percent, number="{:,}".format, background=background_lines
    )
    return environment


def shown(text: str) -> str:
    r"""Text that is safe in a page, by line: control characters, and those that turn the writing, become escapes.

    >>> shown("a\r\nb\tc\u202ed")
    'a\nb   c\\u202ed'
    """
    return "\n".join(
        escape_unprintable(line.rstrip("\r").expandtabs(4)) for line in text.split("\n")
    )
