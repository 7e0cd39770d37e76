"""Settings of an experiment: the shipped files, what extends what, and errors."""

import re
import tomllib
from pathlib import Path

import pytest

from tosloc.core.config import Config, load_config
from tosloc.core.errors import ConfigError

CONFIGS = Path(__file__).parents[2] / "configs"
SHIPPED = (
    "birt, coderankembed, default, jdt, paper, paper-eclipse, pretraining, qwen3-embedding, second,"
    " smoke, swt, tomcat, unixcoder"
)
NEW_YORK = "America/New_York"


# The shipped files


def test_the_default_file_has_every_default():
    assert tomllib.loads((CONFIGS / "default.toml").read_text()) == Config().as_dict()


@pytest.mark.parametrize("name", ["default", "second"])
def test_a_file_without_other_values_is_the_default_config(name):
    assert load_config(CONFIGS / f"{name}.toml") == Config()


def test_the_shipped_files_are_known_with_their_zones():
    zones = {path.stem: load_config(path).data.zone for path in CONFIGS.glob("*.toml")}
    expected = dict.fromkeys(SHIPPED.split(", "), "UTC")
    expected |= {"swt": NEW_YORK, "jdt": NEW_YORK, "birt": NEW_YORK}
    expected["paper-eclipse"] = NEW_YORK
    assert zones == expected


def test_the_first_stage_of_the_paper_file_is_the_papers():
    papers_values = {
        "method": "paper",
        "features": ("text", "trace", "history", "complexity"),
        "ranker": False,
        "fit": "differential_evolution",
    }
    paper = load_config(CONFIGS / "paper.toml")
    assert paper.stage_one == Config().stage_one.model_copy(update=papers_values)


def test_the_eclipse_file_of_the_paper_differs_in_the_zone_alone():
    paper = load_config(CONFIGS / "paper.toml")
    eclipse = load_config(CONFIGS / "paper-eclipse.toml")
    in_utc = eclipse.data.model_copy(update={"zone": "UTC"})
    assert eclipse.model_copy(update={"data": in_utc}) == paper
    assert paper.data.suffixes == (".java",)


def test_the_second_stage_of_the_paper_file_is_the_papers():
    stage_two = load_config(CONFIGS / "paper.toml").stage_two
    assert stage_two.code_encoder == "microsoft/codebert-base"
    assert stage_two.report_encoder == "roberta-base"
    assert stage_two.chunks == 10
    assert stage_two.chunk_tokens == 512
    assert stage_two.report_tokens == 512
    assert stage_two.training.learns == "both"


# Errors


@pytest.mark.parametrize(
    ("text", "file", "sentence"),
    [
        (
            "[run]\njobs = 0\nsede = 3",
            "my.toml",
            "run.sede: unknown key, did you mean 'run.seed'?",
        ),
        ("[xyzzy]", "my.toml", "xyzzy: unknown key; choose from data.zone, data.suffixes, "),
        (
            "[run]\njobs = 0",
            "my.toml",
            "run.jobs: must be a number of processes, or -1 for every core",
        ),
        (
            "[stage_one]\nmethod = 'deep'",
            "my.toml",
            "stage_one.method: Input should be 'linear' or 'paper'",
        ),
        (
            "[data]\nsuffixes = ['java']",
            "my.toml",
            "data.suffixes: a suffix must start with a dot, such as '.java'; 'java' does not",
        ),
        (
            "[data]\ntrain = 0.9",
            "my.toml",
            "data: train 0.9 and validation 0.1 leave no reports for the test",
        ),
        ("extends = 'base.toml'", "base.toml", "run: Input should be a valid dictionary"),
        ("extends = 3", "my.toml", "extends must be the name of another TOML file in quotes"),
        ("extends = 'my.toml'", "my.toml", "the files extend each other in a circle"),
        (
            "extends = 'my'",
            "my",
            f"No such file or directory; TosLoc ships the configurations {SHIPPED}",
        ),
        ("# \xff", "my.toml", "not valid TOML: 'utf-8' codec can't decode byte 0xff"),
    ],
    ids=[
        "misspelt key",
        "unknown section",
        "no jobs",
        "unknown method",
        "suffix without dot",
        "no test reports",
        "error in the extended file",
        "extends no name",
        "extends itself",
        "extends a missing file",
        "not UTF-8",
    ],
)
def test_an_error_is_one_sentence_with_file_and_key(tmp_path, text, file, sentence):
    path = tmp_path / "my.toml"
    path.write_bytes(text.encode("latin-1"))
    (tmp_path / "base.toml").write_text("run = 1")
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    expected = rf"{tmp_path}/{file}: (.*: )?{re.escape(sentence)}[^\n]{{,1000}}"
    assert re.fullmatch(expected, str(caught.value))


# Which file a name means


@pytest.fixture
def current_folder(tmp_path, monkeypatch):
    """Build an empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_file_extends_another_one_by_its_path(current_folder):
    (current_folder / "base.toml").write_text("[data]\nvalidation = 0.05")
    (current_folder / "my.toml").write_text("extends = 'base.toml'\n[data]\ntrain = 0.9")
    data = load_config("my").data
    assert data.train == 0.9
    assert data.validation == 0.05


def test_a_file_extends_the_shipped_one_of_its_own_name(current_folder):
    (current_folder / "jdt.toml").write_text("extends = 'jdt'\n[run]\nseed = 9")
    config = load_config("jdt")
    assert config.data.zone == NEW_YORK
    assert config.run.seed == 9


@pytest.mark.parametrize("name", ["swt", "swt.toml"])
def test_a_folder_does_not_hide_the_shipped_file_of_its_name(current_folder, name):
    (current_folder / "swt").mkdir()
    assert load_config(name) == load_config(CONFIGS / "swt.toml")


def test_a_file_here_comes_before_the_shipped_one_of_its_name(current_folder):
    (current_folder / "swt.toml").write_text("[data]\nzone = 'Europe/Oslo'")
    assert load_config("swt").data.zone == "Europe/Oslo"
