import pytest

from tests import toy


@pytest.fixture(scope="session")
def project(tmp_path_factory):
    """Return a project of 24 classes with forty bugs, on which everything is trained."""
    return toy.make_project(tmp_path_factory.mktemp("toy"))
