"""BM25 over whole files, by the library bm25s: the reference that stands beside every ranking of other projects.

A document is the whole text of a file, without its path; the query is a report's summary and description. Names are
split at underscores and before capitals; the library's tokenizer stems without English stop words, its defaults score.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import metadata
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np

import tosloc
from tosloc.checkpoint import write_record
from tosloc.code.languages import SOURCE_SUFFIXES
from tosloc.config import Config
from tosloc.errors import ToslocError, counted
from tosloc.evaluate.run_paths import JUDGEMENTS_FILE, RUN_FILE
from tosloc.evaluate.runs import write_run
from tosloc.experiment import named, results_folder, write_truth
from tosloc.git.repository import Repository, decode
from tosloc.io import parse_json, read_plain
from tosloc.records import BugReport, Case, FloatArray, Progress, Ranking, Snapshot, silent, tracked
from tosloc.reports.labelled import chronological, load_dataset, settled

PACKAGES: Final = ("bm25s", "PyStemmer")
_BETWEEN_PARTS: Final = re.compile(r"_+|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_BATCH: Final = 256


def rank_with_bm25s(
    repo_path: str | Path,
    reports_path: str | Path,
    out: str | Path,
    split: str = "all",
    config: Config | None = None,
    progress: Progress = silent,
) -> None:
    """Rank a split's labelled reports into OUT/SPLIT, unless a run of just this is there. Raises ToslocError."""
    folder, reports = Path(out).expanduser(), Path(reports_path)
    with results_folder(folder), Repository(repo_path) as repo:
        settings = settled(config or Config(), reports).data
        suffixes = frozenset(settings.named_suffixes) or SOURCE_SUFFIXES
        record = {
            "tosloc": tosloc.__version__,
            "packages": {name: metadata.version(name) for name in PACKAGES},
            "repository": repo.name,
            "reports": named(reports),
            "data": settings.model_dump(mode="json") | {"suffixes": sorted(suffixes)},
            "split": split,
        }
        finished = folder / split / "finished.json"
        with suppress(OSError, ValueError):
            if parse_json(read_plain(finished)) == record:
                return
        dataset = load_dataset(repo, reports, zone=settings.zone, suffixes=suffixes, progress=progress)
        dataset = dataset.oldest(settings.oldest)
        splits = chronological(dataset.cases, settings.train, settings.validation)
        cases: Sequence[Case] = dataset.cases if split == "all" else getattr(splits, split)
        if not cases:
            raise ToslocError(
                f"{reports}: none of its {counted(len(dataset), 'report')} falls to {split}; rank them all"
            )
        header = {
            "command": "tosloc lab bm25",
            "search space": "all source files of the before-fix version",
            "unresolved": len(dataset.unresolved),
            **record,
        }

        def snapshot(version: str) -> Snapshot:
            return repo.snapshot(version, suffixes)

        for path in (finished, folder / split / JUDGEMENTS_FILE):
            path.unlink(missing_ok=True)
        write_run(folder / split / RUN_FILE, header, _rankings(WholeFiles(repo), cases, snapshot, progress))
        write_truth(folder / split, cases, dataset)
        write_record(finished, record)


def _rankings(
    texts: WholeFiles, cases: Sequence[Case], snapshot: Callable[[str], Snapshot], progress: Progress
) -> Iterator[Ranking]:
    """Rankings of cases, of which those of one version stand together."""
    version, index = "", None
    for case in tracked(cases, "ranking by bm25s", progress):
        if index is None or case.version != version:
            version, index = case.version, texts.index(snapshot(case.version))
        yield Ranking.from_scores(case.report.id, snapshot(version).paths, index(case.report))


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

        new = iter(dict.fromkeys(blob for blob in snapshot.blobs if blob not in self._of_blob))
        while batch := list(islice(new, _BATCH)):
            read = dict(self._repo.texts(batch))
            tokens = self._tokens([decode(data or b"") for data in read.values()], learn=True)
            self._of_blob |= zip(read, (array("I", own) for own in tokens), strict=True)
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

    def _tokens(self, texts: Sequence[str], learn: bool) -> list[list[int]]:
        """Numbers of the tokens of texts; without ``learn``, of those that some file holds."""
        split = [_BETWEEN_PARTS.sub(" ", text) for text in texts]
        found: list[list[int]] = self._tokenizer.tokenize(
            split, update_vocab=learn, return_as="ids", show_progress=False, allow_empty=False
        )
        return found
