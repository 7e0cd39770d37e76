"""Speed and memory as ratios within one run: ``bench.py --repo GIT_DIR [--commit HEAD] [--only PART] [--json]``.

Each row is {name, value, reference, ratio}: seconds or bytes, and ratio = value / reference. What is compared is timed
in turns, so that a busy machine slows both sides.

stage one / bm25s, stage one (paper) / bm25s
    Mean over 20 reports of the median processor time (no side reads a file or has a second thread, and what else runs
    on the machine counts less) to rank all files of the version for one report; facts, history and indexes are in
    memory. Ours starts from the report's text and ends with a ``Ranking`` of every path: splitting into terms,
    all features, fusion, the learned ranker if the weights bring one, sorting. The reference is ``retrieve`` of bm25s
    with k = number of files in one thread, over the same files' terms (code, comments, strings) and the same report's
    distinct terms, already split. Ours also knows the history; bm25s does not.
    The reports come from the repository itself: message of a bug-fixing commit, then words drawn from a file that it
    touched, until there are about 80 distinct terms. All are asked now, when every commit of the version is known.
first index / tree-sitter
    Processor time of ``build`` into a fresh store, in one process, against parsing the texts of the same files by
    tree-sitter and nothing else: a thousand files whose languages have a grammar. Git, which reads the files for
    both, is in neither.
add one commit / build
    Processor time of ``tosloc index`` of the version into a store that knows its parent, in one process, without the
    start of Python, against building the parent's version. With --store the latter is the sample's time, scaled by
    bytes.
second localize, shell / numpy
    Processor time of ``python -m tosloc localize`` for a report, of the process and all that it starts, when the
    version is kept ready and the functions of its first files are known, against the start of Python with ``import
    numpy`` and ``git rev-parse HEAD``: what no program that answers from arrays can do without.
question in one process / bm25s
    Mean over the reports of the median processor time, git's included, of ``Localizer.localize`` of a repository that
    ``Localizer.open`` has opened: finding the commit, ranking, reasons and functions of ten files; against bm25s as
    above.
one commit more / version
    Processor time to make the version ready, facts known, from that of its parent and what is new, against from facts
    and commits alone. Both write it to disk.
growth A -> B files
    Processor time of one ranking among B files of the version against B / A times that among A of them.
memory: localize, memory: evaluate test
    Largest resident memory of a fresh process and its children, against 1 GiB and 4 GiB.
evaluate TREC files / ir-measures, evaluate JSON lines / ir-measures
    Processor time from files to means of six measures, each side in a process of its own, imports left out, of a run of
    --rankings reports that rank --files files each. The reference reads TREC's form of the same run in both rows.
memory: evaluate TREC files, memory: evaluate JSON lines
    Largest resident memory of ours, against 1 GiB.

``--only evaluation`` measures the last four rows, for which no repository is needed.

With ``--encoder FOLDER``, on the processor and in one thread:

two stages / stage one + one text
    Processor time of one ranking by both stages, the files' vectors known, against one by stage one and one pass of the
    report's tokens through the encoder: what reading again costs beside the encoder that it cannot do without. The
    reports are the first five.
encoding / encoder alone
    Chunks a second from blobs to kept vectors (reading, cutting, encoding, writing), against those of the encoder on
    the same batches, ready made. Here more is better.

With ``--checkpoint FOLDER``, one whose second stage is of term vectors:

two stages, terms / stage one
    Processor time of one ranking by both stages of the checkpoint, the terms of the first files known, against one by
    its stage one. This reader needs no encoder.
"""

from __future__ import annotations

import argparse
import json
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tosloc import experiment
from tosloc.analysis import grammars
from tosloc.analysis.build import build
from tosloc.analysis.languages import language_of
from tosloc.analysis.store import FactStore
from tosloc.analysis.text import words
from tosloc.checkpoint import shipped_stage_one
from tosloc.cli.printing import print_table
from tosloc.config import Config, load_config
from tosloc.data.fixes import fix_commits
from tosloc.data.git import Repository, decode
from tosloc.data.history import History
from tosloc.errors import CheckpointError, ToslocError
from tosloc.evaluation import Judgement, Qrels, Run, write_judgements, write_run
from tosloc.evaluation.trec import write_trec_qrels, write_trec_run
from tosloc.files import write_text
from tosloc.index.build_history import without_trailers
from tosloc.index.corpus import blobs_of
from tosloc.index.history_index import HistoryIndex
from tosloc.index.prepared import PreparedVersion
from tosloc.index.query import Query
from tosloc.index.repository import IndexedRepository
from tosloc.localizer import Localizer
from tosloc.open_version import OpenVersion, texts_of
from tosloc.records import BugReport, IntArray, Ranking, Snapshot
from tosloc.retrieval import features
from tosloc.retrieval.stage_one import StageOne

if TYPE_CHECKING:
    from tosloc.reranking.encoder.models import EncoderModels
    from tosloc.reranking.encoder.vector_store import VectorStore

SEED = 7
REPORTS = 20
TERMS = 80
"""Distinct terms of a report, about."""
ROUNDS = 5
SAMPLE = 1000
"""Blobs that are analysed for the first index."""
SIZES = (1_250, 2_500, 5_000, 10_000)
GIB = 2**30
READ_AGAIN = 5
"""Reports whose first files are read again."""
ENCODED = 32
"""Files that are encoded."""
EVALUATION = "evaluation"
PARTS = ("stage one", "questions", "first index", "add one commit", "growth", "memory", "stage two", EVALUATION)
RANKINGS, FILES = 628, 10_000
TARGETS = {"evaluate": 1, "stage one /": 15, "stage one (": 3, "first": 2.5, "add": 0.005, "growth": 1, "memory": 1}
TARGETS |= {"second": 10, "question": 60, "one commit": 0.3}
TARGETS |= {"two stages": 1.5, "encoding": 0.9}


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison."""

    name: str
    value: float
    reference: float

    @property
    def ratio(self) -> float:
        """Value / reference."""
        return self.value / self.reference


def say(text: str) -> None:
    """Progress, on standard error."""
    print(f"bench: {text}", file=sys.stderr, flush=True)


def seconds(call: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Time of one call."""
    start = clock()
    call()
    return clock() - start


def with_children() -> float:
    """Processor time of this process and of those that it has started and that have ended."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


def in_turns(
    calls: Sequence[Callable[[], object]], rounds: int = ROUNDS, clock: Callable[[], float] = time.process_time
) -> list[float]:
    """Median processor time of each call, all called once a round, in an order that changes from round to round."""
    times = np.zeros((rounds, len(calls)))
    for number in range(rounds):
        for place in np.roll(np.arange(len(calls)), number).tolist():
            times[number, place] = seconds(calls[place], clock)
    return [float(median) for median in np.median(times, axis=0)]


class Bench:
    """One repository's version, and what several parts measure on it, each made when first wanted."""

    def __init__(self, repo: Repository, revision: str, config: Config | None, store: Path | None, work: Path) -> None:
        self.repo, self.config, self.work = repo, config or Config(), work
        self.named = config
        self.commit = repo.resolve(revision)
        self.given = store
        self.store = store or work / "facts.sqlite"
        self.project = IndexedRepository(
            repo, self.store, self.config.data.named_suffixes if config else (), self.config.run.jobs
        )
        self.snapshot: Snapshot = self.project.snapshot(self.commit)
        if not len(self.snapshot):
            raise ToslocError(f"{repo.path}: version {self.commit[:12]} holds no source file")

    # What the parts share

    @cached_property
    def parent_seconds(self) -> float | None:
        """Processor time of building the parent's version into the empty store; None without either."""
        parents = self.repo.commit(self.commit).parents
        if self.given is not None or not parents:
            return None
        say("building the index of the parent's version")
        return seconds(lambda: self.index(parents[0], self.store), time.process_time)

    @cached_property
    def indexed(self) -> bool:
        """Whether the version's facts are known: from now on."""
        _ = self.parent_seconds
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
        return self.project.build_history(self.history, None, self.config.history.max_files)

    def version(self, snapshot: Snapshot) -> OpenVersion:
        """A version, ready for questions."""
        assert self.indexed
        evidence = self.evidence
        corpus, paths = self.project.corpus([snapshot]), list(self.repo.path_names.names)
        return OpenVersion.of(PreparedVersion.of(snapshot, corpus, evidence, paths))

    @cached_property
    def whole(self) -> OpenVersion:
        """All files of the version."""
        return self.version(self.snapshot)

    @cached_property
    def default(self) -> Localizer:
        """Stage one with the shipped weights; before there are any, with the fixed first guess."""
        try:
            return localizer(shipped_stage_one())
        except CheckpointError:
            say("no shipped weights: the first guess stands in for them")
            guess = dict(features.PRIOR_WEIGHTS) | dict.fromkeys(features.RELATED_NAMES, 1.0)
            return localizer(StageOne(tuple(guess), np.array(list(guess.values()))))

    @cached_property
    def reports(self) -> list[BugReport]:
        """Reports made from the repository itself, always the same for a version."""
        rng = np.random.default_rng(SEED)
        blobs = dict(zip(self.snapshot.path_ids.tolist(), self.snapshot.blobs, strict=True))
        history = self.history
        fixes = [n for n in fix_commits(history).tolist() if any(f in blobs for f in history.files(n).tolist())]
        chosen = sorted(rng.permutation(fixes)[:REPORTS].tolist())
        opened = datetime.fromtimestamp(max(0, int(history.times.max(initial=0))), UTC) + timedelta(seconds=1)
        made = []
        for number in chosen:
            files = [file for file in history.files(number).tolist() if file in blobs]
            said = without_trailers(history.messages[number])
            made.append(
                self._report(history.ids[number], said, blobs[files[int(rng.integers(len(files)))]], opened, rng)
            )
        while len(made) < REPORTS:
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

    # The parts

    def stage_one(self) -> list[Row]:
        """Ranking one report, in both methods, against bm25s."""
        try:
            import bm25s
        except ImportError:
            say("bm25s is not installed: no rows of stage one")
            return []
        version = self.whole
        paper = localizer(StageOne(features.PAPER_NAMES, np.full(len(features.PAPER), 0.25)))
        reference, questions = self.bm25s_retrieval(bm25s.BM25())
        for ranker in (self.default, paper):
            warm(ranker, version, self.reports)
        times = np.array(
            [
                in_turns(
                    [
                        lambda terms=query: reference(terms),  # type: ignore[misc]
                        lambda report=report: self.default.localization(report, version),  # type: ignore[misc]
                        lambda report=report: paper.localization(report, version),  # type: ignore[misc]
                    ]
                )
                for report, query in zip(self.reports, questions, strict=True)
            ]
        ).mean(axis=0)
        return [
            Row("stage one / bm25s", float(times[1]), float(times[0])),
            Row("stage one (paper) / bm25s", float(times[2]), float(times[0])),
        ]

    def bm25s_retrieval(self, retriever: Any) -> tuple[Callable[[list[str]], object], list[list[str]]]:
        """How bm25s ranks all files for a report, and the known terms of each report."""
        say(f"indexing {len(self.snapshot):,} files with bm25s")
        table, rows = self.whole.index.text.corpus.table, self.whole.index.text.rows
        lengths = table.counts[:, :3].sum(axis=1, dtype=np.int64)
        ids = []
        for row in rows.tolist():
            part = slice(int(table.starts[row]), int(table.starts[row + 1])) if row >= 0 else slice(0)
            ids.append(np.repeat(table.terms[part], lengths[part]).tolist())
        vocabulary = {term: number for number, term in enumerate(table.vocabulary)}
        retriever.index((ids, vocabulary), show_progress=False)
        questions = [[term for term in Query(report).weights if term in vocabulary] for report in self.reports]
        terms = float(np.mean([len(query) for query in questions]))
        say(f"ranking {len(self.reports)} reports of {terms:.0f} known terms on average, {ROUNDS} times")
        files = len(self.snapshot)

        def retrieve(terms: list[str]) -> object:
            return retriever.retrieve([terms], k=files, show_progress=False, n_threads=0)

        return retrieve, questions

    def questions(self) -> list[Row]:
        """A user's questions: from the shell, in one process, and after a commit more."""
        assert self.indexed
        return [self.from_the_shell(), *self.in_one_process(), *self.one_commit_more()]

    def from_the_shell(self) -> Row:
        """The second ``tosloc localize``, against the start of what it cannot do without."""
        asked = self.report_file(self.reports[0])
        where = ["--repo", str(self.repo.path), "--store", str(self.store), "--commit", self.commit]
        command = [sys.executable, "-m", "tosloc", "localize", asked, *where, "--json"]
        git = ["git", "--git-dir", str(self.repo.path), "rev-parse", "--verify", "HEAD"]

        def reference() -> None:
            subprocess.run([sys.executable, "-c", "import numpy"], check=True)
            subprocess.run(git, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)

        def ours() -> None:
            subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)

        say("localizing in fresh processes")
        ours()  # the first question makes the version ready
        start, second = in_turns([reference, ours], clock=with_children)
        return Row("second localize, shell / numpy", second, start)

    def in_one_process(self) -> list[Row]:
        """Questions to an open repository, against bm25s."""
        try:
            import bm25s
        except ImportError:
            say("bm25s is not installed: no row of questions in one process")
            return []
        reference, questions = self.bm25s_retrieval(bm25s.BM25())
        with Localizer.open(self.repo.path, commit=self.commit, store=self.store) as opened:
            for report in self.reports:  # their functions are found
                opened.localize(report, commit=self.commit)
            times = [
                in_turns(
                    [
                        lambda terms=query: reference(terms),  # type: ignore[misc]
                        lambda report=report: opened.localize(report, commit=self.commit[:39]),  # type: ignore[misc]
                    ],
                    clock=with_children,
                )
                for report, query in zip(self.reports, questions, strict=True)
            ]
        theirs, ours = np.array(times).mean(axis=0).tolist()
        return [Row("question in one process / bm25s", ours, theirs)]

    def one_commit_more(self) -> list[Row]:
        """Making the version ready from its parent's, against from facts and commits."""
        parents = self.repo.commit(self.commit).parents
        if not parents:
            say("the version has no parent: no row for one commit more")
            return []
        max_files = self.config.history.max_files
        self.index(parents[0], self.store)
        before = self.project.prepare(self.project.snapshot(parents[0]), max_files)
        say("making the version ready, from its parent's and from nothing")
        whole, more = in_turns(
            [
                lambda: self.project.prepare(self.snapshot, max_files),
                lambda: self.project.prepare(self.snapshot, max_files, before),
            ],
            rounds=3,
            clock=with_children,
        )
        return [Row("one commit more / version", more, whole)]

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
            if language_of(suffix) in grammars.GRAMMARS
        ]
        order = np.random.default_rng(SEED).permutation(len(blobs))[:SAMPLE]
        return [blobs[place] for place in order.tolist()]

    @cached_property
    def first(self) -> tuple[float, float]:
        """Processor time of ``build`` and of bare parsing on the sample: the medians of rounds in turns."""
        parsers = {suffix: grammars.parser(language_of(suffix)) for _, suffix in self.sample}
        suffixes = dict(self.sample)
        texts = [(suffixes[blob], data or b"") for blob, data in self.repo.texts(list(suffixes))]
        sources = [(suffix, decode(data).encode("utf-8", "replace")) for suffix, data in texts]
        say(f"analysing {len(self.sample):,} files, in turns with parsing alone")

        def parse() -> None:
            for suffix, source in sources:
                parsers[suffix].parse(source)

        def analyse() -> None:
            with tempfile.TemporaryDirectory(dir=self.work) as folder, FactStore(Path(folder, "facts.sqlite")) as store:
                build(self.repo.path, store, self.sample, jobs=1)

        ours, theirs = in_turns([analyse, parse])
        return ours, theirs

    def first_index(self) -> list[Row]:
        """Building against parsing alone."""
        if not self.sample:
            say("no file's language has a grammar: no row for the first index")
            return []
        return [Row("first index / tree-sitter", *self.first)]

    def add_one_commit(self) -> list[Row]:
        """One more commit against building."""
        parents = self.repo.commit(self.commit).parents
        if not parents:
            say("the version has no parent: no row for adding one commit")
            return []
        whole = self.parent_seconds
        assert self.indexed
        before = set(self.project.snapshot(parents[0]).blobs)
        new = [blob for blob in self.snapshot.blobs if blob not in before]
        if whole is None:
            sizes = {blob: len(data or b"") for blob, data in self.repo.texts(self.snapshot.blobs)}
            share = sum(sizes[blob] for blob, _ in self.sample) / max(sum(sizes.values()), 1)
            whole = self.first[0] / max(share, 1e-9)
        copied = self.work / "copy.sqlite"
        with sqlite3.connect(self.store) as source, sqlite3.connect(copied) as target:
            source.backup(target)
        say(f"adding one commit of {len(new)} files")
        times = []
        for _ in range(3):
            with sqlite3.connect(copied) as database:
                database.executemany("DELETE FROM facts WHERE blob = ?", [(blob,) for blob in new])
            times.append(seconds(lambda: self.index(self.commit, copied), time.process_time))
        return [Row("add one commit / build", float(np.median(times)), whole)]

    def growth(self) -> list[Row]:
        """Time of one ranking among more and more files."""
        sizes = [size for size in SIZES if size <= len(self.snapshot)]
        if len(sizes) < 2:
            say(f"{len(self.snapshot):,} files are too few for rows of growth")
            return []
        order = np.random.default_rng(SEED).permutation(len(self.snapshot))
        versions = []
        for size in sizes:
            say(f"opening {size:,} files")
            versions.append(self.version(part_of(self.snapshot, order[:size])))
            warm(self.default, versions[-1], self.reports)
        times = np.array(
            [
                in_turns(
                    [lambda r=report, g=version: self.default.localization(r, g) for version in versions]  # type: ignore[misc]
                )
                for report in self.reports
            ]
        ).mean(axis=0)
        return [
            Row(f"growth {sizes[a]:,} -> {sizes[b]:,} files", float(times[b]), float(times[a]) * sizes[b] / sizes[a])
            for a, b in pairwise(range(len(sizes)))
        ]

    def memory(self, labelled: Path | None, config: Path | None) -> list[Row]:
        """Largest memory of the commands in processes of their own."""
        assert self.indexed
        checkpoint = self.work / "checkpoint"
        ranker = Localizer(self.config)
        ranker.stage_one_ = self.default.stage_one
        ranker.provenance_ = {} if self.named else {"shipped": True}
        ranker.save(checkpoint)
        report = self.reports[0]
        asked = self.report_file(report)
        places = ["--repo", str(self.repo.path), "--checkpoint", str(checkpoint), "--store", str(self.store)]
        rows = []
        say("localizing in a fresh process")
        peak = peak_memory(["localize", *places, "--commit", self.commit, "--report", asked, "--json"])
        if peak is not None:
            rows.append(Row("memory: localize", peak, GIB))
        if labelled is not None:
            say("ranking the test reports in a fresh process")
            settings = ["--config", str(config)] if config is not None else []
            out = ["--reports", str(labelled), "--out", str(self.work / "run"), "--split", "test"]
            peak = peak_memory(["rank", *places, *out, *settings])
            if peak is not None:
                rows.append(Row("memory: evaluate test", peak, 4 * GIB))
        return rows

    def stage_two(self, encoder: Path | None, checkpoint: Path | None) -> list[Row]:
        """Both stages, by each reader that is named."""
        rows = []
        if encoder is None:
            say("no encoder is named with --encoder: no rows of it")
        else:
            rows += self.by_encoder(encoder)
        if checkpoint is None:
            say("no checkpoint is named with --checkpoint: no row of term vectors")
        else:
            rows.append(self.by_terms(checkpoint))
        return rows

    def by_terms(self, checkpoint: Path) -> Row:
        """Ranking one report by both stages, the first files' terms known, against stage one of the same checkpoint."""
        learned, whole = Localizer.load(checkpoint), self.whole
        if learned.reranker_ is None or learned.reranker_.name != "terms" or not learned.reranker_.weight:
            raise ToslocError(f"{checkpoint}: no second stage of term vectors; name a checkpoint that has one")
        version = replace(whole, reranking=whole.for_reranking())
        say(f"ranking {len(self.reports)} reports by both stages of {checkpoint}, {ROUNDS} times")
        for report in self.reports:
            learned.localization(report, version)
        times = np.array(
            [
                in_turns(
                    [
                        lambda r=report: learned.localization(r, whole),  # type: ignore[misc]
                        lambda r=report: learned.localization(r, version),  # type: ignore[misc]
                    ]
                )
                for report in self.reports
            ]
        ).mean(axis=0)
        return Row("two stages, terms / stage one", float(times[1]), float(times[0]))

    def by_encoder(self, encoder: Path) -> list[Row]:
        """Both stages, and encoding, against what only the encoder takes."""
        import torch  # which takes seconds, and no other part needs

        from tosloc.reranking.encoder.models import EncoderModels

        given = self.config.stage_two
        training = given.training.model_copy(update={"learns": "head", "lora_rank": 0, "device": "cpu"})
        changed = {"code_encoder": str(encoder), "report_encoder": "", "training": training}
        models = EncoderModels.fresh(given.model_copy(update=changed))
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            return [self.both_stages(models), self.encoding(models)]
        finally:
            torch.set_num_threads(threads)

    def both_stages(self, models: EncoderModels) -> Row:
        """Ranking one report by both stages, vectors known."""
        import torch

        from tosloc.reranking.encoder.chunk_vectors import encode
        from tosloc.reranking.encoder.reranker import EncoderReranker
        from tosloc.reranking.encoder.texts import report_text

        reports, settings, device = self.reports[:READ_AGAIN], models.settings, torch.device("cpu")
        both = Localizer.default()
        both.reranker_ = EncoderReranker(models)
        version = replace(
            self.whole, reranking=self.whole.for_reranking(texts_of(self.repo), self.work / "vectors.sqlite")
        )
        say(f"encoding the first {settings.candidates} files of {len(reports)} reports")
        warm(both, version, reports)
        words = models.report.words
        tokens = [words.marked(words.tokens([report_text(report)])[0], settings.report_tokens) for report in reports]

        def reference(report: BugReport, one: IntArray) -> object:
            return self.default.localization(report, self.whole), encode(models.report, [one], device)

        say(f"ranking {len(reports)} reports by both stages, {ROUNDS} times")
        times = np.array(
            [
                in_turns(
                    [
                        lambda r=report, q=one: reference(r, q),  # type: ignore[misc]
                        lambda r=report: both.localization(r, version),  # type: ignore[misc]
                    ]
                )
                for report, one in zip(reports, tokens, strict=True)
            ]
        ).mean(axis=0)
        return Row("two stages / stage one + one text", float(times[1]), float(times[0]))

    def encoding(self, models: EncoderModels) -> Row:
        """Encoding blobs, against the encoder alone."""
        import torch

        from tosloc.reranking.encoder.chunk_vectors import CodeEncoding, Cut, alike
        from tosloc.reranking.encoder.vector_store import VectorStore

        settings, texts = models.settings, texts_of(self.repo)
        blobs = [blob for blob, _ in self.sample[:ENCODED]]
        cut = Cut(settings.chunks, settings.chunk_tokens)

        def coding(store: VectorStore) -> CodeEncoding:
            return CodeEncoding(models.code, cut, store, precision=settings.precision)

        def ours() -> None:
            with tempfile.TemporaryDirectory(dir=self.work) as folder, VectorStore(Path(folder) / "v.sqlite") as store:
                coding(store).make(blobs, texts)

        with VectorStore(self.work / "tokens.sqlite") as store:
            prepared = coding(store)
            tokens = prepared.tokens(blobs, texts)
            words = models.code.words
            chunks = [
                chunk
                for blob in blobs
                if len(tokens[blob])
                for chunk in words.chunks(tokens[blob], cut.length, cut.chunks)
            ]
            model = prepared.working()
        batches = [model.padded([chunks[place] for place in batch], "cpu") for batch in alike(chunks)]

        def reference() -> None:
            with torch.inference_mode():
                for tokens_SL, real_SL in batches:
                    model(tokens_SL, real_SL)

        say(f"encoding {len(chunks):,} pieces of {len(blobs)} files, in turns with the encoder alone")
        alone, whole = in_turns([reference, ours], rounds=3)
        return Row("encoding / encoder alone", len(chunks) / whole, len(chunks) / alone)


# Evaluation, in a process of its own for each side

MEASURES = ("AP", "RR", "nDCG", "P@10", "R@10", "nDCG@10")
OURS = """
from tosloc.evaluation import Measure, read_scored

def means(run, qrels, names):
    evaluation = read_scored(run, qrels=qrels).evaluation()
    return [evaluation.mean(Measure.parse(name)) for name in names]
"""
THEIRS = """
import ir_measures

def means(run, qrels, names):
    measures = [ir_measures.parse_measure(name) for name in names]
    judged, ranked = list(ir_measures.read_trec_qrels(qrels)), ir_measures.read_trec_run(run)
    values = ir_measures.calc_aggregate(measures, judged, ranked)
    return [values[measure] for measure in measures]
"""
TIMED = """
import json, pathlib, sys, time

start = time.process_time()
values = means(sys.argv[1], sys.argv[2], sys.argv[3:])
took = time.process_time() - start
status = pathlib.Path("/proc/self/status")
peak = status.read_text().partition("VmHWM:")[2].split()[0] if status.exists() else 0
print(json.dumps({"values": values, "seconds": took, "peak": 1024 * int(peak)}))
"""


def evaluation(work: Path, rankings: int, files: int) -> list[Row]:
    """Evaluating a large run, against ir-measures."""
    try:
        import ir_measures  # noqa: F401  # only its own process uses it
    except ImportError:
        say("ir-measures is not installed: no rows of evaluation")
        return []
    say(f"writing {rankings:,} rankings of {files:,} files in both forms")
    write_large_run(work, rankings, files)
    trec, lines = (work / "run.trec", work / "qrels.trec"), (work / "run.jsonl.gz", work / "qrels.jsonl")
    sides = {"ir-measures": (THEIRS, trec), "TREC files": (OURS, trec), "JSON lines": (OURS, lines)}
    measured = {}
    for name, (code, places) in sides.items():
        say(f"evaluating {places[0].name}" + (" with ir-measures" if code is THEIRS else ""))
        measured[name] = alone(code + TIMED, *map(str, places), *MEASURES)
    reference = measured.pop("ir-measures")
    for name, ours in measured.items():
        if not np.allclose(ours["values"], reference["values"], rtol=0, atol=1e-9):
            raise ToslocError(f"{name}: the means {ours['values']} are not ir-measures' {reference['values']}")
    times = [Row(f"evaluate {name} / ir-measures", m["seconds"], reference["seconds"]) for name, m in measured.items()]
    return times + [Row(f"memory: evaluate {name}", m["peak"], GIB) for name, m in measured.items() if m["peak"]]


def write_large_run(work: Path, rankings: int, files: int) -> None:
    """Write a random run of a large project and its judgements, as JSON lines and in TREC's form."""
    rng = np.random.default_rng(SEED)
    width = len(str(files))
    names = np.array(
        [f"org.example.ui/src/org/example/ui/part{n % 97:02}/Class{n:0{width}}.java" for n in range(files)]
    )
    ranked, judgements = [], []
    for number in range(rankings):
        order = rng.permutation(files)
        fixed = tuple(names[order[np.unique(rng.geometric(8 / files, size=3) % files)]].tolist())
        scores = np.sort(rng.normal(size=files))[::-1]
        ranked.append(Ranking(str(100_000 + number), tuple(names[order].tolist()), scores))
        judgements.append(Judgement(str(100_000 + number), fixed, fixed, files))
    write_run(work / "run.jsonl.gz", {}, ranked)
    write_judgements(work / "qrels.jsonl", judgements)
    write_trec_run(work / "run.trec", Run.of({}, ranked))
    write_trec_qrels(work / "qrels.trec", Qrels.of(judgements))


def alone(code: str, *arguments: str) -> dict[str, Any]:
    """What a program prints that runs in a process of its own."""
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines() or ["no message"]
        raise ToslocError(f"evaluating {arguments[0]} failed: {said[-1]}")
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


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


def peak_memory(arguments: Sequence[str]) -> float | None:
    """Largest sum of the resident memory of a ``tosloc`` command's processes; None where /proc does not tell.

    A process's own high-water mark counts where it is more than what was seen of all.
    """
    if not Path("/proc/self/status").exists():
        say("memory is read from /proc, which this system lacks: no row")
        return None
    command = [sys.executable, "-m", "tosloc", *arguments]
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        largest = 0
        try:
            while process.poll() is None:
                now = [memory_of(one) for one in family(process.pid)]
                largest = max(largest, sum(resident for resident, _ in now), *(mark for _, mark in now), 0)
                time.sleep(0.05)
        finally:
            process.kill()
            process.wait()
        if process.returncode:
            errors.seek(0)
            said = errors.read().decode("utf-8", "replace").strip().splitlines() or ["no message"]
            raise ToslocError(f"tosloc {arguments[0]} failed: {said[-1]}")
    return float(largest)


def family(root: int) -> list[int]:
    """A process and all that come from it."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found = [root]
    for one in found:
        found += children.get(one, [])
    return found


def memory_of(process: int) -> tuple[int, int]:
    """Resident memory of a process now, and its high-water mark, in bytes."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0, 0
    kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.startswith(("VmRSS", "VmHWM"))}
    return kilobytes.get("VmRSS", 0) * 1024, kilobytes.get("VmHWM", 0) * 1024


def cells_of(row: Row) -> list[str]:
    """A row for people."""
    target = next((bound for start, bound in TARGETS.items() if row.name.startswith(start)), None)
    amounts = [amount_of(row.name, x) for x in (row.value, row.reference)]
    return [row.name, *amounts, f"{row.ratio:.3g}", "" if target is None else f"{target:g}"]


def amount_of(name: str, value: float) -> str:
    """What a row measures, with its unit."""
    if name.startswith("memory"):
        return f"{value / GIB:.3f} GiB"
    return f"{value:.3g}/s" if name.startswith("encoding") else amount(value)


def amount(value: float) -> str:
    """A time.

    >>> amount(0.0123), amount(12.3)
    ('12.3 ms', '12.3 s')
    """
    return f"{value * 1000:.3g} ms" if value < 1 else f"{value:.3g} s"


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"bench: {message}\n")


def parser() -> argparse.ArgumentParser:
    """What the script takes."""
    made = Parser(description="Measure TosLoc on a repository, as ratios within one run.")
    made.add_argument("--repo", type=Path, help="git repository; all parts but evaluation need it")
    made.add_argument("--commit", default="HEAD", help="version to search")
    made.add_argument("--reports", type=Path, help="labelled reports, for the memory of evaluating them")
    made.add_argument("--config", type=Path, help="TOML file of settings")
    made.add_argument("--store", type=Path, help="facts made before; default: made anew, in a temporary folder")
    made.add_argument("--encoder", type=Path, help="folder of an encoder, for the rows of stage two")
    made.add_argument("--checkpoint", type=Path, help="one with term vectors, for their row of stage two")
    made.add_argument("--only", action="append", choices=PARTS, help="parts to measure; may be repeated")
    made.add_argument("--rankings", type=int, default=RANKINGS, help=f"rankings to evaluate; default: {RANKINGS}")
    made.add_argument("--files", type=int, default=FILES, help=f"files of each of them; default: {FILES}")
    made.add_argument("--json", action="store_true", help="print JSON")
    return made


def measure(arguments: argparse.Namespace) -> list[Row]:
    """The rows of the wanted parts."""
    config = load_config(arguments.config) if arguments.config else None
    if arguments.reports is not None and not arguments.reports.is_file():
        raise ToslocError(f"{arguments.reports}: no such file of reports")
    if arguments.rankings < 1 or arguments.files < 1:
        raise ToslocError("--rankings and --files: 1 or more of each")
    wanted = [part for part in PARTS if not arguments.only or part in arguments.only]
    if arguments.repo is None and wanted != [EVALUATION]:
        raise ToslocError(f"name a git repository with --repo; only the part {EVALUATION} needs none")
    with ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tosloc-bench-")))
        parts: dict[str, Callable[[], list[Row]]] = {
            EVALUATION: lambda: evaluation(work, arguments.rankings, arguments.files)
        }
        if wanted != [EVALUATION]:
            repo = stack.enter_context(Repository(arguments.repo))
            bench = Bench(repo, arguments.commit, config, arguments.store, work)
            stack.callback(bench.project.close)
            parts |= {
                "first index": bench.first_index,
                "add one commit": bench.add_one_commit,
                "stage one": bench.stage_one,
                "questions": bench.questions,
                "growth": bench.growth,
                "memory": lambda: bench.memory(arguments.reports, arguments.config),
                "stage two": lambda: bench.stage_two(arguments.encoder, arguments.checkpoint),
            }
        return [row for part in wanted for row in parts[part]()]


def main(argv: Sequence[str] | None = None) -> int:
    """0; 2 for input that is at fault."""
    arguments = parser().parse_args(argv)
    try:
        rows = measure(arguments)
    except (ToslocError, OSError) as error:
        print("bench: " + " ".join(str(error).split()), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("bench: interrupted", file=sys.stderr)
        return 130
    if arguments.json:
        records: list[dict[str, Any]] = [asdict(row) | {"ratio": row.ratio} for row in rows]
        print(json.dumps(records, indent=2))
    else:
        print_table(["", "value", "reference", "ratio", "target"], [cells_of(row) for row in rows])
    return 0


if __name__ == "__main__":
    sys.exit(main())
