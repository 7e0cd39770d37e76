"""What changes the answers of every technique, and what must not; and the files of their settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab.baselines import leaks
from tests.lab.baselines.techniques import CONFIGS, KINDS, maker
from tosloc.lab.baselines.context import load_settings

FAIR = [
    pytest.param(name, values, id=" ".join([name, *(str(value) for value in values.values())]))
    for name, values in [
        *((name, {}) for name in KINDS),
        ("bluir", {"profile": "upstream"}),
    ]
]
"""Those that see nothing they should not."""
LEAKING = [
    pytest.param("buglocator", {}, id="buglocator"),
    pytest.param("brtracer", {}, id="brtracer"),
    pytest.param("blia", {"lose_similar": False}, id="blia"),
]
"""Those whose public code cuts fixes at the own fix, and weighs terms over all reports."""


@pytest.mark.parametrize(("name", "values"), FAIR)
class TestFair:
    def test_fixes_after_the_opening(self, name: str, values: dict[str, object], tmp_path: Path) -> None:
        assert not leaks.sees_the_fix_between(maker(name, tmp_path, **values))

    def test_later_reports(self, name: str, values: dict[str, object], tmp_path: Path) -> None:
        assert not leaks.sees_what_comes_later(maker(name, tmp_path, **values))

    def test_the_order_of_the_data(self, name: str, values: dict[str, object], tmp_path: Path) -> None:
        assert not leaks.sees_the_order(maker(name, tmp_path, **values))

    def test_the_labels(self, name: str, values: dict[str, object], tmp_path: Path) -> None:
        assert not leaks.sees_the_labels(maker(name, tmp_path, **values))


@pytest.mark.parametrize(("name", "values"), LEAKING)
class TestUpstream:
    def test_leaks(self, name: str, values: dict[str, object], tmp_path: Path) -> None:
        make = maker(name, tmp_path, profile="upstream", **values)
        assert leaks.sees_the_fix_between(make, "fix_order")
        assert leaks.sees_what_comes_later(make, "fix_order")
        assert KINDS[name].upstream_cutoff == "fix_order"

    def test_neither_order_nor_labels_change_an_answer(
        self, name: str, values: dict[str, object], tmp_path: Path
    ) -> None:
        make = maker(name, tmp_path, profile="upstream", **values)
        assert not leaks.sees_the_order(make)
        assert not leaks.sees_the_labels(make)


@pytest.mark.parametrize("name", KINDS)
def test_the_file_of_settings_holds_every_key_and_the_defaults(name: str) -> None:
    model, file = KINDS[name].Settings, CONFIGS / f"{name}.toml"
    assert load_settings(model, file, "clean") == model() == leaks.every_key(model, file)


@pytest.mark.parametrize("name", [name for name in KINDS if not KINDS[name].Settings.NO_UPSTREAM])
def test_the_file_of_settings_under_the_other_profile(name: str) -> None:
    model = KINDS[name].Settings
    assert load_settings(model, CONFIGS / f"{name}.toml", "upstream") == model.of({"profile": "upstream"}, "test")
