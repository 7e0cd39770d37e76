"""What is asked of one repository while the server runs: questions, and articles of them for the page."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, Final

from markupsafe import Markup

from tosloc.errors import Interrupted, ToslocError, counted
from tosloc.records import BugReport, Progress
from tosloc.session import Session, opened
from tosloc.web.render import Article, Ask, answered
from tosloc.web.view import View

KEPT: Final = 12
"""Questions with their answers; of more the oldest are forgotten."""
FILES: Final = 10
"""Of an answer."""


@dataclass(eq=False)
class Question:
    """A report that was asked, with its answer once there is one."""

    number: int
    name: str
    asked: Ask
    said: str = "reading the report"
    """How far it is."""
    dropped: bool = False

    def ask(self, session: Session, answer: Any, *arguments: Any) -> None:
        """Have the session answer, unless it is dropped."""

        def progress(what: str, done: int, total: int) -> None:
            self.said = f"{what}, {done:,} of {total:,}" if total else what

        self.answer: Future[Markup] = session.ask(answer, *arguments, progress=progress, stopped=lambda: self.dropped)
        self.answer.add_done_callback(_log)

    def why(self) -> str:
        """Why there is no answer; "" where there is one."""
        error = self.answer.exception()
        if error is None or isinstance(error, Interrupted):
            return "was taken away" if error else ""
        return str(error) if _is_known(error) else "an error of the program; its terminal says more"


def _is_known(error: BaseException) -> bool:
    return isinstance(error, ToslocError | OSError | BrokenProcessPool)


def _log(answer: Future[Any]) -> None:
    error = None if answer.cancelled() else answer.exception()
    if isinstance(error, Exception) and not _is_known(error):
        logging.getLogger("tosloc").error("a question could not be answered", exc_info=error)


class Questions:
    """What is asked of a repository, with the checkpoint that ``Localizer.open`` takes.

    ``editor`` is the address that opens a file in the reader's editor, as a ``View`` has it.
    """

    def __init__(self, repository: Path, checkpoint: Path | None = None, editor: str = "") -> None:
        self._opening, self._editor, self.session = (repository, checkpoint), editor, Session()
        self._lock = Lock()
        self._questions: dict[int, Question] = {}
        self._last = 0
        self._warming: Question | None = None

    def warm(self, commit: str) -> None:
        """Make a version ready before anything is asked of it; what is wrong with it is said to who asks."""
        self._warming = Question(0, "", Ask())
        self._warming.ask(self.session, warm, self._opening, commit)

    def ask(self, asked: Ask, report: BugReport) -> int:
        """The number of a new question, ``report`` as the form has it. Raises ToslocError when too many wait."""
        with self._lock:
            done = [number for number, one in self._questions.items() if one.answer.done()]
            if len(self._questions) - len(done) >= KEPT:
                raise ToslocError(f"{KEPT} questions wait already; ask again when one is answered")
            self._last += 1
            # pasted text has no name of its own
            named = replace(report, id=f"report {self._last}") if report.id == "report" else report
            question = Question(self._last, f"{named.id}: {named.summary or named.description[:100]}", asked)
            question.ask(self.session, page_of, self._opening, named, asked.commit, asked.tests, self._editor)
            for number in done[: max(0, len(self._questions) + 1 - KEPT)]:
                del self._questions[number]
            self._questions[question.number] = question
        return question.number

    def asked(self, number: int) -> Ask | None:
        """What stood in the form of a question; None if it is not known."""
        with self._lock:
            return None if (question := self._questions.get(number)) is None else question.asked

    def forget(self, number: int) -> None:
        """Take a question away, also one that is being answered."""
        with self._lock:
            question = self._questions.pop(number, None)
        if question is not None:
            question.dropped = True

    def articles(self) -> Sequence[Article]:
        """What stands on the page for the questions, the newest first."""
        with self._lock:
            questions = list(self._questions.values())
        found, before = [], 0
        for one in questions:
            if one.answer.done():
                why = one.why().removeprefix(f"{self._opening[0]}: ")
                found.append(Article(one.number, one.name, None if why else one.answer.result(), why, failed=bool(why)))
                continue
            said, warming = one.said, self._warming
            if before:
                said = f"waits for {counted(before, 'other question')}"
            elif warming is not None and not warming.answer.done():
                said = f"the repository is made ready: {warming.said}"
            found.append(Article(one.number, one.name, None, said))
            before += 1
        return found[::-1]


Opening = tuple[Path, Path | None]


def warm(opening: Opening, commit: str, progress: Progress) -> None:
    """Make a version, or with "" the files on disk, ready. Raises as ``Localizer.open`` does."""
    opened(*opening).version(commit or None, progress)


def page_of(opening: Opening, report: BugReport, commit: str, tests: bool, editor: str, progress: Progress) -> Markup:
    """What the page shows of an answer. Raises as ``Localizer.localize`` does."""
    localizer = opened(*opening)
    answer = localizer.localize(report, commit=commit or None, tests=tests or None, top=FILES, progress=progress)
    return answered(View.of(answer, localizer, editor))
