"""Render the text of the page. The template escapes everything from reports, paths and files."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

import tosloc
from tosloc.core.answers import Hit
from tosloc.core.io import escape_code_line, truncate_text
from tosloc.core.progress import Progress
from tosloc.core.reports import BugReport
from tosloc.git.discovery import WebPages
from tosloc.localize.answer import (
    Answer,
    is_before_first_commit,
    percent,
)
from tosloc.localize.localizer import Localizer
from tosloc.localize.question import Question
from tosloc.localize.session import AnswerDetails, open_localizer
from tosloc.web.excerpts import (
    MAX_LINE_CHARACTERS,
    MAX_REPORT_CHARACTERS,
    Excerpt,
    Piece,
    file_excerpts,
    mark_report,
    mark_words,
)

COMMIT_CHARACTERS: Final = 10
"""Number of characters of a commit's id in the sentences of an answer."""
FILES_WITH_LINES: Final = 5
"""Number of files, from the first, whose lines the page shows."""
_COMMIT: Final = re.compile(r"\b(?=[0-9]*[a-f])[0-9a-f]{7,40}\b")
_TEMPLATES: Final = Path(__file__).with_name("templates")


@dataclass(frozen=True, slots=True)
class FormState:
    """The values in the form on a served page."""

    text: str = ""
    """Text of the report."""
    commit: str = ""
    """The version to search; "" for the files on disk."""
    tests: bool = False
    """Whether test files may be listed."""
    good: str = ""
    """Revisions that work, separated by blanks; "" for the revisions that the report states."""
    bad: str = ""
    """Revision that fails; "" for the revisions that the report states."""
    error: str = ""
    """Why the last question has no answer; "" if there was no error."""


@dataclass
class AnswerCard:
    """One question on the page, with its answer, or with the progress of the answer."""

    number: int
    name: str
    """Name of the report."""
    html: Markup | None = None
    """The answer as HTML; None until there is one."""
    error: str = ""
    """Why there will be no answer; "" if there was no error."""
    status: str = "Waiting for earlier questions."
    """A sentence about the progress of the answer."""
    form: FormState = FormState()
    """The values in the form when the question was asked."""

    @property
    def state(self) -> str:
        """State of the question: ``done``, ``failed`` or ``waiting``."""
        if self.html:
            return "done"
        return "failed" if self.error else "waiting"


def answers_page(answers: Iterable[Answer], localizer: Localizer | None = None) -> str:
    """Return a page of answers that needs no other file and no network.

    Equal answers give equal text.
    """
    cards = []
    for number, answer in enumerate(answers, start=1):
        html = render_answer(answer, localizer)
        cards.append(AnswerCard(number, report_name(answer.report), html))
    return render_page(cards, project_name(localizer), number=1 if len(cards) == 1 else 0)


def render_page(
    cards: Sequence[AnswerCard], project: str, form: FormState | None = None, number: int = 0
) -> str:
    """Return the page at the address of a question, or with number 0 the page of all questions.

    The server gives a ``form``. The page of a question shows that question above all earlier
    questions. If the question has failed, only the form's ``error`` says why.
    """
    heading = f"Where is the bug in {project}?" if project else "Where is the bug?"
    title = heading
    for card in cards:
        if card.number == number:
            title = f"{card.name[:120]} – TosLoc"
    # The server sends the policy of its pages as a header.
    policy = "" if form else content_security_policy("form-action 'none'")
    template = _environment().get_template("page.html")
    return template.render(
        cards=_cards_at(cards, number),
        all_cards=cards,
        number=number,
        form=form,
        policy=policy,
        heading=heading,
        title=title,
    )


def _cards_at(cards: Sequence[AnswerCard], number: int) -> list[AnswerCard]:
    """Return the cards on the page of question ``number``; page 0 shows all of them."""
    if not number:
        return list(cards)
    shown_cards = []
    for card in cards:
        is_asked = card.number == number and card.state != "failed"
        if is_asked or card.number < number:
            shown_cards.append(card)
    return shown_cards


def render_answer(answer: Answer, localizer: Localizer | None = None, editor: str = "") -> Markup:
    """Return one answer as HTML, with lines of its first files if a localizer can read them.

    ``editor`` is an address with ``{path}`` and ``{line}``. With ``editor``, the files of a work
    tree become links that open the editor. The HTML then contains paths of this machine.
    """
    before_first_commit = is_before_first_commit(answer.commit)
    title = truncate_text(answer.report.summary, MAX_LINE_CHARACTERS)
    description = truncate_text(answer.report.description, MAX_REPORT_CHARACTERS)
    title_pieces = [Piece(title)]
    description_pieces = [Piece(description)]
    web_pages = None
    excerpts_by_path: dict[str, list[Excerpt]] = {}
    if localizer is not None and (repository := localizer.repository) is not None:
        if not before_first_commit:
            web_pages = WebPages.of(repository.remote_url())
        details = AnswerDetails.of(localizer, answer, FILES_WITH_LINES)
        title_pieces = mark_words(title, details.terms)
        description_pieces = mark_report(description, details)
        excerpts_by_path = _excerpts_by_path(details)

    def editor_link(path: str, line: int) -> str | None:
        """Return the address that opens a file in the editor; None if it is not in a work tree."""
        file = Path(answer.repository or "", path)
        if not editor or not file.is_file():
            return None
        quoted_path = file.as_uri().removeprefix("file://")
        return editor.replace("{path}", quoted_path).replace("{line}", str(line))

    html = (
        _environment()
        .get_template("answer.html")
        .render(
            answer=answer,
            before_first_commit=before_first_commit,
            title=title_pieces,
            description=description_pieces,
            excerpts_by_path=excerpts_by_path,
            pages=web_pages,
            project=project_name(localizer),
            editor_link=editor_link,
        )
    )
    return Markup(html)


def split_at_commits(
    text: str, pages: WebPages | None, commit: str | None = None, url: str | None = None
) -> list[tuple[str, str]]:
    """Split a text into pieces, each with the address of the commit that it names, or "".

    An id of ten characters counts as a commit, because answers write ids so. Other ids, which come
    from a report, count only if they are the given ``commit``, whose address is ``url``.

    >>> pages = WebPages.of("https://github.com/ada/toy")
    >>> split_at_commits("in c0ffee1234 of 2020010203", pages)[1:]
    [('c0ffee1234', 'https://github.com/ada/toy/commit/c0ffee1234'), (' of 2020010203', '')]
    """
    pieces = []
    end = 0
    for match in _COMMIT.finditer(text):
        address = None
        if commit and commit.startswith(match[0]):
            address = url
        elif pages is not None and len(match[0]) == COMMIT_CHARACTERS:
            address = pages.commit(match[0])
        if address:
            pieces += [(text[end : match.start()], ""), (match[0], address)]
            end = match.end()
    return [*pieces, (text[end:], "")]


def _excerpts_by_path(details: AnswerDetails) -> dict[str, list[Excerpt]]:
    """Return path -> excerpts, for the first files of an answer."""
    excerpts_by_path = {}
    for hit, framed, lines in details.lines:
        # Lines of stack frames belong to the report's version, which may be another one.
        spans = [
            reason.lines
            for reason in hit.reasons
            if reason.lines is not None and reason.kind != "frame"
        ]
        excerpts_by_path[hit.path] = file_excerpts(
            lines, details.terms, hit.functions, framed, spans, hit.path, _chosen_lines(hit)
        )
    return excerpts_by_path


def _chosen_lines(hit: Hit) -> list[int]:
    """Return the line numbers of the code in the answer, ordered by rank of the functions."""
    lines = [code.line for code in hit.code]
    by_function = [
        line
        for function in hit.functions
        for line in lines
        if function.start <= line <= function.end
    ]
    return list(dict.fromkeys([*by_function, *lines]))


def localize_and_render(
    question: Question,
    number: int,
    repository: Path,
    checkpoint: Path | None,
    editor: str,
    progress: Progress,
) -> tuple[str, Markup]:
    """Answer a question in a session's process; return the report's name and the answer as HTML.

    Raises the errors of ``Localizer.answer``.
    """
    localizer = open_localizer(repository, checkpoint)
    answer = localizer.answer(question, progress)
    if answer.report.id == "report":  # Pasted text has no id of its own.
        report = replace(answer.report, id=pasted_report_id(number))
        answer = replace(answer, report=report)
    return report_name(answer.report), render_answer(answer, localizer, editor)


def pasted_report_id(number: int) -> str:
    """Return the id of a report that the user pasted without an id."""
    return f"report {number}"


def prepare_version(
    repository: Path, checkpoint: Path | None, commit: str, progress: Progress
) -> None:
    """Index a version, or the files on disk for "", in a session's process.

    Raises the errors of ``Localizer.open``.
    """
    open_localizer(repository, checkpoint).prepare(commit or None, progress)


def report_name(report: BugReport) -> str:
    """Return the name of a report in lists: its id and its first words."""
    return truncate_text(
        f"{report.id}: {report.summary or report.description}", MAX_LINE_CHARACTERS
    )


def project_name(localizer: Localizer | None) -> str:
    """Return a repository's name on the web, or its folder's name; "" without a repository.

    The path of the folder is left out, because the page may be sent to people who should not see
    it.
    """
    if localizer is None or (repository := localizer.repository) is None:
        return ""
    if (web_pages := WebPages.of(repository.remote_url())) is not None:
        return web_pages.project.split("/", 3)[-1]
    path = repository.path
    folder_name = path.parent.name if path.name == ".git" else path.name
    return folder_name.removesuffix(".git")


def content_security_policy(more: str) -> str:
    """Return the Content-Security-Policy that allows only the page's own style and script.

    ``more`` contains further directives.
    """
    style = f"style-src 'sha256-{_digest('page.css')}'"
    script = f"script-src 'sha256-{_digest('page.js')}'"
    return f"default-src 'none'; {style}; {script}; base-uri 'none'; {more}"


def _digest(file_name: str) -> str:
    """Return the SHA-256 digest of a template file, in the form of a Content-Security-Policy."""
    digest = hashlib.sha256(_read_template(file_name).encode()).digest()
    return base64.b64encode(digest).decode()


def _read_template(file_name: str) -> Markup:
    """Return the text of a template file, marked as safe, so that Jinja does not escape it."""
    return Markup((_TEMPLATES / file_name).read_text(encoding="utf-8"))


@cache
def _environment() -> Environment:
    """Return the environment of the templates."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["style"] = _read_template("page.css")
    environment.globals["script"] = _read_template("page.js")
    environment.globals["version"] = tosloc.__version__
    environment.filters["escape_control_chars"] = escape_control_chars
    environment.filters["percent"] = percent
    environment.filters["number"] = "{:,}".format
    environment.filters["commits"] = split_at_commits
    return environment


def escape_control_chars(text: str) -> str:
    r"""Escape control characters and characters that change the writing direction, line by line.

    >>> escape_control_chars("a\r\nb\tc\u202ed")
    'a\nb   c\\u202ed'
    """
    lines = text.split("\n")
    return "\n".join(escape_code_line(line.rstrip("\r")) for line in lines)
