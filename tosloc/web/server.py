"""The page, asked and answered on this machine alone: loopback, under its own names, by its own form."""

from __future__ import annotations

import asyncio
import errno
import re
import secrets
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from io import StringIO
from types import FrameType
from typing import Final
from urllib.parse import parse_qs

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from tosloc.errors import ReportError, ToslocError
from tosloc.records import BugReport
from tosloc.reports.issues import read_report
from tosloc.web.questions import Questions
from tosloc.web.render import Ask, served_page, served_policy

HOST: Final = "127.0.0.1"
"""The only address that is listened at."""
MOST_BYTES: Final = 2_000_000
"""Of what is sent."""
LONGEST_PATH: Final = 200
"""Letters of what a request names: the secret, and a question by its number."""
PATIENCE: Final = 10.0
"""Seconds for a connection to send a request and take its answer; there are as many connections as are let in."""
_OWN_NAMES: Final = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?", re.I)
_ADDRESS: Final = re.compile(r"https?://\S+")
_FORM: Final = "application/x-www-form-urlencoded"
_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # not no-referrer: with that a browser calls the page's own form a stranger's (Origin: null)
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}


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
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _FORM:
            return _refused("a question is sent by the page's own form", 415)
        try:
            body = await _body(request)
        except ClientDisconnect:
            return _refused("the form has broken off", 400)
        if body is None:
            error = f"more than {MOST_BYTES // 1_000_000} MB were sent; give the part that says what goes wrong"
            return shown(Ask(commit=commit, error=error), 413)
        asked = _asked(body, commit)
        try:
            number = questions.ask(asked, _report(asked.text))
        except ToslocError as error:
            return shown(replace(asked, error=str(error)), 422)
        return RedirectResponse(f"questions/{number}", 303)

    async def question(request: Request) -> Response:
        number = request.path_params["number"]
        if (asked := questions.asked(number)) is None:
            return shown(Ask(commit=commit, error="this question is not kept any more; ask it again"), 404, number)
        return shown(asked, number=number)

    async def forget(request: Request) -> Response:
        questions.forget(request.path_params["number"])
        return RedirectResponse("../../", 303)

    routes = [
        Route("/", start),
        Route("/questions", start),  # where the address of what could not be asked is gone to once more
        Route("/questions", ask, methods=["POST"]),
        Route("/questions/{number:int}", question),
        Route("/questions/{number:int}/forget", forget, methods=["POST"]),
    ]
    return Starlette(routes=[Mount(f"/{secret}", routes=routes)], middleware=[Middleware(OnlyFromHere, secret)])


class OnlyFromHere:
    """Lets through who knows the secret, asking of their own accord under one of this machine's own names.

    A page of another site may send a browser here, also by a name of its own that it lets mean this machine (DNS
    rebinding): the Host header says that name. What changes anything has to come from this page, as Origin says. Others
    with an account on this machine can reach the port, and lack the secret, with which every path begins. It is in no
    cookie, which a browser would send to every port of this machine. Adds the headers, too.
    """

    def __init__(self, app: ASGIApp, secret: str) -> None:
        self.app, self.secret = app, secret.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse in a sentence."""
        if scope["type"] != "http":
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update({**_HEADERS, "Content-Security-Policy": served_policy()})
            await send(message)

        why = _why_not(scope["method"], Headers(scope=scope))
        first = scope["path"].removeprefix("/").partition("/")[0]  # a request may also be for "*", or for nothing
        if why is None and not secrets.compare_digest(first.encode(), self.secret):
            why = "this address lacks the secret of the page; open the whole address that tosloc serve has printed"
        answer = self.app if why is None else _refused(why, 403)
        if why is None and len(scope["path"]) > LONGEST_PATH:  # a number of 5,000 digits, say, which Python refuses
            answer = _refused("the page has no address of that length", 400)
        await answer(scope, receive, with_headers)


def _why_not(method: str, headers: Headers) -> str | None:
    """Why a request is refused; None if it is not."""
    hosts, origins = headers.getlist("host"), headers.getlist("origin")
    if len(hosts) != 1 or not _OWN_NAMES.fullmatch(hosts[0]):
        return "this page is asked as http://127.0.0.1 or http://localhost, with its port, and by no other name"
    if method in ("GET", "HEAD") and not origins:
        return None
    if origins != [f"http://{hosts[0]}"]:
        return "this comes from another page; ask by the form of this one"
    return None


def _refused(why: str, status: int) -> Response:
    return PlainTextResponse(f"{why}\n", status)


async def _body(request: Request) -> bytes | None:
    """What was sent; None if it is too much, of which no more is read."""
    given = request.headers.get("content-length", "0")
    if not given.isdecimal() or int(given[:20]) > MOST_BYTES:
        return None
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            return None
    return bytes(body)


def _asked(body: bytes, commit: str) -> Ask:
    """The fields of the form; what is not there is as in an empty one."""
    try:
        fields = parse_qs(body.decode("utf-8", "replace"), errors="replace", max_num_fields=10)
    except ValueError:  # more fields
        return Ask(commit=commit)
    version = fields.get("commit", [""])[0].strip()
    return Ask(fields.get("text", [""])[0], version or commit, "tests" in fields)


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
            why = {
                errno.EADDRINUSE: "is in use; name another by --port, or 0 for any that is free",
                errno.EACCES: "is not for everybody; name one from 1024 on by --port",
            }.get(error.errno or 0, f"cannot be had: {error.strerror or error}")
            raise ToslocError(f"port {port} of {HOST} {why}") from error
        yield one


def serve(questions: Questions, place: socket.socket, commit: str, project: str, begun: Callable[[str], None]) -> None:
    """Answer at a socket until Ctrl-C or SIGTERM; ``begun`` gets the page's address. In the main thread."""
    secret = secrets.token_urlsafe(16)
    server = uvicorn.Server(settings(application(questions, secret, commit, project)))

    def end(number: int, frame: FrameType | None) -> None:
        server.should_exit = True

    # a signal is the way to end the server, and no interruption; uvicorn, once it has ended, raises it again
    answers = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        questions.warm(commit)
        begun(f"http://{HOST}:{place.getsockname()[1]}/{secret}/")
        server.run(sockets=[place])
    finally:
        questions.session.close()
        for number, answer in answers.items():
            signal.signal(number, answer)


class _Prompt(H11Protocol):
    """Ends a connection that for ``PATIENCE`` seconds sends no whole request, or takes no answer."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._end = self.loop.call_later(PATIENCE, transport.abort)

    def eof_received(self) -> None:
        if self.cycle is not None and self.cycle.more_body and not self.cycle.response_started:
            self.send_400_response("the form has broken off")

    def on_response_complete(self) -> None:
        self._end.cancel()
        self._end = self.loop.call_later(PATIENCE, self.transport.abort)
        super().on_response_complete()


def settings(app: ASGIApp) -> uvicorn.Config:
    """How uvicorn serves it: as many connections as are let in, and none that waits for ever."""
    return uvicorn.Config(
        app,
        loop="asyncio",
        http=_Prompt,
        ws="none",
        lifespan="off",
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=2,
        limit_concurrency=64,
    )
