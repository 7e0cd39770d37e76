"""Questions: ranking, answering, and making a version ready."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmark.timing import GIB, Row, in_turns, peak_memory, say, seconds, with_children
from benchmark.version import SEED, Bench, localizer, part_of, warm
from tosloc.index.repository import IndexedRepository
from tosloc.localizer import Localizer
from tosloc.rank import features
from tosloc.rank.stage_one import StageOne

SIZES = (1_250, 2_500, 5_000, 10_000)


def stage_one(bench: Bench) -> list[Row]:
    """Ranking one report, in both methods, against bm25s."""
    try:
        import bm25s
    except ImportError:
        say("bm25s is not installed: no rows of stage one")
        return []
    version = bench.whole
    paper = localizer(StageOne(features.PAPER_NAMES, np.full(len(features.PAPER), 0.25)))
    reference, questions = bench.bm25s_retrieval(bm25s.BM25())
    for ranker in (bench.default, paper):
        warm(ranker, version, bench.reports)
    times = np.array(
        [
            in_turns(
                [
                    lambda terms=query: reference(terms),  # type: ignore[misc]
                    lambda report=report: bench.default.localization(report, version).ranking,  # type: ignore[misc]
                    lambda report=report: paper.localization(report, version).ranking,  # type: ignore[misc]
                ]
            )
            for report, query in zip(bench.reports, questions, strict=True)
        ]
    ).mean(axis=0)
    return [
        Row("stage one / bm25s", float(times[1]), float(times[0])),
        Row("stage one (paper) / bm25s", float(times[2]), float(times[0])),
    ]


def questions(bench: Bench) -> list[Row]:
    """A user's questions: from the shell, in one process, and after a commit more."""
    assert bench.indexed
    return [from_the_shell(bench), *in_one_process(bench), *one_commit_more(bench)]


def from_the_shell(bench: Bench) -> Row:
    """The second ``tosloc localize``, against the start of what it cannot do without."""
    asked = bench.report_file(bench.reports[0])
    where = ["--repo", str(bench.repo.path), "--store", str(bench.store), "--commit", bench.commit]
    command = [sys.executable, "-P", "-m", "tosloc", "localize", asked, *where, "--json"]
    git = ["git", "--git-dir", str(bench.repo.path), "rev-parse", "--verify", "HEAD"]

    def reference() -> None:
        subprocess.run([sys.executable, "-P", "-c", "import numpy"], check=True)
        subprocess.run(git, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)

    def ours() -> None:
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)

    say("localizing in fresh processes")
    ours()  # the first question makes the version ready
    start, second = in_turns([reference, ours], clock=with_children)
    return Row("second localize, shell / numpy", second, start)


def in_one_process(bench: Bench) -> list[Row]:
    """Questions to an open repository, against bm25s."""
    try:
        import bm25s
    except ImportError:
        say("bm25s is not installed: no row of questions in one process")
        return []
    reference, questions = bench.bm25s_retrieval(bm25s.BM25())
    with Localizer.open(bench.repo.path, commit=bench.commit, store=bench.store) as opened:
        for report in bench.reports:  # their functions are found
            opened.localize(report, commit=bench.commit)
        times = [
            in_turns(
                [
                    lambda terms=query: reference(terms),  # type: ignore[misc]
                    lambda report=report: opened.localize(report, commit=bench.commit[:39]),  # type: ignore[misc]
                ],
                clock=with_children,
            )
            for report, query in zip(bench.reports, questions, strict=True)
        ]
    theirs, ours = np.array(times).mean(axis=0).tolist()
    return [Row("question in one process / bm25s", ours, theirs)]


def one_commit_more(bench: Bench) -> list[Row]:
    """The version made ready where its parent's is, against the parent's from nothing: analysis, history, lists."""
    parents = bench.repo.commits([bench.commit])[0].parents
    if not parents:
        say("the version has no parent: no row for one commit more")
        return []
    kept = bench.work / "parent"

    def made(revision: str, folder: Path) -> float:
        project = IndexedRepository(bench.repo, folder / "facts.sqlite", bench.project.suffixes, jobs=1)
        try:
            return seconds(lambda: project.prepared(revision), with_children)
        finally:
            project.close()

    say("making the parent's version from nothing, and the version from what it left")
    whole = made(parents[0], kept)
    times = []
    for _ in range(3):
        with tempfile.TemporaryDirectory(dir=bench.work) as copy:
            times.append(made(bench.commit, Path(shutil.copytree(kept, Path(copy, "kept")))))
    return [Row("one commit more / first version", float(np.median(times)), whole)]


def growth(bench: Bench) -> list[Row]:
    """Time of one ranking among more and more files."""
    sizes = [size for size in SIZES if size <= len(bench.snapshot)]
    if len(sizes) < 2:
        say(f"{len(bench.snapshot):,} files are too few for rows of growth")
        return []
    order = np.random.default_rng(SEED).permutation(len(bench.snapshot))
    versions = []
    for size in sizes:
        say(f"opening {size:,} files")
        versions.append(bench.version(part_of(bench.snapshot, order[:size])))
        warm(bench.default, versions[-1], bench.reports)
    times = np.array(
        [
            in_turns(
                [lambda r=report, g=version: bench.default.localization(r, g).ranking for version in versions]  # type: ignore[misc]
            )
            for report in bench.reports
        ]
    ).mean(axis=0)
    return [
        Row(f"growth {sizes[a]:,} -> {sizes[b]:,} files", float(times[b]), float(times[a]) * sizes[b] / sizes[a])
        for a, b in pairwise(range(len(sizes)))
    ]


def memory(bench: Bench, labelled: Path | None, config: Path | None) -> list[Row]:
    """Largest memory of the commands in processes of their own."""
    assert bench.indexed
    checkpoint = bench.work / "checkpoint"
    ranker = Localizer(bench.config)
    ranker.stage_one_ = bench.default.stage_one
    ranker.provenance_ = {} if bench.named else {"shipped": True}
    ranker.save(checkpoint)
    report = bench.reports[0]
    asked = bench.report_file(report)
    places = ["--repo", str(bench.repo.path), "--checkpoint", str(checkpoint), "--store", str(bench.store)]
    rows = []
    say("localizing in a fresh process")
    peak = peak_memory(["localize", *places, "--commit", bench.commit, "--report", asked, "--json"])
    if peak is not None:
        rows.append(Row("memory: localize", peak, GIB))
    if labelled is not None:
        say("ranking the test reports in a fresh process")
        settings = ["--config", str(config)] if config is not None else []
        out = ["--reports", str(labelled), "--out", str(bench.work / "run"), "--split", "test"]
        peak = peak_memory(["rank", *places, *out, *settings])
        if peak is not None:
            rows.append(Row("memory: evaluate test", peak, 4 * GIB))
    return rows
