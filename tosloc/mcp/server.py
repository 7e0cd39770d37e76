"""The server of the Model Context Protocol: two tools over standard input and output, by the official Python SDK.

One process answers one question after another, so that the loop that listens to the client stays free whatever it is
at: it cancels, says how far a first index is, and notices that the client has gone.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from inspect import getdoc
from pathlib import Path
from threading import Event
from typing import Annotated, Any, Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

import anyio
from mcp.server.mcpserver import Context, ListRoots, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ToolError, UnexpectedToolError
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import CallToolResult, ListRootsResult, TextContent, ToolAnnotations
from pydantic import Field, ValidationError

import tosloc
from tosloc.errors import RepositoryError, ToslocError
from tosloc.io import printable
from tosloc.mcp import repositories
from tosloc.mcp.answers import Found
from tosloc.mcp.messages import refusal
from tosloc.session import Session

LONGEST_REPORT: Final = 2_000_000
"""Characters; log files belong elsewhere."""
_TOLD_EVERY: Final = 1.0
"""Seconds between two words on how far a long work is."""
_INSTRUCTIONS: Final = (
    "Ranks every source file of a git version for a bug report, with the likeliest functions and their lines. Ask"
    " before grepping: give the whole report, stack trace included. The first question of a repository indexes it."
)


@dataclass(frozen=True)
class Settings:
    """What the person who sets the server up decides."""

    roots: tuple[Path, ...] = ()
    """Folders whose repositories may be asked; without any, those that the client names."""
    checkpoint: Path | None = None
    structured: bool = True
    """Whether answers carry the same as structured content beside the text."""


@dataclass
class State:
    """What lasts as long as a connection."""

    settings: Settings
    session: Session = field(default_factory=Session)


def _client_roots(context: Context[State]) -> ListRootsResult | ListRoots:
    """The folders that the client names; it is not asked where the server was given some, or where it names none."""
    settings = context.request_context.lifespan_context.settings
    capabilities = context.client_capabilities
    if settings.roots or capabilities is None or capabilities.roots is None:
        return ListRootsResult(roots=[])
    return ListRoots()


def _folders(settings: Settings, named: ListRootsResult) -> Sequence[Path]:
    """Where repositories may lie: the server's own folders, else the client's, else the repository around this folder.

    Raises RepositoryError when there are none.
    """
    if settings.roots:
        return settings.roots
    parts = (urlsplit(str(root.uri)) for root in named.roots)
    if folders := [Path(url2pathname(part.path)) for part in parts if part.scheme == "file"]:
        return folders
    from tosloc.git import discovery

    try:
        return [discovery.containing(Path.cwd())]
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
    str | None, Field(max_length=4096, description="Path of the git repository; may be left out where there is one.")
]
Revision = Annotated[
    str | None, Field(max_length=1000, description="Version to search; by default the files as they are on disk.")
]
Budget = Annotated[int, Field(ge=300, le=20_000, description="Characters of the answer, at most.")]
Result = Annotated[CallToolResult, Found]


async def localize_bug(
    context: Context[State],
    roots: Roots,
    report: Report,
    repository: RepositoryPath = None,
    commit: Revision = None,
    paths: Annotated[
        list[str] | None, Field(max_length=100, description="Only files that match such .gitignore globs: src/**/*.py")
    ] = None,
    tests: Annotated[bool, Field(description="Whether test files may be named.")] = False,
    top: Annotated[int, Field(ge=1, le=50, description="Files.")] = 10,
    budget: Budget = 1_500,
) -> Result:
    """Which files have to be changed for a bug report: ranked, the first with functions, a reason and lines of source.

    Searches the code as it is on disk and the history of fixes.
    """
    asked = {"commit": commit, "include": paths or None, "tests": tests or None, "top": top}
    return await _answered(context, roots, budget, repository, report, None, asked)


async def explain_file(
    context: Context[State],
    roots: Roots,
    report: Report,
    path: Annotated[str, Field(max_length=4096, description="The file, from the root of the repository.")],
    repository: RepositoryPath = None,
    commit: Revision = None,
    budget: Budget = 1_500,
) -> Result:
    """Why a file stands where it stands for a bug report: its place, reasons, earlier fixes, likeliest functions."""
    return await _answered(context, roots, budget, repository, report, path, {"commit": commit})


async def _answered(context: Context[State], roots: ListRootsResult, budget: int, *question: Any) -> CallToolResult:
    """The result. Raises ToolError, which is a sentence to the client, for input that is at fault."""
    state = context.request_context.lifespan_context
    settings, stop = state.settings, Event()
    loop, steps, told = asyncio.get_running_loop(), iter(range(1, 1 << 62)), time.monotonic()

    def progress(what: str, done: int, total: int) -> None:
        nonlocal told
        if time.monotonic() - told > _TOLD_EVERY:
            told = time.monotonic()
            share = f"{done:,} of {total:,}" if total else f"{done:,}"
            asyncio.run_coroutine_threadsafe(context.report_progress(next(steps), None, f"{what}: {share}"), loop)

    try:
        asked = settings.checkpoint, tuple(_folders(state.settings, roots)), *question
        found: Found = await asyncio.wrap_future(
            state.session.ask(repositories.answer, *asked, progress=progress, stopped=stop.is_set)
        )
    except (ToslocError, OSError, MemoryError, BrokenProcessPool) as error:
        sentence = " ".join(printable(str(error) or type(error).__name__).split())
        for option, name in (("--include and --exclude", "`paths`"), ("--include", "`paths`")):
            sentence = sentence.replace(option, name)
        raise ToolError(sentence[:2_000]) from error
    finally:
        stop.set()
    shown = TextContent(type="text", text=found.within(budget, lambda one: len(one.text())).text())
    whole = found.within(budget, Found.length).plain() if settings.structured else None
    return CallToolResult(content=[shown], structured_content=whole)


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

    async def run_stdio_async(self) -> None:
        """As the SDK has it, but for lines that are no messages: it drops them, so they are answered here."""
        wire = os.dup(0)
        with open(os.devnull) as nothing:
            os.dup2(nothing.fileno(), 0)  # which processes that are started here would read, too
        given = anyio.wrap_file(open(wire, encoding="utf-8", errors="replace", closefd=False))

        async def messages() -> AsyncIterator[str]:
            async for line in given:
                if error := refusal(line):
                    await writing.send(SessionMessage(error))
                else:
                    yield line

        async with stdio_server(stdin=messages()) as (reading, writing):  # type: ignore[arg-type]
            below = self._lowlevel_server
            await below.run(reading, writing, below.create_initialization_options())


def _about(problem: Any) -> str:
    place = ".".join(map(str, problem["loc"]))
    return f"{place}: {problem['msg'][:1].lower()}{problem['msg'][1:]}"


def server(settings: Settings | None = None) -> MCPServer[State]:
    """A server with both tools, for any transport of the SDK."""
    settings = settings or Settings()

    @asynccontextmanager
    async def lifespan(_: MCPServer[State]) -> AsyncIterator[State]:
        state = State(settings)
        try:
            yield state
        finally:
            state.session.close()

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
        made.add_tool(tool, description=getdoc(tool), annotations=hints, structured_output=settings.structured)
    return made


def serve(settings: Settings) -> None:
    """Answer on standard input and output until the client closes it."""
    anyio.run(server(settings).run_stdio_async)
