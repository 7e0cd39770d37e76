"""Describe the listed files of an answer with functions and reasons, and find suspect changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from tosloc.code.functions import NO_FUNCTIONS, FunctionFacts
from tosloc.core.answers import Function, Hit, Reason
from tosloc.core.arrays import FloatArray
from tosloc.localize.globs import FileSelection
from tosloc.localize.scores import Scores
from tosloc.rank.explain import score_functions
from tosloc.rank.suspects import MAX_FILES, SuspectSearch, find_suspects
from tosloc.retrieval.texts import top_k

FUNCTIONS_OF_SUSPECTS: Final = 3
"""Functions of a file in which suspect changes are looked for."""
SCORE_STEP: Final = 1e-6
"""Smallest difference between the scores of two functions."""
NO_CHANGES_TO_SUSPECT: Final = "suspect changes are read from a repository, and there is none"


def make_hits(
    scores: Scores,
    files: Sequence[int],
    confidence: FloatArray,
    functions: int,
    first_rank: int = 1,
) -> list[Hit]:
    """Return a hit with functions and reasons for each of the ``files``, in their order.

    ``confidence`` (F,) has a value for every file of the version.
    """
    version = scores.version
    context = scores.stage_one.context
    facts: Sequence[FunctionFacts] = [NO_FUNCTIONS] * len(files)
    if functions:
        facts = version.functions_of(files)
    scored = score_functions(
        context.query, context.version, files, scores.values, facts, most=functions
    )
    scored = list(_put_model_functions_first(scores, files, facts, scored, functions))
    lifted = _lifted_by_stage_two(scores, files)
    hits = []
    for place, file in enumerate(files):
        reasons = scores.stage_one.choose_reasons(
            file, version.sources, lifted.get(file), facts[place], scored[place]
        )
        reasons = (*reasons, *_model_reasons(scores, file))
        hit = Hit(
            first_rank + place,
            version.snapshot.path(file),
            round(float(scores.values[file]), 6),
            round(float(confidence[file]), 6),
            scored[place],
            reasons,
        )
        hits.append(hit)
    return hits


def shown_confidence(scores: Scores, selection: FileSelection) -> FloatArray:
    """Return (F,) the confidence that an answer shows; 0 if a language model chose the order."""
    if scores.moved_up is not None:
        return np.zeros(len(scores.values))
    return scores.confidence(selection)


def _put_model_functions_first(
    scores: Scores,
    files: Sequence[int],
    facts: Sequence[FunctionFacts],
    scored: Sequence[tuple[Function, ...]],
    most: int,
) -> Iterator[tuple[Function, ...]]:
    """Yield at most ``most`` functions of each file, the one that a language model names first.

    Functions that a model names get scores above all others, in the order of their files.
    """
    best = max((function.score for functions in scored for function in functions), default=0.0)
    named = [file for file in files if file in scores.model_functions]
    for file, file_facts, functions in zip(files, facts, scored, strict=True):
        if file not in scores.model_functions or not most:
            yield functions
            continue
        number = scores.model_functions[file]
        name = file_facts.names[number]
        start, end = int(file_facts.starts[number]), int(file_facts.ends[number])
        score = round(best + SCORE_STEP * (len(named) - named.index(file)), 6)
        others = [function for function in functions if function.name != name]
        yield (Function(name, start, end, score), *others[: most - 1])


def _model_reasons(scores: Scores, file: int) -> Iterator[Reason]:
    """Yield the reasons that a language model adds to a file.

    They are the function to change, and that the model moved the file up.
    """
    if file in scores.model_reasons:
        yield scores.model_reasons[file]
    if scores.moved_up is not None and file in scores.moved_up:
        text = f"Moved up from rank {scores.moved_up[file]} by a language model"
        yield Reason("model", text)


def _lifted_by_stage_two(scores: Scores, files: Sequence[int]) -> dict[int, Reason]:
    """Return file -> the reranker's reason, for those ``files`` that the reranker moved up."""
    if scores.reranked is None:
        return {}
    stage_one = scores.stage_one
    new_order = np.argsort(-scores.values_by_stages, kind="stable")
    reasons = {}
    for file in files:
        old_place = int(np.flatnonzero(stage_one.order == file)[0])
        new_place = int(np.flatnonzero(new_order == file)[0])
        if new_place >= old_place:
            continue
        matches = scores.reranked.matches(old_place)
        if not matches:
            continue
        spelling = stage_one.reasons.spelling
        words = [spelling.describe_match(asked, answer) for asked, answer in matches]
        text = f"Moved up from rank {old_place + 1} by stage two: {', '.join(words)}"
        reasons[file] = Reason("terms", text)
    return reasons


def search_suspects(
    scores: Scores,
    wanted: bool | None,
    selection: FileSelection,
    files: Sequence[int],
    hits: Sequence[Hit],
    functions: int,
) -> SuspectSearch:
    """Return the past changes that may have introduced the bug, if they are wanted.

    They depend on the first selected files alone, not on the numbers of listed files and functions.
    ``hits`` are the listed ``files``, each with at most ``functions`` functions. If ``wanted`` is
    None, they are wanted if the report says that something worked before.
    """
    if not (scores.worked_before if wanted is None else wanted):
        return SuspectSearch(())
    repository = scores.version.repository
    if repository is None:
        return SuspectSearch((), () if wanted is None else (NO_CHANGES_TO_SUSPECT,))
    searched, blamed_files = suspect_files(scores, selection, files, hits, functions)
    return find_suspects(
        repository.repo,
        scores.stage_one.reasons,
        searched,
        scores.version.sources,
        blamed_files=blamed_files,
        later_fix="" if scores.later_fix is None else scores.later_fix.commit,
    )


def suspect_files(
    scores: Scores,
    selection: FileSelection,
    files: Sequence[int] = (),
    hits: Sequence[Hit] = (),
    functions: int = 0,
) -> tuple[list[Hit], list[Hit]]:
    """Return the files that are searched for suspect changes, as hits with functions.

    The first list contains the first selected files, the second list other selected files that
    blamed commits changed. ``hits`` are those of ``files`` if they are known, each with at most
    ``functions`` functions.
    """
    first = scores.first_files(MAX_FILES, selection)
    paths = scores.version.index.paths
    is_blamed = np.isin(paths.path_ids, scores.stage_one.context.named_history.blamed_rows)
    is_blamed &= selection.kept
    is_blamed[first] = False
    further = top_k(np.where(is_blamed, scores.values, -np.inf), MAX_FILES)
    further = further[is_blamed[further]]
    confidence = shown_confidence(scores, selection)
    if list(files[:MAX_FILES]) != first or functions < FUNCTIONS_OF_SUSPECTS:
        hits = make_hits(scores, first, confidence, FUNCTIONS_OF_SUSPECTS)
    searched = []
    for hit in hits[:MAX_FILES]:
        searched.append(replace(hit, functions=hit.functions[:FUNCTIONS_OF_SUSPECTS]))
    blamed = make_hits(
        scores, further.tolist(), confidence, FUNCTIONS_OF_SUSPECTS, first_rank=len(searched) + 1
    )
    return searched, blamed
