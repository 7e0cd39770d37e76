"""The checkpoints that are shipped: made by earlier versions, and still understood."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tosloc.localizer import Localizer
from tosloc.records import BugReport

SHIPPED = sorted(path.parent for path in (Path(__file__).parents[1] / "checkpoints").glob("*/weights.json"))
REPORT = BugReport("r", "Cookie is lost", "The table flickers when it is painted", datetime(2026, 1, 1, tzinfo=UTC))


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda folder: folder.name)
def test_what_an_earlier_version_learned_is_understood(folder: Path) -> None:
    record = json.loads((folder / "weights.json").read_text())
    two_before = json.loads((folder / "config.json").read_text()).get("stage_two", {})
    localizer = Localizer.load(folder)
    assert localizer.stage_one.weights.tolist() == list(record["weights"].values())
    assert (localizer.reranker_ is None) == ("stage_two" not in record)
    two = localizer.config.stage_two
    assert two.reranker == two_before.get("reranker", two_before.get("reader", "encoder"))
    if localizer.reranker_ is None:
        return
    terms = json.loads((folder / "terms/terms.json").read_text())
    reranker = localizer.reranker_
    assert reranker.name == two.reranker == "terms"
    assert (reranker.weight, reranker.trained_until) == (terms["mix"], terms["learned_until"])
    assert (reranker.depth, reranker.learned_on) == (terms["settings"]["candidates"], tuple(terms["learned_on"]))


def test_one_with_term_vectors_exists_and_loads_no_torch() -> None:
    with_terms = [folder for folder in SHIPPED if (folder / "terms").exists()]
    assert with_terms
    program = f"import sys; from tosloc.localizer import Localizer; Localizer.load({str(with_terms[0])!r})"
    done = subprocess.run([sys.executable, "-c", f"{program}; sys.exit('torch' in sys.modules)"], check=False)
    assert done.returncode == os.EX_OK


@pytest.mark.parametrize("folder", SHIPPED, ids=lambda folder: folder.name)
def test_it_carries_a_version_and_answers_from_it(folder: Path) -> None:
    localizer = Localizer.load(folder)
    assert localizer.version_ is not None
    answer = localizer.localize(REPORT)
    assert len(answer.ranking) == len(localizer.version_.snapshot)
    assert len(answer.top(3)) == 3
