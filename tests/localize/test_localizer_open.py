"""A repository that is kept open: it answers as one that is opened anew, whatever its branches do meanwhile."""

import json
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from tests import toy
from tests.conftest import git_environment, open_files, with_proc
from tosloc import Localizer
from tosloc.core.errors import RepositoryError, ToslocError, UnknownCommit
from tosloc.core.records import BugReport
from tosloc.git import discovery
from tosloc.git.repository import Repository
from tosloc.localize.model import Model
from tosloc.storage import build
from tosloc.storage.cache import trained_folder

TEXT = (
    "The parser loses the first byte of a socket\n\nParserService.openParser fails with a ledger."
)
LATER = BugReport(
    "2", "Ledger is closed twice", "closeLedger in LedgerService", datetime(2031, 1, 1, tzinfo=UTC)
)
WORDS = toy.THEMES[:6]


@pytest.fixture
def grown(repository, monkeypatch, tmp_path):
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    repository.commit({toy.class_path(word): toy.class_source(word) for word in WORDS}, "Start")
    for number, word in enumerate(WORDS[:4]):
        changed = toy.class_source(word, [f"int first{number};"])
        repository.commit(
            {toy.class_path(word): changed}, f"Fix bug {7000 + number}: {word.lower()} byte"
        )
    repository.commit(
        {"test/org/app/ParserServiceTest.java": toy.class_source("Parser")}, "Test the parser"
    )
    return repository


@pytest.fixture
def opened(grown):
    with Localizer.open(grown.path) as localizer:
        yield localizer


def content(answer):
    return answer.as_dict() | {"seconds": 0}


def test_options_and_what_an_answer_holds(grown):
    localizer = Localizer.open(grown.path / "src" / "org")
    answer = localizer.localize(TEXT)
    first = answer.top(5)[0]
    assert first.path == toy.class_path("Parser")
    assert (first.functions[0].name, first.functions[0].start) == ("ParserService.openParser", 6)
    assert len(answer.hits) == answer.searched.files == 6
    assert (answer.searched.hidden_tests, answer.commit) == (1, grown.commits[-1])
    assert (answer.repository, answer.seconds > 0) == (str(grown.path), True)
    everywhere = {hit.path: hit.share for hit in localizer.localize(LATER).hits}
    answer = localizer.localize(LATER, include=["src/"], exclude=["*Parser*"], top=2, functions=1)
    assert answer.hits[0].path == toy.class_path("Ledger")
    assert (len(answer.hits), len(answer.hits[0].functions), answer.searched.files) == (2, 1, 5)
    assert {
        hit.path: hit.share for hit in answer.hits
    }.items() <= everywhere.items()  # globs change none
    assert len(localizer.localize(LATER, tests=True, functions=0).hits) == 7
    assert (
        sum(hit.share for hit in localizer.localize("ribbon bytes of the parser are lost").hits)
        > 0.999
    )
    vague = localizer.localize("It does not work, please help me")  # tells no files apart
    assert (bool(vague.hits), any(hit.share for hit in vague.hits)) == (True, False)
    assert "no word of the report" in vague.notes[-1]
    localizer.close()
    localizer.close()
    with pytest.raises(ToslocError, match="was closed; open it again"):
        localizer.localize(TEXT)


def test_what_is_not_asked_rightly_is_one_sentence(opened):
    with pytest.raises(TypeError, match="a report is a BugReport or its text, not NoneType"):
        opened.localize(None)
    with pytest.raises(ToslocError, match="matches none of the 7 source files"):
        opened.localize(LATER, include=["*.rs"])
    for wrong in ("ParserService.java", "src/org/ParserService.java"):
        with pytest.raises(ToslocError, match=rf"; did you mean {toy.class_path('Parser')}[?]$"):
            opened.explain(TEXT, wrong)
    with pytest.raises(ToslocError, match=r"; paths begin at the root of the repository$"):
        opened.explain(TEXT, "README.md")


@with_proc
def test_a_closed_localizer_has_no_open_file(grown, tmp_path):
    with Localizer.open(grown.path) as localizer:
        localizer.localize(TEXT)
        assert open_files(tmp_path)
    assert open_files(tmp_path) == []


@with_proc
def test_a_localizer_that_does_not_open_has_no_open_file(grown, tmp_path, monkeypatch):
    def fail(self, *arguments):
        assert self.store.find_missing({}) == []
        raise ToslocError("no room left on the disk")

    monkeypatch.setattr("tosloc.storage.repository.IndexedRepository.prepare", fail)
    with pytest.raises(ToslocError, match="no room left") as error:
        Localizer.open(grown.path)
    assert open_files(tmp_path) == []
    assert error.traceback


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"top": 0}, "top is 1 or more"),
        ({"functions": -1}, "functions is 0 or more"),
        ({"include": "src/"}, "include and exclude are lists of globs"),
        ({"exclude": "src/"}, "include and exclude are lists of globs"),
    ],
)
def test_options_out_of_range_are_a_value_error(opened, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        opened.localize(TEXT, **options)


def test_unknown_option_is_a_type_error(opened):
    with pytest.raises(TypeError, match="localize has no option 'topmost'"):
        opened.localize(TEXT, topmost=3)


def test_the_least_options_are_answered(opened):
    answer = opened.localize(TEXT, top=1, functions=0, include=["src/"])
    assert len(answer.hits) == 1
    assert answer.hits[0].functions == ()


def test_what_no_parser_has_read_is_said(grown, tmp_path, monkeypatch):
    """Whether the version is made, brought up to date from another one, or kept."""
    monkeypatch.setattr(build, "MAX_SOURCE_BYTES", 5_000)
    broken, large = "<" * 4_000, "class Large {}\n" * 400
    with Localizer.open(grown.path) as localizer:
        assert not [
            note for note in localizer.localize(TEXT).notes if "parser" in note or "MB" in note
        ]
        grown.commit(
            {
                "Bad.java": broken,
                "other/Bad.java": broken,
                "Large.java": large,
                "a.sql": "",
                "b.sql": "x",
            }
        )
        said = localizer.localize(TEXT).notes
    assert "1 file larger than 10 MB, ranked by path alone" in said
    assert "2 files too large, too deep or too broken for a parser, read word by word" in said
    for cache in ("cache", "anew"):
        monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / cache))
        with Localizer.open(grown.path) as localizer:
            assert localizer.localize(TEXT).notes == said


def test_it_answers_as_one_opened_anew_whatever_the_branches_do(
    grown, opened, tmp_path, monkeypatch
):
    def anew():
        """The answer of a localizer that has seen nothing before."""
        with monkeypatch.context() as patch:
            patch.setenv("TOSLOC_CACHE", tempfile.mkdtemp(dir=tmp_path))
            with Localizer.open(grown.path) as localizer:
                return content(localizer.localize(TEXT))

    before, parser, new = (
        content(opened.localize(TEXT)),
        toy.class_path("Parser"),
        toy.class_path("Ribbon"),
    )
    for files, parents in (
        ({new: toy.class_source("Ribbon"), toy.class_path("Widget"): None}, None),
        ({parser: toy.class_source("Harbor")}, [grown.commits[-2]]),  # amended
        ({parser: toy.class_source("Harbor")}, ()),  # another history
    ):
        grown.commit(files, "Fix #8000: the parser's first byte", parents=parents)
        answer = opened.localize(TEXT)
        assert answer.commit == grown.commits[-1] != before["commit"]
        assert content(answer) == anew()
    assert content(opened.localize(TEXT, commit=before["commit"])) == before
    grown.git("branch", "other", grown.commits[2])
    grown.git("symbolic-ref", "HEAD", "refs/heads/other")
    assert opened.localize(TEXT).commit == grown.commits[2]
    assert content(opened.localize(TEXT)) == anew()


def test_many_reports_and_threads_are_answered_as_each_alone_and_of_one_version(grown, opened):
    days, old = (datetime(2029, 1, 1, tzinfo=UTC), None), grown.commits[-1]
    asked = [
        BugReport(str(n), f"{word} bytes", f"open{word} {n}", days[n % 2])
        for n, word in enumerate(WORDS)
    ]
    answers = opened.localize_many(iter(asked), top=3, functions=2)
    with Localizer.open(grown.path) as other:
        expected = [content(other.localize(report, top=3, functions=2)) for report in asked]
    assert content(next(answers)) == expected[0]
    grown.commit({toy.class_path("Parser"): toy.class_source("Parser", ["int moved;"])}, "Move on")
    assert [content(answer) for answer in answers] == expected[1:]

    def ask(number):
        if number == 10:
            grown.commit({"src/New.java": toy.class_source("Lantern")}, "New")
        if not number % 3:
            return opened.localize(asked[number % 6]).commit in grown.commits[-2:]
        return (
            content(opened.localize(asked[number % 6], commit=old, top=3, functions=2))
            == expected[number % 6]
        )

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(ask, range(24)))
    assert opened.localize(TEXT).commit == grown.commits[-1]


def test_the_work_tree_is_searched_as_if_it_were_committed(grown, opened):
    """The report is older than the commit, so that only the files differ, and not the history."""
    report = BugReport("1", "The ribbon loses a byte", TEXT, datetime(2026, 1, 1, tzinfo=UTC))
    clean = opened.localize(report)
    parser, new, gone = (toy.class_path(word) for word in ("Parser", "Ribbon", WORDS[3]))
    files = {
        parser: toy.class_source("Parser", ["int ribbonBytes;"]),
        new: toy.class_source("Ribbon"),
        gone: None,
    }
    for path, text in files.items():
        (grown.path / path).unlink(missing_ok=True) if text is None else (
            grown.path / path
        ).write_text(text)
    dirty = opened.localize(report)
    assert (dirty.searched.uncommitted, dirty.commit) == (3, clean.commit)
    assert {hit.path for hit in dirty.hits} ^ {hit.path for hit in clean.hits} == {new, gone}
    assert opened.explain(report, f"/testbed/{new}").hits[0].functions
    assert content(opened.localize(report, commit="HEAD")) == content(clean)
    grown.commit(files, when=int(datetime(2027, 1, 1, tzinfo=UTC).timestamp()))
    committed = opened.localize(report)
    assert (committed.hits, committed.searched.uncommitted) == (dirty.hits, 0)


def test_what_was_trained_is_found_also_in_a_linked_work_tree(grown, tmp_path):
    folder = trained_folder(Repository(grown.path)) / "checkpoint"
    Model().save(folder)
    weights = json.loads((folder / "weights.json").read_text()) | {"temperature": 9.0}
    (folder / "weights.json").write_text(json.dumps(weights))
    grown.git("worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    for path in (grown.path, tmp_path / "linked"):
        with Localizer.open(path, ready=False) as found:
            assert found.model.temperature == 9.0
    with Localizer.open(grown.path, "none") as asked:
        assert asked.model.temperature != 9.0
    assert [*folder.parent.parent.parent.iterdir()] == [
        folder.parent.parent
    ]  # one cache entry for both


@pytest.mark.parametrize(
    "address", ["https://example.org/a/b.git", "git@example.org:a/b.git", "file:///srv/a"]
)
def test_an_address_is_to_be_cloned_first(grown, monkeypatch, address):
    monkeypatch.chdir(grown.path)
    with pytest.raises(RepositoryError) as splice_head_above_rest:
        Localizer.open(address)
    assert (
        str(splice_head_above_rest.value)
        == f"{address} is an address; clone it first (git clone {address}) and name the folder"
    )


def test_a_missing_folder_in_a_repository_is_not_the_repository(grown):
    with pytest.raises(RepositoryError, match="no/such/folder: no such folder"):
        Localizer.open(grown.path / "no/such/folder")


def test_a_file_in_a_repository_is_not_the_repository(grown):
    with pytest.raises(RepositoryError, match="is a file; name the folder"):
        Localizer.open(grown.path / toy.class_path("Parser"))


def test_a_git_directory_stands_for_its_work_tree(grown):
    (grown.path / toy.class_path("Parser")).write_text(toy.class_source("Parser", ["int changed;"]))
    with Localizer.open(grown.path / ".git") as localizer:
        assert localizer.localize(TEXT).searched.uncommitted == 1


@pytest.mark.parametrize("linked", [False, True])
def test_in_a_hook_uncommitted_changes_count(grown, tmp_path, monkeypatch, linked):
    """A hook runs in the work tree with GIT_DIR set."""
    tree = grown.path
    if linked:
        tree = tmp_path / "linked"
        grown.git("worktree", "add", "-q", "--detach", str(tree))
    (tree / toy.class_path("Parser")).write_text(toy.class_source("Parser", ["int changed;"]))
    monkeypatch.chdir(tree)
    monkeypatch.setenv("GIT_DIR", str(grown.path / ".git/worktrees/linked") if linked else ".git")
    with Localizer.open(discovery.current_repository()) as localizer:
        assert localizer.localize(TEXT).searched.uncommitted == 1


def test_a_missing_folder_in_git_dir_is_one_sentence(grown, monkeypatch):
    monkeypatch.chdir(grown.path)
    monkeypatch.setenv("GIT_DIR", "nowhere/.git")
    with pytest.raises(RepositoryError, match=r"nowhere/\.git: no such folder"):
        discovery.current_repository()


@pytest.fixture
def unborn(repository, monkeypatch, tmp_path):
    """A repository without commits, with files on disk."""
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    for word in WORDS:
        file = repository.path / toy.class_path(word)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(toy.class_source(word))
    return repository


@pytest.mark.parametrize("added", [False, True])
def test_before_the_first_commit_the_files_on_disk_are_searched(unborn, added):
    if added:
        unborn.git("add", ".")
    with Localizer.open(unborn.path) as localizer:
        answer = localizer.localize(TEXT)
    assert answer.hits[0].path == toy.class_path("Parser")
    assert answer.searched.files == len(WORDS)
    assert answer.searched.uncommitted == len(WORDS)
    assert (
        "nothing is committed yet: the files on disk are searched, and there is no history"
        in answer.warnings
    )


def test_the_first_commit_is_followed(unborn):
    with Localizer.open(unborn.path) as localizer:
        localizer.localize(TEXT)
        unborn.git("add", ".")
        unborn.git("commit", "-q", "-m", "Start")
        answer = localizer.localize(TEXT)
    assert answer.commit == unborn.git("rev-parse", "HEAD")
    assert answer.searched.uncommitted == 0


@pytest.mark.parametrize("object_format", ["sha1", "sha256"])
def test_an_empty_repository_is_one_sentence(tmp_path, monkeypatch, object_format):
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    command = ["git", "init", "-q", f"--object-format={object_format}", str(tmp_path / "empty")]
    subprocess.run(command, check=True, env=git_environment(tmp_path))
    with pytest.raises(ToslocError, match=r"empty: no source file .* is on disk"):
        Localizer.open(tmp_path / "empty")
    assert not (tmp_path / "cache").exists()


def test_a_branch_whose_commit_is_lost_is_not_taken_for_an_empty_one(grown):
    grown.lose("HEAD")
    with pytest.raises(UnknownCommit, match="no commit 'HEAD'"):
        Localizer.open(grown.path)


def test_a_named_commit_before_the_first_one_is_one_sentence(unborn):
    for commit in ("HEAD", "0" * 40):
        with (
            Localizer.open(unborn.path, ready=False) as localizer,
            pytest.raises(UnknownCommit, match="no commit"),
        ):
            localizer.localize(TEXT, commit=commit)


def test_new_files_are_searched_where_the_commit_has_no_source(repository, monkeypatch, tmp_path):
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    repository.commit({"README": "about"})
    (repository.path / "Parser.java").write_text(toy.class_source("Parser"))
    with Localizer.open(repository.path) as localizer:
        assert [hit.path for hit in localizer.localize(TEXT).hits] == ["Parser.java"]


def test_sources_behind_a_linked_folder_only_are_one_sentence(grown, tmp_path):
    (grown.path / "src").rename(tmp_path / "elsewhere")
    (grown.path / "src").symlink_to(tmp_path / "elsewhere")
    (grown.path / "test/org/app/ParserServiceTest.java").unlink()
    with pytest.raises(
        ToslocError,
        match=r"no source file .* is on disk, and folders behind links are not searched",
    ):
        Localizer.open(grown.path)


def test_files_outside_of_a_sparse_checkout_are_counted_and_searched(grown):
    grown.git("sparse-checkout", "set", "test")
    with Localizer.open(grown.path) as localizer:
        answer = localizer.localize(TEXT)
    assert answer.hits[0].path == toy.class_path("Parser")
    assert (
        "the sparse checkout leaves out 6 source files; they are searched as they are committed"
        in answer.notes
    )
