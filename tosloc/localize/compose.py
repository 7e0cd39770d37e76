"""Compose the answer to a question from the scores of all files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from tosloc.code.languages import has_grammar, language_name, other_kind
from tosloc.core.answers import Hit, Reason
from tosloc.core.reports import BugReport
from tosloc.localize.answer import Answer, SearchScope
from tosloc.localize.code_lines import add_code
from tosloc.localize.globs import FileSelection
from tosloc.localize.hits import make_hits, search_suspects, shown_confidence
from tosloc.localize.question import Question
from tosloc.localize.scores import Scores
from tosloc.rank.explain import collect_background, find_other_files
from tosloc.rank.features import QueryContext
from tosloc.rank.suspects import describe_statements


def compose(scores: Scores, question: Question) -> Answer:
    """Return the answer with the first selected files, and all else that the question requests.

    Raises ToslocError under the conditions of ``SearchableVersion.select``.
    """
    version = scores.version
    context = scores.stage_one.context
    selection = scores.selection(question)
    files, first_rank, notes = _choose_files(scores, question, selection)
    hits = make_hits(
        scores, files, shown_confidence(scores, selection), question.functions, first_rank
    )
    suspected = search_suspects(
        scores, question.suspects, selection, files, hits, question.functions
    )
    notes += suspected.notes
    changes = suspected.changes
    if question.code != "none":
        hits = add_code(version, context, files, hits, question.code)
    else:
        changes = tuple(replace(change, diff=(), diff_lines=()) for change in changes)
    notes += _notes_on_grammars(hits)
    about = None
    if question.background:
        first_file = files[0] if files else None
        about = collect_background(scores.stage_one.reasons, first_file, version.sources)
        about = replace(about, similar=_similar_reports(scores))
    others = _other_files(scores, selection, hits[0].path if hits else None)
    return Answer(
        None if version.repository is None else str(version.repository.repo.path),
        version.snapshot.commit,
        version.sources.committed(version.snapshot.commit, version.snapshot.committed_at),
        context.query.report,
        SearchScope(
            int(selection.kept.sum()),
            selection.hidden_tests,
            version.uncommitted,
            selection.hidden_files,
        ),
        tuple(hits),
        tuple(others),
        about,
        changes,
        tuple(notes),
        statements=(
            *_named_others(context.query.report, others),
            *describe_statements(context.named_history, version.sources),
        ),
        leads_with_suspects=bool(changes) and scores.points_at_suspects,
        fixed_by=scores.later_fix,
    )


def _similar_reports(scores: Scores) -> tuple[Reason, ...]:
    """Return reports of the project's tracker that are probably about the same problem."""
    repository = scores.version.repository
    if repository is None or repository.tracker_issues is None:
        return ()
    reasons = []
    for issue in repository.tracker_issues.find_similar(scores.stage_one.context.query.report):
        reasons.append(Reason("similar", issue.text, issue=issue.name, url=issue.url or None))
    return tuple(reasons)


def _named_others(report: BugReport, others: Sequence[Hit]) -> Iterator[str]:
    """Yield a sentence for each file in ``others`` that the user should look at first.

    The report names such a file in its title, or together with its folder. Other names in the
    description less often belong to fixed files.
    """
    for hit in others:
        *folders, name = hit.path.split("/")
        with_folder = "/".join((*folders[-1:], name))
        is_pointed_at = name in report.summary or (folders and with_folder in report.description)
        if hit.reasons[0].kind == "name" and is_pointed_at:
            kind = other_kind(hit.path)
            why = f"{kind} is" if kind else "files of its kind are"
            yield f"Look first at {hit.path}, which the report names; {why} not ranked here"


def _choose_files(
    scores: Scores, question: Question, selection: FileSelection
) -> tuple[list[int], int, list[str]]:
    """Return the files to list, the rank of the first of them, and all notes so far."""
    notes = [*scores.notes, *scores.notes_on_report, *selection.notes]
    if question.path is not None:
        file = scores.version.find_file(question.path)
        return [file], scores.rank_of(file, selection), notes
    min_confidence = scores.version.complete(question).min_confidence or 0.0
    confidence = scores.confidence(selection)
    files = []
    for file in scores.first_files(question.top, selection):
        if confidence[file] >= min_confidence:
            files.append(file)
    if not files:
        notes.append(
            f"no file is shown, because none has a confidence of at least {min_confidence:.0%}"
        )
    return files, 1, notes


def _other_files(scores: Scores, selection: FileSelection, first: str | None) -> list[Hit]:
    """Return files other than source code that the report names or shares words with.

    ``first`` is the path of the first hit; None if there is no hit.
    """
    others = scores.version.others
    if others is None:
        return []
    context = scores.stage_one.context
    history = others.history.as_of(context.history.opened)
    asked = QueryContext(context.query, others, history)
    return find_other_files(asked, context.word_rarity.common_words, selection.others, first)


def _notes_on_grammars(hits: Sequence[Hit]) -> list[str]:
    """Return a note if no listed file has a grammar, and none has functions."""
    suffixes = {PurePosixPath(hit.path).suffix.lower() for hit in hits}
    is_parsed = any(has_grammar(language_name(suffix)) for suffix in suffixes)
    if not suffixes or is_parsed or any(hit.functions for hit in hits):
        return []
    kinds = ", ".join(sorted(suffixes))
    no_grammar = f"there is no grammar for {kinds} files"
    return [f"{no_grammar}, so they are searched only by their words and have no functions"]
