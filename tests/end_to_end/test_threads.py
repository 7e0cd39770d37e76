"""The number of threads of the linear algebra libraries changes no byte of what is learned or ranked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import toy

pytestmark = pytest.mark.slow

# large enough that the libraries would split the products
SETTINGS = """
[data]
train = 0.6
validation = 0.2
[stage_two]
reranker = "terms"
[run]
jobs = 1
"""


def trained(made: toy.Toy, settings: Path, threads: int) -> dict[str, bytes]:
    """What training with so many threads writes: file -> its bytes, without the seconds."""
    out = made.git.path.parent / f"threads-{threads}"
    environment = os.environ | {
        name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    }
    environment.pop("OMP_THREAD_LIMIT", None)
    arguments = ["train", settings, "--repo", made.git.path, "--reports", made.reports()]
    command = [sys.executable, "-m", "tosloc", *map(str, arguments), "--out", str(out), "--keep-features"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return {
        str(path.relative_to(out)): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and path.name != "seconds.json"
    }


def test_the_same_bytes_with_one_thread_and_two(tmp_path: Path) -> None:
    made = toy.grow(tmp_path, bugs=120, themes=24)
    settings = tmp_path / "settings.toml"
    settings.write_text(SETTINGS)
    one, two = (trained(made, settings, threads) for threads in (1, 2))
    assert one.keys() == two.keys()
    assert [name for name in one if one[name] != two[name]] == []


FIT = """
import numpy as np
from tosloc.rank.fitting import fit_listwise
from tosloc.rank.feature_tables import RankingLists

rng = np.random.default_rng(1)
lists = []
for _ in range(60):
    rows = rng.random((1000, 31), dtype=np.float32)
    fixed = np.zeros(1000, dtype=bool)
    fixed[np.argsort(rows[:, :3].sum(axis=1) + rng.random(1000))[-2:]] = True
    lists.append((rows, fixed))
print(fit_listwise(RankingLists.of(lists)).tobytes().hex())
"""


def test_the_same_weights_with_one_thread_and_two() -> None:
    fitted = set()
    for threads in ("1", "2"):
        environment = os.environ | {"OMP_NUM_THREADS": threads, "OPENBLAS_NUM_THREADS": threads}
        environment.pop("OMP_THREAD_LIMIT", None)
        done = subprocess.run([sys.executable, "-c", FIT], env=environment, capture_output=True, text=True, check=True)
        fitted.add(done.stdout)
    assert len(fitted) == 1
