"""A localizer that stays open answers as a new one does, whatever its branches do meanwhile."""

import inspect
import json
import os
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import fields
from datetime import UTC, datetime
from typing import Any

import pytest

from tests import toy
from tests.conftest import GitRepository, git_environment, open_files, with_proc
from tosloc import Localizer
from tosloc.core.config import Config
from tosloc.core.errors import RepositoryError, ToslocError, UnknownCommit
from tosloc.core.reports import BugReport
from tosloc.git import discovery
from tosloc.git.repository import Repository
from tosloc.localize.localizer import OTHER_TRAINING
from tosloc.localize.model import Model
from tosloc.localize.question import Question
from tosloc.localize.session import open_localizer
from tosloc.storage import build
from tosloc.storage.cache import CacheEntry
from tosloc.storage.repository import IndexedRepository

TEXT = (
    "The parser loses the first byte of a socket\n\nParserService.openParser fails with a ledger."
)
LEDGER_REPORT = BugReport(
    "2", "Ledger is closed twice", "closeLedger in LedgerService", datetime(2031, 1, 1, tzinfo=UTC)
)
THEMES = toy.THEMES[:6]
PARSER = toy.class_path("Parser")
RIBBON = toy.class_path("Ribbon")
WIDGET = toy.class_path("Widget")
LEDGER = toy.class_path("Ledger")
PARSER_TEST = "test/org/app/ParserServiceTest.java"


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    """Let each test have a cache of its own."""
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def java_repository(repository):
    """Return a repository of six classes, with four fixes and a test."""
    files = {toy.class_path(theme): toy.class_source(theme) for theme in THEMES}
    repository.commit(files, "Start")
    for number, theme in enumerate(THEMES[:4]):
        changed = toy.class_source(theme, [f"int first{number};"])
        message = f"Fix bug {7000 + number}: {theme.lower()} byte"
        repository.commit({toy.class_path(theme): changed}, message)
    repository.commit({PARSER_TEST: toy.class_source("Parser")}, "Test the parser")
    return repository


@pytest.fixture
def localizer(java_repository):
    """Return an open localizer for the repository."""
    with Localizer.open(java_repository.path) as localizer:
        yield localizer


def content(answer):
    """Return an answer as plain values, without the time that it took."""
    return answer.as_dict() | {"seconds": 0}


# What an answer contains


@pytest.fixture
def answer(localizer):
    """Return the answer to the report about the parser."""
    return localizer.localize(TEXT)


def test_the_first_file_is_the_named_class(answer):
    [first] = answer.hits[:1]
    assert first.path == PARSER


def test_the_first_function_is_the_named_method(answer):
    function = answer.hits[0].functions[0]
    assert function.name == "ParserService.openParser"
    assert function.start == 6


def test_all_files_but_tests_are_searched(answer):
    assert len(answer.hits) == 6
    assert answer.searched.files == 6
    assert answer.searched.hidden_tests == 1


def test_an_answer_names_commit_repository_and_time(answer, java_repository):
    assert answer.commit == java_repository.commits[-1]
    assert answer.repository == str(java_repository.path)
    assert answer.seconds > 0


def test_a_subfolder_opens_its_repository(java_repository):
    with Localizer.open(java_repository.path / "src" / "org") as localizer:
        assert localizer.localize(TEXT).repository == str(java_repository.path)


def test_options_limit_files_and_functions(localizer):
    options = {"include": ["src/"], "exclude": ["*Parser*"], "top": 2, "functions": 1}
    answer = localizer.localize(LEDGER_REPORT, **options)
    assert answer.hits[0].path == LEDGER
    assert len(answer.hits) == 2
    assert len(answer.hits[0].functions) == 1
    assert answer.searched.files == 5


def test_globs_change_no_share(localizer):
    all_hits = localizer.localize(LEDGER_REPORT).hits
    globs = {"include": ["src/"], "exclude": ["*Parser*"]}
    some_hits = localizer.localize(LEDGER_REPORT, **globs, top=2).hits
    shares = {hit.path: hit.confidence for hit in all_hits}
    assert [shares[hit.path] for hit in some_hits] == [hit.confidence for hit in some_hits]


def test_tests_are_searched_if_asked_for(localizer):
    assert len(localizer.localize(LEDGER_REPORT, tests=True, functions=0).hits) == 7


def test_shares_add_up_to_the_probability_that_the_report_is_about_the_project(localizer):
    answer = localizer.localize("ribbon bytes of the parser are lost")
    assert 0.5 < sum(hit.confidence for hit in answer.hits) < 1


def test_report_about_another_project_gets_a_note_and_low_shares(localizer):
    answer = localizer.localize(
        "Kubernetes operator crashes while the webhook reconciles a parser\n\n"
        "`reconcileIngress` in `AdmissionController` rejects every `VirtualService`, and\n"
        "`kubectl rollout` hangs with ImagePullBackOff after the etcd quorum was restored.\n"
    )
    assert answer.hits[0].confidence < 0.3
    assert answer.notes[-1].startswith("nothing in this repository fits this report well")


def test_a_report_that_tells_no_files_apart_has_no_shares(localizer):
    answer = localizer.localize("It does not work, please help me")
    assert answer.hits
    assert not any(hit.confidence for hit in answer.hits)
    assert "no word of the report" in answer.notes[-1]


# Wrong questions


def test_a_closed_localizer_refuses_a_report(java_repository):
    localizer = Localizer.open(java_repository.path)
    localizer.close()
    localizer.close()
    with pytest.raises(ToslocError, match="was closed; open it again"):
        localizer.localize(TEXT)


def test_what_is_no_report_is_refused(localizer):
    with pytest.raises(ToslocError, match="a report must be a BugReport or its text, not NoneType"):
        localizer.localize(None)


def test_globs_that_match_no_file_are_refused(localizer):
    with pytest.raises(ToslocError, match="matches none of the 7 source files"):
        localizer.localize(LEDGER_REPORT, include=["*.rs"])


@pytest.mark.parametrize("path", ["ParserService.java", "src/org/ParserService.java"])
def test_a_wrong_path_to_explain_gets_a_suggestion(localizer, path):
    with pytest.raises(ToslocError, match=rf"; did you mean {PARSER}[?]$"):
        localizer.explain(TEXT, path)


@pytest.fixture
def mixed_localizer(java_repository):
    """Return an open localizer for a repository that also has files of other kinds."""
    files = {"docs/guide.md": "Guide", "LICENSE": "Free", "conf/app.yml": "a: 1"}
    java_repository.commit(files, "Add other files")
    with Localizer.open(java_repository.path) as localizer:
        yield localizer


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("docs/guide.md", "is not searched, because .md files are not source, pages or"),
        ("/app/docs/guide.md", "is not searched, because .md files are not source, pages or"),
        ("LICENSE", "is not searched, because files without a suffix are not source, pages or"),
        (
            "conf/app.yml",
            r"has no rank, because pages and configuration \(YAML\) are searched apart",
        ),
    ],
)
def test_a_file_that_is_not_ranked_is_refused_with_the_reason(mixed_localizer, path, reason):
    known = path.removeprefix("/app/")
    with pytest.raises(ToslocError, match=rf"^{known} is in version \w{{10}}, but {reason}"):
        mixed_localizer.explain(TEXT, path)


def test_a_source_file_that_the_settings_leave_out_is_refused_with_the_reason(java_repository):
    java_repository.commit({"tool.py": "x = 1"}, "Add a tool")
    config = Config.of({"data": {"suffixes": [".java"]}}, "test")
    with (
        Repository(java_repository.path) as repo,
        closing(IndexedRepository.configured(repo, config)) as indexed,
    ):
        version = Model(configuration=config).open_version(indexed, "HEAD")
        version.others = indexed.index_other_files("HEAD")
        with pytest.raises(
            ToslocError, match=r"^tool.py is .* settings name the suffixes of other"
        ):
            version.find_file("tool.py")


@pytest.mark.parametrize("path", ["docs", "docs/none.md", "conf/../LICENSE", "docs/guide.md/x"])
def test_what_is_no_file_of_the_version_is_not_said_to_be_one(mixed_localizer, path):
    with pytest.raises(ToslocError, match="is not a source file of version"):
        mixed_localizer.explain(TEXT, path)


def test_an_unknown_path_to_explain_is_refused(localizer):
    with pytest.raises(
        ToslocError, match=r"; give the path relative to the root of the repository$"
    ):
        localizer.explain(TEXT, "README.md")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"top": 0}, "top: this must be 1 or more"),
        ({"functions": -1}, "functions: this must be 0 or more"),
        ({"min_confidence": 30}, "min_confidence: this must be a number from 0 to 1"),
        ({"code": "all"}, "code: this must be one of lines, body, none"),
        ({"include": "src/"}, r"include: this must be a list of globs, as in \['src/'\]"),
        ({"exclude": "src/"}, r"exclude: this must be a list of globs, as in \['src/'\]"),
    ],
    ids=["top", "functions", "min_confidence", "code", "include", "exclude"],
)
def test_impossible_options_are_refused(localizer, options, sentence):
    with pytest.raises(ToslocError, match=sentence):
        localizer.localize(TEXT, **options)


@pytest.mark.parametrize("method", [Localizer.localize, Localizer.localize_many])
def test_every_option_of_a_question_is_a_named_argument(method):
    """The defaults are those of the question."""
    parameters = inspect.signature(method).parameters
    for field in fields(Question):
        if field.name not in ("report", "path"):
            assert parameters[field.name].default == field.default
            assert parameters[field.name].annotation == field.type


def test_a_question_is_answered_like_its_options(localizer):
    question = Question(TEXT, tests=True, top=2)
    assert content(localizer.answer(question)) == content(
        localizer.localize(TEXT, tests=True, top=2)
    )


def test_an_unknown_reranker_is_refused():
    with pytest.raises(ToslocError, match="rerank: 'gpt' is no reranker; use 'llm'"):
        Localizer(rerank="gpt")  # type: ignore[arg-type]


def test_a_prompt_needs_a_language_model(localizer):
    with pytest.raises(ToslocError, match="no language model is used"):
        localizer.language_model_messages(Question(TEXT))


def test_the_least_options_are_answered(localizer):
    answer = localizer.localize(TEXT, top=1, functions=0, include=["src/"])
    assert len(answer.hits) == 1
    assert answer.hits[0].functions == ()


# Open files


@with_proc
def test_a_closed_localizer_has_no_open_file(java_repository, tmp_path):
    with Localizer.open(java_repository.path) as localizer:
        localizer.localize(TEXT)
        assert open_files(tmp_path)
    assert open_files(tmp_path) == []


@with_proc
def test_a_localizer_that_does_not_open_has_no_open_file(java_repository, tmp_path, monkeypatch):
    def fail(self, *arguments):
        assert self.store.find_missing({}) == []  # opens the store
        raise ToslocError("no room left on the disk")

    monkeypatch.setattr("tosloc.storage.repository.IndexedRepository.index_version", fail)
    with pytest.raises(ToslocError, match="no room left") as error:
        Localizer.open(java_repository.path)
    assert open_files(tmp_path) == []
    assert error.traceback  # the traceback, which refers to open objects, is still alive


# Files that no parser reads


@pytest.fixture
def unparsable_files(monkeypatch):
    """Return two broken files, one too large for the lowered limit, and files of no language."""
    monkeypatch.setattr(build, "MAX_SOURCE_BYTES", 5_000)
    broken = "<" * 4_000
    return {
        "Bad.java": broken,
        "other/Bad.java": broken,
        "Large.java": "class Large {}\n" * 400,
        "a.sql": "",
        "b.sql": "x",
    }


UNPARSABLE_NOTES = [
    "1 file is larger than 10 MB and ranked only by its path",
    "2 files are too large, too deeply nested or too broken for a parser, and are read word by"
    " word",
]


@pytest.mark.usefixtures("unparsable_files")
def test_files_that_parsers_read_need_no_note(answer):
    assert [note for note in answer.notes if "parser" in note or "MB" in note] == []


@pytest.fixture
def unparsable_notes(localizer, java_repository, unparsable_files):
    """Commit the unparsable files after a first answer; return the notes of the next one."""
    localizer.localize(TEXT)
    java_repository.commit(unparsable_files)
    return localizer.localize(TEXT).notes


@pytest.mark.parametrize("note", UNPARSABLE_NOTES, ids=["large", "broken"])
def test_files_that_no_parser_reads_are_noted(unparsable_notes, note):
    assert note in unparsable_notes


@pytest.mark.parametrize("cache", ["cache", "new"], ids=["kept version", "new version"])
def test_notes_do_not_depend_on_the_cache(
    java_repository, unparsable_notes, tmp_path, monkeypatch, cache
):
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / cache))
    with Localizer.open(java_repository.path) as localizer:
        assert localizer.localize(TEXT).notes == unparsable_notes


# Commits and branches that change while a localizer is open


@pytest.fixture
def answer_anew(java_repository, tmp_path, monkeypatch):
    """Return a function that returns the content of the answer by a localizer without a past."""

    def localize():
        with monkeypatch.context() as patch:
            patch.setenv("TOSLOC_CACHE", tempfile.mkdtemp(dir=tmp_path))
            with Localizer.open(java_repository.path) as localizer:
                return content(localizer.localize(TEXT))

    return localize


def test_new_amended_and_unrelated_commits_are_followed(java_repository, localizer, answer_anew):
    first_commit = localizer.localize(TEXT).commit
    amended = {PARSER: toy.class_source("Harbor")}
    message = "Fix #8000: the parser's first byte"
    java_repository.commit({RIBBON: toy.class_source("Ribbon"), WIDGET: None}, message)
    answers = [localizer.localize(TEXT)]
    assert content(answers[-1]) == answer_anew()
    java_repository.commit(amended, message, parents=[java_repository.commits[-2]])
    answers.append(localizer.localize(TEXT))
    assert content(answers[-1]) == answer_anew()
    java_repository.commit(amended, message, parents=())
    answers.append(localizer.localize(TEXT))
    assert content(answers[-1]) == answer_anew()
    assert [answer.commit for answer in answers] == java_repository.commits[-3:]
    assert first_commit not in java_repository.commits[-3:]


def test_an_old_commit_is_answered_as_when_it_was_new(java_repository, localizer):
    before = localizer.localize(TEXT)
    java_repository.commit({PARSER: toy.class_source("Harbor")}, parents=())
    localizer.localize(TEXT)
    assert content(localizer.localize(TEXT, commit=before.commit)) == content(before)


def test_another_branch_is_followed(java_repository, localizer, answer_anew):
    localizer.localize(TEXT)
    java_repository.git("branch", "other", java_repository.commits[2])
    java_repository.git("symbolic-ref", "HEAD", "refs/heads/other")
    answer = localizer.localize(TEXT)
    assert answer.commit == java_repository.commits[2]
    assert content(answer) == answer_anew()


VERSION_REPORT = f"{TEXT}\n\nIt worked in 1.0, and fails in 1.1."


def tag_a_release(repository, tmp_path):
    repository.git("tag", "v1.1", repository.commits[3])


def name_the_remote(repository, tmp_path):
    repository.git("remote", "set-url", "origin", "https://github.com/depot/parser")


def complete_the_history(repository, tmp_path):
    repository.git("fetch", "-q", "--unshallow", f"file://{tmp_path / 'repo'}")


def leave_a_file_out(repository, tmp_path):
    repository.git("update-index", "--skip-worktree", WIDGET)
    (repository.path / WIDGET).unlink()


def add_a_repository(repository, tmp_path):
    GitRepository.new(repository.path / "nested").commit({"a.py": "a = 1\n"})


def break_a_tag(repository, tmp_path):
    (repository.path / ".git/refs/tags/v2.0").write_text("1" * 40 + "\n")


@pytest.mark.parametrize(
    "change",
    [
        tag_a_release,
        name_the_remote,
        complete_the_history,
        leave_a_file_out,
        add_a_repository,
        break_a_tag,
    ],
)
def test_an_open_localizer_sees_what_changes_beside_the_commit(java_repository, tmp_path, change):
    """The answer changes, and becomes that of a new process."""
    java_repository.git("tag", "v1.0", java_repository.commits[0])
    path = tmp_path / "clone"
    depth = ["--depth=4"] if change is complete_the_history else []
    origin = f"file://{java_repository.path}"
    java_repository.git("clone", "-q", *depth, origin, str(path))
    clone = GitRepository(path, False, java_repository.environment, java_repository.commits)
    with Localizer.open(path) as localizer:
        before = content(localizer.localize(VERSION_REPORT, suspects=True))
        change(clone, tmp_path)
        after = content(localizer.localize(VERSION_REPORT, suspects=True))
    with Localizer.open(path) as localizer:
        anew = content(localizer.localize(VERSION_REPORT, suspects=True))
    assert after != before
    assert after == anew


# Many reports, and many threads

MANY_OPTIONS: dict[str, Any] = {"top": 3, "functions": 2}


@pytest.fixture
def reports():
    """Return a report about each class, every second of them without a time of opening."""
    reports = []
    for number, theme in enumerate(THEMES):
        opened = None if number % 2 else datetime(2029, 1, 1, tzinfo=UTC)
        reports.append(BugReport(str(number), f"{theme} bytes", f"open{theme} {number}", opened))
    return reports


@pytest.fixture
def expected_contents(java_repository, reports):
    """Return the content of the answer to each report by another localizer, before any change."""
    with Localizer.open(java_repository.path) as localizer:
        return [content(localizer.localize(report, **MANY_OPTIONS)) for report in reports]


def test_many_reports_are_answered_like_each_alone_and_from_one_version(
    java_repository, localizer, reports, expected_contents
):
    answers = localizer.localize_many(iter(reports), **MANY_OPTIONS)
    contents = [content(next(answers))]
    java_repository.commit({PARSER: toy.class_source("Parser", ["int moved;"])}, "Move on")
    contents += [content(answer) for answer in answers]
    assert contents == expected_contents


def test_threads_get_the_answers_of_each_alone(
    java_repository, localizer, reports, expected_contents
):
    """A third of the questions are about HEAD, which moves meanwhile, the rest about one commit."""
    first = java_repository.commits[-1]

    def ask(number):
        report = reports[number % len(reports)]
        if number == 10:
            java_repository.commit({"src/New.java": toy.class_source("Lantern")}, "New")
        if number % 3 == 0:
            return localizer.localize(report).commit
        return content(localizer.localize(report, commit=first, **MANY_OPTIONS))

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(ask, range(24)))
    for number, result in enumerate(results):
        if number % 3 == 0:
            assert result in java_repository.commits[-2:]
        else:
            assert result == expected_contents[number % len(reports)]
    assert localizer.localize(TEXT).commit == java_repository.commits[-1]


# Uncommitted changes

OLD_REPORT = BugReport("1", "The ribbon loses a byte", TEXT, datetime(2026, 1, 1, tzinfo=UTC))
"""A report that is older than later commits: files may differ for it, but not the history."""
DELETED = toy.class_path(THEMES[3])
CHANGES = {
    PARSER: toy.class_source("Parser", ["int ribbonBytes;"]),
    RIBBON: toy.class_source("Ribbon"),
    DELETED: None,
}


@pytest.fixture
def clean_answer(localizer):
    """Return the answer before anything is changed."""
    return localizer.localize(OLD_REPORT)


@pytest.fixture
def dirty_answer(java_repository, localizer, clean_answer):
    """Change, add and delete a file in the work tree, and return the next answer."""
    for path, text in CHANGES.items():
        if text is None:
            (java_repository.path / path).unlink()
        else:
            (java_repository.path / path).write_text(text)
    return localizer.localize(OLD_REPORT)


def test_uncommitted_changes_are_counted(clean_answer, dirty_answer):
    assert dirty_answer.searched.uncommitted == 3
    assert dirty_answer.commit == clean_answer.commit


def test_new_files_are_searched_and_deleted_files_are_not(clean_answer, dirty_answer):
    clean = {hit.path for hit in clean_answer.hits}
    dirty = {hit.path for hit in dirty_answer.hits}
    assert dirty - clean == {RIBBON}
    assert clean - dirty == {DELETED}


@pytest.mark.usefixtures("dirty_answer")
def test_a_new_file_is_explained_by_its_path_in_another_folder(localizer):
    assert localizer.explain(OLD_REPORT, f"/testbed/{RIBBON}").hits[0].functions


@pytest.mark.usefixtures("dirty_answer")
def test_a_named_commit_is_searched_without_the_changes(localizer, clean_answer):
    assert content(localizer.localize(OLD_REPORT, commit="HEAD")) == content(clean_answer)


def test_committing_the_changes_changes_no_hit(java_repository, localizer, dirty_answer):
    java_repository.commit(CHANGES, when=int(datetime(2027, 1, 1, tzinfo=UTC).timestamp()))
    committed = localizer.localize(OLD_REPORT)
    assert committed.hits == dirty_answer.hits
    assert committed.searched.uncommitted == 0


@pytest.fixture
def changed_parser():
    """Return the source of the parser with a further field."""
    return toy.class_source("Parser", ["int changed;"])


def test_a_git_directory_stands_for_its_work_tree(java_repository, changed_parser):
    (java_repository.path / PARSER).write_text(changed_parser)
    with Localizer.open(java_repository.path / ".git") as localizer:
        assert localizer.localize(TEXT).searched.uncommitted == 1


def test_in_a_hook_uncommitted_changes_count(java_repository, changed_parser, monkeypatch):
    """A hook runs in the work tree with GIT_DIR set."""
    (java_repository.path / PARSER).write_text(changed_parser)
    monkeypatch.chdir(java_repository.path)
    monkeypatch.setenv("GIT_DIR", ".git")
    with Localizer.open(discovery.current_repository()) as localizer:
        assert localizer.localize(TEXT).searched.uncommitted == 1


@pytest.fixture
def linked_tree(java_repository, tmp_path):
    """Return the folder of a second work tree of the repository."""
    java_repository.git("worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    return tmp_path / "linked"


def test_in_a_hook_of_a_linked_work_tree_uncommitted_changes_count(
    java_repository, linked_tree, changed_parser, monkeypatch
):
    (linked_tree / PARSER).write_text(changed_parser)
    monkeypatch.chdir(linked_tree)
    monkeypatch.setenv("GIT_DIR", str(java_repository.path / ".git/worktrees/linked"))
    with Localizer.open(discovery.current_repository()) as localizer:
        assert localizer.localize(TEXT).searched.uncommitted == 1


def test_a_missing_folder_in_git_dir_is_refused(java_repository, monkeypatch):
    monkeypatch.chdir(java_repository.path)
    monkeypatch.setenv("GIT_DIR", "nowhere/.git")
    with pytest.raises(RepositoryError, match=r"nowhere/\.git: no such folder"):
        discovery.current_repository()


# Trained weights

TRAINED_TEMPERATURE = 9.0


@pytest.fixture
def trained_checkpoint(java_repository):
    """Save a checkpoint with a temperature of its own where trainings of the repository are."""
    folder = CacheEntry.of(Repository(java_repository.path)).trained / "checkpoint"
    Model().save(folder)
    weights = json.loads((folder / "weights.json").read_text())
    weights["temperature"] = TRAINED_TEMPERATURE
    (folder / "weights.json").write_text(json.dumps(weights))
    return folder


@pytest.mark.usefixtures("trained_checkpoint")
def test_trained_weights_are_found(java_repository):
    with Localizer.open(java_repository.path, ready=False) as localizer:
        assert localizer.model.temperature == TRAINED_TEMPERATURE


def test_trained_weights_are_found_in_a_linked_work_tree(trained_checkpoint, linked_tree):
    with Localizer.open(linked_tree, ready=False) as localizer:
        assert localizer.model.temperature == TRAINED_TEMPERATURE
    cache_entry = trained_checkpoint.parent.parent
    assert list(cache_entry.parent.iterdir()) == [cache_entry]  # both work trees share it


@pytest.mark.parametrize("checkpoint_is_named", [False, True], ids=["found", "named"])
def test_a_process_that_stays_open_notices_a_training(
    java_repository, trained_checkpoint, checkpoint_is_named
):
    weights_file = trained_checkpoint / "weights.json"
    checkpoint = trained_checkpoint.parent if checkpoint_is_named else None
    first = open_localizer(java_repository.path, checkpoint)
    assert open_localizer(java_repository.path, checkpoint) is first
    weights = json.loads(weights_file.read_text()) | {"temperature": 2 * TRAINED_TEMPERATURE}
    weights_file.write_text(json.dumps(weights))
    os.utime(weights_file, ns=(1, 1))
    second = open_localizer(java_repository.path, checkpoint)
    assert second.model.temperature == 2 * TRAINED_TEMPERATURE
    second.close()
    first.close()


def test_weights_of_another_project_at_the_same_path_are_not_used(
    java_repository, trained_checkpoint
):
    newest = json.dumps({"newest fix": "1" * 40})
    (trained_checkpoint / "provenance.json").write_text(newest)
    with Localizer.open(java_repository.path, ready=False) as localizer:
        assert localizer.model.temperature != TRAINED_TEMPERATURE
        assert OTHER_TRAINING in localizer.localize(TEXT).notes
    with Localizer.open(java_repository.path, trained_checkpoint, ready=False) as localizer:
        assert localizer.model.temperature == TRAINED_TEMPERATURE


def test_weights_that_learned_from_this_project_are_used(java_repository, trained_checkpoint):
    newest = json.dumps({"newest fix": java_repository.commits[2]})
    (trained_checkpoint / "provenance.json").write_text(newest)
    with Localizer.open(java_repository.path, ready=False) as localizer:
        assert localizer.model.temperature == TRAINED_TEMPERATURE


@pytest.mark.usefixtures("trained_checkpoint")
def test_shipped_weights_are_used_if_asked_for(java_repository):
    with Localizer.open(java_repository.path, "none") as localizer:
        assert localizer.model.temperature != TRAINED_TEMPERATURE


# What is no repository


@pytest.mark.parametrize(
    "address", ["https://example.org/a/b.git", "git@example.org:a/b.git", "file:///srv/a"]
)
def test_an_address_is_to_be_cloned_first(java_repository, monkeypatch, address):
    monkeypatch.chdir(java_repository.path)
    with pytest.raises(RepositoryError) as error:
        Localizer.open(address)
    expected = f"{address} is an address; clone it first (git clone {address}) and name the folder"
    assert str(error.value) == expected


def test_a_missing_folder_in_a_repository_is_not_the_repository(java_repository):
    with pytest.raises(RepositoryError, match="no/such/folder: no such folder"):
        Localizer.open(java_repository.path / "no/such/folder")


def test_a_file_in_a_repository_is_not_the_repository(java_repository):
    with pytest.raises(RepositoryError, match="is a file; name the folder"):
        Localizer.open(java_repository.path / PARSER)


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_an_empty_repository_is_refused(tmp_path, object_format):
    command = ["git", "init", "-q", f"--object-format={object_format}", str(tmp_path / "empty")]
    subprocess.run(command, check=True, env=git_environment(tmp_path))
    with pytest.raises(ToslocError, match=r"empty: no source file .* is on disk"):
        Localizer.open(tmp_path / "empty")
    assert not (tmp_path / "cache").exists()


def test_a_branch_whose_commit_is_lost_is_not_taken_for_an_empty_one(java_repository):
    java_repository.lose("HEAD")
    with pytest.raises(UnknownCommit, match="no commit 'HEAD'"):
        Localizer.open(java_repository.path)


# Before the first commit


@pytest.fixture
def unborn_repository(repository):
    """Return a repository without commits, with files on disk."""
    for theme in THEMES:
        path = repository.path / toy.class_path(theme)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(toy.class_source(theme))
    return repository


@pytest.mark.parametrize("added", [False, True], ids=["untracked", "added"])
def test_before_the_first_commit_the_files_on_disk_are_searched(unborn_repository, added):
    if added:
        unborn_repository.git("add", ".")
    with Localizer.open(unborn_repository.path) as localizer:
        answer = localizer.localize(TEXT)
    assert answer.hits[0].path == PARSER
    assert answer.searched.files == len(THEMES)
    assert answer.searched.uncommitted == len(THEMES)


def test_a_warning_says_that_nothing_is_committed(unborn_repository):
    with Localizer.open(unborn_repository.path) as localizer:
        warnings = localizer.localize(TEXT).warnings
    sentence = "nothing is committed yet: the files on disk are searched, and there is no history"
    assert sentence in warnings


def test_the_first_commit_is_followed(unborn_repository):
    with Localizer.open(unborn_repository.path) as localizer:
        localizer.localize(TEXT)
        unborn_repository.git("add", ".")
        unborn_repository.git("commit", "-q", "-m", "Start")
        answer = localizer.localize(TEXT)
    assert answer.commit == unborn_repository.git("rev-parse", "HEAD")
    assert answer.searched.uncommitted == 0


@pytest.mark.parametrize("commit", ["HEAD", "0" * 40], ids=["HEAD", "zeros"])
def test_a_named_commit_before_the_first_one_is_refused(unborn_repository, commit):
    with (
        Localizer.open(unborn_repository.path, ready=False) as localizer,
        pytest.raises(UnknownCommit, match="no commit"),
    ):
        localizer.localize(TEXT, commit=commit)


# Which files are searched


def test_new_files_are_searched_where_the_commit_has_no_source(repository):
    repository.commit({"README": "about"})
    (repository.path / "Parser.java").write_text(toy.class_source("Parser"))
    with Localizer.open(repository.path) as localizer:
        assert [hit.path for hit in localizer.localize(TEXT).hits] == ["Parser.java"]


def test_folders_behind_links_are_not_searched(java_repository, tmp_path):
    (java_repository.path / "src").rename(tmp_path / "elsewhere")
    (java_repository.path / "src").symlink_to(tmp_path / "elsewhere")
    (java_repository.path / PARSER_TEST).unlink()
    sentence = r"no source file .* is on disk, and folders behind links are not searched"
    with pytest.raises(ToslocError, match=sentence):
        Localizer.open(java_repository.path)


def test_files_outside_of_a_sparse_checkout_are_counted_and_searched(java_repository):
    java_repository.git("sparse-checkout", "set", "test")
    with Localizer.open(java_repository.path) as localizer:
        answer = localizer.localize(TEXT)
    assert answer.hits[0].path == PARSER
    sentence = "6 source files are not checked out; they are searched as they are committed"
    assert sentence in answer.notes


def test_questions_share_what_depends_on_the_version_alone(repository):
    repository.commit({"a.py": "def f(): pass", "b.yml": "a: 1"}, "Begin")
    with Localizer.open(repository.path) as localizer:
        first = localizer.prepare()
        second = localizer.prepare().with_settings({})
    assert second.sources is first.sources
    assert second.unsearched is first.unsearched
