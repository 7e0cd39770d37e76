"""Localizing and training see the same features and candidates; what becomes of a reranker's scores."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from tests import toy
from tosloc.experiment import ExperimentContext
from tosloc.git.repository import Repository
from tosloc.index.build import build
from tosloc.index.history_index import report_documents
from tosloc.index.repository import IndexedRepository
from tosloc.localization import candidates_of_answer
from tosloc.localizer import Localizer
from tosloc.rank import features
from tosloc.rank.feature_tables import read_blocks
from tosloc.rank.stage_one import StageOne
from tosloc.records import Ranking
from tosloc.rerank.base import Candidates, Reranked, RerankingContext

WEIGHTS = np.linspace(0.5, 1.5, len(features.ALL)) * np.where(np.arange(len(features.ALL)) % 7 == 3, -1, 1)
STAGE = StageOne(features.ALL, WEIGHTS)
CONFIG = toy.config(0.5, 0.2)
CONFIG = CONFIG.model_copy(update={"data": CONFIG.data.model_copy(update={"suffixes": (".java", ".js")})})


CASES = ("1010", "1017", "2000", "2001", "2002", "2003")


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> toy.Toy:
    made = toy.grow(tmp_path_factory.mktemp("toy"), bugs=30, themes=12)
    # what makes histories hard: a move, a class that once was, frames that dots lead astray, tests that change too
    start = toy.START + 70 * toy.DAY
    commit, old, new = made.git.commit, toy.path_of("Parser"), "src/org/app/core/ParserService.java"
    commit({old: None, new: toy.source("Parser")}, "Move the parser to core", when=start)
    commit({"src/org/app/p1/Inner.java": "class Inner { }"}, "Add crash handler in p1", when=start + 9)
    commit({"src/org/app/p1/Inner.java": None}, "Drop it", when=start + 10)
    both = {new: toy.source("Parser", ["int a;"]), "test/org/app/TestParserService.java": "class T { int parser; }"}
    commit(both, "Parser and its test", when=start + 11)
    more = {
        "examples/org/app/Demo.java": 'class Demo { String said = "the parser has lost its count"; }',
        "third_party/org/WidgetService.java": "class WidgetService { WidgetService other; }",
        "src/app.config.java": "class Config { int openSocket; }",
        "web/app.js": "function serve() {}",
    }
    commit(more, "Add a demo and what it needs, see #2000", when=start + 12)
    for number, theme in enumerate(("Socket", "Parser", "Widget", "Ledger")):
        at = start + (number + 1) * toy.DAY
        path = new if theme == "Parser" else toy.path_of(theme)
        fix = commit({path: toy.source(theme, [f"int late{number};"])}, f"Fix bug {2000 + number}", when=at)
        description = f"""Crash of the helper in {theme}Service, see parser in core. SEVERE x \
at org.app.p1.SocketService.Inner.openSocket(SocketService.java:6) \
at org.app.old.ParserHelper.go(ParserHelper.java:1) Caused by: a.b.CException: x \
at org.app.p2.{theme}Service.open{theme}({theme}Service.java:3)
It says 'the parser has lost its count', since #2000; see src/org/app/core/ParserService.java and \
https://example.org/a/b/blob/0abc1234/examples/org/app/Demo.java#L1
```java
new {theme}Service().openSocket(1);
```
"""
        said = f"{2000 + number}", f"parser crash {theme}Service lost", description
        made.records.append(toy.record_of(*said, at - 99, fix, [path]))
    made.reports()
    return made


@pytest.fixture(scope="module")
def experiment(project) -> Iterator[ExperimentContext]:
    with Repository(project.git.path) as repo:
        with ExperimentContext.set_up(CONFIG, repo, project.reports()) as made:
            yield made


@pytest.fixture(scope="module")
def localizer(experiment: ExperimentContext) -> Localizer:
    """A localizer as training leaves it."""
    made = Localizer(CONFIG)
    made.stage_one = STAGE
    names = experiment.indexed.repo.path_names
    made.reports_ = report_documents(experiment.dataset.cases, experiment.history, names), tuple(names.names)
    return made


@pytest.fixture(scope="module")
def extracted(experiment, tmp_path_factory):
    """Report -> its feature table from the extraction, all files and all features."""
    extraction = experiment.extraction(tmp_path_factory.mktemp("work"), features.ALL)
    blocks = extraction.run(experiment.dataset.cases, jobs=1)
    return {table.report: table for table in read_blocks(blocks)}


@pytest.mark.parametrize("identity", CASES)
def test_the_same_features_and_ranking_as_in_training(experiment, localizer, extracted, identity):
    case = next(case for case in experiment.dataset.cases if case.report.id == identity)
    table, names = extracted[identity], experiment.indexed.repo.path_names.names
    opened = localizer.open_version(experiment.indexed, case.version)
    answer = opened.localization(case.report, opened.version_)
    assert [names[number] for number in table.path_ids] == list(answer.stage_one.context.version.text.snapshot.paths)
    for place, name in enumerate(features.ALL):
        assert answer.stage_one.columns[name] == pytest.approx(table.rows[:, place], rel=1e-5, abs=1e-6), name
    [known] = experiment.candidates(STAGE, lambda _: [table]).candidates("all", 5)
    asked = candidates_of_answer(answer.stage_one, 5)
    assert (asked.paths, asked.blobs, asked.version) == (known.paths, known.blobs, known.version)
    assert asked.scores == pytest.approx(known.scores, rel=1e-5, abs=1e-5)
    nothing = (False, (), 0, 0)  # nobody knows
    assert (asked.fixed.any(), asked.missed_ranks, asked.relevant, asked.fixed_at) == nothing
    trained: Ranking = table.ranking(STAGE.scores(table.rows), names)
    assert dict(zip(answer.ranking.paths, answer.ranking.scores, strict=True)) == pytest.approx(
        dict(zip(trained.paths, trained.scores, strict=True)), rel=1e-5, abs=1e-5
    )


def test_the_example_is_not_trivial(extracted):
    """Each feature tells files apart in one of the compared reports, so that the comparison means something."""
    spread = np.max([np.ptp(extracted[identity].rows, axis=0) for identity in CASES], axis=0)
    same = {name for name, size in zip(features.ALL, spread, strict=True) if size == 0}
    assert same == {"files", "known_reports", "known_commits", "report_terms", "complexity"}  # alike for every file


def test_carried_versions_undated_reports_and_any_order_of_facts(project, experiment, localizer, tmp_path):
    case = experiment.dataset.cases[-1]
    opened = localizer.open_version(experiment.indexed, case.version)
    answer, version = opened.localization(case.report), opened.version_
    opened.save(tmp_path / "checkpoint")
    carried = Localizer.load(tmp_path / "checkpoint").localization(case.report)
    assert carried.ranking == answer.ranking
    # what a commit says of itself is read from the repository
    assert [toy.pointers(hit) for hit in toy.top(carried, 9)] == [toy.pointers(hit) for hit in toy.top(answer, 9)]
    # a report without a date is asked when the version was new
    undated = localizer.localization(replace(case.report, opened=None), version)
    dated = localizer.localization(replace(case.report, opened=version.newest), version)
    assert (undated.ranking, undated.scores.tobytes()) == (dated.ranking, dated.scores.tobytes())
    assert [note for note in undated.notes if f"opened at {version.newest:%Y-%m-%d}" in note]
    # all that the version contains is known then, its last commit included
    known = version.history.as_of(version.newest.timestamp())
    assert known.commits.known.all()
    assert known.commits.documents.times.max() == version.snapshot.committed_at == version.newest.timestamp() - 1
    # as an interrupted index leaves them: other batches, other numbers of the same terms, the same bits
    answers = set()
    for seed in range(2):
        with Repository(project.git.path) as repo:
            indexed = IndexedRepository(repo, tmp_path / f"{seed}.sqlite", CONFIG.data.suffixes, 1)
            files = [(blob, ".java") for blob in repo.snapshot(case.version, [".java"]).blobs]
            random.Random(seed).shuffle(files)
            for start in range(0, len(files), 7):
                build(indexed.repo, indexed.store, dict(files[start : start + 7]), jobs=1)
            answer = localizer.open_version(indexed, case.version).localization(case.report)
            answers.add((answer.ranking.paths, answer.scores.tobytes(), str(toy.top(answer, 9))))
            indexed.close()
    assert len(answers) == 1


DEPTH = 2


@dataclass
class Turned:
    """A reranker that turns the head round, says nothing of some reports, and notes what it is asked."""

    weight: float = 1.0
    depth: int = DEPTH
    silent_on: tuple[str, ...] = ()
    asked: list[Candidates] = field(default_factory=list)

    def rerank(self, candidates: Candidates, *_: object) -> Reranked | None:
        self.asked.append(candidates)
        return None if candidates.report.id in self.silent_on else Reranked(-candidates.scores)


def test_candidates_are_the_first_files_and_in_training_those_that_the_fix_changed(experiment, extracted):
    listed = experiment.candidates(STAGE, lambda _: extracted.values())
    names, missed = experiment.repo.path_names.names, 0
    in_training = listed.candidates("all", DEPTH, for_training=True)
    for one, known, table in zip(listed.candidates("all", DEPTH), in_training, extracted.values(), strict=True):
        case = listed.cases[table.report]
        snapshot, ranked = experiment.indexed.snapshot(case.version), table.ranking(STAGE.scores(table.rows), names)
        [right] = [rank for rank, path in enumerate(ranked.paths, start=1) if path in case.fixed]
        beyond = right > DEPTH
        missed += beyond
        assert one.paths == ranked.paths[:DEPTH]
        assert known.paths == (*one.paths, *(ranked.paths[right - 1 : right] if beyond else ()))
        assert (one.missed_ranks, known.missed_ranks) == ((right,) if beyond else (), ())
        blobs = dict(zip(snapshot.paths, snapshot.blobs, strict=True))
        for made in (one, known):
            assert int(made.fixed.sum()) + len(made.missed_ranks) == made.relevant == 1
            assert made.scores.tolist() == [ranked.scores[ranked.paths.index(path)] for path in made.paths]
            assert made.blobs == tuple(blobs[path] for path in made.paths)
            assert [names[number] for number in made.path_ids] == list(made.paths)
            assert (made.report, made.version, made.fixed_at) == (case.report, case.version, case.fixed_at)
    assert 0 < missed < len(extracted)


def test_a_reranker_moves_the_head_alone_and_is_told_nothing_of_the_fix(experiment, extracted):
    listed = experiment.candidates(STAGE, lambda _: extracted.values())
    first, context = list(listed.rankings("all")), RerankingContext()
    reranker, unheard = Turned(silent_on=(first[1].report,)), Turned(weight=0)
    both = list(listed.rankings("all", reranker, context))  # type: ignore[arg-type]
    assert both[1] == first[1]  # where a reranker says nothing, stage one's order stands
    for old, new in zip([first[0], *first[2:]], [both[0], *both[2:]], strict=True):
        scores = dict(zip(old.paths[:DEPTH], old.scores[:DEPTH].tolist(), strict=True))
        assert list(new.paths[:DEPTH]) == sorted(scores, key=lambda path: (scores[path], path))
        assert new.paths[DEPTH:] == old.paths[DEPTH:]
    assert [one.paths for one in reranker.asked] == [one.paths for one in listed.candidates("all", DEPTH)]
    assert not any(one.fixed.any() or one.missed_ranks or one.relevant or one.fixed_at for one in reranker.asked)
    assert list(listed.rankings("all", unheard, context)) == first  # type: ignore[arg-type]
    assert unheard.asked == []
