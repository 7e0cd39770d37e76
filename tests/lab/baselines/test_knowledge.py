"""What changes the answers of every technique, and what must not; and the files of their settings."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tests.lab.baselines import leaks
from tests.lab.baselines.by_hand import Bug, Commit, context, scores
from tests.lab.baselines.techniques import CONFIGS, KINDS, build, maker
from tosloc.errors import ConfigError
from tosloc.lab.baseline_runs import choose_techniques

FAIR = [*((name, {}) for name in KINDS), ("bluir", {"profile": "upstream"})]
"""Those that see nothing they should not."""
LEAKING = [("buglocator", {}), ("brtracer", {}), ("blia", {"lose_similar": False})]
"""Those whose public code cuts fixes at the own fix, and weighs terms over all reports."""


@pytest.mark.parametrize(("name", "values"), FAIR)
def test_later_fixes_reports_and_labels_and_the_order_of_the_data_change_nothing(
    name: str, values: dict[str, object], tmp_path: Path
) -> None:
    make = maker(name, tmp_path, **values)
    assert not leaks.sees_the_fix_between(make)
    assert not leaks.sees_what_comes_later(make)
    assert not leaks.sees_the_order(make)
    assert not leaks.sees_the_labels(make)


@pytest.mark.parametrize(("name", "values"), LEAKING)
def test_upstream_leaks_but_neither_order_nor_labels(name: str, values: dict[str, object], tmp_path: Path) -> None:
    make = maker(name, tmp_path, profile="upstream", **values)
    assert leaks.sees_the_fix_between(make, "fix_order")
    assert leaks.sees_what_comes_later(make, "fix_order")
    assert KINDS[name].upstream_cutoff == "fix_order"
    assert not leaks.sees_the_order(make)
    assert not leaks.sees_the_labels(make)


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if not kind.learned])
def test_statistics_are_those_of_the_version(name: str) -> None:
    bugs = [Bug("1", "alpha beta", 1, 2, ["A.java"])]
    files = {"A.java": "class Alpha { int beta; }", "B.java": "class Beta { }"}
    later = Commit("later", 5, {"C.java": "class Alpha { int alpha, alphaBeta; }", "B.java": "class Alpha { }"})
    one, other = (build(name, context(files, bugs, commits)) for commits in ([], [later]))
    assert scores(one, "1") == scores(other, "1")


@pytest.mark.parametrize("name", KINDS)
def test_the_file_of_settings_holds_every_key_and_the_defaults(name: str) -> None:
    model, file = KINDS[name].Settings, CONFIGS / f"{name}.toml"
    if model.NO_UPSTREAM:
        with pytest.raises(ConfigError, match=r"has no (upstream profile|public code)"):
            choose_techniques([name], "upstream", CONFIGS)
    for profile in ("clean",) if model.NO_UPSTREAM else ("clean", "upstream"):
        [chosen] = choose_techniques([name], profile, CONFIGS)
        assert chosen.settings == model.of({"profile": profile}, "test")
    lines = file.read_text(encoding="utf-8").splitlines()
    shown = [line.removeprefix("# ") if re.match(r"# \w+ = ", line) else line for line in lines]
    values = tomllib.loads("\n".join(shown))
    assert set(values) == set(model.model_fields)
    assert model.of(values, str(file)) == model()
