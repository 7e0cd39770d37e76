"""The reranker that lets a language model order the first files."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple, Protocol, Self

from tosloc.core.errors import pluralize
from tosloc.core.io import read_regular_file, write_text
from tosloc.core.progress import Progress, ignore_progress
from tosloc.rerank.llm.agreement import AGREEMENTS, Agreement, find_agreement
from tosloc.rerank.llm.client import NoAnswer, complete
from tosloc.rerank.llm.prompt import (
    DETAILED_FILES,
    FileCard,
    ModelAnswer,
    PointedFunction,
    Prompt,
    build_prompt,
    describe_report,
    parse_answer,
)
from tosloc.rerank.llm.settings import LanguageModelSettings, read_settings, settings_file
from tosloc.retrieval.query import Query

_MAX_KEPT_BYTES: Final = 100_000
_LONGEST_KEPT: Final = _MAX_KEPT_BYTES // 4
"""Largest number of characters of an answer that is stored; each has at most four bytes."""


@dataclass
class Usage:
    """Costs of all questions so far."""

    questions: int = 0
    """Number of questions that were sent."""
    kept: int = 0
    """Number of questions that were answered from the cache."""
    failed: int = 0
    """Number of questions without a usable answer."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    def as_dict(self) -> dict[str, float]:
        """Return JSON values."""
        return asdict(self)

    @property
    def sentence(self) -> str:
        """A sentence about the costs.

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
    """The result of a question."""

    paths: Sequence[str]
    """Files that the model names, the most likely first; empty if the order stays."""
    functions: Mapping[str, PointedFunction]
    """File -> function to change, for some of ``paths``."""
    note: str
    """A sentence for the user on what happened."""


class Files(Protocol):
    """The files that a model chooses from, and functions to get more details about them."""

    @property
    def query(self) -> Query:
        """The report."""

    @property
    def facts(self) -> Sequence[str]:
        """Statements of the report about the project; see ``describe_report``."""

    @property
    def paths(self) -> Sequence[str]:
        """The files to list, best first."""

    def describe(self, paths: Sequence[str]) -> Sequence[FileCard]:
        """Return what the model is told about some files."""

    def find(self, written: str) -> str | None:
        """Return the path of the listed file that the model means; None if there is none."""


class LanguageModelReranker:
    """Lets a language model order the first files of a ranking.

    It is not a ``Reranker``: it learns nothing, and no checkpoint or configuration of a repository
    can select it, because code is sent to another machine. If the model gives no usable answer, the
    order stays, and a note says why.
    """

    def __init__(
        self, settings: LanguageModelSettings, announce: Callable[[str], None] = lambda note: None
    ) -> None:
        """Use these settings; ``announce`` gets a note before the first question is sent."""
        self.settings = settings
        self.name = f"the language model {settings.model} at {settings.host}"
        self.usage = Usage()
        self._announce = announce
        self._is_announced = False
        self._given_answer: str | None = None

    @classmethod
    def from_user_settings(cls, announce: Callable[[str], None] = lambda note: None) -> Self:
        """Return the reranker in the user's settings file, or raise ConfigError."""
        return cls(read_settings(), announce)

    @classmethod
    def for_prompts(cls, **limits: int) -> Self:
        """Return a reranker that can only build prompts, within ``files`` and ``prompt_tokens``.

        By default the user's limits are used, or the default limits if the user has no settings.
        """
        if not limits and os.path.lexists(settings_file()):
            return cls(read_settings())
        values = {"url": "http://127.0.0.1/v1", "model": "any", **limits}
        return cls(LanguageModelSettings.model_validate(values))

    @classmethod
    def with_answer(
        cls, text: str, files: int = 2, prompt_tokens: int = 1_000, name: str = ""
    ) -> Self:
        """Return a reranker that orders files by a given answer, without asking a model.

        If the answer names files by their numbers, the limits must be those of its prompt.
        ``name`` says in notes whose answer it is.
        """
        reranker = cls.for_prompts(files=files, prompt_tokens=prompt_tokens)
        reranker.name = name or reranker.name
        reranker._given_answer = text
        return reranker

    @staticmethod
    def read_answer(text: str, number: int) -> ModelAnswer:
        """Return the files and functions in a model's answer; see ``parse_answer``."""
        return parse_answer(text, number)

    agreements: Final = AGREEMENTS
    """What TosLoc's own rank of a model's first file says about this file."""

    @staticmethod
    def find_agreement(rank: int) -> Agreement:
        """Return what a rank of a model's first file in TosLoc's own ranking says about it."""
        return find_agreement(rank)

    @property
    def depth(self) -> int:
        """Number of files that the model chooses from."""
        return self.settings.files

    def first_prompt(self, files: Files) -> Prompt:
        """Return the prompt that ``order`` would send first."""
        if self.settings.rounds > 1:
            report = describe_report(files.query, files.facts)
            return build_prompt(report, (), files.paths, self.settings.prompt_tokens)
        return self._detailed_prompt(files, files.paths)

    def _detailed_prompt(self, files: Files, paths: Sequence[str]) -> Prompt:
        """Return the question that shows the code of the first of the files ``paths``."""
        report = describe_report(files.query, files.facts)
        cards = files.describe(paths[:DETAILED_FILES])
        further = paths[DETAILED_FILES:]
        return build_prompt(report, cards, further, self.settings.prompt_tokens)

    def order(
        self, files: Files, kept_answers: Path | None = None, progress: Progress = ignore_progress
    ) -> ModelOrder:
        """Ask the model which files to change, or read its stored answer to the same question.

        Answers are stored in the folder ``kept_answers``. With two rounds, the model first chooses
        by paths, and then reads the code of the first files that it chose.
        """
        before = replace(self.usage)
        try:
            prompt = self.first_prompt(files)
            answer = self._ask(prompt, kept_answers, progress)
            paths = _find_paths(answer, prompt, files)
            if self.settings.rounds > 1:
                rest = [path for path in files.paths if path not in paths]
                prompt = self._detailed_prompt(files, [*paths, *rest])
                answer = self._ask(prompt, kept_answers, progress)
                paths = _find_paths(answer, prompt, files)
        except NoAnswer as error:
            self.usage.failed += 1
            note = f"{self.name} gave no usable answer ({error}), so the order is TosLoc's own"
            return ModelOrder((), {}, note)
        functions: dict[str, PointedFunction] = {}
        for function in answer.functions:
            path = _find_path(function.file, prompt, files)
            if path is not None:
                functions.setdefault(path, function)
        note = (
            f"{self.name} chose {pluralize(len(paths), 'file')} of {len(prompt.paths)}"
            f"{self._cost_since(before)}; files in its order have no confidence in percent"
        )
        return ModelOrder(tuple(paths), functions, note)

    def _cost_since(self, before: Usage) -> str:
        """Return a sentence about the costs since ``before``; "" if the cache had all answers."""
        read = self.usage.prompt_tokens - before.prompt_tokens
        written = self.usage.completion_tokens - before.completion_tokens
        if not read and not written:
            return ""
        return f" for {read:,} tokens in and {written:,} out"

    def _ask(self, prompt: Prompt, kept_answers: Path | None, progress: Progress) -> ModelAnswer:
        """Return what the model answers. Raises NoAnswer."""
        if self._given_answer is not None:
            return _parse(self._given_answer, prompt)
        question = json.dumps([self.settings.url, self.settings.model, prompt.messages])
        name = hashlib.sha256(question.encode()).hexdigest()[:32]
        file = None if kept_answers is None else kept_answers / f"{name}.json"
        kept = _read_kept(file, len(prompt.paths))
        if kept is not None:
            self.usage.kept += 1
            return kept
        self._announce_once(prompt)
        progress("asking the language model", 0, 1)
        self.usage.questions += 1
        completion = complete(self.settings, prompt.messages)
        self.usage.prompt_tokens += completion.prompt_tokens
        self.usage.completion_tokens += completion.completion_tokens
        self.usage.seconds += completion.seconds
        answer = _parse(completion.text, prompt)
        if file is not None and len(completion.text) <= _LONGEST_KEPT:
            with suppress(OSError):  # a full disk costs the next question, not this answer
                file.parent.mkdir(mode=0o700, exist_ok=True)
                write_text(file, completion.text)
        return answer

    def _announce_once(self, prompt: Prompt) -> None:
        if self._is_announced:
            return
        self._is_announced = True
        tokens = f"about {prompt.tokens:,} tokens"
        if self.settings.rounds > 1:
            tokens += f" and then at most {self.settings.prompt_tokens:,} with code"
        parts = f"the paths of {pluralize(len(prompt.paths), 'file')}"
        if prompt.detailed:
            parts += f" and code of {prompt.detailed}"
        self._announce(
            f"sending the report, {parts}, {tokens}, to the language model {self.settings.model} at"
            f" {self.settings.destination}"
        )


def _parse(text: str, prompt: Prompt) -> ModelAnswer:
    """Return the files and functions in an answer to a prompt.

    Raises NoAnswer if the answer cannot be read.
    """
    try:
        return parse_answer(text, len(prompt.paths))
    except ValueError as error:
        raise NoAnswer(str(error)) from None


def _find_paths(answer: ModelAnswer, prompt: Prompt, files: Files) -> list[str]:
    """Return the paths of an answer's files, without repetitions, or raise NoAnswer."""
    paths: dict[str, None] = {}
    for item in answer.order:
        path = _find_path(item, prompt, files)
        if path is not None:
            paths[path] = None
    if not paths:
        raise NoAnswer("its answer contains no file of this version")
    return list(paths)


def _find_path(file: int | str, prompt: Prompt, files: Files) -> str | None:
    """Return the path of a file in an answer; None if there is no such file."""
    return prompt.paths[file] if isinstance(file, int) else files.find(file)


def _read_kept(file: Path | None, number: int) -> ModelAnswer | None:
    """Return a stored answer about ``number`` listed files; None if there is no valid one."""
    if file is None:
        return None
    try:
        text = read_regular_file(file, _MAX_KEPT_BYTES).decode("utf-8")
        return parse_answer(text, number)
    except (OSError, ValueError):
        return None
