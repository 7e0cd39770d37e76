"""One question to a server that speaks the OpenAI-compatible protocol, within a time limit."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from tosloc.core.errors import require
from tosloc.rerank.llm.prompt import ANSWER_SCHEMA
from tosloc.rerank.llm.settings import LanguageModelSettings

_MAX_ANSWER_CHARACTERS: Final = 1_000_000


class NoAnswer(Exception):
    """The model gave no usable answer; the message says why."""


@dataclass(frozen=True)
class Completion:
    """The text of an answer and what it cost."""

    text: str
    prompt_tokens: int
    completion_tokens: int
    seconds: float


def complete(settings: LanguageModelSettings, messages: Sequence[dict[str, str]]) -> Completion:
    """Ask the model once, with one retry, at temperature 0.

    Raises NoAnswer when the server refuses, fails, is late or answers nothing, MissingExtra
    without the client library, and ConfigError without the server's key.
    """
    require("a language model", "llm", "openai")
    key = settings.key
    started = time.monotonic()
    results: queue.SimpleQueue[Completion | Exception] = queue.SimpleQueue()

    def ask() -> None:
        try:
            results.put(_ask(settings, key, messages, started))
        except Exception as error:
            results.put(error)

    # The library's own time limit is for each read, so a trickle of bytes would pass it.
    threading.Thread(target=ask, daemon=True).start()
    try:
        result = results.get(timeout=settings.seconds)
    except queue.Empty:
        raise NoAnswer(f"it did not answer in {settings.seconds:g} seconds") from None
    if isinstance(result, Exception):
        raise result
    return result


def _ask(
    settings: LanguageModelSettings, key: str, messages: Sequence[dict[str, str]], started: float
) -> Completion:
    import openai

    options: dict[str, Any] = {"model": settings.model, "messages": messages, "temperature": 0}
    schema = {"name": "order", "schema": ANSWER_SCHEMA, "strict": True}
    structured: Any = {"response_format": {"type": "json_schema", "json_schema": schema}}
    with openai.OpenAI(
        api_key=key, base_url=settings.url, timeout=settings.seconds, max_retries=1
    ) as client:
        try:
            try:
                answer = client.chat.completions.create(**options, **structured)
            except (openai.BadRequestError, openai.UnprocessableEntityError):
                # Some servers do not know structured output.
                answer = client.chat.completions.create(**options)
        except openai.APIStatusError as error:
            raise NoAnswer(f"it answered with status {error.status_code}") from None
        except openai.APITimeoutError:
            raise NoAnswer(f"it did not answer in {settings.seconds:g} seconds") from None
        except openai.APIConnectionError:
            raise NoAnswer("the connection failed") from None
        except (openai.OpenAIError, ValueError, TypeError) as error:
            raise NoAnswer(f"its answer cannot be read ({type(error).__name__})") from None
    try:
        text = answer.choices[0].message.content
        usage = answer.usage
    except (AttributeError, IndexError, TypeError):
        raise NoAnswer("its answer does not follow the protocol") from None
    if not isinstance(text, str) or not text.strip() or len(text) > _MAX_ANSWER_CHARACTERS:
        raise NoAnswer("its answer is empty or too long")
    return Completion(
        text,
        _count(usage, "prompt_tokens"),
        _count(usage, "completion_tokens"),
        time.monotonic() - started,
    )


def _count(usage: Any, name: str) -> int:
    value = getattr(usage, name, 0)
    return value if isinstance(value, int) else 0
