"""What every learned technique keeps to: it finishes what was begun, reads what is finished, and has to be fitted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.lab.baselines.by_hand import case, scores
from tests.lab.baselines.techniques import KINDS, build, fitted, parts, project
from tosloc.errors import ToslocError
from tosloc.lab.baselines.context import ParsedFiles
from tosloc.lab.baselines.training import Training

LEARNED = [name for name, kind in KINDS.items() if kind.learned]


@pytest.mark.parametrize("name", LEARNED)
def test_the_order_of_reading_does_not_matter(name: str, tmp_path: Path) -> None:
    made = project()
    sources = made.files.sources[::-1]
    rows = {blob: len(sources) - 1 - row for blob, row in made.files.row_of_blob.items()}
    turned = replace(made, files=ParsedFiles(sources, rows))
    one, other = scores(fitted(name, made, tmp_path / "1"), "3"), scores(fitted(name, turned, tmp_path / "2"), "3")
    assert one == pytest.approx(other, abs=1e-4)


@pytest.mark.parametrize(("name", "other"), [("dnnloc", {"combiner_hidden": 6}), ("dreamloc", {"fusion_hidden": 8})])
def test_a_finished_folder_is_only_read(
    name: str, other: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = project()
    first = scores(fitted(name, made, tmp_path), "3")
    monkeypatch.setattr(Training, "learn", None)
    assert scores(fitted(name, made, tmp_path), "3") == first
    with pytest.raises(TypeError):  # other settings: what is there does not count
        fitted(name, made, tmp_path, **other)


FIRST_EPOCH = ("learning word vectors", "dreamloc, epoch 1")


@pytest.mark.parametrize(
    ("name", "stop", "finished"),
    [
        ("dnnloc", "relevancy, random, epoch 2", "relevancy, random, epoch 2"),
        ("dreamloc", "dreamloc, epoch 1", FIRST_EPOCH),
        *(
            pytest.param(*row, marks=pytest.mark.slow)
            for row in (
                ("dnnloc", "projection of code, epoch 1", "projection of code, epoch 1"),
                ("dnnloc", "combiner, random, versions, epoch 3", "combiner, random, versions, epoch 3"),
                ("dreamloc", "features for training", ()),
                ("dreamloc", "dreamloc, epoch 3", FIRST_EPOCH),
            )
        ),
    ],
)
def test_a_killed_training_goes_on_to_the_same_end(
    name: str, stop: str, finished: str | tuple[str, ...], tmp_path: Path
) -> None:
    made = project()
    whole = scores(fitted(name, made, tmp_path / "whole"), "3")

    def kill(what: str, done: int, total: int) -> None:
        if what.startswith(stop):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(name, made).fit(*parts(made), tmp_path / "killed", kill)
    later: list[str] = []
    again = build(name, made)
    again.fit(*parts(made), tmp_path / "killed", lambda what, done, total: later.append(what))
    assert scores(again, "3") == whole
    assert not any(what.startswith(finished) for what in later)


@pytest.mark.parametrize(("name", "said"), [("dnnloc", "two training reports"), ("dreamloc", "one for validation")])
def test_it_has_to_be_fitted_and_needs_reports(name: str, said: str, tmp_path: Path) -> None:
    made = project()
    with pytest.raises(ToslocError, match="fitted"):
        scores(build(name, made), "3")
    with pytest.raises(ToslocError, match=said):
        build(name, made).fit([case(made, "1")], [], tmp_path)
