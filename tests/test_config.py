import tomllib
from pathlib import Path
from typing import Any

import pytest

from tosloc.config import Config, load_config
from tosloc.errors import ConfigError

CONFIGS = Path(__file__).parents[1] / "configs"


def flat(values: dict[str, Any], section: str = "") -> dict[str, Any]:
    """Keys with their section, such as stage_one.fit."""
    result: dict[str, Any] = {}
    for key, value in values.items():
        name = f"{section}.{key}" if section else key
        result |= flat(value, name) if isinstance(value, dict) else {name: value}
    return result


def test_default_file_and_defaults_agree_both_ways() -> None:
    written = flat(tomllib.loads((CONFIGS / "default.toml").read_text()))
    assert written == flat(Config().as_dict())
    assert load_config(CONFIGS / "default.toml") == Config()


def test_every_shipped_file_loads() -> None:
    zones = {path.stem: load_config(path).data.zone for path in CONFIGS.glob("*.toml")}
    assert zones == {
        "default": "UTC",
        "paper": "UTC",
        "pool": "UTC",
        "second": "UTC",
        "smoke": "UTC",
        "tomcat": "UTC",
        "swt": "America/New_York",
        "jdt": "America/New_York",
        "birt": "America/New_York",
    }


def test_a_file_changes_only_what_it_holds() -> None:
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


def test_the_second_stage_that_was_measured_is_the_default_one() -> None:
    assert load_config(CONFIGS / "second.toml") == Config()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "[stage_one.evolution]\ngeneratoins = 3",
            "[stage_one.evolution]: unknown key 'generatoins', did you mean 'generations'?",
        ),
        ("[run]\nxyzzy = 9", "[run]: unknown key 'xyzzy'; known are jobs, seed"),
        ("[run]\nseed = 'x'", "[run]: seed should be a valid integer, not 'x'"),
        ("[run]\njobs = 0", "[run]: jobs: a number of processes, or -1 for every core"),
        ("[stage_one]\nmethod = 'deep'", "[stage_one]: method should be 'linear' or 'paper', not 'deep'"),
        ("[stage_one]\nfeatures = [3]", "[stage_one]: features should be a text in quotes, not 3"),
        ("[stage_one]\nfeatures = ['a', 'a']", "[stage_one]: features: a feature stands in the list twice"),
        ("run = 3", ": run is a section, [run]"),
        (
            "[data]\nzone = 'Mars/Olympus'",
            "[data]: zone: no time zone is called 'Mars/Olympus'; write one such as 'America/New_York'",
        ),
        ("[data]\nsuffixes = ['java']", "[data]: suffixes: a suffix starts with a dot, such as '.java', not 'java'"),
        ("[data]\ntrain = 0.95", "[data]: train 0.95 and validation 0.1 leave nothing for test"),
        ("extends = 3", ": extends is the name of another TOML file in quotes, not 3"),
        ("seed =", ": not valid TOML: Invalid value (at end of document)"),
    ],
)
def test_one_sentence_says_what_is_wrong_and_where(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "my.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert str(caught.value).replace(f"{path} [", "[").replace(f"{path}: ", ": ") == sentence


def test_an_error_names_the_file_that_holds_it(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text("[run]\nsede = 1")
    (tmp_path / "my.toml").write_text("extends = 'base.toml'")
    with pytest.raises(ConfigError, match=r"base\.toml \[run\]: unknown key 'sede', did you mean 'seed'\?"):
        load_config(tmp_path / "my.toml")


def test_keys_that_fit_only_together_are_checked_together(tmp_path: Path) -> None:
    (tmp_path / "base.toml").write_text("[data]\nvalidation = 0.05")
    (tmp_path / "my.toml").write_text("extends = 'base.toml'\n[data]\ntrain = 0.9")
    assert load_config(tmp_path / "my.toml").data.train == 0.9
    assert load_config(tmp_path / "my.toml").data.validation == 0.05


def test_a_file_may_extend_the_shipped_one_of_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "tomcat.toml").write_text("extends = 'tomcat'\n[run]\nseed = 9")
    ours, shipped = load_config(tmp_path / "tomcat.toml"), load_config("tomcat")
    assert ours.run.seed == 9 != shipped.run.seed
    assert ours.stage_two == shipped.stage_two
    (tmp_path / "mine.toml").write_text("extends = 'mine'")
    with pytest.raises(ConfigError, match=r"the configurations that TosLoc ships are .*, tomcat"):
        load_config(tmp_path / "mine.toml")
    (tmp_path / "mine.toml").write_text("extends = 'mine.toml'")
    with pytest.raises(ConfigError, match="in a circle"):
        load_config(tmp_path / "mine.toml")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("extends = 'b.toml'")
    (tmp_path / "b.toml").write_text("extends = 'a.toml'")
    (tmp_path / "c.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="in a circle"):
        load_config(tmp_path / "a.toml")
    with pytest.raises(ConfigError, match="not valid TOML"):
        load_config(tmp_path / "c.toml")
    with pytest.raises(ConfigError, match="cannot read the configuration: No such file"):
        load_config(tmp_path / "d.toml")


def test_a_shipped_configuration_is_known_by_its_name_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    swt = load_config(CONFIGS / "swt.toml")
    assert load_config("swt") == load_config("swt.toml") == swt
    (tmp_path / "my").mkdir()
    for name in ("swt", "swt.toml"):
        (tmp_path / "my" / "own.toml").write_text(f"extends = '{name}'\n[run]\nseed = 8")
        own = load_config(tmp_path / "my" / "own.toml")
        assert own == swt.model_copy(update={"run": own.run})
        assert own.run.seed == 8


@pytest.mark.parametrize("written", ["swt", "swt.toml"])
def test_a_file_that_is_here_comes_before_a_shipped_one_and_a_folder_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "swt").mkdir()
    assert load_config(written).data.zone == "America/New_York"
    (tmp_path / "swt.toml").write_text("[data]\nzone = 'Europe/Oslo'")
    assert load_config(written).data.zone == "Europe/Oslo"
    (tmp_path / "own.toml").write_text(f"extends = '{written}'")
    assert load_config("own").data.zone == "Europe/Oslo"


@pytest.mark.parametrize("name", ["tomact", "configs/tomcat.toml"])
def test_a_name_that_there_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as caught:
        load_config(name)
    names = "birt, default, jdt, paper, pool, second, smoke, swt, tomcat"
    assert str(caught.value) == (
        f"{Path(name)}: cannot read the configuration: No such file or directory; the configurations that TosLoc ships"
        f" are {names}"
    )
