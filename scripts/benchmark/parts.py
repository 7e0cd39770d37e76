"""What ``bench.py`` measures of a version, but for second stages: a function for each part, which returns its rows."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmark.timing import GIB, Row, in_turns, mean_in_turns, peak_memory, say, seconds, with_children
from benchmark.version import SEED, Bench, localizer, part_of, warm
from tosloc.code.languages import language_named, language_of
from tosloc.code.parse import parser_of
from tosloc.git.repository import decode
from tosloc.index.build import build
from tosloc.index.repository import IndexedRepository
from tosloc.index.store import FactStore
from tosloc.localizer import Localizer
from tosloc.rank import features
from tosloc.rank.stage_one import StageOne

SIZES = (1_250, 2_500, 5_000, 10_000)
MANY = 200
"""Reports of one call."""


def first_index(bench: Bench) -> list[Row]:
    """Making the facts of some files, against parsing alone."""
    suffixes = bench.sample
    if not suffixes:
        say("no file's language has a grammar: no row for the first index")
        return []
    parsers = {suffix: parser_of(language_named(language_of(suffix))) for suffix in suffixes.values()}
    texts = [(suffixes[blob], decode(data or b"")) for blob, data in bench.repo.texts(list(suffixes))]
    sources = [(suffix, text.encode("utf-8", "replace")) for suffix, text in texts]
    say(f"analysing {len(suffixes):,} files, in turns with parsing alone")

    def parse() -> None:
        for suffix, source in sources:
            parsers[suffix].parse(source)

    def analyse() -> None:
        with tempfile.TemporaryDirectory(dir=bench.work) as folder, FactStore(Path(folder, "facts.sqlite")) as store:
            build(bench.repo, store, suffixes, jobs=1)

    return [Row("first index / tree-sitter", *in_turns([analyse, parse]))]


def stage_one(bench: Bench) -> list[Row]:
    """Ranking one report, in both methods, against bm25s."""
    version = bench.whole
    paper = localizer(StageOne(features.PAPER_NAMES, np.full(len(features.PAPER), 0.25)))
    retrieve, queries = bench.bm25s_retrieval(bench.reports)
    for ranker in (bench.default, paper):
        warm(ranker, version, bench.reports)
    theirs, ours, papers = mean_in_turns(
        [partial(retrieve, query), *(partial(one.localization, report, version) for one in (bench.default, paper))]
        for report, query in zip(bench.reports, queries, strict=True)
    )
    return [Row("stage one / bm25s", ours, theirs), Row("stage one (paper) / bm25s", papers, theirs)]


def questions(bench: Bench) -> list[Row]:
    """A user's questions: from the shell, in one process, and after a commit more."""
    assert bench.indexed
    return [from_the_shell(bench), of_a_work_tree(bench), in_one_process(bench), *one_commit_more(bench)]


def from_the_shell(bench: Bench) -> Row:
    """The second ``tosloc localize``, against the start of what it cannot do without."""
    where = ["--repo", str(bench.repo.path), "--commit", bench.commit]
    command = [sys.executable, "-P", "-m", "tosloc", "localize", bench.report_file, *where, "--json"]
    git = ["git", "--git-dir", str(bench.repo.path), "rev-parse", "--verify", "HEAD"]
    quiet = partial(subprocess.run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def reference() -> None:
        quiet([sys.executable, "-P", "-c", "import numpy"])
        quiet(git)

    say("localizing in fresh processes")
    quiet(command, check=True)  # the first question makes the version ready
    start, second = in_turns([reference, partial(quiet, command, check=True)], clock=with_children)
    return Row("second localize, shell / numpy", second, start)


def of_a_work_tree(bench: Bench) -> Row:
    """The second question from the shell of a work tree with 20 files that are not committed, against its commit's."""
    tree = bench.work / "tree"
    quiet = partial(subprocess.run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    say("localizing in a work tree with files that are not committed")
    quiet(["git", "clone", "-q", "--shared", "--no-checkout", str(bench.repo.path), str(tree)])
    quiet(["git", "-C", str(tree), "checkout", "-q", "--detach", bench.commit])
    for path in bench.snapshot.paths[:: max(1, len(bench.snapshot) // 20)][:20]:
        with (tree / path).open("a", encoding="utf-8") as file:
            file.write("\n")
    where = ["--repo", str(tree), "--json"]
    command = [sys.executable, "-P", "-m", "tosloc", "localize", bench.report_file, *where]
    sides = [partial(quiet, [*command, "--commit", "HEAD"]), partial(quiet, command)]
    for side in sides:  # what is new is analysed
        side()
    clean, changed = in_turns(sides, clock=with_children)
    return Row("20 files not committed / committed", changed, clean)


def in_one_process(bench: Bench) -> Row:
    """Questions to an open repository, against bm25s."""
    retrieve, queries = bench.bm25s_retrieval(bench.reports)
    with Localizer.open(bench.repo.path, commit=bench.commit) as opened:
        for report in bench.reports:  # their functions are found
            opened.localize(report, commit=bench.commit)
        sides: list[list[Callable[[], object]]] = [
            [partial(retrieve, query), partial(opened.localize, report, commit=bench.commit[:39])]
            for report, query in zip(bench.reports, queries, strict=True)
        ]
        theirs, ours = mean_in_turns(sides, clock=with_children)
    return Row("question in one process / bm25s", ours, theirs)


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


def throughput(bench: Bench) -> list[Row]:
    """Time a report of many reports at once, against bm25s for the same reports."""
    assert bench.indexed
    reports, version = bench.made_reports(MANY), bench.whole
    retrieve, queries = bench.bm25s_retrieval(reports)
    with Localizer.open(bench.repo.path, commit=bench.commit) as opened:

        def answers() -> None:
            deque(opened.localize_many(reports, commit=bench.commit), maxlen=0)

        def rankings() -> None:
            for report in reports:
                bench.default.localization(report, version)

        answers()  # the functions of the first files are found
        sides: list[Callable[[], object]] = [partial(retrieve, *queries), rankings, answers]
        theirs, ranked, answered = (one / MANY for one in in_turns(sides, 3, with_children))
    return [
        Row("throughput: rankings / bm25s", ranked, theirs),
        Row("throughput: answers / bm25s", answered, theirs),
    ]


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
    times = mean_in_turns(
        [partial(bench.default.localization, report, version) for version in versions] for report in bench.reports
    )
    return [
        Row(f"growth {few:,} -> {many:,} files", after, before * many / few)
        for (few, before), (many, after) in pairwise(zip(sizes, times, strict=True))
    ]


def memory(bench: Bench, labelled: Path | None, config: Path | None) -> list[Row]:
    """Largest memory of the commands in processes of their own."""
    assert bench.indexed
    checkpoint = bench.work / "checkpoint"
    ranker = Localizer(bench.config)
    ranker.stage_one_ = bench.default.stage_one
    ranker.provenance_ = {} if config else {"shipped": True}
    ranker.save(checkpoint)
    places = ["--repo", str(bench.repo.path), "--checkpoint", str(checkpoint)]
    say("localizing in a fresh process")
    peak = peak_memory(["localize", *places, "--commit", bench.commit, bench.report_file, "--json"])
    rows = [Row("memory: localize", peak, GIB)]
    if labelled is not None:
        say("ranking the test reports in a fresh process")
        settings = ["--config", str(config)] if config is not None else []
        out = ["--reports", str(labelled), "--out", str(bench.work / "run"), "--split", "test"]
        rows.append(Row("memory: evaluate test", peak_memory(["rank", *places, *out, *settings]), 4 * GIB))
    return rows
