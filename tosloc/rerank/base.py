"""Stage two: the contract of rerankers, which score the first files of a ranking again."""

from __future__ import annotations

import inspect
import math
import sys
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from pkgutil import resolve_name
from runpy import run_path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, Self, TypeAlias

import numpy as np

from tosloc.core.arrays import BoolArray, FloatArray, IntArray, LongArray
from tosloc.core.errors import CheckpointError, ToslocError, pluralize, require
from tosloc.core.io import parse_json, read_regular_file, truncate_text
from tosloc.core.metrics import fixed_ranks, rr_and_ap
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.rankings import splice_head_above_rest
from tosloc.core.reports import BugReport
from tosloc.git.repository import Repository, decode_text
from tosloc.retrieval.history import HistoryAsOf, HistoryIndex
from tosloc.retrieval.texts import Corpus

if TYPE_CHECKING:
    from tosloc.core.config import Config

FactSource: TypeAlias = Callable[[Mapping[str, str]], Corpus]
"""Function from blobs, each with one of its paths, to a corpus with those facts that are known."""
TextSource: TypeAlias = Callable[[Sequence[str]], Iterable[tuple[str, str | None]]]
"""Function that yields each blob with its text, or with None if the blob cannot be read."""
Matches: TypeAlias = Callable[[int], Sequence[tuple[str, str]]]
"""Function from a candidate's position to the terms of the report that add most to its score.

Each term is paired with the term of the file that matches it best.
"""


_MAX_SCORE: Final = 1e300
"""Upper limit of a score's absolute value, so that differences of scores are finite."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """The first files of stage one's ranking for one report, in its order.

    A reranker scores them again. ``fixed``, ``missed_ranks``, ``relevant`` and ``fixed_at``
    describe the fix. They are only for training and measuring: a reranker scores candidates without
    them.
    """

    report: BugReport
    """The report for which files are ranked."""
    commit: str
    """Full id of the searched commit."""
    paths: tuple[str, ...]
    """(C,) paths."""
    blobs: tuple[str, ...]
    """(C,) ids of the files' blobs."""
    path_ids: IntArray
    """(C,) numbers of the paths in the history index."""
    scores: FloatArray
    """(C,) stage one's scores, never increasing."""
    fixed: BoolArray
    """(C,) whether the fix changed each file."""
    missed_ranks: tuple[int, ...] = ()
    """Ranks of the fixed files that are not candidates, which reranking does not change."""
    relevant: int = 0
    """Number of all fixed files of the report."""
    fixed_at: int = 0
    """Time of the fixing commit, in seconds since 1970; 0 for a report without a known fix."""

    def __len__(self) -> int:
        return len(self.paths)

    @property
    def opened(self) -> float:
        """Time at which the report was opened, in seconds since 1970."""
        return self.report.opened_seconds

    def without_labels(self) -> Self:
        """Return the candidates without any information about the fix."""
        no_file = np.zeros_like(self.fixed)
        return replace(self, fixed=no_file, missed_ranks=(), relevant=0, fixed_at=0)

    def take(self, positions: LongArray) -> Self:
        """Return the candidates at the given positions, in the order of ``positions``."""
        return replace(
            self,
            paths=tuple(self.paths[position] for position in positions),
            blobs=tuple(self.blobs[position] for position in positions),
            path_ids=self.path_ids[positions],
            scores=self.scores[positions],
            fixed=self.fixed[positions],
        )

    def head(self, depth: int) -> Self:
        """Return the first ``depth`` candidates; fixed files after them become missed ones.

        ``missed_ranks`` then contains the ranks of these files.
        """
        newly_missed = tuple((np.flatnonzero(self.fixed[depth:]) + depth + 1).tolist())
        head = self.take(np.arange(len(self))[:depth])
        return replace(head, missed_ranks=(*newly_missed, *self.missed_ranks))

    def rr_and_ap(self, scores: FloatArray) -> tuple[float, float]:
        """Return reciprocal rank and average precision of the candidates by ``scores`` (C,).

        All other files keep their places; equal scores keep stage one's order. A report without
        fixed files counts 0.
        """
        ranks = [*fixed_ranks(scores, self.fixed).tolist(), *self.missed_ranks]
        return rr_and_ap(ranks, self.relevant, add=sum)


def mrr_and_map(
    candidates: Sequence[Candidates], scores: Iterable[FloatArray]
) -> tuple[float, float]:
    """Return MRR and MAP after sorting the candidates of each report by their scores (C,).

    Both are 0 if there are no reports.
    """
    reciprocal_ranks = []
    average_precisions = []
    for report_candidates, report_scores in zip(candidates, scores, strict=True):
        rr, ap = report_candidates.rr_and_ap(report_scores)
        reciprocal_ranks.append(rr)
        average_precisions.append(ap)
    if not reciprocal_ranks:
        return 0.0, 0.0
    reports = len(reciprocal_ranks)
    return math.fsum(reciprocal_ranks) / reports, math.fsum(average_precisions) / reports


def mrr_and_map_by_weight(
    candidates: Sequence[Candidates], added: Sequence[FloatArray], weights: Sequence[float]
) -> dict[float, tuple[float, float]]:
    """Return weight -> ``mrr_and_map`` of stage one's scores + weight * ``added``.

    ``added`` contains a reranker's scores (C,) for each report.
    """
    results = {}
    for weight in weights:
        scores = []
        for report_candidates, report_added in zip(candidates, added, strict=True):
            scores.append(report_candidates.scores + weight * report_added)
        results[weight] = mrr_and_map(candidates, scores)
    return results


@dataclass(frozen=True, eq=False)
class RerankingContext:
    """What a reranker may read besides the candidates: files' facts and texts, and the history."""

    facts: FactSource | None = None
    """Function from blobs to a corpus with their facts; None if there are no facts."""
    history: HistoryIndex | None = None
    """Commits and fixed reports of the project; read them through ``known_history``."""
    contained: Callable[[str], BoolArray | None] = lambda commit: None
    """Function from a commit to whether it contains each commit of the history; None means all."""
    texts: TextSource | None = None
    """Function from blobs to their texts; None if no repository is available."""
    vectors: Path | None = None
    """File that caches vectors of blobs; None for no cache."""
    template: Callable[[str], frozenset[str]] = lambda commit: frozenset()
    """Function from a commit to the lines of its project's issue forms; see ``IssueTemplates``."""

    def form_lines(self, report: BugReport, commit: str) -> frozenset[str]:
        """Return the lines of issue forms that a report may repeat; see ``Query``."""
        assert self.history is not None
        shared_lines = self.history.shared_lines.as_of(report.opened_seconds)
        return self.template(commit) | shared_lines

    def known_history(self, candidates: Candidates) -> HistoryAsOf:
        """Return the history that was known when the report was opened.

        Only commits that the searched version contains are included.
        """
        assert self.history is not None
        return self.history.as_of(candidates.opened, self.contained(candidates.commit))


STAGE_ONE_ALONE: Final = "stage one"
"""Name that the weight 0 has among the results on validation."""


def weight_name(weight: float) -> str:
    """Return the name that a weight has among the results on validation."""
    return f"weight {weight:g}" if weight else STAGE_ONE_ALONE


class TrainingSet(Protocol):
    """The candidates of labelled reports, in the order of their fixes."""

    def candidates(
        self, part: str, depth: int, *, for_training: bool = False, by_linear_score: bool = False
    ) -> Iterator[Candidates]:
        """Yield the first ``depth`` files for each report of a part (train, validation, test).

        With ``for_training``, all other fixed files follow them. With ``by_linear_score``, files
        are ordered by stage one's linear score, without its learned ranker. Each call reads the
        candidates again.
        """


@dataclass(frozen=True, eq=False)
class Reranked:
    """New scores (C,) of a report's candidates, and the terms that explain them."""

    scores: FloatArray
    """(C,) new scores, by which the candidates are sorted."""
    matches: Matches = lambda position: ()
    """Function from a candidate's position to the terms that add most to its score."""

    def final_scores(self, scores: FloatArray) -> FloatArray:
        """Return (F,) final scores: reranked files first, then the rest by stage one's scores."""
        order = np.argsort(-scores, kind="stable")[: len(self.scores)]
        return splice_head_above_rest(scores, order, self.scores)


def texts_of(repo: Repository) -> TextSource:
    """Return a function that reads the texts of a repository's blobs."""
    return lambda blobs: (
        (blob, None if data is None else decode_text(data)) for blob, data in repo.texts(blobs)
    )


class Reranker(ABC):
    """Base class of a second stage, which scores the first files of a ranking again.

    All other files keep their ranks. A new reranker needs a folder of its own, and one line in
    ``RERANKERS``.
    """

    name: ClassVar[str]
    """Name of the reranker in the setting ``[stage_two] reranker``.

    Its folder in a checkpoint, and the record in that folder, have the same name.
    """
    depth: int
    """Number of files, from the first, that the reranker scores."""
    weight: float = 0.0
    """Weight of the reranker's score beside stage one's; with 0, stage one decides.

    Validation chooses it.
    """
    trained_until: int = 0
    """Time of the last fix that the reranker learned from, in seconds since 1970."""
    validation_results: Mapping[str, tuple[float, float]] | None = None
    """Name of an alternative -> its MRR and MAP on validation; None if nothing was tried."""

    source: ClassVar[str] = ""
    """File of a class that the user named on the command line; "" for all other rerankers."""
    note: str = ""
    """Sentence for users about the origin of the order; "" if there is nothing to say."""

    @property
    def choice(self) -> str:
        """A sentence on how validation chose the weight; "" without validation results."""
        results = self.validation_results or {}
        if not {STAGE_ONE_ALONE, weight_name(self.weight)} <= results.keys():
            return ""
        by_stage_one = "MRR {:.3f}, MAP {:.3f}".format(*results[STAGE_ONE_ALONE])
        if not self.weight:
            return (
                "Keeping stage one's order: on the validation reports no weight of stage two gains "
                f"enough over stage one alone ({by_stage_one})."
            )
        by_both = "MRR {:.3f}, MAP {:.3f}".format(*results[weight_name(self.weight)])
        return (
            f"Adding stage two with weight {self.weight:g}: {by_both} on the validation reports, "
            f"which chose the weight; stage one alone has {by_stage_one}."
        )

    @classmethod
    @abstractmethod
    def from_config(cls, config: Config) -> Self:
        """Return an untrained reranker with these settings.

        Raises ToslocError if the settings name something that does not exist.
        """

    @abstractmethod
    def fit(
        self,
        training_set: TrainingSet,
        context: RerankingContext,
        folder: Path,
        seed: int,
        progress: Progress = ignore_progress,
    ) -> Self:
        """Learn from the part train, choose by validation, and return the reranker itself.

        ``folder`` stores the state of an interrupted training. Raises ToslocError.
        """

    def rerank(
        self,
        candidates: Candidates,
        context: RerankingContext,
        progress: Progress = ignore_progress,
    ) -> Reranked | None:
        """Return new scores for a report's candidates, or None if stage one's order is kept.

        It is kept if there are no candidates, or if ``may_score`` is false. Raises CheckpointError
        if learned weights yield a score that is not a finite number. Raises ToslocError if a
        reranker of the user's own returns anything but a finite score for each candidate, or raises
        an exception.
        """
        if len(candidates) == 0 or not self.may_score(candidates.opened):
            return None
        try:
            reranked = self.score(candidates, context, progress)
        except ToslocError:
            raise
        except Exception as error:
            if not self.source:
                raise
            problem = f"raised {_describe(error, self.source)}"
            raise self._fault(
                candidates, problem, "correct it and run the command again"
            ) from error
        return replace(reranked, scores=self._checked_scores(reranked, candidates))

    def _checked_scores(self, reranked: object, candidates: Candidates) -> FloatArray:
        """Return the scores (C,) that ``score`` returned. Raises the errors of ``rerank``."""
        if not isinstance(reranked, Reranked):
            kind = type(reranked).__name__
            raise self._fault(candidates, f"returned {kind} in place of Reranked")
        try:
            scores = np.asarray(reranked.scores, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise self._fault(candidates, "returned scores that are no numbers") from error
        if scores.shape != (len(candidates),):
            shape = "x".join(map(str, scores.shape)) or "1"
            number = pluralize(len(candidates), "candidate")
            raise self._fault(candidates, f"returned {shape} scores for {number}")
        is_usable = np.abs(scores) < _MAX_SCORE  # false for NaN
        if not is_usable.all():
            first = int(is_usable.argmin())
            problem = f"gave {candidates.paths[first]} the score {scores[first]}"
            if type(self).__module__.startswith("tosloc."):
                raise CheckpointError(f"the reranker {self.name} {problem}", hint="train it again")
            raise self._fault(candidates, problem)
        return scores

    def _fault(
        self,
        candidates: Candidates,
        problem: str,
        hint: str = "let its method score return Reranked with one finite score for each candidate",
    ) -> ToslocError:
        """Return the error that ``score`` of a reranker that the user wrote has a fault."""
        report = candidates.report.id
        return ToslocError(
            f"report {report}: the reranker {type(self).__name__} {problem}", hint=hint
        )

    @abstractmethod
    def score(
        self,
        candidates: Candidates,
        context: RerankingContext,
        progress: Progress = ignore_progress,
    ) -> Reranked:
        """Return new scores for a report's candidates; call it only if ``may_score`` is true."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write the reranker so that ``load`` can read it."""

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Return the reranker that ``save`` wrote.

        Raises CheckpointError if its files are incomplete or damaged.
        """
        try:
            record = parse_json(read_regular_file(folder / f"{cls.name}.json"))
            reranker = cls.from_record(record, folder)
            reranker.weight = float(record["weight"])
            reranker.trained_until = int(record["trained_until"])
            if not reranker.weight >= 0:  # also refuses NaN
                raise ValueError("a weight is out of bounds")
            if record["validation"] is not None:
                results = {}
                for name, (mrr, map_) in record["validation"].items():
                    results[name] = (float(mrr), float(map_))
                reranker.validation_results = results
        except CheckpointError:
            raise
        except Exception as error:  # reading damaged files can raise anything
            cause = truncate_text(" ".join(str(error).split()), 100)
            raise CheckpointError(
                f"{folder}: this second stage is incomplete or damaged ({cause}); train it again, "
                "or copy the whole folder"
            ) from error
        return reranker

    @classmethod
    @abstractmethod
    def from_record(cls, record: Mapping[str, Any], folder: Path) -> Self:
        """Return the reranker that ``save`` wrote, without the values of ``training_record``.

        Raises any exception if a file is damaged.
        """

    def training_record(self) -> dict[str, Any]:
        """Return the part of the saved record that is the same for all rerankers."""
        return {
            "weight": self.weight,
            "validation": self.validation_results,
            "trained_until": self.trained_until,
        }

    def may_score(self, opened: float) -> bool:
        """Return whether the reranker may score a report that was opened at this time.

        It may if its weight is above 0, and it learned from nothing later than the opening.
        """
        return bool(self.weight) and opened >= self.trained_until

    def can_score(self, context: RerankingContext) -> bool:
        """Return whether the context contains everything that the reranker reads."""
        return True


RERANKERS: Final = {
    "terms": "tosloc.rerank.terms.reranker:TermReranker",
    "encoder": "tosloc.rerank.encoder.reranker:EncoderReranker",
}
"""Name -> module and class, which is imported at its first use, because encoders import torch."""


def reranker_class(name: str) -> type[Reranker]:
    """Return the class of a reranker by its name in the configuration.

    A class that the user wrote is named as MODULE:CLASS or FILE.py:CLASS, and its code is run.
    Raises ToslocError if there is no such class.
    """
    if ":" in name:
        return _own_class(name)
    if name not in RERANKERS:
        raise ToslocError(
            f"{name}: there is no such reranker",
            hint="name a class of your own as MODULE:CLASS or FILE.py:CLASS",
            about="reranker",
        )
    if name == "encoder":
        require("the encoder reranker", "encoder", "torch", "transformers", "accelerate")
    reranker: type[Reranker] = resolve_name(RERANKERS[name])
    return reranker


def _own_class(name: str) -> type[Reranker]:
    """Return a class that the user wrote. Raises ToslocError if there is no such class."""
    module, _, attribute = name.rpartition(":")
    is_file = module.endswith(".py")
    if is_file:
        # The file may import its neighbours, as a script may that Python runs.
        sys.path.append(str(Path(module).absolute().parent))
    try:
        found = run_path(module)[attribute] if is_file else resolve_name(name)
    except (Exception, SystemExit) as error:  # the user's code can raise anything
        lines = traceback.extract_tb(error.__traceback__)
        is_not_found = isinstance(
            error, ImportError | AttributeError | LookupError | OSError | ValueError
        )
        if is_not_found and not any(line.filename == module for line in lines):
            problem = f"there is no such class ({error})"
        else:
            problem = f"its module raised {_describe(error, module)}"
        raise ToslocError(f"{name}: {problem}", about="reranker") from error
    if not isinstance(found, type) or not issubclass(found, Reranker):
        raise ToslocError(f"{name} is no subclass of tosloc.rerank.base.Reranker", about="reranker")
    found.source = module if is_file else inspect.getsourcefile(found) or module
    return found


def _describe(error: BaseException, source: str) -> str:
    """Return an exception with the last line of the file ``source`` that it came through."""
    message = " ".join(str(error).split())
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename == source:
            return f"{text} ({source}, line {frame.lineno})"
    return text
