"""Encoders for the tests of stage two."""

import socket

import pytest
import torch

from tests.rerank.encoder.tiny import write_encoder

# On models this small a second thread gains nothing, and waits where others use the processor.
torch.set_num_threads(1)


@pytest.fixture(scope="session")
def encoder_folder(tmp_path_factory):
    """Return a folder with a tiny encoder, which no test changes."""
    return write_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture
def make_encoder(tmp_path_factory):
    """Return a function that writes a tiny encoder into a new folder."""
    return lambda **options: write_encoder(tmp_path_factory.mktemp("encoder"), **options)


@pytest.fixture
def requested_hosts(monkeypatch):
    """Return names of the hosts that anything wanted to reach; none is reached."""
    hosts = []

    def refuse(host, *_, **__):
        hosts.append(host)
        raise socket.gaierror(socket.EAI_NONAME, "no host is reached in tests")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return hosts
