"""The server of the Model Context Protocol: two tools over standard input and output, by the official Python SDK.

One process answers one question after another, so that the loop that listens to the client stays free whatever it is
at: it cancels, says how far a first index is, and notices that the client has gone.
"""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from inspect import getdoc
from io import TextIOWrapper
from pathlib import Path
from threading import Event
from typing import Annotated, Any, Final, TypeAlias
from urllib.parse import urlsplit
from urllib.request import url2pathname

import anyio
from mcp.server.mcpserver import Context, ListRoots, MCPServer, Resolve
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.stdio import stdio_server
from mcp_types import CallToolResult, ListRootsResult, TextContent, ToolAnnotations
from pydantic import Field

import tosloc
from tosloc.core.errors import RepositoryError, ToslocError, user_sentence
from tosloc.core.io import escape_unprintable, parse_json
from tosloc.git import discovery
from tosloc.localize.session import Session
from tosloc.mcp.answers import Found, answer
from tosloc.reports.source import clean

LONGEST_REPORT: Final = 2_000_000
"""Characters; log files belong elsewhere."""
_REPORT_EVERY: Final = 1.0
"""Seconds between two words on how far a long work is."""
_TOOL_ARGUMENTS: Final = {"include": "paths", "repo": "repository"}
"""Arguments of the library that the tools call otherwise."""
_INSTRUCTIONS: Final = (
    "Ranks every source file of a git version for a bug report, with the likeliest functions and their lines. Ask"
    " before grepping: give the whole report, stack trace included. The first question of a repository indexes it."
)


@dataclass
class Settings:
    """What the person who sets the server up decides, and the session that answers."""

    roots: Sequence[Path] = ()
    """Folders whose repositories may be asked; without any, those that the client names."""
    checkpoint: Path | None = None
    structured: bool = True
    """Whether answers carry the same as structured content beside the text."""
    session: Session = field(default_factory=Session)


Asking: TypeAlias = Context[Settings]


def _client_roots(context: Asking) -> ListRootsResult | ListRoots:
    """The folders that the client names; it is not asked where the server was given some, or where it names none."""
    roots, capabilities = (
        context.request_context.lifespan_context.roots,
        context.client_capabilities,
    )
    unknown = roots or capabilities is None or capabilities.roots is None
    return ListRootsResult(roots=[]) if unknown else ListRoots()


def _folders(named: ListRootsResult) -> Sequence[Path]:
    """The folders that the client names, else the repository around this folder. Raises RepositoryError without it."""
    parts = (urlsplit(str(root.uri)) for root in named.roots)
    if folders := [Path(url2pathname(part.path)) for part in parts if part.scheme == "file"]:
        return folders
    try:
        return [discovery.enclosing_repository(Path.cwd())]
    except RepositoryError:
        raise RepositoryError(
            "the client names no folders, and the server was not started in a repository; start it with --root"
        ) from None


Roots = Annotated[ListRootsResult, Resolve(_client_roots)]
Report = Annotated[
    str,
    Field(
        max_length=LONGEST_REPORT,
        description="The bug report: title, then description, stack traces, code.",
    ),
]
RepositoryPath = Annotated[
    str | None,
    Field(
        max_length=4096,
        description="Path of the git repository; may be left out where there is one.",
    ),
]
Revision = Annotated[
    str | None,
    Field(
        max_length=1000, description="Version to search; by default the files as they are on disk."
    ),
]
Budget = Annotated[int, Field(ge=300, le=20_000, description="Characters of the answer, at most.")]
Result = Annotated[CallToolResult, Found]


async def localize_bug(
    context: Asking,
    roots: Roots,
    report: Report,
    repository: RepositoryPath = None,
    commit: Revision = None,
    paths: Annotated[
        list[str] | None,
        Field(
            max_length=100, description="Only files that match such .gitignore globs: src/**/*.py"
        ),
    ] = None,
    tests: Annotated[bool, Field(description="Whether test files may be named.")] = False,
    top: Annotated[int, Field(ge=1, le=50, description="Files.")] = 10,
    budget: Budget = 1_500,
) -> Result:
    """Which files have to be changed for a bug report: ranked, the first with functions, a reason and lines of source.

    Searches the code as it is on disk and the history of fixes.
    """
    asked = {"commit": commit, "include": paths or None, "tests": tests or None, "top": top}
    return await _answered(context, roots, budget, report, repository, None, asked)


async def explain_file(
    context: Asking,
    roots: Roots,
    report: Report,
    path: Annotated[
        str, Field(max_length=4096, description="The file, from the root of the repository.")
    ],
    repository: RepositoryPath = None,
    commit: Revision = None,
    budget: Budget = 1_500,
) -> Result:
    """Why a file stands where it stands for a bug report: its place, reasons, earlier fixes, likeliest functions."""
    return await _answered(context, roots, budget, report, repository, path, {"commit": commit})


def _render(error: ToslocError) -> str:
    """Return the sentence for an error, with the names that arguments have in the tools."""
    return error.render(lambda argument: f"`{_TOOL_ARGUMENTS.get(argument, argument)}`")


async def _answered(
    context: Asking, roots: ListRootsResult, budget: int, report: str, *question: Any
) -> CallToolResult:
    """Return the result. Raises ToolError, which is a sentence to the client, for input that is at fault."""
    settings, stop = context.request_context.lifespan_context, Event()
    loop, reported = asyncio.get_running_loop(), [time.monotonic()]

    def progress(what: str, done: int, total: int) -> None:
        if time.monotonic() - reported[-1] > _REPORT_EVERY:
            reported.append(time.monotonic())
            said = context.report_progress(len(reported), None, f"{what}: {done:,} of {total:,}")
            asyncio.run_coroutine_threadsafe(said, loop)

    try:
        asked = settings.checkpoint, settings.roots or _folders(roots), *question
        answered = settings.session.ask_about(
            report, answer, *asked, progress=progress, stopped=stop.is_set
        )
        found: Found = await asyncio.wrap_future(answered)
    except Exception as error:
        if (sentence := user_sentence(error, _render)) is None:
            raise
        raise ToolError(" ".join(escape_unprintable(sentence).split())[:2_000]) from error
    finally:
        stop.set()
    shown = TextContent(type="text", text=found.within(budget, Found.text))
    structured = json.loads(found.within(budget, Found.as_json)) if settings.structured else None
    return CallToolResult(content=[shown], structured_content=structured)


class _ClientLines(TextIOWrapper):
    """Lines of a client, in which halves of surrogate pairs are replaced.

    JSON may have them, as in ``"\\ud800"``, but the SDK's parser refuses such a line, and the SDK does not answer what
    it cannot parse (https://github.com/modelcontextprotocol/python-sdk/issues/2751): the client would wait for ever.
    """

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]  # as TextIOWrapper's own
        """Return the next line."""
        line = super().readline(size)
        if "\\ud" not in line.lower():
            return line
        try:
            return clean(json.dumps(parse_json(line), ensure_ascii=False)) + "\n"
        except ValueError:  # no JSON: the SDK passes over it
            return line


def _open_client_lines() -> _ClientLines:
    """Return what the client writes; in place of it children of this process find an empty standard input."""
    wire = os.dup(0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    # not closed at the end: a thread may still wait for the client's next line
    return _ClientLines(os.fdopen(wire, "rb", closefd=False), encoding="utf-8", errors="replace")


class _Server(MCPServer[Settings]):
    """The SDK's server, which reads repaired lines."""

    async def run_stdio_async(self) -> None:
        server = self._lowlevel_server
        async with stdio_server(stdin=anyio.wrap_file(_open_client_lines())) as (reader, writer):
            await server.run(reader, writer, server.create_initialization_options())


def server(settings: Settings) -> MCPServer[Settings]:
    """A server with both tools, for any transport of the SDK."""

    @asynccontextmanager
    async def lifespan(_: MCPServer[Settings]) -> AsyncIterator[Settings]:
        with closing(settings.session):
            yield settings

    hints = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    tools = [
        Tool.from_function(
            one, description=getdoc(one), annotations=hints, structured_output=settings.structured
        )
        for one in (localize_bug, explain_file)
    ]
    for (
        tool
    ) in tools:  # the SDK would pass over an argument that is none, such as repo for repository
        arguments = tool.fn_metadata.arg_model
        arguments.model_config["extra"] = "forbid"
        arguments.model_rebuild(force=True)
    return _Server(
        "tosloc",
        version=tosloc.__version__,
        instructions=_INSTRUCTIONS,
        lifespan=lifespan,
        tools=tools,
        log_level="ERROR",
        subscriptions=False,
    )
