"""What a repository says of its own answers, and what it may not say."""

import pytest

from tests import toy
from tosloc import Localizer
from tosloc.errors import ConfigError
from tosloc.settings import Shown, settings_of

TEXT = "The parser loses the first byte of a socket\n\nParserService.openParser fails."


def test_settings_choose_what_is_shown(repository, tmp_path, monkeypatch):
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    words = toy.THEMES[:5]
    repository.commit({toy.path_of(word): toy.source(word) for word in words} | {"tests/test_a.py": "parser = 1"})
    parser, other = toy.path_of("Parser"), toy.path_of(next(word for word in words if word != "Parser"))
    with Localizer.open(repository.path) as opened:
        everything = opened.localize(TEXT)
        (repository.path / "pyproject.toml").write_text(
            f"[tool.tosloc]\nexclude = ['{parser}', 'gone/']\ntests = true\n"
        )
        shown = opened.localize(TEXT)
        assert {hit.path for hit in everything.hits} ^ {hit.path for hit in shown.hits} == {parser, "tests/test_a.py"}
        assert len(opened.localize(TEXT, exclude=[other]).hits) == 5  # an option goes before a setting
        (repository.path / ".tosloc.toml").write_text("min_share = 0.5\n")
        sure = opened.localize(TEXT)
        assert [hit.path for hit in sure.hits] == [parser]
        assert sure.hits[0].share == everything.hits[0].share > 0.5
        unsure = opened.localize(TEXT, min_share=0.999)
        assert (unsure.hits, unsure.notes[-1]) == ((), "nothing is sure enough: no file has a share of 100%")


def test_what_is_wrong_is_one_sentence_and_nothing_outside_is_read(tmp_path):
    tree, own = tmp_path / "tree", tmp_path / "tree/.tosloc.toml"
    tree.mkdir()
    for text, wrong in (
        ("checkpoint = 'x'", "has no key 'checkpoint'"),
        ("include = 'src'", "include is a list"),
        ("include = [1]", "include is a list of at most 200 globs in quotes"),
        ("tests = 1", "tests is true or false"),
        ("min_share = true", "min_share is a number from 0 to 1"),
        ("min_share = nan", "min_share is a number from 0 to 1"),
        ("= 1", "cannot be read"),
    ):
        own.write_text(text)
        with pytest.raises(ConfigError, match=wrong):
            settings_of(tree)
    own.unlink()
    (tmp_path / "outside.toml").write_text("tests = true\n")
    own.symlink_to(tmp_path / "outside.toml")
    (tree / "pyproject.toml").write_text("[tool]\ntosloc = 3\n")
    with pytest.raises(ConfigError, match=r"\[tool.tosloc\] of pyproject.toml is no table"):
        settings_of(tree)
    (tree / "pyproject.toml").write_text("tool = 3\n")
    assert settings_of(tree) == settings_of(None) == Shown()
