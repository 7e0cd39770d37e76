"""BM25 over whole files, by the library bm25s: the reference that stands beside every ranking of other projects.

A document is the whole text of a file, without its path; the query is a report's summary and description. Names are
split at underscores and before capitals; the library's tokenizer stems without English stop words, its defaults score.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import numpy as np

from tosloc.core.config import Config
from tosloc.core.errors import ToslocError, pluralize
from tosloc.core.records import (
    BugReport,
    FloatArray,
    Progress,
    Ranking,
    Snapshot,
    ignore_progress,
    track,
)
from tosloc.git.repository import Repository, decode_text
from tosloc.train.experiment import ExperimentContext, command_folder, refuse_training

_BETWEEN_PARTS: Final = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def rank_with_bm25s(
    config: Config,
    repo_path: Path,
    reports: Path,
    out: Path,
    split: str = "all",
    progress: Progress = ignore_progress,
) -> None:
    """Rank a split's labelled reports into OUT/SPLIT. Raises ToslocError."""
    folder = out.expanduser()
    refuse_training(folder)
    with (
        command_folder(folder, "tosloc lab bm25"),
        Repository(repo_path) as repo,
        ExperimentContext(config, repo, reports, progress, facts=False) as experiment,
    ):
        cases, snapshot = experiment.parts[split], experiment.indexed.snapshot
        if not cases:
            number = pluralize(len(experiment.dataset.cases), "report")
            raise ToslocError(f"{reports}: none of its {number} falls to {split}; rank them all")

        def rankings() -> Iterator[Ranking]:
            texts, version, scores = WholeFiles(repo), "", None
            for case in track(cases, "ranking by bm25s", progress):
                if scores is None or case.version != version:  # cases of one version stand together
                    version, scores = case.version, texts.index(snapshot(case.version))
                yield Ranking.from_scores(
                    case.report.id, snapshot(version).paths, scores(case.report)
                )

        header = experiment.run_header("tosloc lab bm25") | {
            "bm25s": metadata.version("bm25s"),
            "split": split,
        }
        experiment.write_part(folder / split, header, rankings(), cases)


class WholeFiles:
    """Tokens of whole files: a blob is read and tokenised once, however many versions hold it."""

    def __init__(self, repo: Repository) -> None:
        from bm25s.tokenization import Tokenizer
        from Stemmer import Stemmer

        self._repo = repo
        self._tokenizer = Tokenizer(stemmer=Stemmer("english"))
        self._of_blob: dict[str, array[int]] = {}

    def index(self, snapshot: Snapshot) -> Callable[[BugReport], FloatArray]:
        """What gives the (F,) scores of a version's files for a report, in path order."""
        from bm25s import BM25

        new = list(dict.fromkeys(blob for blob in snapshot.blobs if blob not in self._of_blob))
        texts = (decode_text(data or b"") for _, data in self._repo.texts(new))
        self._of_blob |= zip(
            new, (array("I", own) for own in self._tokens(texts, learn=True)), strict=True
        )
        files = [self._of_blob[blob] for blob in snapshot.blobs]
        if not any(files):
            return lambda _: np.zeros(len(files))
        retriever = BM25()
        vocabulary: Mapping[str, int] = self._tokenizer.get_vocab_dict()
        known = len(vocabulary)
        retriever.index((files, vocabulary), create_empty_token=False, show_progress=False)

        def scores(report: BugReport) -> FloatArray:
            [query] = self._tokens([f"{report.summary}\n{report.description}"], learn=False)
            # a later version may have brought more tokens
            found: Any = retriever.get_scores_from_ids([token for token in query if token < known])
            return np.asarray(found, dtype=np.float64)

        return scores

    def _tokens(self, texts: Iterable[str], learn: bool) -> Iterator[list[int]]:
        """Numbers of the tokens of texts; without ``learn``, of those that some file holds."""
        split: Any = (_BETWEEN_PARTS.sub(" ", text) for text in texts)
        found: Iterator[list[int]] = self._tokenizer.streaming_tokenize(
            split, update_vocab=learn, allow_empty=False
        )
        return found
