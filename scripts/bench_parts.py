"""What ``bench.py`` measures: a version of a repository, and a function for each part, which returns its rows."""

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
from pathlib import Path
from typing import Any

import numpy as np

from scripts.timing import Call, Row, in_turns, mean_in_turns, say, watched
from tosloc.code.languages import SOURCE_SUFFIXES, get_language, has_grammar, language_name
from tosloc.code.text import words
from tosloc.code.trees import parser
from tosloc.core.config import Config
from tosloc.core.errors import ToslocError, require
from tosloc.core.records import BugReport, first_path_by_blob
from tosloc.git.fixes import is_fix_message
from tosloc.git.history import read_history
from tosloc.git.repository import decode_text
from tosloc.localize.localization import texts_of
from tosloc.localize.localizer import Localizer
from tosloc.localize.model import Model
from tosloc.rank import features
from tosloc.rank.stage_one import StageOne
from tosloc.retrieval.history_index import strip_trailers
from tosloc.retrieval.query import Query
from tosloc.storage.build import build
from tosloc.storage.repository import IndexedRepository
from tosloc.storage.store import FactStore

GIB = 2**30
SEED = 7
REPORTS, MANY = 20, 200
"""Reports that are asked one by one, and those of one call."""
TERMS = 80
"""Distinct terms of a report, about."""
SAMPLE, ENCODED = 1000, 32
"""Files that are analysed, and encoded."""
TOSLOC = (sys.executable, "-P", "-m", "tosloc")
quietly = partial(subprocess.run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)


class Bench:
    """A repository's version, open and ready for questions, and what several parts measure on it."""

    def __init__(self, repo: Path, revision: str, work: Path) -> None:
        self.path, self.work = repo.absolute(), work
        say("making the version ready")
        self.opened = Localizer.open(repo, "none", commit=revision)
        assert self.opened.repository is not None
        self.version, self.repo = self.opened.version(revision), self.opened.repository
        self.commit, self.snapshot = self.version.snapshot.commit, self.version.snapshot

    @cached_property
    def reports(self) -> list[BugReport]:
        """Reports made from the repository itself, always the same for a version."""
        return self.made_reports(REPORTS)

    def made_reports(self, number: int) -> list[BugReport]:
        """Messages of commits that fix, each with words of a file that it touched, and more files where these end."""
        rng, history = (
            np.random.default_rng(SEED),
            read_history(self.repo, self.commit, SOURCE_SUFFIXES),
        )
        blobs, names = (
            dict(zip(self.snapshot.paths, self.snapshot.blobs, strict=True)),
            history.path_names.names,
        )
        touched = [[names[file] for file in files] for files in history.touched]
        files_of = [[path for path in paths if path in blobs] for paths in touched]
        fixes = [
            place
            for place, said in enumerate(history.messages)
            if files_of[place] and is_fix_message(said)
        ]
        opened = datetime.fromtimestamp(max(0, int(history.times.max(initial=0))) + 1, UTC)
        made = []
        for commit in sorted(rng.permutation(fixes)[:number].tolist()):
            blob = blobs[files_of[commit][int(rng.integers(len(files_of[commit])))]]
            made.append(self._report(strip_trailers(history.messages[commit]), blob, opened, rng))
        while len(made) < number:
            blob = self.snapshot.blobs[int(rng.integers(len(self.snapshot)))]
            made.append(self._report("Something is wrong", blob, opened, rng))
        return [replace(report, id=str(place)) for place, report in enumerate(made)]

    def _report(
        self, said: str, blob: str, opened: datetime, rng: np.random.Generator
    ) -> BugReport:
        summary, _, body = said.strip().partition("\n")
        found = words(decode_text(next(iter(self.repo.texts([blob])))[1] or b""))
        drawn = [found[place] for place in rng.permutation(len(found)).tolist()]
        report = BugReport("", summary, body, opened)
        for start in range(0, len(drawn), 8):
            if len(Query(report).weights) >= TERMS:
                break
            report = replace(
                report, description=f"{report.description}\n{' '.join(drawn[start : start + 8])}"
            )
        return report

    @cached_property
    def bm25s(self) -> tuple[Any, dict[str, int]]:
        """The files as bm25s has them, and the numbers of their terms."""
        require("a comparison with bm25s", "lab", "bm25s")
        import bm25s

        say(f"indexing {len(self.snapshot):,} files with bm25s")
        corpus, rows = self.version.index.text.corpus, self.version.index.text.rows
        lists, vocabulary, ids = corpus.by_blob, dict(corpus.terms), []
        lengths = lists.values[:, :3].sum(axis=1, dtype=np.int64)
        for row in rows.tolist():
            part = (
                slice(int(lists.starts[row]), int(lists.starts[row + 1])) if row >= 0 else slice(0)
            )
            ids.append(np.repeat(lists.rows[part], lengths[part]).tolist())
        retriever = bm25s.BM25()
        retriever.index((ids, vocabulary), show_progress=False)
        return retriever, vocabulary

    def bm25s_retrieval(self, reports: Sequence[BugReport]) -> list[Call]:
        """How bm25s ranks all files for each of the reports; at last for all of them at once."""
        retriever, vocabulary = self.bm25s
        queries = [
            [term for term in Query(report).weights if term in vocabulary] for report in reports
        ]
        terms = float(np.mean([len(query) for query in queries]))
        say(f"ranking {len(reports)} reports of {terms:.0f} known terms on average")
        retrieve = partial(
            retriever.retrieve, k=len(self.snapshot), show_progress=False, n_threads=0
        )
        return [*(partial(retrieve, [query]) for query in queries), partial(retrieve, queries)]

    @cached_property
    def question(self) -> list[str]:
        """``localize`` with the first report."""
        report, asked = self.reports[0], self.work / "report.json"
        record = {
            "summary": report.summary,
            "description": report.description,
            "opened": report.opened_seconds,
        }
        asked.write_text(json.dumps(record), encoding="utf-8")
        return ["localize", str(asked), "--checkpoint", "none", "--json"]

    @cached_property
    def sample(self) -> dict[str, str]:
        """Blob -> path of about a thousand files that a parser reads."""
        parsed = [
            (blob, path)
            for blob, path in first_path_by_blob([self.snapshot]).items()
            if has_grammar(language_name(path))
        ]
        return dict(
            parsed[place]
            for place in np.random.default_rng(SEED).permutation(len(parsed))[:SAMPLE].tolist()
        )


def first_index(bench: Bench) -> list[Row]:
    """Making the facts of some files, against parsing alone."""
    paths = bench.sample
    if not paths:
        say("no file's language has a grammar: no row for the first index")
        return []
    languages = {language_name(path) for path in paths.values()}
    parsers = {language: parser(get_language(language).grammar) for language in languages}
    texts = [
        (language_name(paths[blob]), decode_text(data or b""))
        for blob, data in bench.repo.texts(list(paths))
    ]
    sources = [(language, text.encode("utf-8", "replace")) for language, text in texts]
    say(f"analysing {len(paths):,} files, in turns with parsing alone")

    def parse() -> None:
        for language, source in sources:
            parsers[language].parse(source)

    def analyse() -> None:
        with (
            tempfile.TemporaryDirectory(dir=bench.work) as folder,
            FactStore(Path(folder, "facts.sqlite")) as store,
        ):
            build(bench.repo, store, paths, jobs=1)

    return [Row("first index / tree-sitter", *in_turns([analyse, parse]))]


def stage_one(bench: Bench) -> list[Row]:
    """Ranking one report, in both methods, against bm25s."""
    weights = StageOne(features.PAPER_NAMES, np.full(len(features.PAPER), 0.25))
    paper = Localizer(Model(weights))
    rankers = [bench.opened, paper]
    for report in bench.reports[:3]:  # what is made once for many questions is made
        for ranker in rankers:
            ranker.localization(report, bench.version)
    theirs, ours, papers = mean_in_turns(
        [retrieve, *(partial(ranker.localization, report, bench.version) for ranker in rankers)]
        for report, retrieve in zip(
            bench.reports, bench.bm25s_retrieval(bench.reports), strict=False
        )
    )
    return [
        Row("stage one / bm25s", ours, theirs),
        Row("stage one (paper) / bm25s", papers, theirs),
    ]


def questions(bench: Bench) -> list[Row]:
    """A user's questions: from the shell, in one process, and after a commit more."""
    return [
        from_the_shell(bench),
        of_a_work_tree(bench),
        in_one_process(bench),
        *one_commit_more(bench),
    ]


def from_the_shell(bench: Bench) -> Row:
    """The second ``tosloc localize``, against the start of what it cannot do without."""
    say("localizing in fresh processes")
    command = [*TOSLOC, *bench.question, "--repo", str(bench.path), "--commit", bench.commit]

    def reference() -> None:
        quietly([sys.executable, "-P", "-c", "import numpy"])
        quietly(["git", "-C", str(bench.path), "rev-parse", "--verify", "HEAD"])

    quietly(command)  # the functions of its first files are found
    start, second = in_turns([reference, partial(quietly, command)])
    return Row("second localize, shell / numpy", second, start)


def of_a_work_tree(bench: Bench) -> Row:
    """The second question from the shell of a work tree with 20 files that are not committed, against its commit's."""
    say("localizing in a work tree with files that are not committed")
    tree = bench.work / "tree"
    quietly(["git", "clone", "-q", "--shared", "--no-checkout", str(bench.repo.path), str(tree)])
    quietly(["git", "-C", str(tree), "checkout", "-q", "--detach", bench.commit])
    for path in bench.snapshot.paths[:: max(1, len(bench.snapshot) // 20)][:20]:
        with (tree / path).open("a", encoding="utf-8") as file:
            file.write("\n")
    command = [*TOSLOC, *bench.question, "--repo", str(tree)]
    sides = [partial(quietly, [*command, "--commit", "HEAD"]), partial(quietly, command)]
    for side in sides:  # what is new is analysed
        side()
    clean, changed = in_turns(sides)
    return Row("20 files not committed / committed", changed, clean)


def in_one_process(bench: Bench) -> Row:
    """Questions to an open repository, against bm25s."""
    for report in bench.reports:  # their functions are found
        bench.opened.localize(report, commit=bench.commit)
    theirs, ours = mean_in_turns(
        [retrieve, partial(bench.opened.localize, report, commit=bench.commit[:39])]
        for report, retrieve in zip(
            bench.reports, bench.bm25s_retrieval(bench.reports), strict=False
        )
    )
    return Row("question in one process / bm25s", ours, theirs)


def one_commit_more(bench: Bench) -> list[Row]:
    """The version made ready where its parent's is, against the parent's from nothing: analysis, history, lists."""
    parents = bench.repo.commits([bench.commit])[0].parents
    if not parents:
        say("the version has no parent: no row for one commit more")
        return []

    def made(revision: str, folder: Path) -> float:
        with closing(IndexedRepository(bench.repo, folder / "facts.sqlite", jobs=1)) as project:
            return in_turns([partial(project.prepare, revision)], rounds=1)[0]

    say("making the parent's version from nothing, and the version from what it left")
    whole, times = made(parents[0], bench.work / "parent"), []
    for _ in range(3):
        with tempfile.TemporaryDirectory(dir=bench.work) as copy:
            times.append(
                made(bench.commit, Path(shutil.copytree(bench.work / "parent", Path(copy, "kept"))))
            )
    return [Row("one commit more / first version", float(np.median(times)), whole)]


def throughput(bench: Bench) -> list[Row]:
    """Time a report of many reports at once, against bm25s for the same reports."""
    reports = bench.made_reports(MANY)

    def rankings() -> None:
        for report in reports:
            bench.opened.localization(report, bench.version)

    def answers() -> None:
        deque(bench.opened.localize_many(reports, commit=bench.commit), maxlen=0)

    answers()  # the functions of the first files are found
    sides = [bench.bm25s_retrieval(reports)[-1], rankings, answers]
    theirs, ranked, answered = (one / MANY for one in in_turns(sides, 3))
    names = ("throughput: rankings / bm25s", "throughput: answers / bm25s")
    return [Row(name, ours, theirs) for name, ours in zip(names, (ranked, answered), strict=True)]


def memory(bench: Bench) -> list[Row]:
    """Largest memory of a command in a process of its own."""
    say("localizing in a fresh process")
    command = ["-m", "tosloc", *bench.question, "--repo", str(bench.path), "--commit", bench.commit]
    return [Row("memory: localize", watched(*command).whole, GIB)]


def stage_two(
    bench: Bench, config: Config, encoder: Path | None, checkpoint: Path | None
) -> list[Row]:
    """Both stages, by each reranker that is named."""
    rows = []
    if encoder is not None:
        import torch  # which takes seconds, and no other part needs

        os.environ["ACCELERATE_USE_CPU"] = "true"
        torch.set_num_threads(1)
        rows += by_encoder(bench, config, encoder)
    if checkpoint is not None:
        learned = Localizer.load(checkpoint)
        if (
            learned.model.reranker is None
            or learned.model.reranker.name != "terms"
            or not learned.model.reranker.weight
        ):
            raise ToslocError(
                f"{checkpoint}: no second stage of term vectors; name a checkpoint that has one"
            )
        one, both = mean_in_turns(both_stages(bench, learned, bench.reports))
        rows.append(Row("two stages, terms / stage one", both, one))
    return rows


def both_stages(bench: Bench, learned: Localizer, reports: Sequence[BugReport]) -> list[list[Call]]:
    """Ranking each report by stage one alone, and by both, whatever these make once being made."""
    say(f"ranking {len(reports)} reports by both stages")
    version = copy(bench.version)
    version.reranking = version.for_reranking()
    for report in reports:
        learned.localization(report, version)
    return [
        [partial(learned.localization, report, asked) for asked in (bench.version, version)]
        for report in reports
    ]


def by_encoder(bench: Bench, config: Config, path: Path) -> list[Row]:
    """Both stages, vectors known, and encoding blobs, against what only the encoder takes."""
    import torch

    from tosloc.rerank.encoder.encoders import ChunkReader, batches_of_similar_length, report_text
    from tosloc.rerank.encoder.reranker import EncoderReranker

    changed: dict[str, Any] = {"code_encoder": str(path), "report_encoder": ""}
    changed["training"] = config.stage_two.training.model_copy(update={"learns": "head"})
    settings = config.stage_two.model_copy(update=changed)
    reports, blobs = bench.reports[:5], list(bench.sample)[:ENCODED]
    reranker = EncoderReranker.from_config(config.model_copy(update={"stage_two": settings}))
    learned = Localizer(Model(reranker=reranker))
    report_encoder, encoder = reranker.model.report, reranker.model.code
    texts = report_encoder.pieces(
        [report_text(report) for report in reports], settings.report_tokens
    )

    def reference(first_stage: Call, one: Any) -> None:
        first_stage()
        report_encoder.vectors(one)

    sides = zip(both_stages(bench, learned, reports), texts, strict=True)
    alone, two = mean_in_turns([partial(reference, one, text), both] for (one, both), text in sides)
    reader = ChunkReader(encoder, settings.chunks, settings.chunk_tokens, texts_of(bench.repo))
    chunks = [piece for pieces in reader.chunks(blobs).values() for piece in pieces]
    batches = [[chunks[place] for place in batch] for batch in batches_of_similar_length(chunks)]

    def encode() -> None:
        with torch.inference_mode():
            for batch in batches:
                encoder(batch)

    def keep() -> None:
        with tempfile.TemporaryDirectory(dir=bench.work) as folder:
            reader.vectors(blobs, Path(folder) / "v.sqlite")

    say(f"encoding {len(chunks):,} pieces of {len(blobs)} files, in turns with the encoder alone")
    bare, whole = in_turns([encode, keep], rounds=3)
    rows = [Row("two stages / stage one + one text", two, alone)]
    return [*rows, Row("encoding / encoder alone", len(chunks) / whole, len(chunks) / bare)]
