"""Serve the page to programs on this machine, by its own addresses, and only to its own form."""

from __future__ import annotations

import errno
import re
import secrets
import signal
import socket
import traceback
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl

import uvicorn
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route

from tosloc.core.errors import Interrupted, ReportError, ToslocError, user_sentence
from tosloc.core.reports import BugReport
from tosloc.git.discovery import check_inside_roots, find_git_directories
from tosloc.localize.localizer import Localizer
from tosloc.localize.question import Question
from tosloc.localize.session import Session
from tosloc.web.connections import MAX_CONNECTIONS, LimitedConnection
from tosloc.web.excerpts import MAX_LINE_CHARACTERS
from tosloc.web.render import (
    AnswerCard,
    FormState,
    content_security_policy,
    localize_and_render,
    pasted_report_id,
    prepare_version,
    project_name,
    render_page,
    report_name,
)

HOST: Final = "127.0.0.1"
"""The only address that the server listens at."""
MAX_REQUEST_BYTES: Final = 2_000_000
"""Largest body of a request, in bytes."""
MAX_QUESTIONS: Final = 12
"""Largest number of questions that are kept with their answers.

A new question replaces the oldest answered question.
"""
_OWN_NAMES: Final = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?", re.I)
_ADDRESS: Final = re.compile(r"https?://\S+")
_HEADING_MARKS: Final = re.compile(r"\A#{1,6}[ \t]+")
_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # With no-referrer a browser would send "Origin: null" for the page's own form.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Content-Security-Policy": content_security_policy(
        "connect-src 'self'; form-action 'self'; frame-ancestors 'none'"
    ),
}


class QuestionNumber(IntegerConvertor):
    """Converter for the number of a question in an address: at most nine digits."""

    regex = "[0-9]{1,9}"


register_url_convertor("question", QuestionNumber())


@dataclass
class Questions:
    """The questions about a repository while the server runs, and the session that answers them."""

    repository: Path
    checkpoint: Path | None = None
    editor: str = ""
    """Address of an editor, see ``render_answer``."""
    commit: str = ""
    """The version to search if a question names none; "" for the files on disk."""
    project: str = ""
    """The name of the repository on the page."""
    session: Session = field(default_factory=Session)
    cards: dict[int, AnswerCard] = field(default_factory=dict)
    """Number of a question -> its card, the oldest first."""
    last: int = 0
    """Number of the newest question; 0 before the first."""

    def prepare(self) -> None:
        """Index the default version before the first question.

        A failure is not reported here: the first question fails in the same way.
        """

        def progress(what: str, done: int, total: int) -> None:
            # A copy, because another thread may add questions meanwhile.
            for card in list(self.cards.values()):
                card.status = _progress_text(what, done, total)

        self.session.ask(
            prepare_version,
            self.repository,
            self.checkpoint,
            self.commit,
            progress=progress,
            stopped=lambda: False,
        )

    def ask(self, form: FormState) -> int:
        """Queue a question and return its number. Raises ToslocError if too many are waiting."""
        question = Question(
            form.text,
            commit=form.commit or None,
            tests=form.tests or None,
            good=form.good.split(),
            bad=form.bad or None,
        )
        self._make_room()
        self.last += 1
        number = self.last
        # Another process reads the report later. Until then its first line is its name.
        first_line = form.text.strip()[:MAX_LINE_CHARACTERS].partition("\n")[0]
        summary = _HEADING_MARKS.sub("", first_line)
        name = report_name(BugReport(pasted_report_id(number), summary, "", None))
        card = AnswerCard(number, name, form=form)
        self.cards[number] = card

        def progress(what: str, done: int, total: int) -> None:
            card.status = _progress_text(what, done, total)

        def finish(answer: Future[tuple[str, Markup]]) -> None:
            self._finish(card, answer)

        future = self.session.ask_about(
            question,
            localize_and_render,
            number,
            self.repository,
            self.checkpoint,
            self.editor,
            progress=progress,
            stopped=lambda: number not in self.cards,
        )
        future.add_done_callback(finish)
        return number

    def _make_room(self) -> None:
        """Remove the oldest answered question if there are too many questions."""
        if len(self.cards) < MAX_QUESTIONS:
            return
        for number, card in self.cards.items():
            if card.state != "waiting":
                del self.cards[number]
                return
        raise ToslocError(
            f"{MAX_QUESTIONS} questions are waiting already; ask again when one is answered"
        )

    def _finish(self, card: AnswerCard, answer: Future[tuple[str, Markup]]) -> None:
        """Write an answer, or the reason why there is none, into its card."""
        if answer.cancelled():
            return
        error = answer.exception()
        if error is None:
            card.name, card.html = answer.result()
            return
        if isinstance(error, Interrupted):  # The question was removed, or the server ends.
            return
        sentence = user_sentence(error, ToslocError.without_arguments)
        if sentence is None:
            traceback.print_exception(error)
            card.error = "an internal error occurred; see the terminal in which tosloc serve runs"
        else:
            card.error = sentence.removeprefix(f"{self.repository}: ")


def _progress_text(what: str, done: int, total: int) -> str:
    """Return a sentence about the progress of a step."""
    return f"{what}, {done:,} of {total:,}"


def application(questions: Questions, secret: str) -> Starlette:
    """Return the application that serves the page, with its questions, below ``/SECRET/``."""
    empty_form = FormState(commit=questions.commit)

    def page(form: FormState, status: int = 200, number: int = 0) -> Response:
        newest_first = list(reversed(questions.cards.values()))
        return HTMLResponse(render_page(newest_first, questions.project, form, number), status)

    async def show_start(request: Request) -> Response:
        return page(empty_form)

    async def ask(request: Request) -> Response:
        body = await request.body()
        fields = dict(parse_qsl(body.decode("utf-8", "replace"), errors="replace"))
        text = fields.get("text", "")
        commit = fields.get("commit", "").strip() or questions.commit
        good = fields.get("good", "").strip()
        bad = fields.get("bad", "").strip()
        form = FormState(text, commit, "tests" in fields, good, bad)
        try:
            if not text.strip():
                raise ReportError("the form is empty; describe what goes wrong, or paste a report")
            if _ADDRESS.fullmatch(text.strip()):
                raise ReportError(
                    "this is an address, and TosLoc does not fetch anything from the web; paste"
                    " the issue's text or JSON"
                )
            number = questions.ask(form)
        except ToslocError as error:
            return page(replace(form, error=str(error)), 422)
        return RedirectResponse(f"questions/{number}", 303)

    async def show_question(request: Request) -> Response:
        card = questions.cards.get(request.path_params["number"])
        if card is None:
            form = replace(empty_form, error="this question is no longer available; ask it again")
            return page(form, 404, questions.last + 1)
        form = replace(card.form, error=card.error)
        return page(form, 422 if card.error else 200, card.number)

    async def forget(request: Request) -> Response:
        # A question that is no longer listed is also stopped.
        questions.cards.pop(request.path_params["number"], None)
        return RedirectResponse("../../", 303)

    async def guard(request: Request, respond: RequestResponseEndpoint) -> Response:
        reason = _refusal_reason(request, secret)
        if reason is None:
            response = await respond(request)
        else:
            response = PlainTextResponse(f"{reason}\n", 403)
        response.headers.update(_HEADERS)
        return response

    routes = [
        Route("/", show_start),
        # A browser reloads this address after a question that was refused.
        Route("/questions", show_start),
        Route("/questions", ask, methods=["POST"], max_body_size=MAX_REQUEST_BYTES),
        Route("/questions/{number:question}", show_question),
        Route("/questions/{number:question}/forget", forget, methods=["POST"]),
    ]
    app = Starlette(routes=[Mount(f"/{secret}", routes=routes)])
    app.add_exception_handler(ClientDisconnect, lambda request, error: Response())
    app.add_middleware(BaseHTTPMiddleware, dispatch=guard)
    return app


def _refusal_reason(request: Request, secret: str) -> str | None:
    """Return why a request is refused; None if it is allowed.

    - The Host header must be one of this machine's own names. A page of another site may send a
      browser here by a name of its own that resolves to this machine (DNS rebinding).
    - A request that changes something must come from this page, according to its Origin header.
    - The path must begin with the secret, which other accounts on this machine do not know although
      they can reach the port. It is not in a cookie, because a browser would send that to every
      port of this machine.
    """
    host = request.headers.get("host", "")
    if not _OWN_NAMES.fullmatch(host):
        return (
            "open this page at http://127.0.0.1 or http://localhost with its port; other host"
            " names are refused"
        )
    origin = request.headers.get("origin")
    only_reads = request.method in ("GET", "HEAD")
    is_from_here = origin == f"http://{host}" or (origin is None and only_reads)
    if not is_from_here:
        return "this request comes from another page; use the form of this page"
    # The path may also be "*", or empty.
    first_part = request.scope["path"].removeprefix("/").partition("/")[0]
    if not secrets.compare_digest(first_part.encode(), secret.encode()):
        return (
            "this address lacks the secret of the page; open the complete address that tosloc"
            " serve printed"
        )
    return None


def open_socket(port: int) -> socket.socket:
    """Return a listening socket at the loopback address; port 0 stands for any free port.

    Raises ToslocError if the port cannot be opened.
    """
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            problem = "is already in use"
        else:
            problem = f"cannot be opened ({error.strerror})"
        hint = "choose another with {port}, or 0 for any free port"
        raise ToslocError(f"port {port} {problem}", hint=hint) from error


def serve_repository(
    path: Path, port: int, checkpoint: Path | None = None, commit: str = "", editor: str = ""
) -> None:
    """Serve the page of a repository until Ctrl-C or SIGTERM.

    ``Questions`` and ``open_socket`` explain the arguments. Raises ToslocError if the port cannot
    be opened, the checkpoint cannot be read or the version is unknown.
    """
    with open_socket(port) as listener:
        with Localizer.open(path, checkpoint, ready=False) as localizer:
            repository = localizer.repository
            assert repository is not None
            git_directory = find_git_directories(repository.path)[0]
            check_inside_roots(repository.path, (repository.path, git_directory))
            # An unknown version is an error now, and not when the first question is asked.
            if commit:
                repository.resolve(commit)
            else:
                repository.revisions.checked_out()
            project = project_name(localizer)
        serve(Questions(repository.path, checkpoint, editor, commit, project), listener)


def serve(questions: Questions, listener: socket.socket) -> None:
    """Print the page's address and answer requests until Ctrl-C or SIGTERM.

    Call it in the main thread only, because it sets signal handlers.
    """
    secret = secrets.token_urlsafe(16)
    server = uvicorn.Server(uvicorn_config(application(questions, secret)))

    def stop(*_: object) -> None:
        server.should_exit = True

    # uvicorn restores these handlers when it ends, and raises the signal again for them.
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signal_number, stop)
    with closing(questions.session):
        questions.prepare()
        port = listener.getsockname()[1]
        print(f"http://{HOST}:{port}/{secret}/ (press Ctrl-C to stop)", flush=True)
        server.run(sockets=[listener])


def uvicorn_config(app: Starlette) -> uvicorn.Config:
    """Return a configuration of uvicorn that limits connections and logs errors only."""
    return uvicorn.Config(
        app,
        http=LimitedConnection,
        ws="none",
        lifespan="off",
        log_level="error",
        server_header=False,
        # So many connections are accepted at once, and each takes a file descriptor.
        backlog=MAX_CONNECTIONS,
        timeout_graceful_shutdown=2,
    )
