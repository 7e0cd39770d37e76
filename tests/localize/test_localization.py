"""Localizing and training see the same features and candidates; a reranker moves only the head."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from tests import toy
from tosloc.core.rankings import Ranking
from tosloc.core.reports import Case
from tosloc.git.repository import Repository
from tosloc.localize.localizer import Localizer
from tosloc.localize.model import Model
from tosloc.localize.question import Question
from tosloc.localize.scores import candidates_of_answer
from tosloc.rank.features import registry
from tosloc.rank.features.tables import FeatureTable
from tosloc.rank.model.stage_one import StageOne
from tosloc.rerank.base import Candidates, Reranked, RerankingContext
from tosloc.train.experiment import ExperimentContext
from tosloc.train.training import known_reports

SIGNS = np.where(np.arange(len(registry.ALL)) % 7 == 3, -1, 1)
STAGE_ONE = StageOne(registry.ALL, np.linspace(0.5, 1.5, len(registry.ALL)) * SIGNS)
SMALL_CONFIG = toy.small_config(0.5, 0.2)
CONFIG = SMALL_CONFIG.model_copy(
    update={"data": SMALL_CONFIG.data.model_copy(update={"suffixes": (".java", ".js")})}
)
COMPARED_REPORTS = ("1010", "1017", "2000", "2001", "2002", "2003")
MOVED_PARSER = "src/org/app/core/ParserService.java"
DEMO_FILES = {
    "examples/org/app/Demo.java": 'class Demo { String said = "the parser has lost its count"; }',
    "third_party/org/WidgetService.java": "class WidgetService { WidgetService other; }",
    "src/app.config.java": "class Config { int openSocket; }",
    "third_party/app.js": "function serve() {}",
    "web/app.js": "function serve() {}",
    "web/app.min.js": "function serve() {}",
    "web/app.generated.js": "function serve() {}",
    "web/locale/de/app.js": "function serve() {}",
    "gulpfile.js": "function serve() {}",
    ".github/ISSUE_TEMPLATE.md": "Which socket or widget of the parser?\n",
}
DESCRIPTION = """Crash of the helper in {0}Service, see parser in core. SEVERE x \
at org.app.p1.SocketService.Inner.openSocket(SocketService.java:6) \
at org.app.old.ParserHelper.go(ParserHelper.java:1) Caused by: a.b.CException: x \
at org.app.p2.{0}Service.open{0}({0}Service.java:3)
It worked in 1.0. It says 'the parser has lost its count', since #2000; \
see src/org/app/core/ParserService.java and \
https://example.org/a/b/blob/0abc1234/examples/org/app/Demo.java#L1
Which socket or widget of the parser?
```java
new {0}Service().openSocket(1);
```
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Return a project with what makes histories hard.

    It has a moved class, a class that was removed, files that the dots of a stack frame may seem to
    name, and changed tests.
    """
    project = toy.make_project(tmp_path_factory.mktemp("toy"), bugs=30, themes=12)
    start = toy.START + 70 * toy.DAY
    changed_with_test = {
        MOVED_PARSER: toy.class_source("Parser", ["int a;"]),
        "test/org/app/TestParserService.java": "class T { int parser; }",
    }
    move = {toy.class_path("Parser"): None, MOVED_PARSER: toy.class_source("Parser")}
    commits = [
        (move, "Move the parser to core"),
        ({"src/org/app/p1/Inner.java": "class Inner { }"}, "Add crash handler in p1"),
        ({"src/org/app/p1/Inner.java": None}, "Drop it"),
        (changed_with_test, "Parser and its test"),
        (DEMO_FILES, "Add a demo and what it needs, see #2000"),
    ]
    for number, (files, message) in enumerate(commits):
        project.git.commit(files, message, when=start + number)
    project.git.git("tag", "v1.0", project.git.commits[-3])
    for number, theme in enumerate(("Socket", "Parser", "Widget", "Ledger")):
        identity = str(2000 + number)
        fixed_at = start + (number + 1) * toy.DAY
        path = MOVED_PARSER if theme == "Parser" else toy.class_path(theme)
        files = {path: toy.class_source(theme, [f"int late{number};"])}
        fix = project.git.commit(files, f"Fix bug {identity}", when=fixed_at)
        summary = f"parser crash {theme}Service lost"
        description = DESCRIPTION.format(theme)
        project.records.append(
            toy.labelled_record(identity, summary, description, fixed_at - 99, fix, [path])
        )
    return project


@pytest.fixture(scope="module")
def experiment(project):
    with (
        Repository(project.git.path) as repo,
        ExperimentContext(CONFIG, repo, project.write_reports()) as experiment,
    ):
        yield experiment


@pytest.fixture(scope="module")
def localizer(experiment):
    """Return a localizer as training leaves it."""
    reports = known_reports(experiment)
    return Localizer(Model(STAGE_ONE, known_reports=reports, configuration=CONFIG))


@pytest.fixture(scope="module")
def tables(experiment, tmp_path_factory):
    """Return the extracted feature table, with all files and features, of each report."""
    extraction = experiment.extraction(tmp_path_factory.mktemp("work"), registry.ALL)
    blocks = extraction.run(experiment.dataset.cases, jobs=1)
    return {table.report: table for table in FeatureTable.read_blocks(blocks)}


# Localizing sees what training saw


@pytest.fixture(scope="module", params=COMPARED_REPORTS)
def compared_case(request, experiment):
    """Return the case of each of the compared reports."""
    return find_case(experiment, request.param)


def find_case(experiment, identity):
    [case] = [case for case in experiment.dataset.cases if case.report.id == identity]
    return case


@pytest.fixture(scope="module")
def compared_localization(localizer, experiment, compared_case):
    """Return the localization of each of the compared reports in its before-fix version."""
    version = localizer.model.open_version(experiment.indexed, compared_case.before_commit)
    return localizer.rank(Question(compared_case.report), version)


@pytest.fixture(scope="module")
def table(tables, compared_case):
    """Return the extracted feature table of each of the compared reports."""
    return tables[compared_case.report.id]


def test_a_table_has_the_files_of_the_version(experiment, compared_localization, table):
    names = experiment.repo.path_names.names
    paths = [names[path_id] for path_id in table.path_ids]
    assert paths == list(compared_localization.version.snapshot.paths)


def test_localizing_computes_the_features_of_training(compared_localization, table):
    for position, name in enumerate(registry.ALL):
        expected = pytest.approx(table.rows[:, position], rel=1e-5, abs=1e-6)
        assert compared_localization.stage_one.columns[name] == expected, name


@pytest.fixture(scope="module")
def training_candidates(experiment, table):
    """Return the candidates that training makes of each of the compared reports."""
    [candidates] = experiment.candidates(STAGE_ONE, lambda _: [table]).candidates("all", 5)
    return candidates


@pytest.fixture(scope="module")
def localizing_candidates(compared_localization):
    """Return the candidates that localizing makes of each of the compared reports."""
    return candidates_of_answer(compared_localization.stage_one, 5)


def test_localizing_has_the_candidates_of_training(localizing_candidates, training_candidates):
    assert localizing_candidates.paths == training_candidates.paths
    assert localizing_candidates.blobs == training_candidates.blobs
    assert localizing_candidates.commit == training_candidates.commit
    expected = pytest.approx(training_candidates.scores, rel=1e-5, abs=1e-5)
    assert localizing_candidates.scores == expected


def test_candidates_of_localizing_know_no_fix(localizing_candidates):
    assert not localizing_candidates.fixed.any()
    assert localizing_candidates.missed_ranks == ()
    assert localizing_candidates.relevant == 0
    assert localizing_candidates.fixed_at == 0


def test_every_feature_of_files_differs_in_a_compared_report(tables):
    """A comparison of features means something only if they differ between files."""
    ranges = [np.ptp(tables[identity].rows, axis=0) for identity in COMPARED_REPORTS]
    constant = set()
    for name, largest in zip(registry.ALL, np.max(ranges, axis=0), strict=True):
        if largest == 0:
            constant.add(name)
    of_versions_or_reports = {"files", "known_reports", "known_commits", "report_terms"}
    assert constant == of_versions_or_reports | {"complexity"}  # which is not computed here


# The newest report


@pytest.fixture
def newest_case(experiment):
    return experiment.dataset.cases[-1]


@pytest.fixture
def localization(localizer, experiment, newest_case):
    """Return the localization of the newest report in its before-fix version."""
    version = localizer.model.open_version(experiment.indexed, newest_case.before_commit)
    return localizer.rank(Question(newest_case.report), version)


def list_reasons(localization):
    """Return path, kind, commit and lines of each reason, without texts.

    The message of a commit is only known where the repository is.
    """
    reasons = []
    for hit in toy.top_hits(localization, 9):
        for reason in hit.reasons:
            reasons.append((hit.path, reason.kind, reason.commit, reason.lines))
    return reasons


def test_a_carried_version_is_searched_as_in_the_repository(
    localizer, experiment, newest_case, tmp_path
):
    """But only a repository tells which commits are after a release, or which a number means."""
    version = experiment.indexed.index_version(newest_case.before_commit)
    localizer.model.with_version(version).save(tmp_path / "checkpoint")
    description = newest_case.report.description
    for only_in_repository in ("It worked in 1.0.", "since #2000"):
        assert only_in_repository in description
        description = description.replace(only_in_repository, "")
    report = replace(newest_case.report, description=description)
    opened_version = localizer.model.open_version(experiment.indexed, newest_case.before_commit)
    localization = localizer.rank(Question(report), opened_version)
    carried = Localizer.load(tmp_path / "checkpoint").rank(Question(report))
    assert carried.ranking == localization.ranking
    assert list_reasons(carried) == list_reasons(localization)


@pytest.fixture
def undated_localization(localizer, localization, newest_case):
    """Return the localization of the newest report without its time of opening."""
    report = replace(newest_case.report, opened=None)
    return localizer.rank(Question(report), localization.version)


def test_an_undated_report_is_ranked_as_of_the_newest_commit(
    localizer, localization, undated_localization, newest_case
):
    version = localization.version
    dated = localizer.rank(Question(replace(newest_case.report, opened=version.newest)), version)
    assert undated_localization.ranking == dated.ranking
    assert undated_localization.values.tobytes() == dated.values.tobytes()


def test_a_note_names_the_time_given_to_an_undated_report(undated_localization):
    opened = undated_localization.version.newest
    assert [note for note in undated_localization.notes if f"opened at {opened:%Y-%m-%d}" in note]


def test_all_commits_of_a_version_are_known_when_it_is_newest(localization):
    version = localization.version
    commits = version.history.as_of(version.newest.timestamp()).commits
    assert commits.known.all()
    assert commits.documents.times.max() == version.snapshot.committed_at


def test_a_version_is_newest_a_second_after_its_commit(localization):
    version = localization.version
    assert version.newest.timestamp() == version.snapshot.committed_at + 1


# Candidates and rerankers

DEPTH = 2


@dataclass
class ReversingReranker:
    """A reranker that reverses the head, skips some reports, and records its candidates."""

    weight: float = 1.0
    depth: int = DEPTH
    skipped_reports: tuple[str, ...] = ()
    candidates: list[Candidates] = field(default_factory=list)

    def rerank(self, candidates, *_):
        """Return scores in the opposite order, or None for a report to be skipped."""
        self.candidates.append(candidates)
        if candidates.report.id in self.skipped_reports:
            return None
        return Reranked(-candidates.scores)


@pytest.fixture(scope="module")
def training_set(experiment, tables):
    return experiment.candidates(STAGE_ONE, lambda _: tables.values())


@dataclass
class Example:
    """A report with its stage-one ranking and both kinds of candidates."""

    case: Case
    ranking: Ranking
    candidates: Candidates
    training_candidates: Candidates

    @property
    def fixed(self):
        """The only fixed file."""
        [path] = self.case.fixed
        return path

    @property
    def rank(self):
        """The rank of the fixed file."""
        return self.ranking.paths.index(self.fixed) + 1


@pytest.fixture(scope="module")
def examples(training_set):
    examples = []
    rows = zip(
        training_set.rankings("all"),
        training_set.candidates("all", DEPTH),
        training_set.candidates("all", DEPTH, for_training=True),
        strict=True,
    )
    for ranking, candidates, training_candidates in rows:
        case = training_set.cases[ranking.report]
        examples.append(Example(case, ranking, candidates, training_candidates))
    return examples


def test_some_fixed_files_are_beyond_the_candidates(examples):
    """The tests below need examples of both kinds."""
    assert any(example.rank > DEPTH for example in examples)
    assert any(example.rank <= DEPTH for example in examples)


def test_candidates_are_the_first_files(examples):
    for example in examples:
        assert example.candidates.paths == example.ranking.paths[:DEPTH]


def test_candidates_name_the_ranks_of_fixed_files_beyond_them(examples):
    for example in examples:
        missed = (example.rank,) if example.rank > DEPTH else ()
        assert example.candidates.missed_ranks == missed


def test_candidates_for_training_include_the_fixed_file(examples):
    for example in examples:
        added = (example.fixed,) if example.rank > DEPTH else ()
        assert example.training_candidates.paths == example.candidates.paths + added
        assert example.training_candidates.missed_ranks == ()


def test_candidates_for_training_mark_the_fixed_file(examples):
    for example in examples:
        expected = [path == example.fixed for path in example.training_candidates.paths]
        assert example.training_candidates.fixed.tolist() == expected


def test_candidates_know_their_case(examples):
    for example in examples:
        for candidates in (example.candidates, example.training_candidates):
            assert candidates.report == example.case.report
            assert candidates.commit == example.case.before_commit
            assert candidates.fixed_at == example.case.fixed_at
            assert candidates.relevant == 1
            assert len(candidates.blobs) == len(candidates.paths)


def rerank_all(training_set, reranker):
    """Return the rankings of all reports after a reranker."""
    return list(training_set.rankings("all", reranker, RerankingContext()))


def test_a_reranker_moves_the_head_alone(training_set, examples):
    rankings = rerank_all(training_set, ReversingReranker())
    for example, reranked in zip(examples, rankings, strict=True):
        paths = example.ranking.paths
        scores = dict(zip(paths[:DEPTH], example.ranking.scores[:DEPTH].tolist(), strict=True))
        expected = sorted(scores, key=lambda path: (scores[path], path))
        assert list(reranked.paths[:DEPTH]) == expected
        assert reranked.paths[DEPTH:] == paths[DEPTH:]


def test_a_report_that_a_reranker_skips_keeps_its_ranking(training_set, examples):
    skipped = examples[1].ranking
    reranker = ReversingReranker(skipped_reports=(skipped.report,))
    assert rerank_all(training_set, reranker)[1] == skipped


def test_a_reranker_gets_the_candidates_without_the_fix(training_set, examples):
    reranker = ReversingReranker()
    rerank_all(training_set, reranker)
    expected = [example.candidates.paths for example in examples]
    assert [candidates.paths for candidates in reranker.candidates] == expected
    for candidates in reranker.candidates:
        assert not candidates.fixed.any()
        assert not candidates.missed_ranks
        assert not candidates.relevant
        assert not candidates.fixed_at


def test_a_reranker_of_weight_0_is_not_asked(training_set, examples):
    reranker = ReversingReranker(weight=0)
    assert rerank_all(training_set, reranker) == [example.ranking for example in examples]
    assert reranker.candidates == []
