"""Questions and answers of one run of the server: asked one after the other, kept beside each other."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Final

from markupsafe import Markup

from tosloc.errors import ToslocError, counted
from tosloc.interruption import Interrupted
from tosloc.localizer import Localizer
from tosloc.page.render import Article, answered, waiting
from tosloc.page.view import View
from tosloc.records import BugReport

KEPT: Final = 12
"""Questions with their answers; of more the oldest are forgotten."""
FILES: Final = 10
"""Of an answer."""


@dataclass(eq=False)
class Question:
    """A report that was asked, with its answer once there is one."""

    number: int
    report: BugReport
    commit: str
    """The version, as it was asked for."""
    tests: bool
    state: str = "waiting"
    """Then ``asked``, then ``done`` or ``failed``."""
    said: str = ""
    """How far it is, or why there is no answer."""
    html: Markup = field(default_factory=Markup)
    dropped: bool = False


class Session:
    """What is asked of one localizer. One thread answers; any may ask."""

    def __init__(self, localizer: Localizer) -> None:
        self._localizer = localizer
        self._lock = Lock()
        self._questions: dict[int, Question] = {}
        self._asked = 0
        self._closing = False
        self._warming = ""
        """How far it is with making a version ready; empty when it is not at that."""
        self._worker = ThreadPoolExecutor(1, "tosloc-answers")

    def warm(self, commit: str) -> None:
        """Make a version ready before anything is asked of it; what is wrong with it is said to who asks."""
        self._worker.submit(self._warm, commit)

    def close(self) -> None:
        """Answer nothing more; a question that is being answered ends at its next progress."""
        self._closing = True
        self._worker.shutdown(wait=True, cancel_futures=True)

    def ask(self, report: BugReport, commit: str, tests: bool) -> int:
        """The number of a new question. Raises ToslocError when as many wait as are kept."""
        with self._lock:
            open_ones = [one for one in self._questions.values() if one.state in ("waiting", "asked")]
            if len(open_ones) >= KEPT:
                raise ToslocError(f"{KEPT} questions wait already; ask again when one is answered")
            self._asked += 1
            # pasted text has no name of its own
            named = replace(report, id=f"report {self._asked}") if report.id == "report" else report
            question = Question(self._asked, named, commit, tests)
            self._questions[question.number] = question
            over = len(self._questions) - KEPT
            for one in [one for one in self._questions.values() if one not in (*open_ones, question)][: max(over, 0)]:
                del self._questions[one.number]
        self._worker.submit(self._answer, question)
        return question.number

    def forget(self, number: int) -> None:
        """Take a question away; one that is being answered ends at its next progress."""
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
            before = sum(one.number < number and one.state in ("waiting", "asked") for one in self._questions.values())
        if question is None:
            return None
        name = f"{question.report.id}: {question.report.summary or question.report.description[:100]}"
        if question.state == "done":
            return Article(number, name, question.html)
        if question.state == "failed":
            return Article(number, name, waiting(number, name, question.said, failed=True))
        said = question.said or "reading the report"
        if question.state == "waiting":
            ready = f"the repository is made ready: {self._warming}" if self._warming else "waits"
            said = ready if not before else f"waits for {counted(before, 'other question')}"
        return Article(number, name, waiting(number, name, said), waits=True)

    def _warm(self, commit: str) -> None:
        def go_on(what: str, done: int, total: int) -> None:
            if self._closing:
                raise Interrupted
            self._warming = _far(what, done, total)

        repository = self._localizer.repository
        if repository is not None:
            with suppress(ToslocError, OSError, Interrupted):
                repository.version(commit, go_on)
        self._warming = ""

    def _answer(self, question: Question) -> None:
        def progress(what: str, done: int, total: int) -> None:
            if self._closing or question.dropped:
                raise Interrupted
            question.said = _far(what, done, total)

        if self._closing or question.dropped:
            return
        question.state = "asked"
        try:
            answer = self._localizer.localize(
                question.report, commit=question.commit, tests=question.tests, top=FILES, progress=progress
            )
            question.html = answered(View.of(answer, self._localizer.repository), question.number, removable=True)
            question.state = "done"
        except Interrupted:
            question.said, question.state = "was taken away", "failed"
        except (ToslocError, OSError) as error:
            question.said, question.state = str(error), "failed"
        except Exception:
            logging.getLogger("tosloc").exception("a question could not be answered")
            question.said, question.state = "an error of the program; its terminal says more", "failed"


def _far(what: str, done: int, total: int) -> str:
    """Progress in words."""
    return f"{what}, {done:,} of {total:,}" if total else what
