"""A repository's version as the parts measure on it, each thing made when it is first wanted."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmark.timing import ROUNDS, in_turns, say
from tosloc import experiment
from tosloc.checkpoint import shipped
from tosloc.code.languages import has_grammar, language_named, language_of
from tosloc.code.parse import parser_of
from tosloc.code.text import words
from tosloc.config import Config
from tosloc.errors import CheckpointError, ToslocError
from tosloc.git.fixes import says_fix
from tosloc.git.history import History
from tosloc.git.repository import Repository, decode
from tosloc.index.build import build
from tosloc.index.corpus import blobs_of
from tosloc.index.history_index import HistoryIndex, commit_payloads, history_of_commits, without_trailers
from tosloc.index.query import Query
from tosloc.index.repository import IndexedRepository, PreparedVersion
from tosloc.index.store import FactStore
from tosloc.io import write_text
from tosloc.localization import OpenVersion
from tosloc.localizer import Localizer
from tosloc.rank import features
from tosloc.rank.stage_one import StageOne
from tosloc.records import BugReport, Snapshot

if TYPE_CHECKING:
    pass


SEED = 7
REPORTS = 20
TERMS = 80
"""Distinct terms of a report, about."""
SAMPLE = 1000


class Bench:
    """One repository's version, and what several parts measure on it, each made when first wanted."""

    def __init__(self, repo: Repository, revision: str, config: Config | None, store: Path | None, work: Path) -> None:
        self.repo, self.config, self.work = repo, config or Config(), work
        self.named = config
        self.commit = repo.resolve(revision)
        self.store = store or work / "facts.sqlite"
        self.project = IndexedRepository(
            repo, self.store, self.config.data.named_suffixes if config else (), self.config.run.jobs
        )
        self.snapshot: Snapshot = self.project.snapshot(self.commit)
        if not len(self.snapshot):
            raise ToslocError(f"{repo.path}: version {self.commit[:12]} holds no source file")

    # What the parts share

    @cached_property
    def indexed(self) -> bool:
        """Whether the version's facts are known: from now on."""
        self.index(self.commit, self.store)
        return True

    def index(self, revision: str, store: Path) -> None:
        """What ``tosloc index`` does, in one process."""
        config = self.config.model_copy(update={"run": self.config.run.model_copy(update={"jobs": 1})})
        experiment.index(self.repo.path, revision, config, store)

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
    def default(self) -> Localizer:
        """Stage one with the shipped weights; before there are any, with the fixed first guess."""
        try:
            return localizer(shipped()[0])
        except CheckpointError:
            say("no shipped weights: the first guess stands in for them")
            guess = dict(features.PRIOR_WEIGHTS) | dict.fromkeys(features.RELATED_NAMES, 1.0)
            return localizer(StageOne(tuple(guess), np.array(list(guess.values()))))

    @cached_property
    def reports(self) -> list[BugReport]:
        """Reports made from the repository itself, always the same for a version."""
        return self.made_reports(REPORTS)

    def made_reports(self, number: int) -> list[BugReport]:
        """So many of them."""
        rng = np.random.default_rng(SEED)
        blobs = dict(zip(self.snapshot.path_ids.tolist(), self.snapshot.blobs, strict=True))
        history = self.history
        fixes = [
            number
            for number, message in enumerate(history.messages)  # merges have no files
            if any(file in blobs for file in history.files(number).tolist()) and says_fix(message)
        ]
        chosen = sorted(rng.permutation(fixes)[:number].tolist())
        opened = datetime.fromtimestamp(max(0, int(history.times.max(initial=0))), UTC) + timedelta(seconds=1)
        made = []
        for commit in chosen:
            files = [file for file in history.files(commit).tolist() if file in blobs]
            said = without_trailers(history.messages[commit])
            made.append(
                self._report(history.ids[commit], said, blobs[files[int(rng.integers(len(files)))]], opened, rng)
            )
        while len(made) < number:
            blob = self.snapshot.blobs[int(rng.integers(len(self.snapshot)))]
            made.append(self._report(f"{blob}-{len(made)}", "Something is wrong", blob, opened, rng))
        return made

    def _report(self, name: str, said: str, blob: str, opened: datetime, rng: np.random.Generator) -> BugReport:
        summary, _, body = said.strip().partition("\n")
        found = words(decode(next(iter(self.repo.texts([blob])))[1] or b""))
        drawn = [found[place] for place in rng.permutation(len(found)).tolist()]
        report = BugReport(name, summary, body, opened)
        step = 8
        for start in range(0, len(drawn), step):
            if len(Query(report).weights) >= TERMS:
                break
            body += "\n" + " ".join(drawn[start : start + step])
            report = BugReport(name, summary, body, opened)
        return report

    def bm25s_retrieval(
        self, retriever: Any, reports: Sequence[BugReport] = ()
    ) -> tuple[Callable[..., object], list[list[str]]]:
        """How bm25s ranks all files for one report or many, and the known terms of each of the ``reports``."""
        reports = reports or self.reports
        say(f"indexing {len(self.snapshot):,} files with bm25s")
        table, rows = self.whole.index.text.corpus.table, self.whole.index.text.rows
        lengths = table.counts[:, :3].sum(axis=1, dtype=np.int64)
        ids = []
        for row in rows.tolist():
            part = slice(int(table.starts[row]), int(table.starts[row + 1])) if row >= 0 else slice(0)
            ids.append(np.repeat(table.terms[part], lengths[part]).tolist())
        vocabulary = {term: number for number, term in enumerate(table.vocabulary)}
        retriever.index((ids, vocabulary), show_progress=False)
        questions = [[term for term in Query(report).weights if term in vocabulary] for report in reports]
        terms = float(np.mean([len(query) for query in questions]))
        say(f"ranking {len(reports)} reports of {terms:.0f} known terms on average, {ROUNDS} times")
        files = len(self.snapshot)

        def retrieve(*terms: list[str]) -> object:
            return retriever.retrieve(list(terms), k=files, show_progress=False, n_threads=0)

        return retrieve, questions

    def report_file(self, report: BugReport) -> str:
        """A report as a file that ``tosloc localize`` reads."""
        asked = self.work / "report.json"
        record = {"summary": report.summary, "description": report.description, "opened": report.opened_seconds}
        write_text(asked, json.dumps(record))
        return str(asked)

    @cached_property
    def sample(self) -> list[tuple[str, str]]:
        """(blob, suffix) of about a thousand files that a parser reads."""
        blobs = [
            (blob, suffix)
            for blob, suffix in blobs_of([self.snapshot], self.project.suffixes).items()
            if has_grammar(language_of(suffix))
        ]
        order = np.random.default_rng(SEED).permutation(len(blobs))[:SAMPLE]
        return [blobs[place] for place in order.tolist()]

    @cached_property
    def first(self) -> tuple[float, float]:
        """Processor time of ``build`` and of bare parsing on the sample: the medians of rounds in turns."""
        parsers = {suffix: parser_of(language_named(language_of(suffix))) for _, suffix in self.sample}
        suffixes = dict(self.sample)
        texts = [(suffixes[blob], data or b"") for blob, data in self.repo.texts(list(suffixes))]
        sources = [(suffix, decode(data).encode("utf-8", "replace")) for suffix, data in texts]
        say(f"analysing {len(self.sample):,} files, in turns with parsing alone")

        def parse() -> None:
            for suffix, source in sources:
                parsers[suffix].parse(source)

        def analyse() -> None:
            with tempfile.TemporaryDirectory(dir=self.work) as folder, FactStore(Path(folder, "facts.sqlite")) as store:
                build(self.repo.path, store, suffixes, jobs=1)

        ours, theirs = in_turns([analyse, parse])
        return ours, theirs


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
    return Snapshot(
        snapshot.commit,
        snapshot.committed_at,
        snapshot.path_names,
        snapshot.blob_names,
        snapshot.path_ids[kept],
        snapshot.blob_ids[kept],
    )
