"""Send one question to a server with the OpenAI-compatible protocol, within limits."""

from __future__ import annotations

import asyncio
import queue
import re
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tosloc.core.errors import require
from tosloc.core.io import parse_json
from tosloc.rerank.llm.prompt import ANSWER_SCHEMA, clean_sentence
from tosloc.rerank.llm.settings import LanguageModelSettings

if TYPE_CHECKING:
    import httpx2

_MAX_ANSWER_BYTES: Final = 4_000_000
"""Largest number of bytes of an answer that are read, including a model's reasoning."""
_MAX_TOKENS: Final = 1_000_000_000
"""Largest plausible number of tokens."""
_TEMPORARY_FAILURES: Final = frozenset({408, 409, 429, *range(500, 600)})
"""HTTP statuses after which a question is sent a second time."""
_UNKNOWN_FORMAT: Final = frozenset({400, 422})
"""HTTP statuses of servers that do not support structured output or a temperature."""
_RETRY_SECONDS: Final = 0.5
"""Seconds before a question is sent a second time, unless the server specifies others."""
_SECONDS: Final = re.compile(r"[0-9]{1,9}")


class NoAnswer(Exception):
    """The model gave no usable answer; the message says why."""


@dataclass(frozen=True)
class Completion:
    """The text of an answer, its numbers of tokens and its time."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    seconds: float


class _Response(NamedTuple):
    """The response of a server."""

    status: int
    retry_seconds: float
    """Seconds that the server requests before the question is sent again."""
    body: bytes


def complete(settings: LanguageModelSettings, messages: Sequence[dict[str, str]]) -> Completion:
    """Return the model's answer at temperature 0, with one retry.

    Raises NoAnswer for any failure of the server or the connection, and if the answer is late, too
    long or does not follow the protocol. Raises MissingExtra without the client library, and
    ConfigError without the server's key.
    """
    require("a language model", "llm", "httpx2")
    key = settings.key
    started = time.monotonic()
    results: queue.SimpleQueue[bytes | NoAnswer] = queue.SimpleQueue()

    def ask() -> None:
        try:
            results.put(asyncio.run(_ask(settings, key, messages)))
        except NoAnswer as error:
            results.put(error)
        except Exception as error:  # libraries raise errors of every kind for a hostile server
            results.put(NoAnswer(f"the question failed ({type(error).__name__})"))

    # The caller may run an event loop already, so the question has one in a thread of its own.
    threading.Thread(target=ask, daemon=True, name="language model").start()
    try:
        result = results.get(timeout=settings.seconds)
    except queue.Empty:
        raise _late_answer(settings) from None
    if isinstance(result, NoAnswer):
        raise result
    return _read_completion(result, time.monotonic() - started)


def _late_answer(settings: LanguageModelSettings) -> NoAnswer:
    return NoAnswer(f"it did not answer in {settings.seconds:g} seconds")


async def _ask(
    settings: LanguageModelSettings, key: str, messages: Sequence[dict[str, str]]
) -> bytes:
    """Return the body of the server's answer. Raises NoAnswer without a valid answer in time."""
    import httpx2

    # With a transport of its own, the client reads no proxies from the environment, so that the
    # question goes only where the note has said. The client follows no redirects by default.
    transport = httpx2.AsyncHTTPTransport(proxy=settings.proxy)
    # A small compressed body may unpack to any size, so compression is neither asked for nor read.
    headers = {"Accept-Encoding": "identity"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    question = {"model": settings.model, "messages": messages}
    fixed = {"temperature": 0}
    schema = {"name": "order", "schema": ANSWER_SCHEMA, "strict": True}
    structured = {"response_format": {"type": "json_schema", "json_schema": schema}}
    try:
        # The library limits the time of each read, so a trickle of bytes would pass its limit.
        async with (
            asyncio.timeout(settings.seconds),
            httpx2.AsyncClient(transport=transport, headers=headers, timeout=None) as client,
        ):
            # Servers refuse what they do not know, and models that reason, any temperature.
            for options in (fixed | structured, fixed, {}):
                response = await _post(client, settings, question | options)
                if response.status not in _UNKNOWN_FORMAT:
                    break
    except TimeoutError:
        raise _late_answer(settings) from None
    except httpx2.TransportError:
        raise NoAnswer("the connection failed") from None
    if response.status != 200:
        redirect = ", a redirect, which is not followed" if 300 <= response.status < 400 else ""
        reason = _read_error(response.body, key)
        raise NoAnswer(f"it answered with status {response.status}{redirect}{reason}")
    return response.body


def _read_error(body: bytes, key: str) -> str:
    """Return what a server says about its failure, as the end of a sentence; "" if it says nothing.

    Most servers refuse a prompt that is longer than their context, and name both lengths.
    """
    try:
        answer = parse_json(body)
    except ValueError:
        return ""
    match answer:
        case {"error": {"message": str(text)}} | {"error": str(text)} | {"message": str(text)}:
            sentence = clean_sentence(text.replace(key, "KEY") if key else text)
            return f": {sentence}" if sentence else ""
    return ""


async def _post(
    client: httpx2.AsyncClient, settings: LanguageModelSettings, question: dict[str, Any]
) -> _Response:
    """Return the response to a question, which is sent a second time after a temporary failure."""
    import httpx2

    try:
        response = await _post_once(client, settings, question)
    except httpx2.TransportError:
        pause = _RETRY_SECONDS
    else:
        pause = response.retry_seconds
        if response.status not in _TEMPORARY_FAILURES or pause > settings.seconds:
            return response
    await asyncio.sleep(pause)
    return await _post_once(client, settings, question)


async def _post_once(
    client: httpx2.AsyncClient, settings: LanguageModelSettings, question: dict[str, Any]
) -> _Response:
    """Return the response to a question. Raises NoAnswer if it is too long or compressed."""
    url = f"{settings.url.rstrip('/')}/chat/completions"
    async with client.stream("POST", url, json=question) as response:
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise NoAnswer("its answer is compressed, which was not asked for")
        body = bytearray()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > _MAX_ANSWER_BYTES:
                raise NoAnswer(f"its answer has more than {_MAX_ANSWER_BYTES:,} bytes")
        seconds = response.headers.get("Retry-After", "")
        pause = float(seconds) if _SECONDS.fullmatch(seconds) else _RETRY_SECONDS
        return _Response(response.status_code, pause, bytes(body))


def _read_completion(body: bytes, seconds: float) -> Completion:
    """Return the text and numbers of tokens in the body of an answer.

    Raises NoAnswer if it contains no text.
    """
    try:
        answer = parse_json(body)
    except ValueError as error:
        raise NoAnswer("its answer cannot be read, because it is not JSON") from error
    match answer:
        case {"choices": [{"message": {"content": str(text)}}, *_]} if text.strip():
            return Completion(
                text,
                _count(answer, "prompt_tokens"),
                _count(answer, "completion_tokens"),
                seconds,
            )
        case {"choices": [{"message": {"content": None | str()}}, *_]}:
            raise NoAnswer("its answer is empty")
    raise NoAnswer("its answer does not follow the protocol")


def _count(answer: dict[str, Any], name: str) -> int:
    """Return a number of tokens; 0 if the server does not report it."""
    match answer.get("usage"):
        case {**counts} if type(count := counts.get(name)) is int and 0 <= count <= _MAX_TOKENS:
            return count
    return 0
