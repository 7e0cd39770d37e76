"""The page, asked and answered on this machine alone: loopback, under its own names, by its own form."""

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
from tosloc.core.records import BugReport
from tosloc.localize.session import Session
from tosloc.web.excerpts import LONGEST_LINE
from tosloc.web.render import Article, Ask, name_of, page_of, pasted_id, policy, rendered, warm

HOST: Final = "127.0.0.1"
"""The only address that is listened at."""
MOST_BYTES: Final = 2_000_000
"""Of what is sent."""
KEPT: Final = 12
"""Questions with their answers; of more the oldest are forgotten."""
_OWN_NAMES: Final = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?", re.I)
_ADDRESS: Final = re.compile(r"https?://\S+")
_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # not no-referrer: with that a browser calls the page's own form a stranger's (Origin: null)
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Content-Security-Policy": policy(
        "connect-src 'self'; form-action 'self'; frame-ancestors 'none'"
    ),
}


class QuestionNumber(IntegerConvertor):
    """A question's number in an address: as many digits as questions can ever need."""

    regex = "[0-9]{1,9}"


register_url_convertor("question", QuestionNumber())


@dataclass
class Questions:
    """What is asked of a repository while the server runs, by a thread."""

    repository: Path
    checkpoint: Path | None = None
    editor: str = ""
    """That of ``answered``."""
    commit: str = ""
    """The version that is asked for unless another is."""
    project: str = ""
    """What the repository is called."""
    session: Session = field(default_factory=Session)
    asked: dict[int, Article] = field(default_factory=dict)
    """By their numbers."""
    last: int = 0

    def warm(self) -> None:
        """Make the version ready before anything is asked of it; what is wrong with it is said to who asks."""

        def progress(what: str, done: int, total: int) -> None:
            for article in list(self.asked.values()):  # asked by another thread, meanwhile
                article.said = f"{what}, {done:,} of {total:,}"

        place = self.repository, self.checkpoint, self.commit
        self.session.ask(warm, *place, progress=progress, stopped=lambda: False)

    def ask(self, asked: Ask) -> int:
        """Return the number of a new question. Raises ToslocError if too many wait."""
        if len(self.asked) >= KEPT:
            answered = [
                number for number, article in self.asked.items() if article.state != "waiting"
            ]
            if not answered:
                raise ToslocError(f"{KEPT} questions wait already; ask again when one is answered")
            del self.asked[answered[0]]
        self.last = number = self.last + 1
        # the report is read later, by another process: until then its first line stands for it
        first_line = asked.text.strip()[:LONGEST_LINE].partition("\n")[0]
        name = name_of(BugReport(pasted_id(number), first_line, "", None))
        article = self.asked[number] = Article(number, name, asked=asked)

        def progress(what: str, done: int, total: int) -> None:
            article.said = f"{what}, {done:,} of {total:,}"

        def end(answer: Future[tuple[str, Markup]]) -> None:
            if answer.cancelled() or isinstance(error := answer.exception(), Interrupted):
                return  # it was taken away, or the server ends
            if error is None:
                article.name, article.html = answer.result()
            elif (sentence := user_sentence(error, ToslocError.without_arguments)) is not None:
                article.error = sentence.removeprefix(f"{self.repository}: ")
            else:
                traceback.print_exception(error)
                article.error = "an error of the program; its terminal says more"

        question = number, self.repository, self.checkpoint, asked, self.editor
        future = self.session.ask_about(
            asked.text,
            page_of,
            *question,
            progress=progress,
            stopped=lambda: number not in self.asked,
        )
        future.add_done_callback(end)
        return number


def application(questions: Questions, secret: str) -> Starlette:
    """The page and its questions below ``/SECRET/``, for any server that speaks ASGI."""
    empty = Ask(commit=questions.commit)

    def shown(ask: Ask, status: int = 200, number: int = 0) -> Response:
        return HTMLResponse(
            rendered([*questions.asked.values()][::-1], questions.project, ask, number), status
        )

    async def start(request: Request) -> Response:
        return shown(empty)

    async def ask(request: Request) -> Response:
        body = await request.body()
        fields = dict(parse_qsl(body.decode("utf-8", "replace"), errors="replace"))
        text = fields.get("text", "")
        asked = Ask(text, fields.get("commit", "").strip() or questions.commit, "tests" in fields)
        try:
            if _ADDRESS.fullmatch(text.strip()):
                raise ReportError(
                    "this is an address, and nothing is asked of the web; give the issue's text or JSON"
                )
            number = questions.ask(asked)
        except ToslocError as error:
            return shown(replace(asked, error=str(error)), 422)
        return RedirectResponse(f"questions/{number}", 303)

    async def question(request: Request) -> Response:
        if (found := questions.asked.get(request.path_params["number"])) is None:
            return shown(
                replace(empty, error="this question is not kept any more; ask it again"),
                404,
                questions.last + 1,
            )
        return shown(
            replace(found.asked, error=found.error), 422 if found.error else 200, found.number
        )

    async def forget(request: Request) -> Response:
        questions.asked.pop(request.path_params["number"], None)  # which ends it, too
        return RedirectResponse("../../", 303)

    async def guarded(request: Request, answer: RequestResponseEndpoint) -> Response:
        why = _why_not(request, secret)
        response = await answer(request) if why is None else PlainTextResponse(f"{why}\n", 403)
        response.headers.update(_HEADERS)
        return response

    routes = [
        Route("/", start),
        Route(
            "/questions", start
        ),  # where the address of what could not be asked is gone to once more
        Route("/questions", ask, methods=["POST"], max_body_size=MOST_BYTES),
        Route("/questions/{number:question}", question),
        Route("/questions/{number:question}/forget", forget, methods=["POST"]),
    ]
    app = Starlette(routes=[Mount(f"/{secret}", routes=routes)])
    app.add_exception_handler(ClientDisconnect, lambda request, error: Response())
    app.add_middleware(BaseHTTPMiddleware, dispatch=guarded)
    return app


def _why_not(request: Request, secret: str) -> str | None:
    """Why a request is refused; None for who knows the secret, asking of their own accord by this machine's own names.

    A page of another site may send a browser here, also by a name of its own that it lets mean this machine (DNS
    rebinding): the Host header says that name. What changes anything has to come from this page, as Origin says. Others
    with an account on this machine can reach the port, and lack the secret, with which every path begins. It is in no
    cookie, which a browser would send to every port of this machine.
    """
    host, origin = request.headers.get("host", ""), request.headers.get("origin")
    if not _OWN_NAMES.fullmatch(host):
        return "this page is asked as http://127.0.0.1 or http://localhost, with its port, and by no other name"
    if origin != f"http://{host}" and (origin is not None or request.method not in ("GET", "HEAD")):
        return "this comes from another page; ask by the form of this one"
    first = (
        request.scope["path"].removeprefix("/").partition("/")[0]
    )  # it may also be for "*", or for nothing
    if not secrets.compare_digest(first.encode(), secret.encode()):
        return "this address lacks the secret of the page; open the whole address that tosloc serve has printed"
    return None


def listening(port: int) -> socket.socket:
    """A socket of the loopback; port 0 is any that is free. Raises ToslocError when it cannot be had."""
    try:
        return socket.create_server((HOST, port))
    except OSError as error:
        why = (
            "is already in use"
            if error.errno == errno.EADDRINUSE
            else f"cannot be opened ({error.strerror})"
        )
        hint = "choose another with {port}, or 0 for any free port"
        raise ToslocError(f"port {port} {why}", hint=hint) from error


def serve(questions: Questions, place: socket.socket) -> None:
    """Print the page's address, and answer there until Ctrl-C or SIGTERM. In the main thread."""
    secret = secrets.token_urlsafe(16)
    server = uvicorn.Server(settings(application(questions, secret)))
    for number in (
        signal.SIGINT,
        signal.SIGTERM,
    ):  # uvicorn, once it has ended, raises the signal again
        signal.signal(number, lambda *_: setattr(server, "should_exit", True))
    with closing(questions.session):
        questions.warm()
        print(f"http://{HOST}:{place.getsockname()[1]}/{secret}/ (Ctrl-C ends it)", flush=True)
        server.run(sockets=[place])


def settings(app: Starlette) -> uvicorn.Config:
    """How uvicorn serves it, without a word."""
    return uvicorn.Config(
        app, lifespan="off", log_level="error", server_header=False, timeout_graceful_shutdown=2
    )
