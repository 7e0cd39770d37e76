"""A cluster of separate processes on this machine, ended with the test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from scripts.local_cluster import LocalCluster


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """One that has not been started."""
    with LocalCluster(tmp_path_factory.mktemp("dask")) as made:
        yield made


@pytest.fixture
def two(cluster: LocalCluster) -> LocalCluster:
    """A scheduler and two workers."""
    cluster.start(2)
    return cluster
