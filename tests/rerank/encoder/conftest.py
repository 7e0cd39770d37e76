"""Encoders for the tests of stage two."""

import socket
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest
import torch

from tests.rerank.encoder.tiny import write_encoder

# on models this small a second thread gains nothing, and waits where others use the processor
torch.set_num_threads(1)


@pytest.fixture(scope="session")
def encoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture
def make_encoder(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    return lambda **options: write_encoder(tmp_path_factory.mktemp("encoder"), **options)


@pytest.fixture
def asked_hosts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Hosts that anything has wanted to reach; none is reached."""
    hosts: list[str] = []

    def refuse(host: str, *_: object, **__: object) -> NoReturn:
        hosts.append(host)
        raise socket.gaierror(socket.EAI_NONAME, "no host is reached in tests")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return hosts
