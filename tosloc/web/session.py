"""Questions and answers of one run of the server: asked one after the other, kept beside each other.

Another process answers them, so that this one can always end it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Final, TypeAlias

from markupsafe import Markup

from tosloc.errors import Interrupted, ToslocError, counted
from tosloc.localizer import Localizer
from tosloc.processes import Worker
from tosloc.records import BugReport, Progress
from tosloc.web.render import Article, answered, waiting
from tosloc.web.view import View

KEPT: Final = 12
"""Questions with their answers; of more the oldest are forgotten."""
FILES: Final = 10
"""Of an answer."""
Opening: TypeAlias = tuple[Path, Path | None, Path | None]
"""A repository, the checkpoint and the facts store to ask it with; None for those that ``Localizer.open`` takes."""


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
    """What is asked of one repository. One process answers; any thread may ask."""

    def __init__(self, repository: Path, checkpoint: Path | None = None, store: Path | None = None) -> None:
        self._opening = repository, checkpoint, store
        self._lock = Lock()
        self._questions: dict[int, Question] = {}
        self._asked = 0
        self._closing = False
        self._warming = ""
        """How far it is with making a version ready; empty when it is not at that."""
        self._thread, self._process = ThreadPoolExecutor(1, "tosloc-answers"), Worker()

    def warm(self, commit: str) -> None:
        """Make a version ready before anything is asked of it; what is wrong with it is said to who asks."""
        self._thread.submit(self._warm, commit)

    def close(self) -> None:
        """Answer nothing more, whatever is being answered."""
        self._closing = True
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._process.close()

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
        self._thread.submit(self._answer, question)
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
        def progress(what: str, done: int, total: int) -> None:
            self._warming = _far(what, done, total)

        with suppress(ToslocError, OSError, BrokenProcessPool, Interrupted):
            self._process.call(warm, self._opening, commit, progress=progress, stopped=lambda: self._closing)
        self._warming = ""

    def _answer(self, question: Question) -> None:
        def progress(what: str, done: int, total: int) -> None:
            question.said = _far(what, done, total)

        if question.dropped:
            return
        question.state = "asked"
        try:
            asked = question.report, question.commit, question.tests, question.number
            question.html = self._process.call(
                page_of, self._opening, *asked, progress=progress, stopped=lambda: self._closing or question.dropped
            )
            question.state = "done"
        except Interrupted:
            question.said, question.state = "was taken away", "failed"
        except (ToslocError, OSError, BrokenProcessPool) as error:
            question.said, question.state = str(error), "failed"
        except Exception:
            logging.getLogger("tosloc").exception("a question could not be answered")
            question.said, question.state = "an error of the program; its terminal says more", "failed"


def warm(opening: Opening, commit: str, progress: Progress) -> None:
    """Make a version ready. Raises as ``Localizer.open`` does."""
    _opened(opening).version(commit, progress)


def page_of(opening: Opening, report: BugReport, commit: str, tests: bool, number: int, progress: Progress) -> Markup:
    """What the page shows of an answer. Raises as ``Localizer.localize`` does."""
    localizer = _opened(opening)
    answer = localizer.localize(report, commit=commit, tests=tests, top=FILES, progress=progress)
    return answered(View.of(answer, localizer), number, removable=True)


@cache
def _opened(opening: Opening) -> Localizer:
    repository, checkpoint, store = opening
    return Localizer.open(repository, checkpoint, commit=None, store=store)


def _far(what: str, done: int, total: int) -> str:
    """Progress in words."""
    return f"{what}, {done:,} of {total:,}" if total else what
