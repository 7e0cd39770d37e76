"""Answers to the same questions through all interfaces, as values that can be compared."""

import os
from dataclasses import replace
from io import StringIO
from pathlib import Path
from unittest import mock

from tosloc import Localizer
from tosloc.core.progress import ignore_progress
from tosloc.localize.question import Question
from tosloc.mcp import answers as mcp
from tosloc.reports.issues import read_report
from tosloc.web import render as web


def answer_everywhere(localizer, text):
    """Return the answers to a text of ``localize``, of ``explain``, for agents and as HTML."""
    report = read_report(StringIO(text))
    repository = Path(localizer.repository.path)
    answer = localizer.localize(report)
    first = answer.hits[0].path
    with (
        mock.patch.object(mcp, "open_localizer", return_value=localizer),
        mock.patch.object(web, "open_localizer", return_value=localizer),
    ):
        question = Question(report)
        for_agents = mcp.answer_call(question, None, [repository], None, None, ignore_progress)
        name, html = web.localize_and_render(question, 1, repository, None, "", ignore_progress)
    return {
        "localize": replace(answer, seconds=0.0).as_dict(),
        "explain": replace(localizer.explain(report, first), seconds=0.0).as_dict(),
        "for agents": for_agents.as_json(),
        "page": [name, html],
    }


def answer_all(repository, cache, texts, progress=ignore_progress):
    """Return the answers to some texts by a new localizer that keeps its facts in a cache."""
    with (
        mock.patch.dict(os.environ, {"TOSLOC_CACHE": str(cache)}),
        Localizer.open(repository, ready=False) as localizer,
    ):
        return [answer_everywhere(localizer, text) for text in texts]
