"""The server of the Model Context Protocol: two tools over standard input and output.

It is built on the official Python SDK. Another process answers one question after the other, so
that the event loop stays free: it can always cancel a question, report the progress of a first
index, and notice that the client has disconnected.
"""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from inspect import getdoc
from io import TextIOWrapper
from pathlib import Path
from threading import Event
from typing import Annotated, Any, Final, TypeAlias, TypeVar
from urllib.parse import urlsplit
from urllib.request import url2pathname

import anyio
from mcp.server.mcpserver import Context, ListRoots, MCPServer, Resolve, Sample
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    CallToolResult,
    CreateMessageRequest,
    CreateMessageResult,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
    SamplingMessage,
    TextContent,
    ToolAnnotations,
)
from mcp_types.version import is_version_at_least
from pydantic import Field, ValidationError

import tosloc
from tosloc.core.errors import RepositoryError, ToslocError, user_sentence
from tosloc.core.inputs import clean
from tosloc.core.io import escape_unprintable, parse_json
from tosloc.git import discovery
from tosloc.localize.question import Question
from tosloc.localize.session import Session
from tosloc.mcp.answers import ModelText, ToolAnswer, answer_call, messages_for_model
from tosloc.mcp.arguments import describe_invalid
from tosloc.terminal.printing import print_notes

MAX_REPORT_CHARACTERS: Final = 2_000_000
"""Largest number of characters of a report. Larger log files do not help to find a bug."""
_MAX_ERROR_CHARACTERS: Final = 2_000
"""Largest number of characters of a message about wrong input."""
_SECONDS_BETWEEN_REPORTS: Final = 1.0
"""Seconds between two reports of progress."""
_SECONDS_FOR_ROOTS: Final = 10.0
"""Seconds in which a client has to name its folders."""
_SECONDS_FOR_MODEL: Final = 45.0
"""Seconds in which a client's language model has to answer.

Clients that are built on the TypeScript SDK wait 60 seconds for the answer of a tool.
"""
_FIRST_VERSION_WITHOUT_REQUESTS: Final = "2026-07-28"
"""First version of the protocol in which a server sends no requests.

Its answer asks the client to call the tool again with its folders, so that nobody waits.
"""
_MAX_MODEL_TOKENS: Final = 2_000
"""Largest number of tokens in the model's answer, for ten files and three sentences."""
_TOOL_ARGUMENTS: Final = {"include": "paths", "repo": "repository"}
"""Argument of the library -> its name in the tools, if that is different."""
_INSTRUCTIONS: Final = (
    "Ranks the source files of a git repository by how likely a bug report is about them, with"
    " the likeliest functions and their lines. Ask it before you search the code, with the whole"
    " report and its stack traces. Do not ask where a name is defined; a text search finds that."
    " The first question about a repository indexes it and takes longer."
)


@dataclass
class Settings:
    """The settings of a server, and the session that answers its questions."""

    roots: Sequence[Path] = ()
    """Folders whose repositories agents may ask about; if empty, the client names them."""
    checkpoint: Path | None = None
    structured: bool = True
    """Whether answers contain structured content in addition to the text."""
    sampling: bool = False
    """Whether the client's language model, if the client offers one, orders the first files."""
    session: Session = field(default_factory=Session)


ToolContext: TypeAlias = Context[Settings]
_model_failed: ContextVar[bool] = ContextVar("_model_failed", default=False)
"""Whether the client's language model has failed in this call, or the user declined the request."""


_ClientResult = TypeVar("_ClientResult", ListRootsResult, CreateMessageResult)


def _can_send_requests(context: ToolContext) -> bool:
    """Return whether the protocol of the client lets the server send requests."""
    version = context.protocol_version
    return version is not None and not is_version_at_least(version, _FIRST_VERSION_WITHOUT_REQUESTS)


async def _ask_client(
    context: ToolContext,
    request: ListRootsRequest | CreateMessageRequest,
    result_type: type[_ClientResult],
    seconds: float,
) -> _ClientResult | None:
    """Send a request to the client, and return its result; None if it does not answer in time."""
    with anyio.move_on_after(seconds):
        result: _ClientResult = await context.session.send_request(
            request,
            result_type,
            metadata=ServerMessageMetadata(related_request_id=context.request_id),
        )
        return result
    return None


async def _client_roots(context: ToolContext) -> ListRootsResult | ListRoots:
    """Ask the client for its folders, unless the server has folders or the client cannot answer.

    A client that does not answer in time counts as one without folders.
    """
    server_roots = context.request_context.lifespan_context.roots
    capabilities = context.client_capabilities
    if server_roots or capabilities is None or capabilities.roots is None:
        return ListRootsResult(roots=[])
    if not _can_send_requests(context):
        return ListRoots()
    client_roots = await _ask_client(
        context, ListRootsRequest(), ListRootsResult, _SECONDS_FOR_ROOTS
    )
    if client_roots is not None:
        return client_roots
    print_notes(
        [
            f"the client did not name its folders in {_SECONDS_FOR_ROOTS:g} seconds, so the"
            " repository around the current folder is searched; to name others, start the server"
            " with --root FOLDER"
        ]
    )
    return ListRootsResult(roots=[])


def _client_folders(client_roots: ListRootsResult) -> Sequence[Path]:
    """Return the folders that the client names, or the repository around the current folder.

    Raises RepositoryError if there is neither.
    """
    folders = []
    for root in client_roots.roots:
        address = urlsplit(str(root.uri))
        if address.scheme == "file":
            folders.append(Path(url2pathname(address.path)))
    if folders:
        return folders
    try:
        return [discovery.enclosing_repository(Path.cwd())]
    except RepositoryError:
        raise RepositoryError(
            "the client names no folders, and the server was not started in a repository; start"
            " it with --root FOLDER"
        ) from None


Roots = Annotated[ListRootsResult, Resolve(_client_roots)]
Report = Annotated[
    str,
    Field(
        max_length=MAX_REPORT_CHARACTERS,
        description="The whole bug report: title, description, stack traces, code.",
    ),
]
RepositoryPath = Annotated[
    str | None,
    Field(
        max_length=4096,
        description="Path of the git repository; needed only if there are several.",
    ),
]
Revision = Annotated[
    str | None,
    Field(
        max_length=1000,
        description="Commit, branch or tag to search; by default the files on disk.",
    ),
]
Budget = Annotated[
    int, Field(ge=300, le=20_000, description="Maximum number of characters of the answer.")
]
Result = Annotated[CallToolResult, ToolAnswer]


Globs = Annotated[
    list[str] | None,
    Field(
        max_length=100,
        description="Show only files matching these globs (.gitignore syntax): src/**/*.py",
    ),
]


def _bug_question(
    report: str,
    commit: str | None,
    paths: list[str] | None,
    tests: bool,
    suspects: bool | None,
    good: list[str] | None,
    bad: str | None,
) -> Question:
    """Return the question of a call of ``localize_bug``; empty arguments count as left out.

    Raises ToolError for arguments that contradict each other.
    """
    with _sentences():
        return Question(
            report,
            commit=commit or None,
            include=paths or None,
            tests=tests or None,
            suspects=suspects,
            good=good or (),
            bad=bad or None,
        )


def _may_ask_model(context: ToolContext) -> bool:
    """Return whether the client lends its language model, and the user of the server allows it."""
    capabilities = context.client_capabilities
    lends_model = capabilities is not None and capabilities.sampling is not None
    return lends_model and context.request_context.lifespan_context.sampling


async def _client_model(  # noqa: PLR0913  # what the prompt depends on
    context: ToolContext,
    roots: Roots,
    report: str,
    repository: str | None = None,
    commit: str | None = None,
    paths: list[str] | None = None,
    tests: bool = False,
    suspects: bool | None = None,
    good: list[str] | None = None,
    bad: str | None = None,
) -> CreateMessageResult | Sample:
    """Ask the client's language model which files have to be changed.

    Returns a message without text if the server may not ask it, the client has none, it failed or
    did not answer in time, or the question is wrong. The tool itself then says what is wrong with
    the question.
    """
    nothing = CreateMessageResult(
        role="assistant", content=TextContent(type="text", text=""), model=""
    )
    if _model_failed.get() or not _may_ask_model(context):
        return nothing
    try:
        question = _bug_question(report, commit, paths, tests, suspects, good, bad)
        system, user = await _ask_session(context, roots, repository, question, messages_for_model)
    except ToolError:
        return nothing
    content = TextContent(type="text", text=user["content"])
    sample = Sample(
        [SamplingMessage(role="user", content=content)],
        max_tokens=_MAX_MODEL_TOKENS,
        system_prompt=system["content"],
        temperature=0.0,
    )
    if not _can_send_requests(context):
        return sample
    request = CreateMessageRequest(params=sample.params)
    answer = await _ask_client(context, request, CreateMessageResult, _SECONDS_FOR_MODEL)
    if answer is None:
        print_notes(
            [
                "the client's language model did not answer in"
                f" {_SECONDS_FOR_MODEL:g} seconds, so the files are in TosLoc's order"
            ]
        )
        return nothing
    return answer


ClientModel = Annotated[CreateMessageResult, Resolve(_client_model)]


async def localize_bug(  # noqa: PLR0913  # the arguments of the tool
    context: ToolContext,
    roots: Roots,
    client_model: ClientModel,
    report: Report,
    repository: RepositoryPath = None,
    commit: Revision = None,
    paths: Globs = None,
    tests: Annotated[bool, Field(description="Whether to include test files.")] = False,
    top: Annotated[int, Field(ge=1, le=50, description="Number of files to show.")] = Question.top,
    suspects: Annotated[
        bool | None,
        Field(
            description="Whether to show changes that may have caused the bug; default: if it"
            " worked before."
        ),
    ] = None,
    good: Annotated[
        list[str] | None,
        Field(max_length=20, description="Revisions that work."),
    ] = None,
    bad: Annotated[str | None, Field(max_length=1000, description="Revision that fails.")] = None,
    budget: Budget = 3_000,
) -> Result:
    """Rank the source files most likely to need a change for a bug report.

    The first files come with their likeliest functions and lines of code. The answer uses the
    files on disk and the history of fixes.
    """
    question = _bug_question(report, commit, paths, tests, suspects, good, bad)
    question = replace(question, top=top)
    model_text = None
    if isinstance(client_model.content, TextContent) and client_model.content.text:
        model_text = ModelText(client_model.model, client_model.content.text)
    answer = await _ask_session(context, roots, repository, question, answer_call, model_text)
    return _fit(context, answer, budget)


async def explain_file(
    context: ToolContext,
    roots: Roots,
    report: Report,
    path: Annotated[
        str,
        Field(
            max_length=4096, description="Path of the file, relative to the root of the repository."
        ),
    ],
    repository: RepositoryPath = None,
    commit: Revision = None,
    budget: Budget = 3_000,
) -> Result:
    """Explain the rank of a file for a bug report: reasons, earlier fixes, likeliest functions."""
    question = Question.about_file(report, path, commit=commit or None)
    answer = await _ask_session(context, roots, repository, question, answer_call, None)
    return _fit(context, answer, budget)


def _render(error: ToslocError) -> str:
    """Return the sentence for an error, with the names of arguments in the tools."""
    return error.render(lambda argument: f"`{_TOOL_ARGUMENTS.get(argument, argument)}`")


@contextmanager
def _sentences() -> Iterator[None]:
    """Raise ToolError with the sentence for an error that wrong input causes in the block."""
    try:
        yield
    except Exception as error:
        sentence = user_sentence(error, _render)
        if sentence is None:
            raise
        raise ToolError(_one_line(sentence)) from error


def _one_line(text: str) -> str:
    """Return a text on one line, safe for a terminal, and of limited length."""
    return " ".join(escape_unprintable(text).split())[:_MAX_ERROR_CHARACTERS]


async def _ask_session(
    context: ToolContext,
    client_roots: ListRootsResult,
    repository: str | None,
    question: Question,
    function: Callable[..., Any],
    *arguments: Any,
) -> Any:
    """Call a function of ``tosloc.mcp.answers`` for a question, in the session's process.

    Raises ToolError for wrong input; the client gets the sentence of the error.
    """
    settings = context.request_context.lifespan_context
    loop = asyncio.get_running_loop()
    stop = Event()
    number_of_reports = 0
    last_report = time.monotonic()

    def progress(what: str, done: int, total: int) -> None:
        nonlocal number_of_reports, last_report
        now = time.monotonic()
        if now - last_report > _SECONDS_BETWEEN_REPORTS:
            last_report = now
            number_of_reports += 1
            message = f"{what}: {done:,} of {total:,}"
            coroutine = context.report_progress(number_of_reports, None, message)
            asyncio.run_coroutine_threadsafe(coroutine, loop)

    try:
        with _sentences():
            future = settings.session.ask_about(
                question,
                function,
                settings.checkpoint,
                settings.roots or _client_folders(client_roots),
                repository,
                *arguments,
                progress=progress,
                stopped=stop.is_set,
            )
            return await asyncio.wrap_future(future)
    finally:
        stop.set()


def _fit(context: ToolContext, answer: ToolAnswer, budget: int) -> CallToolResult:
    """Return an answer in at most ``budget`` characters."""
    settings = context.request_context.lifespan_context
    text = TextContent(type="text", text=answer.fit(budget, ToolAnswer.as_text))
    structured_content = None
    if settings.structured:
        structured_content = json.loads(answer.fit(budget, ToolAnswer.as_json))
    return CallToolResult(content=[text], structured_content=structured_content)


class _ClientLines(TextIOWrapper):
    """Lines from a client, in which halves of surrogate pairs are replaced.

    JSON may contain such halves, as in ``"\\ud800"``. The SDK's parser refuses such a line, and the
    SDK does not answer requests that it cannot parse
    (https://github.com/modelcontextprotocol/python-sdk/issues/2751): the client would wait for
    ever.
    """

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]  # as TextIOWrapper's own
        """Return the next line."""
        line = super().readline(size)
        if "\\ud" not in line.lower():
            return line
        try:
            return clean(json.dumps(parse_json(line), ensure_ascii=False)) + "\n"
        except ValueError:  # The line is no JSON, and the SDK skips it.
            return line


def _open_client_lines() -> _ClientLines:
    """Return the lines that the client writes, and give child processes an empty standard input."""
    client_descriptor = os.dup(0)
    null_descriptor = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null_descriptor, 0)
    os.close(null_descriptor)
    # The descriptor stays open at the end, because a thread may still wait for the next line.
    stream = os.fdopen(client_descriptor, "rb", closefd=False)
    return _ClientLines(stream, encoding="utf-8", errors="replace")


_CLIENT_ANSWERS: Final = (ListRootsResult.__name__, CreateMessageResult.__name__)
"""Names of the models of answers to requests that the server makes of the client."""


class _Server(MCPServer[Settings]):
    """The SDK's server, but it reads repaired lines, and describes wrong arguments in our words."""

    async def call_tool(
        self,
        name: str,
        arguments: dict[str, Any],
        context: Context[Settings, Any] | None = None,
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool as the SDK does, once more without the client's model if that fails.

        Raises ToolError with a sentence of ours for wrong arguments, and if the client does not
        answer a request for its folders.
        """
        try:
            return await super().call_tool(name, arguments, context)
        except (MCPError, ToolError) as error:
            cause = error.__cause__
            if isinstance(cause, ToolError):  # The SDK puts the name of the tool before it.
                raise cause from cause.__cause__
            if isinstance(error, MCPError):
                problem = error.error.message
            elif not isinstance(cause, ValidationError):
                raise
            elif cause.title in _CLIENT_ANSWERS:
                problem = "its answer is not valid"
            else:
                tools = await self.list_tools()
                [schema] = [tool.input_schema for tool in tools if tool.name == name]
                raise ToolError(describe_invalid(cause, schema)) from cause
        if context is None or _model_failed.get() or not _may_ask_model(context):
            raise ToolError(
                f"the client does not name its folders ({_one_line(problem)}); start the server"
                " with --root FOLDER"
            )
        token = _model_failed.set(True)
        try:
            return await self.call_tool(name, arguments, context)
        finally:
            _model_failed.reset(token)

    async def run_stdio_async(self) -> None:
        """Serve the client at standard input and output until it closes them."""
        server = self._lowlevel_server
        async with stdio_server(stdin=anyio.wrap_file(_open_client_lines())) as (reader, writer):
            await server.run(reader, writer, server.create_initialization_options())


def create_server(settings: Settings) -> MCPServer[Settings]:
    """Return a server with both tools, for any transport of the SDK."""

    @asynccontextmanager
    async def lifespan(_: MCPServer[Settings]) -> AsyncIterator[Settings]:
        with closing(settings.session):
            yield settings

    tools = [
        _create_tool(function, settings.structured) for function in (localize_bug, explain_file)
    ]
    return _Server(
        "tosloc",
        version=tosloc.__version__,
        instructions=_INSTRUCTIONS,
        lifespan=lifespan,
        tools=tools,
        log_level="ERROR",
        subscriptions=False,
    )


def run_server(
    roots: Sequence[Path], checkpoint: Path | None, *, structured: bool, sampling: bool
) -> None:
    """Serve the client at standard input and output; ``Settings`` explains the arguments.

    Raises BrokenPipeError if the client has closed standard output.
    """
    try:
        create_server(Settings(roots, checkpoint, structured, sampling)).run()
    except BaseExceptionGroup as group:
        _, others = group.split(BrokenPipeError)
        if others is not None:
            raise
        raise BrokenPipeError from None


def _create_tool(function: Callable[..., Any], structured: bool) -> Tool:
    """Return a tool that calls a function, described by its docstring."""
    tool = Tool.from_function(
        function,
        description=getdoc(function),
        annotations=ToolAnnotations(
            read_only_hint=True, idempotent_hint=True, open_world_hint=False
        ),
        structured_output=structured,
    )
    # The SDK ignores unknown arguments by default, such as repo in place of repository.
    arguments = tool.fn_metadata.arg_model
    arguments.model_config["extra"] = "forbid"
    arguments.model_rebuild(force=True)
    return tool
