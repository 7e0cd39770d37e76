"""A repository with the facts that were made of it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from tosloc.analysis.build import BuildReport, build
from tosloc.analysis.facts import SOURCE_SUFFIXES
from tosloc.analysis.store import FactStore
from tosloc.data.git import Repository
from tosloc.data.history import History, read_history
from tosloc.pipeline.extraction import blobs_of, corpus_of
from tosloc.records import Case, Progress, Snapshot, silent
from tosloc.retrieval.corpus import Corpus
from tosloc.retrieval.evidence import Evidence
from tosloc.retrieval.gather import evidence_of


def cache_folder() -> Path:
    """Where facts are kept by default: $TOSLOC_CACHE, else the user's cache folder."""
    named = os.environ.get("TOSLOC_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tosloc"


def default_store(repo: Repository) -> Path:
    """The facts store of a repository, unless another is named."""
    place = hashlib.sha256(str(repo.path.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return cache_folder() / f"{repo.name}-{place}" / "facts.sqlite"


class Project:
    """A repository, its facts store and which files count as source."""

    def __init__(
        self, repo: Repository, store_path: Path | None = None, suffixes: Iterable[str] = (), jobs: int = -1
    ) -> None:
        self.repo = repo
        self.store_path = store_path or default_store(repo)
        self.suffixes = frozenset(suffixes) or SOURCE_SUFFIXES
        self.jobs = jobs
        self.store_path.parent.mkdir(parents=True, exist_ok=True)
        self.store = FactStore(self.store_path)

    def close(self) -> None:
        """Close the store; the repository belongs to the caller."""
        self.store.close()

    def snapshot(self, revision: str) -> Snapshot:
        """The version that ``revision`` names. Raises UnknownCommit."""
        return self.repo.snapshot(revision, self.suffixes)

    def index(self, snapshots: Sequence[Snapshot], progress: Progress = silent) -> BuildReport:
        """Make the facts that the versions' files lack."""
        blobs = list(blobs_of(snapshots, self.suffixes).items())
        return build(self.repo.path, self.store, blobs, jobs=self.jobs, progress=progress)

    def corpus(self, snapshots: Sequence[Snapshot]) -> Corpus:
        """Inverted lists of the versions' files, whose facts must be known."""
        return corpus_of(self.store, snapshots, self.suffixes)

    def history(self, tips: Sequence[str], progress: Progress = silent) -> History:
        """All commits that the tips contain."""
        return read_history(self.repo, tips, self.suffixes, progress)

    def evidence(self, history: History, cases: Sequence[Case] | None, max_files: int) -> Evidence:
        """Commit messages and fixed reports, the latter from labelled cases or else from the commits' messages."""
        return evidence_of(history, cases, self.repo.path_names, max_files)
