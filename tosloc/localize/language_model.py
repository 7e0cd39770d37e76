"""The order that a language model gives the first files, if the user asks for it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from tosloc.core.answers import SuspectChange
from tosloc.core.progress import Progress, ignore_progress
from tosloc.localize.answer import suspect_heading
from tosloc.localize.code_lines import choose_card_lines
from tosloc.localize.hits import make_hits, search_suspects
from tosloc.localize.question import Question
from tosloc.localize.scores import Scores

if TYPE_CHECKING:
    from tosloc.rerank.llm.prompt import FileCard
    from tosloc.rerank.llm.reranker import LanguageModelReranker

MAX_FUNCTIONS_OF_CARD: Final = 5
"""Functions of a file that a language model gets to know."""


def reorder(
    scores: Scores,
    question: Question,
    language_model: LanguageModelReranker,
    progress: Progress = ignore_progress,
) -> Scores:
    """Let a language model order the first selected files; the other files keep their places.

    The files get their old scores in the new order. They have no confidence afterwards.
    """
    files, cards = make_cards(scores, question, language_model.depth)
    if len(files) < 2:
        return scores
    folder = None
    if scores.version.repository is not None:
        folder = scores.version.repository.answers_folder
    report = scores.stage_one.context.query.report
    result = language_model.order(report, cards, folder, progress)
    notes = (*scores.notes, result.note)
    if result.positions is None:
        return replace(scores, notes=notes)
    moved_up = {}
    for new_place, old_place in enumerate(result.positions):
        if new_place < old_place:
            moved_up[files[old_place]] = old_place + 1
    new_values = -np.sort(-scores.values[files])
    for place in range(1, len(new_values)):
        # Equal scores would be ranked by path.
        below = np.nextafter(new_values[place - 1], -np.inf)
        new_values[place] = min(new_values[place], below)
    values = scores.values.copy()
    values[[files[position] for position in result.positions]] = new_values
    return replace(scores, values=values, notes=notes, moved_up=moved_up)


def make_cards(scores: Scores, question: Question, depth: int) -> tuple[list[int], list[FileCard]]:
    """Return the first ``depth`` selected files, and what a language model is told of each."""
    from tosloc.rerank.llm.prompt import FileCard  # few processes ask a language model

    selection = scores.selection(question)
    files = scores.first_files(depth, selection)
    hits = make_hits(scores, files, scores.confidence(selection), MAX_FUNCTIONS_OF_CARD)
    lines = choose_card_lines(scores.version, scores.stage_one.context, files, hits)
    suspected = search_suspects(
        scores, question.suspects, selection, files, hits, MAX_FUNCTIONS_OF_CARD
    )
    cards = []
    for hit, file_lines in zip(hits, lines, strict=True):
        reasons = [reason.text for reason in hit.reasons]
        changes = []
        for change in suspected.changes:
            if change.path == hit.path:
                changes.append(_describe_suspect(change))
        cards.append(FileCard(hit.path, hit.functions, reasons, file_lines, changes))
    return files, cards


def _describe_suspect(change: SuspectChange) -> str:
    """Return a suspect change of a file in words, for a language model."""
    # The author says nothing about the fault.
    text = f"suspect change: {suspect_heading(replace(change, author=''))}"
    return f"{text} ({', '.join(change.reasons)})" if change.reasons else text
