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
from tosloc.web.render import Article, answered, waiting
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
    said: str
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
        known = isinstance(error, ToslocError | OSError | BrokenProcessPool)
        return str(error) if known else "an error of the program; its terminal says more"


def _log(answer: Future[Any]) -> None:
    error = None if answer.cancelled() else answer.exception()
    if isinstance(error, Exception) and not isinstance(error, ToslocError | OSError | BrokenProcessPool):
        logging.getLogger("tosloc").error("a question could not be answered", exc_info=error)


class Questions:
    """What is asked of a repository, with the checkpoint and the facts store that ``Localizer.open`` takes."""

    def __init__(self, repository: Path, checkpoint: Path | None = None, store: Path | None = None) -> None:
        self._opening, self.session = (repository, checkpoint, store), Session()
        self._lock = Lock()
        self._questions: dict[int, Question] = {}
        self._asked = 0
        self._warming: Question | None = None

    def warm(self, commit: str) -> None:
        """Make a version ready before anything is asked of it; what is wrong with it is said to who asks."""
        self._warming = Question(0, "", "")
        self._warming.ask(self.session, warm, self._opening, commit)

    def ask(self, report: BugReport, commit: str, tests: bool) -> int:
        """The number of a new question. Raises ToslocError when as many wait as are kept."""
        with self._lock:
            waiting = [one for one in self._questions.values() if not one.answer.done()]
            if len(waiting) >= KEPT:
                raise ToslocError(f"{KEPT} questions wait already; ask again when one is answered")
            self._asked += 1
            # pasted text has no name of its own
            named = replace(report, id=f"report {self._asked}") if report.id == "report" else report
            name = f"{named.id}: {named.summary or named.description[:100]}"
            question = Question(self._asked, name, "reading the report")
            question.ask(self.session, page_of, self._opening, named, commit, tests, self._asked)
            for one in [one for one in self._questions.values() if one not in waiting][
                : len(self._questions) + 1 - KEPT
            ]:
                del self._questions[one.number]
            self._questions[question.number] = question
        return question.number

    def forget(self, number: int) -> None:
        """Take a question away, also one that is being answered."""
        with self._lock:
            question = self._questions.pop(number, None)
        if question is not None:
            question.dropped = True

    def articles(self) -> Sequence[Article]:
        """What the page shows, the newest first."""
        with self._lock:
            numbers = list(self._questions)
        return [article for number in reversed(numbers) if (article := self.article(number)) is not None]

    def article(self, number: int) -> Article | None:
        """What stands on the page for a question; None if it is not known."""
        with self._lock:
            question = self._questions.get(number)
            before = sum(one.number < number and not one.answer.done() for one in self._questions.values())
        if question is None:
            return None
        name, answer = question.name, question.answer
        if answer.done():
            if why := question.why():
                return Article(number, name, waiting(number, name, why, failed=True))
            return Article(number, name, answer.result())
        said = question.said
        if not answer.running():
            warming = self._warming is not None and not self._warming.answer.done()
            ready = f"the repository is made ready: {self._warming.said}" if self._warming and warming else "waits"
            said = f"waits for {counted(before, 'other question')}" if before else ready
        return Article(number, name, waiting(number, name, said), waits=True)


Opening = tuple[Path, Path | None, Path | None]


def warm(opening: Opening, commit: str, progress: Progress) -> None:
    """Make a version ready. Raises as ``Localizer.open`` does."""
    opened(*opening).version(commit, progress)


def page_of(opening: Opening, report: BugReport, commit: str, tests: bool, number: int, progress: Progress) -> Markup:
    """What the page shows of an answer. Raises as ``Localizer.localize`` does."""
    localizer = opened(*opening)
    answer = localizer.localize(report, commit=commit, tests=tests, top=FILES, progress=progress)
    return answered(View.of(answer, localizer), number, removable=True)
