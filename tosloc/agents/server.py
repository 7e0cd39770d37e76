"""The server of the Model Context Protocol: two tools over standard input and output, by the official Python SDK.

One thread answers one question after another, so that the loop that listens to the client stays free: it cancels,
says how far a first index is, and notices that the client has gone.
"""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from inspect import getdoc
from io import StringIO
from pathlib import Path
from threading import Event
from typing import Annotated, Any, Final, TypeVar
from urllib.parse import urlsplit
from urllib.request import url2pathname

import anyio
from mcp.server.mcpserver import Context, ListRoots, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp_types import CallToolResult, ListRootsResult, TextContent, ToolAnnotations
from pydantic import Field, ValidationError

import tosloc
from tosloc.agents import text
from tosloc.agents.repositories import Repositories, repository_in
from tosloc.answer import Answer
from tosloc.errors import RepositoryError, ToslocError
from tosloc.files import printable
from tosloc.interruption import SENTENCE, Interrupted, exit_code, leave, tell
from tosloc.records import Progress
from tosloc.reports.issues import read_report

LONGEST_REPORT: Final = 2_000_000
"""Characters; log files belong elsewhere."""
_TOLD_EVERY: Final = 1.0
"""Seconds between two words on how far a long work is."""
_LAST_WORK: Final = 2.0
"""Seconds that a question may go on after the client has gone, or Ctrl-C."""
_INSTRUCTIONS: Final = (
    "Ranks every source file of a git version for a bug report, with the likeliest functions and their lines. Ask"
    " before grepping: give the whole report, stack trace included. The first question of a repository indexes it."
)
T = TypeVar("T")


@dataclass(frozen=True)
class Settings:
    """What the person who sets the server up decides."""

    roots: tuple[Path, ...] = ()
    """Folders whose repositories may be asked; without any, those that the client names."""
    checkpoint: Path | None = None
    characters: int = text.CHARACTERS
    structured: bool = True
    """Whether answers carry the whole ``tosloc.answer/1`` beside the text."""


class Questions:
    """One thread that answers one question after another."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "tosloc")
        self._stops: set[Event] = set()

    async def ask(self, work: Callable[[Progress], T], tell_client: Callable[[str], Any]) -> T:
        """What ``work`` returns or raises. If the caller is cancelled it stops where it next says how far it is."""
        loop, stop, told = asyncio.get_running_loop(), Event(), time.monotonic()

        def progress(what: str, done: int, total: int) -> None:
            nonlocal told
            if stop.is_set():
                raise Interrupted
            if time.monotonic() - told > _TOLD_EVERY:
                told = time.monotonic()
                share = f"{done:,} of {total:,}" if total else f"{done:,}"
                asyncio.run_coroutine_threadsafe(tell_client(f"{what}: {share}"), loop)

        self._stops.add(stop)
        try:
            return await asyncio.wrap_future(self._thread.submit(work, progress))
        finally:
            stop.set()
            self._stops.discard(stop)

    def close(self, last: Callable[[], None]) -> None:
        """End what is asked, and then do the ``last`` thing; gives up after a while on work that does not stop."""
        for stop in self._stops:
            stop.set()
        done = self._thread.submit(last)
        self._thread.shutdown(wait=False)
        try:
            done.result(_LAST_WORK)
        except TimeoutError:
            pass  # what it writes is whole or not there, and the process ends now


@dataclass
class State:
    """What lasts as long as a connection."""

    settings: Settings
    repositories: Repositories
    questions: Questions = field(default_factory=Questions)

    def close(self) -> None:
        self.questions.close(self.repositories.close)


def _client_roots(context: Context[State]) -> ListRootsResult | ListRoots:
    """The folders that the client names; it is not asked where the server was given some, or where it names none."""
    settings = context.request_context.lifespan_context.settings
    capabilities = context.client_capabilities
    if settings.roots or capabilities is None or capabilities.roots is None:
        return ListRootsResult(roots=[])
    return ListRoots()


def _folders(state: State, named: ListRootsResult) -> Sequence[Path]:
    """Where repositories may lie: the server's own folders, else the client's, else the repository around this folder.

    Raises RepositoryError when there are none.
    """
    if state.settings.roots:
        return state.settings.roots
    parts = (urlsplit(str(root.uri)) for root in named.roots)
    if folders := [Path(url2pathname(part.path)) for part in parts if part.scheme == "file"]:
        return folders
    from tosloc.data import git_files

    try:
        return [git_files.containing(Path.cwd())]
    except RepositoryError:
        raise RepositoryError(
            "the client names no folders, and the server was not started in a repository; start it with --root"
        ) from None


Roots = Annotated[ListRootsResult, Resolve(_client_roots)]
Report = Annotated[
    str,
    Field(max_length=LONGEST_REPORT, description="The bug report: title, then description, stack traces, code."),
]
RepositoryPath = Annotated[
    str | None, Field(max_length=4096, description="Path of the git repository; by default the only one open.")
]
Revision = Annotated[str, Field(max_length=1000, description="Version to search.")]


async def localize_bug(
    context: Context[State],
    roots: Roots,
    report: Report,
    repository: RepositoryPath = None,
    commit: Revision = "HEAD",
    paths: Annotated[
        list[str] | None, Field(max_length=100, description="Only files that match such .gitignore globs: src/**/*.py")
    ] = None,
    top: Annotated[int, Field(ge=1, le=50, description="Files.")] = 5,
    functions: Annotated[int, Field(ge=0, le=20, description="Functions of a file.")] = 3,
) -> CallToolResult:
    """Which files and functions have to be changed for a bug report: ranked, with lines and a reason each.

    Searches committed code and the history of fixes; test files are left out.
    """
    state = context.request_context.lifespan_context

    def answer(progress: Progress) -> Answer:
        localizer = state.repositories.localizer(repository_in(_folders(state, roots), repository))
        return localizer.localize(
            read_report(StringIO(report)),
            commit=commit,
            include=paths or (),
            top=top,
            functions=functions,
            progress=progress,
        )

    return _result(state, await _asked(context, answer), text.short)


async def explain_file(
    context: Context[State],
    roots: Roots,
    report: Report,
    path: Annotated[str, Field(max_length=4096, description="The file, from the root of the repository.")],
    repository: RepositoryPath = None,
    commit: Revision = "HEAD",
    functions: Annotated[int, Field(ge=0, le=50, description="Functions.")] = 10,
) -> CallToolResult:
    """Why a file stands where it stands for a bug report: its place, reasons, earlier fixes, likeliest functions."""
    state = context.request_context.lifespan_context

    def answer(progress: Progress) -> Answer:
        place = repository_in(_folders(state, roots), repository)
        given = Path(os.path.normpath(path))
        inner = given.relative_to(place) if given.is_absolute() and given.is_relative_to(place) else given
        localizer = state.repositories.localizer(place)
        return localizer.explain(
            read_report(StringIO(report)), inner.as_posix(), commit=commit, functions=functions, progress=progress
        )

    return _result(state, await _asked(context, answer), text.explained)


async def _asked(context: Context[State], work: Callable[[Progress], Answer]) -> Answer:
    """The answer. Raises ToolError, which is a sentence to the client, for input that is at fault."""
    steps = iter(range(1, 1 << 62))

    async def tell_client(message: str) -> None:
        await context.report_progress(next(steps), None, message)

    try:
        return await context.request_context.lifespan_context.questions.ask(work, tell_client)
    except Interrupted:
        raise ToolError("interrupted") from None
    except (ToslocError, OSError, MemoryError) as error:
        sentence = " ".join(printable(str(error) or type(error).__name__).split())
        for option, name in (("--include and --exclude", "`paths`"), ("--include", "`paths`")):
            sentence = sentence.replace(option, name)
        raise ToolError(sentence[:2_000]) from error


def _result(state: State, answer: Answer, written: Callable[[Answer, int], str]) -> CallToolResult:
    shown = TextContent(type="text", text=written(answer, state.settings.characters))
    return CallToolResult(content=[shown], structured_content=answer.as_dict() if state.settings.structured else None)


class _Server(MCPServer[State]):
    """Its errors are sentences, without the name of the tool before them and a library's address behind them."""

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        known = {tool.name: tool.input_schema["properties"] for tool in await self.list_tools()}
        if name in known and (wrong := sorted(set(arguments) - set(known[name]))):
            raise ToolError(f"{name} has no argument {', '.join(map(repr, wrong))}; it takes {', '.join(known[name])}")
        try:
            return await super().call_tool(name, arguments, context)
        except UnexpectedToolError:
            raise
        except ToolError as error:
            cause = error.__cause__
            if isinstance(cause, ValidationError):
                raise ToolError(f"{name}: {'; '.join(map(_about, cause.errors()))}") from error
            raise (cause if isinstance(cause, ToolError) else error) from None


def _about(problem: Any) -> str:
    place = ".".join(map(str, problem["loc"]))
    return f"{place}: {problem['msg'][:1].lower()}{problem['msg'][1:]}"


def server(settings: Settings | None = None) -> MCPServer[State]:
    """A server with both tools, for any transport of the SDK."""
    settings = settings or Settings()

    @asynccontextmanager
    async def lifespan(_: MCPServer[State]) -> AsyncIterator[State]:
        state = State(settings, Repositories(settings.checkpoint))
        try:
            yield state
        finally:
            state.close()

    opened: Callable[[MCPServer[State]], AbstractAsyncContextManager[State]] = lifespan
    made = _Server(
        "tosloc",
        version=tosloc.__version__,
        instructions=_INSTRUCTIONS,
        lifespan=opened,
        log_level="ERROR",
        subscriptions=False,
    )
    hints = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    for tool in (localize_bug, explain_file):
        made.add_tool(tool, description=getdoc(tool), annotations=hints, structured_output=False)
    return made


def serve(settings: Settings) -> None:
    """Answer on standard input and output until the client closes it. Ctrl-C and SIGTERM end the process."""
    anyio.run(_serve, settings)


async def _serve(settings: Settings) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_leave_at_signals)
        await server(settings).run_stdio_async()
        tasks.cancel_scope.cancel()


async def _leave_at_signals() -> None:
    """Ctrl-C: nothing is open that has to be closed, and what waits for standard input cannot be woken."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for number in signals:
            tell(SENTENCE)
            leave(exit_code(number))
