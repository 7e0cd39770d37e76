"""``scripts/gpu_check.sh``, with encoders that are small enough for a CPU."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from scripts import gpu_check_parts

ROOT = Path(__file__).parents[3]


@pytest.fixture
def results(tmp_path):
    """Return the results of the script, and what it printed."""
    process = subprocess.run(
        ["bash", "scripts/gpu_check.sh", "--tiny", "--steps", "3", "--out", tmp_path / "out.json"],
        cwd=ROOT,
        env=os.environ | {"PYTHON": sys.executable},
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads((tmp_path / "out.json").read_text()), process.stdout


def run_with_python(python):
    """Run the script with another Python, and return the ended process."""
    return subprocess.run(
        ["bash", "scripts/gpu_check.sh"],
        cwd=ROOT,
        env=os.environ | {"PYTHON": str(python)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_python_without_torch_is_refused_in_one_sentence(tmp_path):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    process = run_with_python(python)
    assert process.returncode == 2
    assert process.stderr.startswith("gpu_check.sh: the GPU check needs torch")
    assert process.stderr.count("\n") == 1


def test_a_missing_python_is_named_with_the_script_that_installs_it():
    process = run_with_python("missing/python")
    assert process.returncode == 2
    assert process.stderr.startswith(
        "gpu_check.sh: missing/python is missing; run bash scripts/test.sh"
    )


@pytest.mark.slow
def test_every_check_passes_on_a_cpu(results):
    values, output = results
    rows = values["precisions"]
    assert [row["precision"] for row in rows] == ["float16", "bfloat16", "float32"]
    assert all(row["steps a second"] > 0 for row in rows)
    assert all(row["peak GiB"] > 0 for row in rows)
    assert values["losses"]["passed"]
    assert values["losses"]["largest difference"] <= 0.1
    assert values["resume"] == {"was killed": True, "largest difference": 0, "passed": True}
    assert values["rerankings"] == {"largest difference": 0, "passed": True}
    assert output.splitlines()[-1] == "passed"


def test_the_made_up_project_is_the_same_each_time():
    first = gpu_check_parts.MadeUpProject.make(gpu_check_parts.TINY, 2)
    second = gpu_check_parts.MadeUpProject.make(gpu_check_parts.TINY, 2)
    assert first.texts == second.texts
    for left, right in zip(first.reports, second.reports, strict=True):
        assert left.report == right.report
        assert left.blobs == right.blobs
        assert np.array_equal(left.fixed, right.fixed)


@pytest.mark.parametrize(
    ("has_bfloat16", "precisions"),
    [(True, ["float16", "bfloat16", "float32"]), (False, ["float16", "float32"])],
    ids=["A100", "V100"],
)
def test_an_emulated_precision_is_not_measured(monkeypatch, has_bfloat16, precisions):
    state = SimpleNamespace(device=torch.device("cuda", 0))
    monkeypatch.setattr(gpu_check_parts, "process_state", lambda: state)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: has_bfloat16)
    assert gpu_check_parts.measured_precisions() == precisions


@pytest.mark.parametrize(("loss", "passed"), [(1.95, True), (1.7, False), (math.nan, False)])
def test_losses_in_low_precision_are_near_those_in_float32(loss, passed):
    rows = [{"loss": loss}, {"loss": 1.9}]
    assert gpu_check_parts.check_losses(rows)["passed"] == passed


def test_a_training_that_ends_before_it_is_killed_is_no_check(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", ""])
    assert not gpu_check_parts.kill_after_an_epoch(process, tmp_path)
