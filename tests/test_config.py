"""Settings: the shipped files, what extends what, what a repository says of its own answers, and what is wrong."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests import toy
from tosloc import Localizer
from tosloc.config import Config, load_config
from tosloc.errors import ConfigError
from tosloc.settings import Shown, settings_of

CONFIGS = Path(__file__).parents[1] / "configs"
NAMES = "birt, default, jdt, paper, pool, second, smoke, swt, tomcat"


def flat(values: dict[str, Any], section: str = "") -> dict[str, Any]:
    """Keys with their section, such as stage_one.fit."""
    result: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{section}.{key}" if section else key
        result |= flat(value, name) if isinstance(value, dict) else {name: value}
    return result


def test_every_shipped_file_loads_and_holds_what_it_should():
    written = flat(tomllib.loads((CONFIGS / "default.toml").read_text()))
    assert written == flat(Config().as_dict())
    assert load_config(CONFIGS / "default.toml") == load_config(CONFIGS / "second.toml") == Config()
    zones = {path.stem: load_config(path).data.zone for path in CONFIGS.glob("*.toml")}
    own = {"swt", "jdt", "birt"}
    assert zones == {name: "America/New_York" if name in own else "UTC" for name in NAMES.split(", ")}
    paper = load_config(CONFIGS / "paper.toml")
    changed = {key for key, value in flat(paper.as_dict()).items() if flat(Config().as_dict())[key] != value}
    first = {key for key in changed if not key.startswith("stage_two")}
    assert first == {"stage_one.method", "stage_one.features", "stage_one.fit", "stage_one.ranker"}
    two = paper.stage_two
    assert (two.code_encoder, two.report_encoder) == ("microsoft/codebert-base", "roberta-base")
    assert (two.chunks, two.chunk_tokens, two.report_tokens, two.candidates) == (10, 512, 512, 50)
    assert (two.scoring, two.training.learns, two.training.precision) == ("dot", "both", "bfloat16")
    assert (two.training.learning_rate, two.training.pairs, two.training.epochs) == (1e-5, 100, 20)
    assert paper.stage_one.features == ("text", "trace", "history", "complexity")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "[stage_one.evolution]\ngeneratoins = 3",
            "[stage_one.evolution]: unknown key 'generatoins', did you mean 'generations'?",
        ),
        ("[run]\nxyzzy = 9", "[run]: unknown key 'xyzzy'; known are jobs, seed"),
        ("[run]\njobs = 0", "[run]: jobs: a number of processes, or -1 for every core"),
        ("[stage_one]\nmethod = 'deep'", "[stage_one]: method should be 'linear' or 'paper', not 'deep'"),
        ("run = 3", ": run is a section, [run]"),
        (
            "[data]\nzone = 'Mars/Olympus'",
            "[data]: zone: no time zone is called 'Mars/Olympus'; write one such as 'America/New_York'",
        ),
        ("[data]\nsuffixes = ['java']", "[data]: suffixes: a suffix starts with a dot, such as '.java', not 'java'"),
        ("[data]\ntrain = 0.9", "[data]: train 0.9 and validation 0.1 leave nothing for test"),
        ("extends = 'base.toml'", "base.toml [run]: unknown key 'sede', did you mean 'seed'?"),
        ("extends = 'my.toml'", ": the files extend each other in a circle through my.toml"),
        ("extends = 'my'", f"my: cannot read the configuration: No such file or directory; {NAMES}"),
        ("# \xff", ": not valid TOML: 'utf-8' codec can't decode byte 0xff in position 2: invalid start byte"),
    ],
)
def test_one_sentence_says_what_is_wrong_and_where(tmp_path, text, sentence):
    path = tmp_path / "my.toml"
    path.write_bytes(text.encode("latin-1"))
    (tmp_path / "base.toml").write_text("[run]\nsede = 1")
    (tmp_path / "other.toml").write_text("extends = 'my.toml'")
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    said = str(caught.value).replace(f"{path} [", "[").replace(f"{path}: ", ": ").replace(f"{tmp_path}/", "")
    assert said.replace("the configurations that TosLoc ships are ", "") == sentence


def test_a_name_is_a_file_that_is_here_else_a_shipped_one_and_is_checked_with_what_it_extends(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.toml").write_text("[data]\nvalidation = 0.05")
    (tmp_path / "my.toml").write_text("extends = 'base.toml'\n[data]\ntrain = 0.9")
    data = load_config("my").data
    assert (data.train, data.validation) == (0.9, 0.05)
    # also the shipped one of its own name
    shipped = load_config("tomcat")
    (tmp_path / "tomcat.toml").write_text("extends = 'tomcat'\n[run]\nseed = 9")
    ours = load_config("tomcat")
    assert ours == shipped.model_copy(update={"run": ours.run})
    assert ours.run.seed == 9 != shipped.run.seed
    (tmp_path / "swt").mkdir()  # a folder is none
    for written in ("swt", "swt.toml"):
        (tmp_path / "own.toml").write_text(f"extends = '{written}'\n[run]\nseed = 8")
        assert load_config(written) == load_config(CONFIGS / "swt.toml")
        assert (load_config("own").data.zone, load_config("own").run.seed) == ("America/New_York", 8)
    (tmp_path / "swt.toml").write_text("[data]\nzone = 'Europe/Oslo'")
    assert load_config("swt").data.zone == load_config("own").data.zone == "Europe/Oslo"


# What a repository says of its own answers, and what it may not say


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
