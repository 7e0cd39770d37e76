"""Choose the repository that agents may ask about, and shorten answers for them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

from pydantic import BaseModel

from tosloc.core.answers import Function, SuspectChange
from tosloc.core.errors import RepositoryError, pluralize
from tosloc.core.io import escape_code_line, escape_unprintable
from tosloc.core.progress import Progress
from tosloc.git import discovery
from tosloc.localize.answer import (
    Answer,
    SearchScope,
    Weights,
    is_before_first_commit,
    percent,
)
from tosloc.localize.localizer import Localizer
from tosloc.localize.question import Question
from tosloc.localize.session import AnswerDetails, open_localizer
from tosloc.rank.explain import choose_excerpts
from tosloc.rerank.llm.reranker import LanguageModelReranker

DETAILED_FILES: Final = 3
"""Number of files, from the first, that have functions, reasons and source."""
MAX_SOURCE_LINES: Final = 6
"""Largest number of source lines of such a file."""
MODEL_FILES: Final = 80
"""Number of files that the client's language model chooses from."""
MODEL_TOKENS: Final = 8_000
"""Upper bound of the estimated tokens of the question to the client's language model."""
_MAX_FOLDER_DEPTH: Final = 3
"""Number of levels of folders below a root that are searched for repositories."""


class File(BaseModel, use_attribute_docstrings=True):
    """A file of the repository."""

    rank: int
    path: str
    confidence: float
    """How sure the answer is, 0 to 1."""
    functions: list[str] = []
    """The likeliest first, with their lines."""
    reasons: list[str] = []
    source: list[str] = []
    """The likeliest lines, numbered."""


class Suspect(BaseModel, use_attribute_docstrings=True):
    """A past change that may have introduced the bug."""

    commit: str
    committed: datetime
    subject: str
    path: str
    function: str = ""
    reasons: list[str] = []
    diff: list[str] = []
    """Up to six lines of the change, each with its sign +, - or blank."""


class ToolAnswer(BaseModel, use_attribute_docstrings=True):
    """Files that have to be changed, the likeliest first."""

    fixed: str = ""
    """The commit by which the bug is probably fixed already, in words."""
    commit: str
    searched: SearchScope
    total: int
    """Number of files before any were left out for the budget."""
    statements: list[str] = []
    """What the report states outright: commits that it blames, and where it works and fails."""
    files: list[File]
    others: list[str] = []
    """Files that are not source code and may have to be changed, too."""
    background: list[str] = []
    """Tests of the first file, people who know it, and earlier changes like the report."""
    suspects: list[Suspect] = []
    """Past changes that may have introduced the bug, the most suspect first."""
    leads_with_suspects: bool = False
    """Whether suspects come first, because the report blames a commit or states a narrow range."""
    notes: list[str] = []
    weights: Weights = Weights("shipped")
    """The weights that ranked the files; left out if they are the shipped ones."""

    @classmethod
    def from_answer(
        cls, answer: Answer, sources: Mapping[str, list[str]], reasons: int | None = None
    ) -> ToolAnswer:
        """Return an answer in the form for agents, before it is shortened to a budget.

        ``sources`` maps paths to lines of files. The first ``DETAILED_FILES`` files get their lines
        and up to ``reasons`` reasons, or all if it is None. Reasons of a language model come in
        addition. Other files have only their path.
        """
        files = []
        for hit in answer.hits:
            path = escape_unprintable(hit.path)
            # Significant digits, because 0 means that there is no confidence.
            confidence = float(f"{hit.confidence:.3g}")
            files.append(File(rank=hit.rank, path=path, confidence=confidence))
        for file, hit in zip(files[:DETAILED_FILES], answer.hits, strict=False):
            file.functions = [_function_text(function) for function in hit.functions]
            for number, reason in enumerate(hit.reasons):
                if reasons is None or number < reasons or reason.kind == "model":
                    file.reasons.append(escape_unprintable(reason.text))
            file.source = sources.get(hit.path, [])
        fixed = answer.fixed_line
        return cls(
            fixed="" if fixed is None else escape_unprintable(fixed.text),
            commit=answer.commit,
            searched=answer.searched,
            total=len(files),
            statements=list(map(escape_unprintable, answer.statements)),
            files=files,
            others=[escape_unprintable(hit.path) for hit in answer.others],
            background=[escape_unprintable(line.text) for line in answer.background_lines],
            suspects=list(map(_suspect, answer.suspects)),
            leads_with_suspects=bool(answer.suspects) and answer.leads_with_suspects,
            notes=list(map(escape_unprintable, answer.warnings)),
            weights=answer.weights,
        )

    def fit(self, budget: int, render: Callable[[ToolAnswer], str]) -> str:
        """Return the answer in at most ``budget`` characters, without its least important parts.

        Parts are left out in this order: background, other files, all diffs except the first,
        lines, the first diff, reasons, suspect changes, functions, notes, statements of the report,
        files. Of each kind the last items go first. Suspect changes that come before the files are
        left out only after functions, and their first diff just before them. Items and diffs are
        never cut in two.
        """
        shortened = self.model_copy(deep=True)
        for items, is_diff in shortened._least_important_first():
            while items and len(render(shortened)) > budget:
                if is_diff:
                    items.clear()
                else:
                    items.pop()
        return render(shortened)

    def _least_important_first(self) -> list[tuple[list[Any], bool]]:
        """Return the lists of this answer, in the order in which they are emptied.

        Each comes with whether it is a diff, which is only left out as a whole.
        """
        last_files_first = self.files[::-1]
        diffs = [suspect.diff for suspect in self.suspects[::-1]]
        order: list[tuple[list[Any], bool]] = [(self.background, False), (self.others, False)]
        order += [(diff, True) for diff in diffs[:-1]]
        order += [(file.source, False) for file in last_files_first]
        first_diff = [(diff, True) for diff in diffs[-1:]]
        if not self.leads_with_suspects:
            order += first_diff
        order += [(file.reasons, False) for file in last_files_first]
        if not self.leads_with_suspects:
            order += [(self.suspects, False)]
        order += [(file.functions, False) for file in last_files_first]
        if self.leads_with_suspects:
            order += [*first_diff, (self.suspects, False)]
        order += [(self.notes, False), (self.statements, False), (self.files, False)]
        return order

    def as_text(self) -> str:
        """Return a line for each file, with its reasons and its source below it."""
        lines = [self.fixed] if self.fixed else []
        lines.append(f"{self._scope_text()}. Format: rank. file (confidence): functions with lines")
        lines += self.statements
        if self.leads_with_suspects:
            lines += self._suspect_lines()
        for file in self.files:
            functions = f": {', '.join(file.functions)}" if file.functions else ""
            lines.append(f"{file.rank:,}. {file.path} ({percent(file.confidence)}){functions}")
            lines += [f"   - {reason}" for reason in file.reasons]
            lines += [f"   {line}" for line in file.source]
        left_out = self.total - len(self.files)
        if left_out:
            lines.append(
                f"({pluralize(left_out, 'more file')} left out; raise the budget to see them)"
            )
        if self.others:
            lines.append(f"Other files: {', '.join(self.others)}")
        lines += self.background
        if not self.leads_with_suspects:
            lines += self._suspect_lines()
        lines += [f"note: {note}" for note in self.notes]
        if self.weights.kind == "trained":
            lines.append(self.weights.sentence)
        return "\n".join(lines)

    def _suspect_lines(self) -> list[str]:
        """Return the suspect changes as text."""
        if not self.suspects:
            return []
        lines = ["Changes that may have introduced the bug, most suspect first:"]
        for suspect in self.suspects:
            lines.append(
                f"- {suspect.commit} ({suspect.committed:%Y-%m-%d}) {suspect.subject}".rstrip()
            )
            lines.append(f"  {': '.join(filter(None, [suspect.path, ', '.join(suspect.reasons)]))}")
            lines += [f"  {line}" for line in suspect.diff]
        return lines

    def _scope_text(self) -> str:
        """Return a sentence on the files that were searched."""
        searched = self.searched
        if is_before_first_commit(self.commit):
            version = "on disk; nothing is committed yet"
        else:
            version = f"of commit {self.commit[:10]}"
            if searched.uncommitted:
                version += f" with {pluralize(searched.uncommitted, 'uncommitted file')}"
        text = f"Searched {pluralize(searched.files, 'file')} {version}"
        if searched.hidden_tests:
            text += f", {pluralize(searched.hidden_tests, 'test file')} left out"
        if searched.hidden_files:
            files = pluralize(searched.hidden_files, "generated or vendored file")
            text += f", {files} left out"
        return text

    def as_json(self) -> str:
        """Return the answer as JSON; empty fields are left out."""
        return self.model_dump_json(exclude_defaults=True)


def _function_text(function: Function) -> str:
    """Return a function's name and lines."""
    return escape_unprintable(f"{function.name}:{function.start}-{function.end}")


def _suspect(change: SuspectChange) -> Suspect:
    """Return a suspect change in the form for agents."""
    return Suspect(
        commit=change.commit[:10],
        committed=change.committed,
        subject=escape_unprintable(change.subject),
        path=escape_unprintable(change.path),
        function=escape_unprintable(change.function),
        reasons=list(map(escape_unprintable, change.reasons)),
        diff=[escape_code_line(line.rstrip()) for line in change.diff],
    )


def source_lines(localizer: Localizer, answer: Answer) -> dict[str, list[str]]:
    """Return path -> numbered lines that match the report best, for the first files.

    The lines are in the file's likeliest function if the answer lists one.
    """
    details = AnswerDetails.of(localizer, answer, DETAILED_FILES)
    lines_by_path: dict[str, list[str]] = {}
    for hit, framed, lines in details.lines:
        likeliest = hit.functions[:1]
        for function in likeliest:
            lines = _blank_outside(function, lines)
            # A stack frame's line is that of the report's version, in which the function may have
            # been at other lines.
            framed = [line for line in framed if function.start <= line <= function.end]
        excerpts = choose_excerpts(lines, details.terms, likeliest, framed, (), 1, MAX_SOURCE_LINES)
        for positions in excerpts:
            numbered_lines = lines_by_path.setdefault(hit.path, [])
            for position in positions:
                text = escape_code_line(lines[position])
                numbered_lines.append(f"{position + 1}: {text}".rstrip())
    return lines_by_path


def _blank_outside(function: Function, lines: Sequence[str]) -> list[str]:
    """Return a file's lines, with those before and after a function emptied."""
    numbered_lines = enumerate(lines, start=1)
    return [
        line if function.start <= number <= function.end else "" for number, line in numbered_lines
    ]


def choose_repository(roots: Sequence[Path], path: str | None = None) -> Path:
    """Return the repository that contains ``path``, or by default the only one in the roots.

    A relative path is below a root. Links are resolved. Folders below the roots are also searched.
    Raises RepositoryError if

    - the repository, or its git directory, is outside all roots, or there is none;
    - there is no path and the roots contain several repositories, which the message lists.
    """
    resolved_roots = [root.resolve() for root in roots]
    candidates: list[Path] = []
    for root in resolved_roots:
        candidates += _repositories_below(root) if path is None else _repositories_at(root, path)
    repositories = []
    for candidate in dict.fromkeys(candidates):
        if any(candidate.is_relative_to(root) for root in resolved_roots):
            repositories.append(candidate)
    if not repositories:
        subject = f"{path}: " if path else ""
        raise RepositoryError(
            f"{subject}there is no git repository in {', '.join(map(str, resolved_roots))}, where"
            " this server may search; open its folder in the client, or start the server with"
            " --root"
        )
    if path is None and len(repositories) > 1:
        names = ", ".join(sorted(map(str, repositories)))
        raise RepositoryError(f"there are several repositories; name one in `repository`: {names}")
    discovery.check_inside_roots(repositories[0], resolved_roots)
    return repositories[0]


def _repositories_at(root: Path, path: str) -> Iterator[Path]:
    """Yield the repository that contains a path below a root, if there is one."""
    # OSError: the path does not exist. RuntimeError: a loop of links, or an unknown user after ~.
    # ValueError: a NUL byte.
    with suppress(OSError, RepositoryError, RuntimeError, ValueError):
        resolved_path = (root / Path(path).expanduser()).resolve(strict=True)
        folder = resolved_path if resolved_path.is_dir() else resolved_path.parent
        yield discovery.enclosing_repository(folder)


def _repositories_below(root: Path) -> Iterator[Path]:
    """Yield the repositories in a folder; they are recognized by the names of files alone."""
    for folder_name, subfolders, _ in os.walk(root):
        folder = Path(folder_name)
        if discovery.looks_like_repository(folder):
            yield folder
            subfolders.clear()
        if len(folder.relative_to(root).parts) == _MAX_FOLDER_DEPTH:
            subfolders.clear()
        # os.walk descends into the folders that are left in the list.
        subfolders[:] = [
            name for name in subfolders if not name.startswith(".") and name != "node_modules"
        ]


class ModelText(NamedTuple):
    """The answer of the client's language model to the messages of ``messages_for_model``."""

    model: str
    """The name of the model, as the client gives it."""
    text: str


def messages_for_model(
    question: Question,
    checkpoint: Path | None,
    roots: Sequence[Path],
    repository: str | None,
    progress: Progress,
) -> list[dict[str, str]]:
    """Return the messages that ask a language model to order the first files for a question.

    Raises the errors of ``answer_call``.
    """
    localizer = open_localizer(choose_repository(roots, repository), checkpoint)
    reranker = LanguageModelReranker.for_prompts(files=MODEL_FILES, prompt_tokens=MODEL_TOKENS)
    return localizer.with_language_model(reranker).language_model_messages(question, progress)


def answer_call(
    question: Question,
    checkpoint: Path | None,
    roots: Sequence[Path],
    repository: str | None,
    model_text: ModelText | None,
    progress: Progress,
) -> ToolAnswer:
    """Answer a tool's call in a session's process.

    The path in a question about one file may be absolute. If the client's language model was asked,
    the first files have the order of ``model_text``. Raises the errors of ``Localizer.answer`` and
    ``choose_repository``.
    """
    repository_path = choose_repository(roots, repository)
    localizer = open_localizer(repository_path, checkpoint)
    if model_text is not None:
        model, text = model_text
        name = f"the client's language model {escape_unprintable(model)}".rstrip()
        reranker = LanguageModelReranker.with_answer(text, MODEL_FILES, MODEL_TOKENS, name)
        localizer = localizer.with_language_model(reranker)
    if question.path is None:
        answer = localizer.answer(question, progress)
        return ToolAnswer.from_answer(answer, source_lines(localizer, answer), reasons=1)
    file_path = repository_path / question.path
    if file_path.is_relative_to(repository_path):
        question = replace(question, path=os.path.relpath(file_path, repository_path))
    answer = replace(localizer.answer(question, progress), others=())
    return ToolAnswer.from_answer(answer, source_lines(localizer, answer))
