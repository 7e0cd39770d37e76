"""BM25 over whole files with the library bm25s, which other projects also report as a reference.

A document is the whole text of a file, without its path; the query is a report's summary and
description. Names are split at underscores and before capitals. The library's tokenizer removes
English stop words and stems; scores use its default parameters.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import numpy as np

from tosloc.core.arrays import FloatArray
from tosloc.core.config import Config
from tosloc.core.errors import ToslocError, pluralize
from tosloc.core.progress import Progress, ignore_progress
from tosloc.core.rankings import Ranking
from tosloc.core.reports import BugReport
from tosloc.core.versions import Snapshot
from tosloc.git.repository import Repository, decode_text
from tosloc.lab.tracking import track
from tosloc.train.experiment import ExperimentContext, command_folder, refuse_training

_BETWEEN_PARTS: Final = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_COMMAND: Final = "tosloc lab bm25"

ReportScores = Callable[[BugReport], FloatArray]
"""A function that returns (F,) the scores of a version's files for a report, in path order."""


def rank_with_bm25s(
    config: Config,
    repo_path: Path,
    reports: Path,
    out: Path,
    split: str = "all",
    progress: Progress = ignore_progress,
) -> list[str]:
    """Rank a split's labelled reports, and write the run to OUT/SPLIT.

    Return a sentence on the searched files if the settings do not name them. Raises ToslocError if
    the split has no reports.
    """
    folder = out.expanduser()
    refuse_training(folder)
    with (
        command_folder(folder, _COMMAND),
        Repository(repo_path) as repo,
        ExperimentContext(config, repo, reports, progress, facts=False) as experiment,
    ):
        cases = experiment.parts[split]
        if not cases:
            number = pluralize(len(experiment.dataset.cases), "report")
            raise ToslocError(
                f"{reports}: none of its {number} is in the split {split}",
                hint="rank them with {split}=all",
            )

        def rankings() -> Iterator[Ranking]:
            whole_files = WholeFiles(repo)
            commit = ""
            scores: ReportScores | None = None
            for case in track(cases, "ranking by bm25s", progress):
                # Cases of one version follow each other, so that it is indexed once.
                if scores is None or case.before_commit != commit:
                    commit = case.before_commit
                    scores = whole_files.index(experiment.indexed.snapshot(commit))
                paths = experiment.indexed.snapshot(commit).paths
                yield Ranking.from_scores(case.report.id, paths, scores(case.report))

        header = experiment.run_header(_COMMAND)
        header |= {"bm25s": metadata.version("bm25s"), "split": split}
        experiment.write_part(folder / split, header, rankings(), cases)
        return experiment.search_notes


class WholeFiles:
    """Tokens of whole files.

    A blob is read and tokenized once, however many versions contain it.
    """

    def __init__(self, repo: Repository) -> None:
        from bm25s.tokenization import Tokenizer
        from Stemmer import Stemmer

        self._repo = repo
        self._tokenizer = Tokenizer(stemmer=Stemmer("english"))
        self._tokens_by_blob: dict[str, array[int]] = {}

    def index(self, snapshot: Snapshot) -> ReportScores:
        """Index a version, and return the function that scores its files."""
        from bm25s import BM25

        self._read_new_blobs(snapshot)
        files = [self._tokens_by_blob[blob] for blob in snapshot.blobs]
        if not any(files):
            return lambda _: np.zeros(len(files))
        retriever = BM25()
        vocabulary: Mapping[str, int] = self._tokenizer.get_vocab_dict()
        known_tokens = len(vocabulary)
        retriever.index((files, vocabulary), create_empty_token=False, show_progress=False)

        def scores(report: BugReport) -> FloatArray:
            [query] = self._tokenize([f"{report.summary}\n{report.description}"], learn=False)
            # A version that was indexed later may have added tokens, which this index lacks.
            known_query = [token for token in query if token < known_tokens]
            values: Any = retriever.get_scores_from_ids(known_query)
            return np.asarray(values, dtype=np.float64)

        return scores

    def _read_new_blobs(self, snapshot: Snapshot) -> None:
        blobs = [blob for blob in snapshot.blobs if blob not in self._tokens_by_blob]
        new_blobs = list(dict.fromkeys(blobs))
        texts = (decode_text(data or b"") for _, data in self._repo.texts(new_blobs))
        for blob, tokens in zip(new_blobs, self._tokenize(texts, learn=True), strict=True):
            self._tokens_by_blob[blob] = array("I", tokens)

    def _tokenize(self, texts: Iterable[str], learn: bool) -> Iterator[list[int]]:
        """Yield the token numbers of each text.

        With ``learn``, new tokens get numbers; without it, they are left out.
        """
        split_texts: Any = (_BETWEEN_PARTS.sub(" ", text) for text in texts)
        tokens: Iterator[list[int]] = self._tokenizer.streaming_tokenize(
            split_texts, update_vocab=learn, allow_empty=False
        )
        return tokens
