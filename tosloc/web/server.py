"""The page, asked and answered on this machine alone: loopback, under its own names, by its own form."""

from __future__ import annotations

import logging
import re
import secrets
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path
from types import FrameType
from typing import Any, Final
from urllib.parse import parse_qs

import uvicorn
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tosloc.errors import Interrupted, ReportError, ToslocError, counted
from tosloc.records import BugReport
from tosloc.reports.issues import read_report
from tosloc.session import Session
from tosloc.web.render import Article, Ask, page_of, served_page, served_policy, warm

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
}
_KNOWN: Final = (ToslocError, OSError, BrokenProcessPool)


@dataclass(eq=False)
class Question:
    """A report that was asked."""

    number: int
    name: str
    asked: Ask
    dropped: bool = False
    answer: Future[Markup] = field(init=False)

    def why(self) -> str:
        """Why there is no answer; "" where there is one."""
        error = self.answer.exception()
        if error is None or isinstance(error, Interrupted):
            return "was taken away" if error else ""
        return str(error) if isinstance(error, _KNOWN) else "an error of the program; its terminal says more"


class Questions:
    """What is asked of a repository while the server runs, by a thread; ``editor`` is that of a ``View``."""

    def __init__(self, repository: Path, checkpoint: Path | None = None, editor: str = "") -> None:
        self._opening, self._editor, self.session = (repository, checkpoint), editor, Session()
        self.asked: dict[str, Question] = {}
        """By their numbers."""
        self.last = 0
        self._said = "reading the report"

    def _ask(self, answer: Callable[..., Any], *question: Any, stopped: Callable[[], bool]) -> Future[Any]:
        def progress(what: str, done: int, total: int) -> None:  # of the question that is being answered
            self._said = f"{what}, {done:,} of {total:,}" if total else what

        def log(answer: Future[Any]) -> None:
            error = None if answer.cancelled() else answer.exception()
            if isinstance(error, Exception) and not isinstance(error, _KNOWN):
                logging.getLogger("tosloc").error("a question could not be answered", exc_info=error)

        future = self.session.ask(answer, self._opening, *question, progress=progress, stopped=stopped)
        future.add_done_callback(log)
        return future

    def warm(self, commit: str) -> None:
        """Make a version ready before anything is asked of it; what is wrong with it is said to who asks."""
        self._ask(warm, commit, stopped=lambda: False)

    def ask(self, asked: Ask, report: BugReport) -> int:
        """The number of a new question, ``report`` as the form has it. Raises ToslocError when too many wait."""
        done = [number for number, one in self.asked.items() if one.answer.done()]
        if len(self.asked) - len(done) >= KEPT:
            raise ToslocError(f"{KEPT} questions wait already; ask again when one is answered")
        for number in done[: max(0, len(self.asked) + 1 - KEPT)]:
            del self.asked[number]
        self.last += 1
        # pasted text has no name of its own
        named = replace(report, id=f"report {self.last}") if report.id == "report" else report
        question = Question(self.last, f"{named.id}: {named.summary or named.description[:100]}", asked)
        given = named, asked.commit, asked.tests, self._editor
        question.answer = self._ask(page_of, *given, stopped=lambda: question.dropped)
        self.asked[str(self.last)] = question
        return self.last

    def forget(self, number: str) -> None:
        """Take a question away, also one that is being answered."""
        if question := self.asked.pop(number, None):
            question.dropped = True

    def articles(self) -> Sequence[Article]:
        """What stands on the page for the questions, the newest first."""
        found, before = [], 0
        for one in self.asked.values():
            if not one.answer.done():
                said = f"waits for {counted(before, 'other question')}" if before else self._said
                found.append(Article(one.number, one.name, said=said))
                before += 1
            elif why := one.why().removeprefix(f"{self._opening[0]}: "):
                found.append(Article(one.number, one.name, said=why, failed=True))
            else:
                found.append(Article(one.number, one.name, one.answer.result()))
        return found[::-1]


def application(questions: Questions, secret: str, commit: str = "", project: str = "") -> Starlette:
    """The page and its questions below ``/SECRET/``, for any server that speaks ASGI."""

    def shown(ask: Ask, status: int = 200, number: int = 0) -> Response:
        articles = questions.articles()
        if failed := [one for one in articles if one.number == number and one.failed]:
            ask, status = replace(ask, error=failed[0].said), 422
        return HTMLResponse(served_page(articles, ask, project, number), status)

    async def start(request: Request) -> Response:
        return shown(Ask(commit=commit))

    async def ask(request: Request) -> Response:
        body = await _body(request)
        if body is None:
            error = f"more than {MOST_BYTES // 1_000_000} MB were sent; give the part that says what goes wrong"
            return shown(Ask(commit=commit, error=error), 413)
        fields = parse_qs(body.decode("utf-8", "replace"), errors="replace")
        version = fields.get("commit", [""])[0].strip()
        asked = Ask(fields.get("text", [""])[0], version or commit, "tests" in fields)
        try:
            number = questions.ask(asked, _report(asked.text))
        except ToslocError as error:
            return shown(replace(asked, error=str(error)), 422)
        return RedirectResponse(f"questions/{number}", 303)

    async def question(request: Request) -> Response:
        if (found := questions.asked.get(request.path_params["number"])) is None:
            gone = Ask(commit=commit, error="this question is not kept any more; ask it again")
            return shown(gone, 404, questions.last + 1)
        return shown(found.asked, number=found.number)

    async def forget(request: Request) -> Response:
        questions.forget(request.path_params["number"])
        return RedirectResponse("../../", 303)

    routes = [
        Route("/", start),
        Route("/questions", start),  # where the address of what could not be asked is gone to once more
        Route("/questions", ask, methods=["POST"]),
        Route("/questions/{number}", question),
        Route("/questions/{number}/forget", forget, methods=["POST"]),
    ]
    return Starlette(routes=[Mount(f"/{secret}", routes=routes)], middleware=[Middleware(only_from_here, secret)])


def only_from_here(app: ASGIApp, secret: str) -> ASGIApp:
    """Lets through who knows the secret, asking of their own accord under one of this machine's own names.

    A page of another site may send a browser here, also by a name of its own that it lets mean this machine (DNS
    rebinding): the Host header says that name. What changes anything has to come from this page, as Origin says. Others
    with an account on this machine can reach the port, and lack the secret, with which every path begins. It is in no
    cookie, which a browser would send to every port of this machine. Adds the headers, too.
    """

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update({**_HEADERS, "Content-Security-Policy": served_policy()})
            await send(message)

        if scope["type"] == "http":
            why = _why_not(scope["method"], scope["path"], Headers(scope=scope), secret)
            await (app if why is None else PlainTextResponse(f"{why}\n", 403))(scope, receive, with_headers)

    return guarded


def _why_not(method: str, path: str, headers: Headers, secret: str) -> str | None:
    """Why a request is refused; None if it is not."""
    hosts, origins = headers.getlist("host"), headers.getlist("origin")
    if len(hosts) != 1 or not _OWN_NAMES.fullmatch(hosts[0]):
        return "this page is asked as http://127.0.0.1 or http://localhost, with its port, and by no other name"
    if (method not in ("GET", "HEAD") or origins) and origins != [f"http://{hosts[0]}"]:
        return "this comes from another page; ask by the form of this one"
    first = path.removeprefix("/").partition("/")[0]  # a request may also be for "*", or for nothing
    if not secrets.compare_digest(first.encode(), secret.encode()):
        return "this address lacks the secret of the page; open the whole address that tosloc serve has printed"
    return None


async def _body(request: Request) -> bytes | None:
    """What was sent; None if it is too much, of which no more is read, or was broken off."""
    body = bytearray()
    with suppress(ClientDisconnect):
        async for part in request.stream():
            body += part
            if len(body) > MOST_BYTES:
                return None
        return bytes(body)
    return None


def _report(text: str) -> BugReport:
    """The report that a text holds. Raises ReportError."""
    if _ADDRESS.fullmatch(text.strip()):
        raise ReportError("this is an address, and nothing is asked of the web; give the issue's text, or its JSON")
    source = StringIO(text)
    source.name = "the report"
    return read_report(source)


@contextmanager
def listening(port: int) -> Iterator[socket.socket]:
    """A socket of the loopback; port 0 is any that is free. Raises ToslocError when it cannot be had."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind((HOST, port))
            one.listen(64)
        except OSError as error:
            why = f"cannot be had ({error.strerror}); name another by --port, or 0 for any that is free"
            raise ToslocError(f"port {port} of {HOST} {why}") from error
        yield one


def serve(questions: Questions, place: socket.socket, commit: str, project: str) -> None:
    """Print the page's address, and answer there until Ctrl-C or SIGTERM. In the main thread."""
    secret = secrets.token_urlsafe(16)
    server = uvicorn.Server(settings(application(questions, secret, commit, project)))

    def end(number: int, frame: FrameType | None) -> None:
        server.should_exit = True

    # a signal is the way to end the server, and no interruption; uvicorn, once it has ended, raises it again
    answers = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        questions.warm(commit)
        print(f"http://{HOST}:{place.getsockname()[1]}/{secret}/ (Ctrl-C ends it)", flush=True)
        server.run(sockets=[place])
    finally:
        questions.session.close()
        for number, answer in answers.items():
            signal.signal(number, answer)


def settings(app: ASGIApp) -> uvicorn.Config:
    """How uvicorn serves it, without a word."""
    return uvicorn.Config(app, lifespan="off", log_level="error", server_header=False, timeout_graceful_shutdown=2)
