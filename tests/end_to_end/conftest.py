import pytest

from tests import toy


@pytest.fixture(scope="session")
def project(tmp_path_factory):
    """Forty bugs in 24 classes, on which everything is trained."""
    return toy.make_project(tmp_path_factory.mktemp("toy"))
