# mypy: strict-optional, disallow-untyped-defs, disallow-incomplete-defs, disallow-untyped-calls
"""Uses of the public interface as a user's program would have them; mypy checks their types."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import assert_type

import tosloc
from tosloc import (
    Answer,
    BugReport,
    Function,
    Hit,
    Localizer,
    Model,
    Question,
    Reason,
    Repository,
    SuspectChange,
    ToslocError,
    UnknownCommit,
    read_report,
    read_reports,
)


def ask(folder: str) -> None:
    """Ask about a text, about a report and about many."""
    with Localizer.open(folder, commit="HEAD") as localizer:
        assert_type(localizer, Localizer)
        assert_type(localizer.repository, Repository | None)
        answer = localizer.localize("The cart forgets an item", include=["src/"], top=5)
        assert_type(answer, Answer)
        report = read_report(Path("bug.md"))
        assert_type(report, BugReport)
        assert_type(localizer.explain(report, "cart.py", functions=2), Answer)
        assert_type(localizer.localize(report, good=["v1.2"], bad="v1.3"), Answer)
        answers = localizer.localize_many([report, "Another text of a report"], suspects=True)
        assert_type(answers, Iterator[Answer])


def ask_questions(folder: Path) -> None:
    """Ask questions that were made before, and handle those without an answer."""
    question = Question("The cart forgets an item", commit="v1.0", tests=True)
    assert_type(replace(question, top=3), Question)

    def print_error(question: Question, error: Exception) -> None:
        print(question.report, error)

    with Localizer.open(folder, rerank="llm", encoder="coderankembed") as localizer:
        assert_type(localizer.answer(question), Answer)
        for answer in localizer.answer_many([question], on_error=print_error):
            assert_type(answer, Answer)


def read_answer(answer: Answer) -> None:
    """Read an answer's parts."""
    assert_type(answer.hits, tuple[Hit, ...])
    assert_type(answer.committed, datetime)
    assert_type(answer.suspects, tuple[SuspectChange, ...])
    for hit in answer.hits[:5]:
        assert_type(hit.path, str)
        assert_type(hit.confidence, float)
        assert_type(hit.functions, tuple[Function, ...])
        assert_type(hit.reasons, tuple[Reason, ...])
        assert_type(hit.reasons[0].commit, str | None)
    for change in answer.suspects:
        assert_type(change.subject, str)
        assert_type(change.committed, datetime)


def read_labelled(path: Path) -> None:
    """Read labelled reports, and a checkpoint."""
    for labelled in read_reports(path):
        assert_type(labelled.report, BugReport)
    assert_type(Model.load("none"), Model)


def handle(folder: str) -> str:
    """Handle errors by their classes."""
    try:
        Localizer.open(folder, commit="nothing")
    except UnknownCommit as error:
        return f"unknown: {error}"
    except (tosloc.RepositoryError, tosloc.ReportError, tosloc.ConfigError) as error:
        assert_type(error, tosloc.RepositoryError | tosloc.ReportError | tosloc.ConfigError)
        return f"input: {error}"
    except (tosloc.CheckpointError, tosloc.StoreError, tosloc.RunError) as error:
        return f"files: {error}"
    except tosloc.MissingExtra as error:
        return f"not installed: {error}"
    except ToslocError as error:
        return error.hint
    return tosloc.__version__
