"""Encoders for the tests of stage two."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from tests.reranking.encoder.tiny import write_encoder

# on models this small a second thread gains nothing, and waits where others use the processor
torch.set_num_threads(1)


@pytest.fixture(scope="session")
def encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture
def make_encoder(tmp_path: Path) -> Callable[..., Path]:
    count = 0

    def make(**options) -> Path:
        nonlocal count
        count += 1
        return write_encoder(tmp_path / f"encoder{count}", **options)

    return make
