"""Localizing and training see the same features and candidates; what becomes of a reranker's scores."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from tests import toy
from tosloc.git.repository import Repository
from tosloc.localize.localization import candidates_of_answer
from tosloc.localize.localizer import Localizer
from tosloc.localize.model import Model
from tosloc.rank import features
from tosloc.rank.stage_one import StageOne
from tosloc.rank.tables import read_blocks
from tosloc.rerank.base import Candidates, Reranked, RerankingContext
from tosloc.retrieval.history_index import report_documents
from tosloc.train.experiment import ExperimentContext

WEIGHTS = np.linspace(0.5, 1.5, len(features.ALL)) * np.where(
    np.arange(len(features.ALL)) % 7 == 3, -1, 1
)
STAGE = StageOne(features.ALL, WEIGHTS)
CONFIG = toy.small_config(0.5, 0.2)
CONFIG = CONFIG.model_copy(
    update={"data": CONFIG.data.model_copy(update={"suffixes": (".java", ".js")})}
)
CASES = ("1010", "1017", "2000", "2001", "2002", "2003")
NEW = "src/org/app/core/ParserService.java"
MORE = {
    "examples/org/app/Demo.java": 'class Demo { String said = "the parser has lost its count"; }',
    "third_party/org/WidgetService.java": "class WidgetService { WidgetService other; }",
    "src/app.config.java": "class Config { int openSocket; }",
    "web/app.js": "function serve() {}",
}
SAID = """Crash of the helper in {0}Service, see parser in core. SEVERE x \
at org.app.p1.SocketService.Inner.openSocket(SocketService.java:6) \
at org.app.old.ParserHelper.go(ParserHelper.java:1) Caused by: a.b.CException: x \
at org.app.p2.{0}Service.open{0}({0}Service.java:3)
It says 'the parser has lost its count', since #2000; see src/org/app/core/ParserService.java and \
https://example.org/a/b/blob/0abc1234/examples/org/app/Demo.java#L1
```java
new {0}Service().openSocket(1);
```
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """With what makes histories hard: a move, a class that once was, frames that dots lead astray, changed tests."""
    made = toy.make_project(tmp_path_factory.mktemp("toy"), bugs=30, themes=12)
    start = toy.START + 70 * toy.DAY
    both = {
        NEW: toy.class_source("Parser", ["int a;"]),
        "test/org/app/TestParserService.java": "class T { int parser; }",
    }
    for number, (files, message) in enumerate(
        (
            (
                {toy.class_path("Parser"): None, NEW: toy.class_source("Parser")},
                "Move the parser to core",
            ),
            ({"src/org/app/p1/Inner.java": "class Inner { }"}, "Add crash handler in p1"),
            ({"src/org/app/p1/Inner.java": None}, "Drop it"),
            (both, "Parser and its test"),
            (MORE, "Add a demo and what it needs, see #2000"),
        )
    ):
        made.git.commit(files, message, when=start + number)
    for number, theme in enumerate(("Socket", "Parser", "Widget", "Ledger")):
        at, path = (
            start + (number + 1) * toy.DAY,
            NEW if theme == "Parser" else toy.class_path(theme),
        )
        fix = made.git.commit(
            {path: toy.class_source(theme, [f"int late{number};"])},
            f"Fix bug {2000 + number}",
            when=at,
        )
        said = f"{2000 + number}", f"parser crash {theme}Service lost", SAID.format(theme)
        made.records.append(toy.labelled_record(*said, at - 99, fix, [path]))
    return made


@pytest.fixture(scope="module")
def experiment(project):
    with Repository(project.git.path) as repo:
        with ExperimentContext(CONFIG, repo, project.write_reports()) as made:
            yield made


@pytest.fixture(scope="module")
def localizer(experiment):
    """A localizer as training leaves it."""
    paths = experiment.repo.path_names
    documents = report_documents(experiment.dataset.cases, experiment.history, paths)
    model = Model(STAGE, known_reports=(documents, tuple(paths.names)), configuration=CONFIG)
    return Localizer(model)


@pytest.fixture(scope="module")
def extracted(experiment, tmp_path_factory):
    """Report -> its feature table from the extraction, all files and all features."""
    extraction = experiment.extraction(tmp_path_factory.mktemp("work"), features.ALL)
    blocks = extraction.run(experiment.dataset.cases, jobs=1)
    return {table.report: table for table in read_blocks(blocks)}


@pytest.mark.parametrize("identity", CASES)
def test_the_same_features_and_ranking_as_in_training(experiment, localizer, extracted, identity):
    case = next(case for case in experiment.dataset.cases if case.report.id == identity)
    table, names = extracted[identity], experiment.repo.path_names.names
    version = localizer.open_version(experiment.indexed, case.version)
    answer = localizer.localization(case.report, version)
    assert [names[number] for number in table.path_ids] == list(answer.version.snapshot.paths)
    for place, name in enumerate(features.ALL):
        assert answer.stage_one.columns[name] == pytest.approx(
            table.rows[:, place], rel=1e-5, abs=1e-6
        ), name
    [known] = experiment.candidates(STAGE, lambda _: [table]).candidates("all", 5)
    asked = candidates_of_answer(answer.stage_one, 5)
    assert (asked.paths, asked.blobs, asked.version) == (known.paths, known.blobs, known.version)
    assert asked.scores == pytest.approx(known.scores, rel=1e-5, abs=1e-5)
    nothing = (False, (), 0, 0)  # nobody knows
    assert (asked.fixed.any(), asked.missed_ranks, asked.relevant, asked.fixed_at) == nothing


def test_the_example_is_not_trivial(extracted):
    """Each feature tells files apart in one of the compared reports, so that the comparison means something."""
    spread = np.max([np.ptp(extracted[identity].rows, axis=0) for identity in CASES], axis=0)
    same = {name for name, size in zip(features.ALL, spread, strict=True) if size == 0}
    assert same == {
        "files",
        "known_reports",
        "known_commits",
        "report_terms",
        "complexity",
    }  # alike for every file


@pytest.fixture
def case(experiment):
    """The newest."""
    return experiment.dataset.cases[-1]


@pytest.fixture
def answer(localizer, experiment, case):
    """The answer to its report."""
    version = localizer.open_version(experiment.indexed, case.version)
    return localizer.localization(case.report, version)


def test_a_carried_version_answers_the_same(localizer, experiment, answer, case, tmp_path):
    prepared = experiment.indexed.prepare(case.version)
    localizer.model.with_version(prepared).save(tmp_path / "checkpoint")
    carried = Localizer.load(tmp_path / "checkpoint").localization(case.report)
    assert carried.ranking == answer.ranking
    # what a commit says of itself is read from the repository
    mine, theirs = (
        [
            (hit.path, reason.kind, reason.commit, reason.lines)
            for hit in toy.top_hits(one, 9)
            for reason in hit.why
        ]
        for one in (carried, answer)
    )
    assert mine == theirs


def test_a_report_without_a_date_is_asked_when_the_version_was_new(localizer, answer, case):
    version = answer.version
    undated, dated = (
        localizer.localization(replace(case.report, opened=opened), version)
        for opened in (None, version.newest)
    )
    assert (undated.ranking, undated.scores.tobytes()) == (dated.ranking, dated.scores.tobytes())
    assert [note for note in undated.notes if f"opened at {version.newest:%Y-%m-%d}" in note]
    # all that the version contains is known then, its last commit included
    commits = version.history.as_of(version.newest.timestamp()).commits
    assert commits.known.all()
    assert (
        commits.documents.times.max()
        == version.snapshot.committed_at
        == version.newest.timestamp() - 1
    )


DEPTH = 2


@dataclass
class Turned:
    """A reranker that turns the head round, says nothing of some reports, and notes what it is asked."""

    weight: float = 1.0
    depth: int = DEPTH
    silent_on: tuple[str, ...] = ()
    asked: list[Candidates] = field(default_factory=list)

    def rerank(self, candidates, *_):
        self.asked.append(candidates)
        return None if candidates.report.id in self.silent_on else Reranked(-candidates.scores)


def test_candidates_are_the_first_files_and_in_training_those_that_the_fix_changed(
    experiment, extracted
):
    listed = experiment.candidates(STAGE, lambda _: extracted.values())
    both = zip(
        listed.candidates("all", DEPTH),
        listed.candidates("all", DEPTH, for_training=True),
        strict=True,
    )
    missed = 0
    for (one, known), ranked in zip(both, listed.rankings("all"), strict=True):
        case = listed.cases[ranked.report]
        [fixed] = case.fixed
        right = ranked.paths.index(fixed) + 1
        beyond = right > DEPTH
        missed += beyond
        assert one.paths == ranked.paths[:DEPTH]
        assert known.paths == (*one.paths, *([fixed] if beyond else []))
        assert (one.missed_ranks, known.missed_ranks) == ((right,) if beyond else (), ())
        assert [
            path for path, hit in zip(known.paths, known.fixed.tolist(), strict=True) if hit
        ] == [fixed]
        for made in (one, known):
            assert (made.report, made.version, made.fixed_at) == (
                case.report,
                case.version,
                case.fixed_at,
            )
            assert (len(made.blobs), made.relevant) == (len(made.paths), 1)
    assert 0 < missed < len(extracted)


def test_a_reranker_moves_the_head_alone_and_is_told_nothing_of_the_fix(experiment, extracted):
    listed = experiment.candidates(STAGE, lambda _: extracted.values())
    first, context = list(listed.rankings("all")), RerankingContext()
    reranker, unheard = Turned(silent_on=(first[1].report,)), Turned(weight=0)
    both = list(listed.rankings("all", reranker, context))
    assert both[1] == first[1]  # where a reranker says nothing, stage one's order stands
    for old, new in zip([first[0], *first[2:]], [both[0], *both[2:]], strict=True):
        scores = dict(zip(old.paths[:DEPTH], old.scores[:DEPTH].tolist(), strict=True))
        assert list(new.paths[:DEPTH]) == sorted(scores, key=lambda path: (scores[path], path))
        assert new.paths[DEPTH:] == old.paths[DEPTH:]
    assert [one.paths for one in reranker.asked] == [
        one.paths for one in listed.candidates("all", DEPTH)
    ]
    assert not any(
        one.fixed.any() or one.missed_ranks or one.relevant or one.fixed_at
        for one in reranker.asked
    )
    assert list(listed.rankings("all", unheard, context)) == first
    assert unheard.asked == []
