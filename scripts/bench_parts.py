"""The parts that ``bench.py`` measures on a version of a repository.

Each has a function that returns its rows.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Sequence
from contextlib import closing
from copy import copy
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from scripts.timing import Call, Row, mean_median_times, measure_command, median_times, say
from tosloc.code.languages import SOURCE_SUFFIXES, get_language, has_grammar, language_name
from tosloc.code.text import words
from tosloc.code.trees import parser
from tosloc.core.config import Config
from tosloc.core.errors import ToslocError
from tosloc.core.reports import BugReport
from tosloc.core.versions import first_path_by_blob
from tosloc.git.fixes import is_fix_message
from tosloc.git.history import History
from tosloc.git.repository import decode_text
from tosloc.localize.localizer import Localizer
from tosloc.localize.model import Model
from tosloc.localize.question import Question
from tosloc.rank.features import registry
from tosloc.rank.model import StageOne
from tosloc.rerank.base import texts_of
from tosloc.retrieval.history import strip_trailers
from tosloc.retrieval.query import Query
from tosloc.storage.build import build
from tosloc.storage.repository import IndexedRepository
from tosloc.storage.store import FactStore

GIB = 2**30
SEED = 7
REPORTS = 20
"""Reports that are asked one by one."""
REPORTS_OF_ONE_CALL = 200
MIN_TERMS = 80
"""Distinct terms of a report, roughly."""
WORDS_OF_ONE_LINE = 8
SAMPLED_FILES = 1000
"""Files that are analysed."""
ENCODED_FILES = 32
CHANGED_FILES = 20
"""Files of the work tree that are not committed."""
TOSLOC = (sys.executable, "-P", "-m", "tosloc")
run_quietly = partial(
    subprocess.run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True
)


class Bench:
    """A version of a repository, ready for questions, and what several parts need of it."""

    def __init__(self, repo: Path, revision: str, work: Path) -> None:
        self.path = repo.absolute()
        self.work = work
        say("making the version ready")
        self.localizer = Localizer.open(repo, "none", commit=revision)
        assert self.localizer.repository is not None
        self.repo = self.localizer.repository
        self.version = self.localizer.prepare(revision)
        self.snapshot = self.version.snapshot
        self.commit = self.snapshot.commit

    @cached_property
    def reports(self) -> list[BugReport]:
        """Reports made from the repository itself, always the same for a version."""
        return self.make_reports(REPORTS)

    def make_reports(self, number: int) -> list[BugReport]:
        """Return reports made of messages of fixes, and of words of a file that each touched.

        If there are too few fixes, the rest have a message of no content and words of any file.
        """
        rng = np.random.default_rng(SEED)
        history = History.read(self.repo, self.commit, SOURCE_SUFFIXES)
        blobs = dict(zip(self.snapshot.paths, self.snapshot.blobs, strict=True))
        names = history.path_names.names
        touched_paths = []
        for files in history.touched:
            paths = [names[file] for file in files]
            touched_paths.append([path for path in paths if path in blobs])
        fixes = [
            commit
            for commit, message in enumerate(history.messages)
            if touched_paths[commit] and is_fix_message(message)
        ]
        last_time = max(0, int(history.times.max(initial=0)))
        opened = datetime.fromtimestamp(last_time + 1, UTC)
        reports = []
        for commit in sorted(rng.permutation(fixes)[:number].tolist()):
            paths = touched_paths[commit]
            blob = blobs[paths[int(rng.integers(len(paths)))]]
            message = strip_trailers(history.messages[commit])
            reports.append(self._make_report(message, blob, opened, rng))
        while len(reports) < number:
            blob = self.snapshot.blobs[int(rng.integers(len(self.snapshot)))]
            reports.append(self._make_report("Something is wrong", blob, opened, rng))
        return [replace(report, id=str(position)) for position, report in enumerate(reports)]

    def _make_report(
        self, message: str, blob: str, opened: datetime, rng: np.random.Generator
    ) -> BugReport:
        """Return a report of a message and words of a file, until there are enough terms."""
        summary, _, body = message.strip().partition("\n")
        data = next(iter(self.repo.texts([blob])))[1]
        file_words = words(decode_text(data or b""))
        drawn = [file_words[position] for position in rng.permutation(len(file_words)).tolist()]
        report = BugReport("", summary, body, opened)
        for start in range(0, len(drawn), WORDS_OF_ONE_LINE):
            if len(Query(report).weights) >= MIN_TERMS:
                break
            line = " ".join(drawn[start : start + WORDS_OF_ONE_LINE])
            report = replace(report, description=f"{report.description}\n{line}")
        return report

    @cached_property
    def bm25s(self) -> tuple[Any, dict[str, int]]:
        """The files indexed by bm25s, and the numbers of their terms."""
        import bm25s

        say(f"indexing {len(self.snapshot):,} files with bm25s")
        corpus = self.version.index.text.corpus
        lists = corpus.by_blob
        vocabulary = dict(corpus.terms)
        lengths = lists.values[:, :3].sum(axis=1, dtype=np.int64)
        ids = []
        for row in self.version.index.text.rows.tolist():
            part = slice(0)
            if row >= 0:
                part = slice(int(lists.starts[row]), int(lists.starts[row + 1]))
            ids.append(np.repeat(lists.rows[part], lengths[part]).tolist())
        retriever = bm25s.BM25()
        retriever.index((ids, vocabulary), show_progress=False)
        return retriever, vocabulary

    def bm25s_calls(self, reports: Sequence[BugReport]) -> list[Call]:
        """Return calls by which bm25s ranks all files for each report, and last for all at once."""
        retriever, vocabulary = self.bm25s
        queries = []
        for report in reports:
            queries.append([term for term in Query(report).weights if term in vocabulary])
        terms = float(np.mean([len(query) for query in queries]))
        say(f"ranking {len(reports)} reports of {terms:.0f} known terms on average")
        retrieve = partial(
            retriever.retrieve, k=len(self.snapshot), show_progress=False, n_threads=0
        )
        calls: list[Call] = [partial(retrieve, [query]) for query in queries]
        calls.append(partial(retrieve, queries))
        return calls

    @cached_property
    def question(self) -> list[str]:
        """Arguments of ``localize`` with the first report."""
        report = self.reports[0]
        file = self.work / "report.json"
        record = {
            "summary": report.summary,
            "description": report.description,
            "opened": report.opened_seconds,
        }
        file.write_text(json.dumps(record), encoding="utf-8")
        return ["localize", str(file), "--checkpoint", "none", "--json"]

    @cached_property
    def sample(self) -> dict[str, str]:
        """Blob -> path of about a thousand files that a parser reads."""
        parsed = [
            (blob, path)
            for blob, path in first_path_by_blob([self.snapshot]).items()
            if has_grammar(language_name(path))
        ]
        order = np.random.default_rng(SEED).permutation(len(parsed))
        return dict(parsed[position] for position in order[:SAMPLED_FILES].tolist())


def first_index(bench: Bench) -> list[Row]:
    """Return the row of making the facts of some files, against parsing alone."""
    paths = bench.sample
    if not paths:
        say("skipping the first index, because no file's language has a grammar")
        return []
    languages = {language_name(path) for path in paths.values()}
    parsers = {language: parser(get_language(language).grammar) for language in languages}
    sources = []
    for blob, data in bench.repo.texts(list(paths)):
        source = decode_text(data or b"").encode("utf-8", "replace")
        sources.append((language_name(paths[blob]), source))
    say(f"analysing {len(paths):,} files, alternating with parsing alone")

    def parse() -> None:
        for language, source in sources:
            parsers[language].parse(source)

    def analyse() -> None:
        with (
            tempfile.TemporaryDirectory(dir=bench.work) as folder,
            FactStore(Path(folder, "facts.sqlite")) as store,
        ):
            build(bench.repo, store, paths, jobs=1)

    return [Row("first index / tree-sitter", *median_times([analyse, parse]))]


def stage_one(bench: Bench) -> list[Row]:
    """Return rows of ranking one report, by both methods, against bm25s."""
    weights = StageOne(registry.PAPER_NAMES, np.full(len(registry.PAPER), 0.25))
    paper = Localizer(Model(weights))
    rankers = [bench.localizer, paper]
    # Ranking some reports first makes everything that is made once for many questions.
    for report in bench.reports[:3]:
        for ranker in rankers:
            ranker.rank(Question(report), bench.version)
    calls_by_report: list[list[Call]] = []
    for report, retrieve in zip(bench.reports, bench.bm25s_calls(bench.reports), strict=False):
        calls = [partial(ranker.rank, Question(report), bench.version) for ranker in rankers]
        calls_by_report.append([retrieve, *calls])
    bm25s_time, own_time, paper_time = mean_median_times(calls_by_report)
    return [
        Row("stage one / bm25s", own_time, bm25s_time),
        Row("stage one (paper) / bm25s", paper_time, bm25s_time),
    ]


def questions(bench: Bench) -> list[Row]:
    """Return rows of a user's questions."""
    return [
        from_the_shell(bench),
        of_a_work_tree(bench),
        in_one_process(bench),
        *one_commit_more(bench),
    ]


def from_the_shell(bench: Bench) -> Row:
    """Return the row of a second ``tosloc localize``, against the start of what it needs."""
    say("localizing in fresh processes")
    command = [*TOSLOC, *bench.question, "--repo", str(bench.path), "--commit", bench.commit]

    def reference() -> None:
        run_quietly([sys.executable, "-P", "-c", "import numpy"])
        run_quietly(["git", "-C", str(bench.path), "rev-parse", "--verify", "HEAD"])

    run_quietly(command)  # The functions of its first files are read.
    start, second = median_times([reference, partial(run_quietly, command)])
    return Row("second localize, shell / numpy", second, start)


def of_a_work_tree(bench: Bench) -> Row:
    """Return the row of a second question about a changed work tree, against its commit."""
    say("localizing in a work tree with uncommitted files")
    tree = bench.work / "tree"
    run_quietly(
        ["git", "clone", "-q", "--shared", "--no-checkout", str(bench.repo.path), str(tree)]
    )
    run_quietly(["git", "-C", str(tree), "checkout", "-q", "--detach", bench.commit])
    step = max(1, len(bench.snapshot) // CHANGED_FILES)
    for path in bench.snapshot.paths[::step][:CHANGED_FILES]:
        with (tree / path).open("a", encoding="utf-8") as file:
            file.write("\n")
    command = [*TOSLOC, *bench.question, "--repo", str(tree)]
    sides = [partial(run_quietly, [*command, "--commit", "HEAD"]), partial(run_quietly, command)]
    for side in sides:  # New files are analysed.
        side()
    clean, changed = median_times(sides)
    return Row("20 files not committed / committed", changed, clean)


def in_one_process(bench: Bench) -> Row:
    """Return the row of questions to an open repository, against bm25s."""
    for report in bench.reports:  # The functions of the first files are read.
        bench.localizer.localize(report, commit=bench.commit)
    # An abbreviated id has to be resolved, as one that a user types.
    commit = bench.commit[:39]
    calls_by_report: list[list[Call]] = []
    for report, retrieve in zip(bench.reports, bench.bm25s_calls(bench.reports), strict=False):
        localize = partial(bench.localizer.localize, report, commit=commit)
        calls_by_report.append([retrieve, localize])
    bm25s_time, own_time = mean_median_times(calls_by_report)
    return Row("question in one process / bm25s", own_time, bm25s_time)


def one_commit_more(bench: Bench) -> list[Row]:
    """Return the row of a version made ready after its parent's, against the parent's alone."""
    parents = bench.repo.commits([bench.commit])[0].parents
    if not parents:
        say("skipping one commit more, because the version has no parent")
        return []

    def time_preparation(revision: str, folder: Path) -> float:
        with closing(IndexedRepository(bench.repo, folder / "facts.sqlite", jobs=1)) as project:
            return median_times([partial(project.index_version, revision)], rounds=1)[0]

    say("indexing the parent's version from scratch, then the version itself")
    parent_folder = bench.work / "parent"
    parent_time = time_preparation(parents[0], parent_folder)
    times = []
    for _ in range(3):
        with tempfile.TemporaryDirectory(dir=bench.work) as folder:
            copied_folder = Path(shutil.copytree(parent_folder, Path(folder, "kept")))
            times.append(time_preparation(bench.commit, copied_folder))
    return [Row("one commit more / first version", float(np.median(times)), parent_time)]


def throughput(bench: Bench) -> list[Row]:
    """Return rows of the time per report of many reports at once, against bm25s."""
    reports = bench.make_reports(REPORTS_OF_ONE_CALL)

    def rank_all() -> None:
        for report in reports:
            bench.localizer.rank(Question(report), bench.version)

    def answer_all() -> None:
        deque(bench.localizer.localize_many(reports, commit=bench.commit), maxlen=0)

    answer_all()  # The functions of the first files are read.
    times = median_times([bench.bm25s_calls(reports)[-1], rank_all, answer_all], 3)
    bm25s_time, ranking_time, answer_time = [seconds / len(reports) for seconds in times]
    return [
        Row("throughput: rankings / bm25s", ranking_time, bm25s_time),
        Row("throughput: answers / bm25s", answer_time, bm25s_time),
    ]


def memory(bench: Bench) -> list[Row]:
    """Return the row of the largest memory of a command in a process of its own."""
    say("localizing in a fresh process")
    command = ["-m", "tosloc", *bench.question, "--repo", str(bench.path), "--commit", bench.commit]
    return [Row("memory: localize", measure_command(*command).whole, GIB)]


def stage_two(
    bench: Bench, config: Config, encoder: Path | None, checkpoint: Path | None
) -> list[Row]:
    """Return rows of both stages, for each reranker that is named."""
    rows = []
    if encoder is not None:
        import torch  # Importing it takes seconds, and no other part needs it.

        os.environ["ACCELERATE_USE_CPU"] = "true"
        torch.set_num_threads(1)
        rows += by_encoder(bench, config, encoder)
    if checkpoint is not None:
        rows.append(by_term_vectors(bench, checkpoint))
    return rows


def by_term_vectors(bench: Bench, checkpoint: Path) -> Row:
    """Return the row of both stages of a checkpoint, against its stage one."""
    localizer = Localizer.load(checkpoint)
    reranker = localizer.model.reranker
    if reranker is None or reranker.name != "terms" or not reranker.weight:
        raise ToslocError(
            f"{checkpoint} has no second stage of term vectors; name a checkpoint that has one"
        )
    calls_by_report = both_stages(bench, localizer, bench.reports)
    one_stage_time, two_stages_time = mean_median_times(calls_by_report)
    return Row("two stages, terms / stage one", two_stages_time, one_stage_time)


def both_stages(
    bench: Bench, localizer: Localizer, reports: Sequence[BugReport]
) -> list[list[Call]]:
    """Return calls that rank each report by stage one alone, and by both stages.

    What is made once for many reports has been made.
    """
    say(f"ranking {len(reports)} reports by both stages")
    reranked_version = copy(bench.version)
    reranked_version.reranking = reranked_version.for_reranking()
    for report in reports:
        localizer.rank(Question(report), reranked_version)
    calls_by_report: list[list[Call]] = []
    for report in reports:
        calls_by_report.append(
            [
                partial(localizer.rank, Question(report), bench.version),
                partial(localizer.rank, Question(report), reranked_version),
            ]
        )
    return calls_by_report


def by_encoder(bench: Bench, config: Config, path: Path) -> list[Row]:
    """Return rows of both stages with known vectors, and of encoding, against the encoder alone."""
    import torch

    from tosloc.rerank.encoder.encoders import ChunkReader, batches_of_similar_length, report_text
    from tosloc.rerank.encoder.reranker import EncoderReranker

    training = config.stage_two.training.model_copy(update={"learns": "head"})
    settings = config.stage_two.model_copy(
        update={"code_encoder": str(path), "report_encoder": "", "training": training}
    )
    reports = bench.reports[:5]
    blobs = list(bench.sample)[:ENCODED_FILES]
    reranker = EncoderReranker.from_config(config.model_copy(update={"stage_two": settings}))
    localizer = Localizer(Model(reranker=reranker))
    report_encoder = reranker.model.report
    encoder = reranker.model.code
    report_texts = [report_text(report) for report in reports]
    report_pieces = report_encoder.pieces(report_texts, settings.report_tokens)

    def rank_and_encode(rank: Call, pieces: Any) -> None:
        rank()
        report_encoder.vectors(pieces)

    calls_by_report: list[list[Call]] = []
    ranking_calls = both_stages(bench, localizer, reports)
    for (one_stage, two_stages), pieces in zip(ranking_calls, report_pieces, strict=True):
        calls_by_report.append([partial(rank_and_encode, one_stage, pieces), two_stages])
    reference_time, two_stages_time = mean_median_times(calls_by_report)
    reader = ChunkReader(encoder, settings.chunks, settings.chunk_tokens, texts_of(bench.repo))
    chunks = list(chain.from_iterable(reader.chunks(blobs).values()))
    batches = []
    for batch in batches_of_similar_length(chunks):
        batches.append([chunks[position] for position in batch])

    def encode() -> None:
        with torch.inference_mode():
            for batch in batches:
                encoder(batch)

    def encode_and_keep() -> None:
        with tempfile.TemporaryDirectory(dir=bench.work) as folder:
            reader.vectors(blobs, Path(folder) / "v.sqlite")

    say(
        f"encoding {len(chunks):,} pieces of {len(blobs)} files, alternating with the encoder alone"
    )
    encoder_time, whole_time = median_times([encode, encode_and_keep], rounds=3)
    return [
        Row("two stages / stage one + one text", two_stages_time, reference_time),
        Row("encoding / encoder alone", len(chunks) / whole_time, len(chunks) / encoder_time),
    ]
