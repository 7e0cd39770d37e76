"""Settings: the shipped files, what extends what, what a repository says of its own answers, and what is wrong."""

import re
import tomllib
from pathlib import Path

import pytest

from tests import toy
from tosloc import Localizer
from tosloc.core.config import Config, load_config
from tosloc.core.errors import ConfigError
from tosloc.core.settings import read_answer_settings

CONFIGS = Path(__file__).parents[2] / "configs"
NAMES = "birt, default, jdt, paper, pretraining, second, smoke, swt, tomcat"


def test_every_shipped_file_loads_and_holds_what_it_should():
    assert tomllib.loads((CONFIGS / "default.toml").read_text()) == Config().as_dict()
    assert load_config(CONFIGS / "default.toml") == load_config(CONFIGS / "second.toml") == Config()
    zones = {path.stem: load_config(path).data.zone for path in CONFIGS.glob("*.toml")}
    own = {"swt", "jdt", "birt"}
    assert zones == {
        name: "America/New_York" if name in own else "UTC" for name in NAMES.split(", ")
    }
    paper = load_config(CONFIGS / "paper.toml")
    one = {
        "method": "paper",
        "features": ("text", "trace", "history", "complexity"),
        "ranker": False,
    }
    assert paper.stage_one == Config().stage_one.model_copy(
        update=one | {"fit": "differential_evolution"}
    )
    two = paper.stage_two
    assert (two.code_encoder, two.report_encoder, two.chunks) == (
        "microsoft/codebert-base",
        "roberta-base",
        10,
    )
    assert (two.chunk_tokens, two.training.learns) == (two.report_tokens, "both") == (512, "both")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[run]\njobs = 0\nsede = 3", "run.sede: unknown key, did you mean 'run.seed'?"),
        ("[xyzzy]", "xyzzy: unknown key; known are data.zone, data.suffixes, "),
        ("[run]\njobs = 0", "run.jobs: a number of processes, or -1 for every core"),
        ("[stage_one]\nmethod = 'deep'", "stage_one.method: Input should be 'linear' or 'paper'"),
        (
            "[data]\nsuffixes = ['java']",
            "data.suffixes: a suffix starts with a dot, such as '.java', not 'java'",
        ),
        ("[data]\ntrain = 0.9", "data: train 0.9 and validation 0.1 leave nothing for test"),
        ("extends = 'base.toml'", "run: Input should be a valid dictionary"),
        ("extends = 3", "extends is the name of another TOML file in quotes"),
        ("extends = 'my.toml'", "the files extend each other in a circle"),
        (
            "extends = 'my'",
            f"No such file or directory; the configurations that TosLoc ships are {NAMES}",
        ),
        ("# \xff", "not valid TOML: 'utf-8' codec can't decode byte 0xff"),
    ],
)
def test_one_sentence_says_what_is_wrong_and_where(tmp_path, text, sentence):
    path = tmp_path / "my.toml"
    path.write_bytes(text.encode("latin-1"))
    (tmp_path / "base.toml").write_text("run = 1")
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    where = {"extends = 'base.toml'": "base.toml", "extends = 'my'": "my"}.get(text, "my.toml")
    assert re.fullmatch(
        rf"{tmp_path}/{where}: (.*: )?{re.escape(sentence)}[^\n]{{,1000}}", str(caught.value)
    )


def test_a_name_is_a_file_that_is_here_else_a_shipped_one_and_is_checked_with_what_it_extends(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.toml").write_text("[data]\nvalidation = 0.05")
    (tmp_path / "my.toml").write_text("extends = 'base.toml'\n[data]\ntrain = 0.9")
    data = load_config("my").data
    assert (data.train, data.validation) == (0.9, 0.05)
    # also the shipped one of its own name
    (tmp_path / "jdt.toml").write_text("extends = 'jdt'\n[run]\nseed = 9")
    assert (load_config("jdt").data.zone, load_config("jdt").run.seed) == ("America/New_York", 9)
    (tmp_path / "swt").mkdir()  # a folder is none
    for written in ("swt", "swt.toml"):
        assert load_config(written) == load_config(CONFIGS / "swt.toml")
    (tmp_path / "swt.toml").write_text("[data]\nzone = 'Europe/Oslo'")
    assert load_config("swt").data.zone == "Europe/Oslo"


# What a repository says of its own answers, and what it may not say


TEXT = "The parser loses the first byte of a socket\n\nParserService.openParser fails."


def test_settings_choose_what_is_shown(repository, tmp_path, monkeypatch):
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    words = toy.THEMES[:5]
    repository.commit(
        {toy.class_path(word): toy.class_source(word) for word in words}
        | {"tests/test_a.py": "parser = 1"}
    )
    parser, other = (
        toy.class_path("Parser"),
        toy.class_path(next(word for word in words if word != "Parser")),
    )
    with Localizer.open(repository.path) as opened:
        everything = opened.localize(TEXT)
        (repository.path / "pyproject.toml").write_text(
            f"[tool.tosloc]\nexclude = ['{parser}', 'gone/']\ntests = true\n"
        )
        shown = opened.localize(TEXT)
        assert {hit.path for hit in everything.hits} ^ {hit.path for hit in shown.hits} == {
            parser,
            "tests/test_a.py",
        }
        assert (
            len(opened.localize(TEXT, exclude=[other]).hits) == 5
        )  # an option goes before a setting
        (repository.path / ".tosloc.toml").write_text("min_share = 0.5\n")
        sure = opened.localize(TEXT)
        assert [hit.path for hit in sure.hits] == [parser]
        assert sure.hits[0].share == everything.hits[0].share > 0.5
        unsure = opened.localize(TEXT, min_share=0.999)
        assert (unsure.hits, unsure.notes[-1]) == (
            (),
            "nothing is sure enough: no file has a share of 100%",
        )


def test_what_is_wrong_is_one_sentence_and_nothing_outside_is_read(tmp_path):
    tree, own = tmp_path / "tree", tmp_path / "tree/.tosloc.toml"
    tree.mkdir()
    for text, wrong in (
        (
            "checkpoint = 'x'",
            "checkpoint: unknown key; known are include, exclude, tests, min_share",
        ),
        ("include = 'src'", "include: Input should be a list, as"),
        (f"include = ['{'x' * 201}']", "include.0: String should have at most 200 characters"),
        (f"include = {['x'] * 201}", "include: Tuple should have at most 200 items"),
        ("tests = 1", "tests: Input should be a valid boolean"),
        ("min_share = nan", "min_share: Input should be a finite number"),
        ("= 1", "cannot be read"),
    ):
        own.write_text(text)
        with pytest.raises(ConfigError, match=rf"\A.tosloc.toml of the repository:? {wrong}"):
            read_answer_settings(tree)
    own.unlink()
    (tmp_path / "outside.toml").write_text("tests = true\n")
    own.symlink_to(tmp_path / "outside.toml")
    (tree / "pyproject.toml").write_text("[tool]\ntosloc = 3\n")
    with pytest.raises(
        ConfigError, match=r"pyproject.toml of the repository: Input should be a valid dictionary"
    ):
        read_answer_settings(tree)
    (tree / "pyproject.toml").write_text("tool = 3\n")
    assert read_answer_settings(tree) == read_answer_settings(None) == {}
