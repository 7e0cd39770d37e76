"""Settings that a repository has for its own answers: what they can do, and what they cannot."""

import pytest

from tests import toy
from tosloc import Localizer
from tosloc.core.errors import ConfigError
from tosloc.localize.settings import read_answer_settings

TEXT = "The parser loses the first byte of a socket\n\nParserService.openParser fails."
PARSER = toy.class_path("Parser")
TEST_FILE = "tests/test_a.py"
HIDE_PARSER_SHOW_TESTS = f"[tool.tosloc]\nexclude = ['{PARSER}', 'gone/']\ntests = true\n"


# Answers


@pytest.fixture
def localizer(repository, tmp_path, monkeypatch):
    """Open a repository with five classes, of which TEXT is about one, and a test."""
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    files = {toy.class_path(word): toy.class_source(word) for word in toy.THEMES[:5]}
    repository.commit(files | {TEST_FILE: "parser = 1"})
    with Localizer.open(repository.path) as opened:
        yield opened


@pytest.fixture
def pyproject(localizer, repository):
    """Build a pyproject.toml that hides the best file and shows tests."""
    file = repository.path / "pyproject.toml"
    file.write_text(HIDE_PARSER_SHOW_TESTS)
    return file


def test_pyproject_hides_and_shows_files(localizer, repository):
    before = {hit.path for hit in localizer.localize(TEXT).hits}
    (repository.path / "pyproject.toml").write_text(HIDE_PARSER_SHOW_TESTS)
    after = {hit.path for hit in localizer.localize(TEXT).hits}
    assert before - after == {PARSER}
    assert after - before == {TEST_FILE}


def test_an_argument_comes_before_a_setting(localizer, pyproject):
    other = next(word for word in toy.THEMES[:5] if word != "Parser")
    assert len(localizer.localize(TEXT, exclude=[toy.class_path(other)]).hits) == 5


def test_the_own_file_comes_before_pyproject(localizer, pyproject, repository):
    (repository.path / ".tosloc.toml").write_text("min_confidence = 0.5\n")
    hits = localizer.localize(TEXT).hits
    assert [hit.path for hit in hits] == [PARSER]
    assert hits[0].confidence > 0.5


def test_a_smallest_share_does_not_change_the_shares(localizer, repository):
    everything = localizer.localize(TEXT)
    (repository.path / ".tosloc.toml").write_text("min_confidence = 0.5\n")
    assert localizer.localize(TEXT).hits[0].confidence == everything.hits[0].confidence


def test_a_note_explains_an_answer_without_a_sure_file(localizer):
    answer = localizer.localize(TEXT, min_confidence=0.999)
    assert answer.hits == ()
    assert answer.notes[-1] == "no file is shown, because none has a confidence of at least 100%"


# Errors


@pytest.fixture
def work_tree(tmp_path):
    """Build an empty work tree."""
    folder = tmp_path / "tree"
    folder.mkdir()
    return folder


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "checkpoint = 'x'",
            "checkpoint: unknown key; choose from include, exclude, tests, min_confidence",
        ),
        ("include = 'src'", "include: Input should be a list, as"),
        (f"include = ['{'x' * 201}']", "include.0: String should have at most 200 characters"),
        (f"include = {['x'] * 201}", "include: Tuple should have at most 200 items"),
        ("tests = 1", "tests: Input should be a valid boolean"),
        ("min_confidence = nan", "min_confidence: Input should be a finite number"),
        ("= 1", "cannot be read"),
    ],
    ids=["unknown", "no list", "long glob", "many globs", "no boolean", "NaN", "no TOML"],
)
def test_an_error_names_the_file_and_the_key(work_tree, text, problem):
    (work_tree / ".tosloc.toml").write_text(text)
    with pytest.raises(ConfigError, match=rf"\A.tosloc.toml of the repository:? {problem}"):
        read_answer_settings(work_tree)


def test_a_table_that_is_none_is_an_error(work_tree):
    (work_tree / "pyproject.toml").write_text("[tool]\ntosloc = 3\n")
    message = r"pyproject.toml of the repository: Input should be a valid dictionary"
    with pytest.raises(ConfigError, match=message):
        read_answer_settings(work_tree)


def test_tables_of_other_tools_are_ignored(work_tree):
    (work_tree / "pyproject.toml").write_text("tool = 3\n")
    assert read_answer_settings(work_tree) == {}


def test_a_link_to_a_file_outside_is_not_followed(work_tree, tmp_path):
    (tmp_path / "outside.toml").write_text("tests = true\n")
    (work_tree / ".tosloc.toml").symlink_to(tmp_path / "outside.toml")
    assert read_answer_settings(work_tree) == {}


def test_without_a_work_tree_there_are_no_settings():
    assert read_answer_settings(None) == {}
