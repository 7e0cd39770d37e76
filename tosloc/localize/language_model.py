"""Let a language model order the first files, if the user requests it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tosloc.code.functions import FunctionFacts, dotted_name
from tosloc.core.answers import Function, Hit, Reason, SuspectChange
from tosloc.core.progress import Progress, ignore_progress
from tosloc.localize.code_lines import Bodies, choose_bodies
from tosloc.localize.globs import FileSelection
from tosloc.localize.hits import make_hits, search_suspects
from tosloc.localize.question import Question
from tosloc.localize.scores import Scores
from tosloc.rank.features import find_statements
from tosloc.rank.suspects import describe_statements
from tosloc.retrieval.texts import top_k

if TYPE_CHECKING:
    from tosloc.rerank.llm.reranker import LanguageModelReranker

MAX_FUNCTIONS_OF_CARD: Final = 5
"""Largest number of a file's functions that are shown to a language model."""
FILES_WITH_RELATIONS: Final = 10
"""Number of files, from the first, whose related files are added to the list."""
RELATED_SHARE: Final = 0.4
"""Share of the listed files, apart from the first ones, that are chosen as related files."""
MAX_FACTS: Final = 15
"""Largest number of files, and of frames, that are named before the report's text."""


def reorder(
    scores: Scores,
    question: Question,
    language_model: LanguageModelReranker,
    progress: Progress = ignore_progress,
) -> Scores:
    """Let a language model choose the first files; the other files keep their order.

    The scores themselves stay the same, but belong to the files in the new order. The files have no
    confidence afterwards. If the model gives no order, only its note is added.
    """
    selection = scores.selection(question)
    files = ListedFiles(scores, question, language_model.depth)
    if len(files.paths) < 2:
        return scores
    folder = None
    if scores.version.repository is not None:
        folder = scores.version.repository.answers_folder
    result = language_model.order(files, folder, progress)
    if not result.paths:
        return replace(scores, notes=(*scores.notes, result.note))
    numbers = {path: number for number, path in enumerate(scores.version.snapshot.paths)}
    chosen = [numbers[path] for path in result.paths]
    ranks = {file: scores.rank_of(file, selection) for file in chosen}
    # Files between the chosen ones move down by one place each.
    affected = scores.first_files(max(ranks.values()), selection)
    order = [*chosen, *(file for file in affected if file not in ranks)]
    new_values = -np.sort(-scores.values[affected])
    for place in range(1, len(new_values)):
        # Equal scores would be ranked by path.
        below = np.nextafter(new_values[place - 1], -np.inf)
        new_values[place] = min(new_values[place], below)
    values = scores.values.copy()
    values[order] = new_values
    moved_up = {}
    for rank, file in enumerate(chosen, start=1):
        if rank < ranks[file]:
            moved_up[file] = ranks[file]
    reasons: dict[int, Reason] = {}
    functions: dict[int, int] = {}
    for path, function in result.functions.items():
        file = numbers[path]
        [facts] = scores.version.functions_of([file])
        number = _find_function(facts, function.name, function.line)
        lines = None
        if number is not None:
            functions[file] = number
            start, end = int(facts.starts[number]), int(facts.ends[number])
            is_inside = start <= function.line <= end
            lines = (function.line, function.line) if is_inside else (start, end)
        text = f"A language model points at `{function.name}`"
        if function.why:
            text += f": {function.why}"
        reasons[file] = Reason("model", text, lines=lines)
    rank = ranks[chosen[0]]
    note = f"{result.note}; {language_model.find_agreement(rank).describe(rank)}"
    return replace(
        scores,
        values=values,
        notes=(*scores.notes, note),
        moved_up=moved_up,
        model_reasons=reasons,
        model_functions=functions,
    )


def _find_function(facts: FunctionFacts, written: str, line: int) -> int | None:
    """Return the number of the function that a model means by a name and a line, or None.

    Only the last part of the name has to match. If several functions match, the function that
    contains the line is returned, or the first function if none contains it. Return None if no
    function matches.
    """
    wanted = dotted_name(written.removesuffix("()")).rpartition(".")[2]
    matches = []
    for number, name in enumerate(facts.names):
        if name.rpartition(".")[2] == wanted:
            matches.append(number)
    for number in matches:
        if facts.starts[number] <= line <= facts.ends[number]:
            return number
    return matches[0] if matches else None


class Card(NamedTuple):
    """What a language model is told about a file whose code it sees."""

    path: str
    functions: Sequence[Function] = ()
    """The most suspicious functions of the file."""
    bodies: Bodies = ()
    """The file's code, most suspicious first: function, numbered lines and the lines' weights."""
    changes: Sequence[str] = ()
    """Past changes of the file that may have introduced the bug, in words."""


class ListedFiles:
    """The files that a language model chooses from, with what it is told about them.

    The first selected files of the ranking come first, then files related to them.
    """

    def __init__(self, scores: Scores, question: Question, number: int) -> None:
        """List ``number`` files, or fewer if the question selects fewer."""
        self._scores = scores
        self._question = question
        self._selection = scores.selection(question)
        paths = scores.version.snapshot.paths
        ranked = scores.first_files(number, self._selection)
        kept = np.flatnonzero(self._selection.kept).tolist()
        self._numbers = {paths[file]: file for file in kept}
        self.query = scores.stage_one.context.query
        """The report."""
        self.facts = list(_state_facts(scores))
        """What the report states about the project, in words."""
        listed = _add_related(scores, self._selection, ranked)
        self.paths = [paths[file] for file in listed]
        """The listed files, best first."""

    def describe(self, paths: Sequence[str]) -> list[Card]:
        """Return what a model is told about each of some files."""
        files = [self._numbers[path] for path in paths]
        return make_cards(self._scores, self._question, self._selection, files)

    def find(self, written: str) -> str | None:
        """Return the path of the listed file that a model means; None if there is none.

        ``written`` may be the whole path, or an end that only one listed file has.
        """
        path = written.replace("\\", "/").removeprefix("./").strip("/")
        if path in self._numbers:
            return path
        matches = [known for known in self._numbers if known.endswith(f"/{path}")]
        return matches[0] if path and len(matches) == 1 else None


def _add_related(scores: Scores, selection: FileSelection, ranked: Sequence[int]) -> list[int]:
    """Return ``ranked`` with its last files replaced by files related to the first ones."""
    first = ranked[:FILES_WITH_RELATIONS]
    related = int(RELATED_SHARE * (len(ranked) - len(first)))
    if not related:
        return list(ranked)
    kept = ranked[: len(ranked) - related]
    context = scores.stage_one.context
    confidence = np.zeros(len(scores.values))
    hits = make_hits(scores, first, confidence, MAX_FUNCTIONS_OF_CARD)
    code = []
    for bodies in choose_bodies(scores.version, context, first, hits):
        for _, lines, _ in bodies:
            code += [line for _, line in lines]
    values = scores.stage_one.relate_files(first, code)
    may_be_added = selection.kept & (values > 0)
    may_be_added[kept] = False
    added = top_k(np.where(may_be_added, values, -np.inf), related)
    added_files = added[may_be_added[added]].tolist()
    rest = [file for file in ranked[len(kept) :] if file not in added_files]
    return [*kept, *added_files, *rest][: len(ranked)]


def _state_facts(scores: Scores) -> Iterator[str]:
    """Yield sentences on what the report states about files and changes of the project."""
    context = scores.stage_one.context
    yield from describe_statements(context.named_history, scores.version.sources)
    table = context.version.paths.table
    frames: dict[str, None] = {}
    for trace in context.query.places.locations.traces:
        for frame in trace:
            rows = context.named_files.find_rows(frame)
            if len(rows) == 1:
                place = table.paths[rows[0]]
                if frame.line:
                    place += f":{frame.line}"
                frames[f"{place} {frame.method}".strip()] = None
    if frames:
        yield f"Stack frames in the project: {', '.join(list(frames)[:MAX_FACTS])}"
    kinds: dict[str, str] = {}
    for statement in find_statements(context):
        if "frame" not in statement.kind:
            kinds.setdefault(table.paths[statement.row], statement.kind)
    for path, kind in list(kinds.items())[:MAX_FACTS]:
        yield f"The report points at {path} ({kind})"


def make_cards(
    scores: Scores, question: Question, selection: FileSelection, files: Sequence[int]
) -> list[Card]:
    """Return what a language model is told about files whose code it sees.

    Suspect changes are included only if the report blames a commit or states when it broke.
    """
    confidence = np.zeros(len(scores.values))
    hits = make_hits(scores, files, confidence, MAX_FUNCTIONS_OF_CARD)
    suspects: Sequence[SuspectChange] = ()
    if scores.points_at_suspects:
        suspects = search_suspects(
            scores, question.suspects, selection, files, hits, MAX_FUNCTIONS_OF_CARD
        ).changes
    code = choose_bodies(scores.version, scores.stage_one.context, files, hits)
    cards = []
    for hit, bodies in zip(hits, code, strict=True):
        cards.append(Card(hit.path, hit.functions, bodies, _describe_suspects(hit, suspects)))
    return cards


def _describe_suspects(hit: Hit, suspects: Sequence[SuspectChange]) -> list[str]:
    """Return sentences about the suspect changes of a file."""
    changes = []
    for change in suspects:
        if change.path == hit.path:
            # The author says nothing about the fault.
            text = f"suspect change: {replace(change, author='').heading}"
            changes.append(f"{text} ({', '.join(change.reasons)})" if change.reasons else text)
    return changes
