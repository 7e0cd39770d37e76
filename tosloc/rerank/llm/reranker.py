"""The reranker that asks a language model for an order of the first files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, NamedTuple, Self

from tosloc.core.errors import pluralize
from tosloc.core.io import parse_json, read_regular_file, write_text
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.reports import BugReport
from tosloc.rerank.llm.client import NoAnswer, complete
from tosloc.rerank.llm.prompt import FileCard, build_messages, estimate_tokens, parse_order
from tosloc.rerank.llm.settings import LanguageModelSettings, read_settings

_MAX_KEPT_BYTES: Final = 100_000


@dataclass
class Usage:
    """What the questions so far have cost."""

    questions: int = 0
    """Questions that were sent."""
    kept: int = 0
    """Questions that were answered from the cache."""
    failed: int = 0
    """Questions without a usable answer."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    def as_dict(self) -> dict[str, float]:
        """Return JSON values."""
        return asdict(self)

    @property
    def sentence(self) -> str:
        """The cost in words.

        >>> print(Usage(2, 1, 0, 9_000, 120, 4.5).sentence)
        2 language model questions, 1 more from the cache: 9,000 tokens in, 120 out, 4.5 seconds
        """
        kept = f", {self.kept} more from the cache" if self.kept else ""
        failed = f", {self.failed} without an answer" if self.failed else ""
        tokens = f"{self.prompt_tokens:,} tokens in, {self.completion_tokens:,} out"
        return (
            f"{pluralize(self.questions, 'language model question')}{kept}{failed}:"
            f" {tokens}, {self.seconds:.1f} seconds"
        )


class ModelOrder(NamedTuple):
    """The order of some files after a question."""

    positions: Sequence[int] | None
    """Positions of all files in the new order; None if the order stays."""
    note: str
    """What happened, for the user."""


class LanguageModelReranker:
    """Orders the first files of a ranking as a language model says.

    It is no ``Reranker``: it learns nothing, and no checkpoint or configuration of a repository can
    select it, because code leaves the machine. If the model gives no usable answer, the order
    stays, and a note says why.
    """

    def __init__(
        self, settings: LanguageModelSettings, announce: Callable[[str], None] = lambda note: None
    ) -> None:
        """Ask by these settings; ``announce`` is called before the first question is sent."""
        self.settings = settings
        self.usage = Usage()
        self._announce = announce
        self._is_announced = False

    @classmethod
    def from_user_settings(cls, announce: Callable[[str], None] = lambda note: None) -> Self:
        """Return the reranker that the user's settings file describes. Raises ConfigError."""
        return cls(read_settings(), announce)

    @property
    def depth(self) -> int:
        """Number of files that the model orders."""
        return self.settings.files

    def messages(self, report: BugReport, cards: Sequence[FileCard]) -> list[dict[str, str]]:
        """Return exactly what ``order`` sends."""
        return build_messages(report, cards, self.settings.prompt_tokens)

    def order(
        self,
        report: BugReport,
        cards: Sequence[FileCard],
        kept_answers: Path | None = None,
        progress: Progress = ignore_progress,
    ) -> ModelOrder:
        """Ask the model to order files, or read its answer to the same question from a folder.

        Files that the answer leaves out keep their order, after those that it names.
        """
        messages = self.messages(report, cards)
        model = f"the language model {self.settings.model} at {self.settings.host}"
        try:
            first = self._ask(messages, len(cards), kept_answers, progress)
        except NoAnswer as error:
            self.usage.failed += 1
            note = f"{model} gave no usable answer ({error}), so the order is TosLoc's own"
            return ModelOrder(None, note)
        rest = [position for position in range(len(cards)) if position not in first]
        note = (
            f"{model} ordered the first {len(cards)} files; they have no confidence, because the"
            " model's order is not calibrated"
        )
        return ModelOrder([*first, *rest], note)

    def _ask(
        self,
        messages: list[dict[str, str]],
        number: int,
        kept_answers: Path | None,
        progress: Progress,
    ) -> list[int]:
        """Return the positions of the files that the model names. Raises NoAnswer."""
        question = json.dumps([self.settings.url, self.settings.model, messages])
        name = hashlib.sha256(question.encode()).hexdigest()[:32]
        file = None if kept_answers is None else kept_answers / f"{name}.json"
        kept = _read_kept(file, number)
        if kept is not None:
            self.usage.kept += 1
            return kept
        self._announce_once(messages, number)
        progress("asking the language model", 0, 1)
        self.usage.questions += 1
        completion = complete(self.settings, messages)
        self.usage.prompt_tokens += completion.prompt_tokens
        self.usage.completion_tokens += completion.completion_tokens
        self.usage.seconds += completion.seconds
        try:
            positions = parse_order(completion.text, number)
        except ValueError as error:
            raise NoAnswer(str(error)) from None
        if file is not None:
            with suppress(OSError):  # a full disk costs the next question, not this answer
                file.parent.mkdir(mode=0o700, exist_ok=True)
                write_text(file, json.dumps(positions) + "\n")
        return positions

    def _announce_once(self, messages: list[dict[str, str]], number: int) -> None:
        if self._is_announced:
            return
        self._is_announced = True
        tokens = sum(estimate_tokens(message["content"]) for message in messages)
        self._announce(
            f"sending the report and parts of {number} files, about {tokens:,} tokens, to the"
            f" language model {self.settings.model} at {self.settings.destination}"
        )


def _read_kept(file: Path | None, number: int) -> list[int] | None:
    """Return a kept answer, if there is a valid one."""
    if file is None:
        return None
    try:
        positions = parse_json(read_regular_file(file, _MAX_KEPT_BYTES))
    except (OSError, ValueError):
        return None
    if not isinstance(positions, list) or not positions:
        return None
    if not all(type(position) is int and 0 <= position < number for position in positions):
        return None
    if len(set(positions)) < len(positions):
        return None
    return positions
