"""A repository's version as the parts measure on it, each thing made when it is first wanted."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path

import numpy as np

from benchmark.timing import ROUNDS, say
from tosloc import experiment
from tosloc.code.languages import has_grammar, language_of
from tosloc.code.text import words
from tosloc.config import Config
from tosloc.errors import ToslocError, require
from tosloc.git.fixes import says_fix
from tosloc.git.history import History
from tosloc.git.repository import Repository, decode
from tosloc.index.corpus import blobs_of
from tosloc.index.history_index import HistoryIndex, commit_payloads, history_of_commits, without_trailers
from tosloc.index.prepared import PreparedVersion
from tosloc.index.query import Query
from tosloc.index.repository import IndexedRepository
from tosloc.io import write_text
from tosloc.localization import OpenVersion
from tosloc.localizer import Localizer
from tosloc.rank.stage_one import StageOne
from tosloc.records import BugReport, Snapshot

SEED = 7
REPORTS = 20
TERMS = 80
"""Distinct terms of a report, about."""
SAMPLE = 1000


class Bench:
    """One repository's version, and what several parts measure on it, each made when first wanted."""

    def __init__(self, repo: Repository, revision: str, config: Config | None, work: Path) -> None:
        self.repo, self.config, self.work = repo, config or Config(), work
        self.commit = repo.resolve(revision)
        suffixes = self.config.data.named_suffixes if config else ()
        self.project = IndexedRepository(repo, None, suffixes, self.config.run.jobs)
        self.snapshot: Snapshot = self.project.snapshot(self.commit)
        if not len(self.snapshot):
            raise ToslocError(f"{repo.path}: version {self.commit[:12]} holds no source file")
        self.default = localizer(Localizer.default().stage_one)

    @cached_property
    def indexed(self) -> bool:
        """Whether the version's facts are known: from now on."""
        config = self.config.model_copy(update={"run": self.config.run.model_copy(update={"jobs": 1})})
        experiment.index(self.repo.path, self.commit, config)
        return True

    @cached_property
    def history(self) -> History:
        """All commits of the version."""
        say("reading the history")
        return self.project.history([self.commit])

    @cached_property
    def evidence(self) -> HistoryIndex:
        """What they say."""
        payloads = dict(commit_payloads(self.history))
        return history_of_commits(self.history.ids, payloads, self.repo.path_names)

    def version(self, snapshot: Snapshot) -> OpenVersion:
        """A version, ready for questions."""
        assert self.indexed
        evidence = self.evidence
        corpus, paths = self.project.corpus([snapshot]), list(self.repo.path_names.names)
        made = PreparedVersion.of(snapshot, corpus, evidence, paths)
        return OpenVersion(made.snapshot, made.index, made.history, repository=self.project)

    @cached_property
    def whole(self) -> OpenVersion:
        """All files of the version."""
        return self.version(self.snapshot)

    @cached_property
    def reports(self) -> list[BugReport]:
        """Reports made from the repository itself, always the same for a version."""
        return self.made_reports(REPORTS)

    def made_reports(self, number: int) -> list[BugReport]:
        """So many of them."""
        rng = np.random.default_rng(SEED)
        blobs = dict(zip(self.snapshot.path_ids.tolist(), self.snapshot.blobs, strict=True))
        history = self.history
        # merges have no files
        files_of = [[file for file in files if file in blobs] for files in history.touched]
        fixes = [place for place, said in enumerate(history.messages) if files_of[place] and says_fix(said)]
        opened = datetime.fromtimestamp(max(0, int(history.times.max(initial=0))), UTC) + timedelta(seconds=1)
        made = []
        for commit in sorted(rng.permutation(fixes)[:number].tolist()):
            blob = blobs[files_of[commit][int(rng.integers(len(files_of[commit])))]]
            said = without_trailers(history.messages[commit])
            made.append(self._report(history.ids[commit], said, blob, opened, rng))
        while len(made) < number:
            blob = self.snapshot.blobs[int(rng.integers(len(self.snapshot)))]
            made.append(self._report(f"{blob}-{len(made)}", "Something is wrong", blob, opened, rng))
        return made

    def _report(self, name: str, said: str, blob: str, opened: datetime, rng: np.random.Generator) -> BugReport:
        summary, _, body = said.strip().partition("\n")
        found = words(decode(next(iter(self.repo.texts([blob])))[1] or b""))
        drawn = [found[place] for place in rng.permutation(len(found)).tolist()]
        report = BugReport(name, summary, body, opened)
        while drawn and len(Query(report).weights) < TERMS:
            body += "\n" + " ".join(drawn[:8])
            del drawn[:8]
            report = BugReport(name, summary, body, opened)
        return report

    def bm25s_retrieval(self, reports: Sequence[BugReport]) -> tuple[Callable[..., object], list[list[str]]]:
        """How bm25s ranks all files for one report or many, and the known terms of each of the ``reports``."""
        require("a comparison with bm25s", "lab", "bm25s")
        import bm25s

        say(f"indexing {len(self.snapshot):,} files with bm25s")
        corpus, rows = self.whole.index.text.corpus, self.whole.index.text.rows
        lists, vocabulary = corpus.by_blob, dict(corpus.terms)
        lengths = lists.values[:, :3].sum(axis=1, dtype=np.int64)
        ids = []
        for row in rows.tolist():
            part = slice(int(lists.starts[row]), int(lists.starts[row + 1])) if row >= 0 else slice(0)
            ids.append(np.repeat(lists.rows[part], lengths[part]).tolist())
        retriever = bm25s.BM25()
        retriever.index((ids, vocabulary), show_progress=False)
        queries = [[term for term in Query(report).weights if term in vocabulary] for report in reports]
        terms = float(np.mean([len(query) for query in queries]))
        say(f"ranking {len(reports)} reports of {terms:.0f} known terms on average, {ROUNDS} times")

        def retrieve(*terms: list[str]) -> object:
            return retriever.retrieve(list(terms), k=len(self.snapshot), show_progress=False, n_threads=0)

        return retrieve, queries

    @cached_property
    def report_file(self) -> str:
        """The first report as a file that ``tosloc localize`` reads."""
        report, asked = self.reports[0], self.work / "report.json"
        record = {"summary": report.summary, "description": report.description, "opened": report.opened_seconds}
        write_text(asked, json.dumps(record))
        return str(asked)

    @cached_property
    def sample(self) -> dict[str, str]:
        """Blob -> suffix of about a thousand files that a parser reads."""
        blobs = blobs_of([self.snapshot], self.project.suffixes).items()
        parsed = [(blob, suffix) for blob, suffix in blobs if has_grammar(language_of(suffix))]
        return dict(parsed[place] for place in np.random.default_rng(SEED).permutation(len(parsed))[:SAMPLE].tolist())


def warm(ranker: Localizer, version: OpenVersion, reports: Sequence[BugReport]) -> None:
    """Ask until all that is made once for many questions is made."""
    for report in reports[:3]:
        ranker.localization(report, version)


def localizer(stage: StageOne) -> Localizer:
    """A localizer that has learned."""
    made = Localizer()
    made.stage_one_ = stage
    return made


def part_of(snapshot: Snapshot, chosen: np.ndarray) -> Snapshot:
    """The version with some of its files alone."""
    kept = np.sort(chosen)
    names = snapshot.commit, snapshot.committed_at, snapshot.path_names, snapshot.blob_names
    return Snapshot(*names, snapshot.path_ids[kept], snapshot.blob_ids[kept])
