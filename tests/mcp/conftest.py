import pytest

from conftest import make_shop


@pytest.fixture(scope="package")
def shop(tmp_path_factory):
    """Create a small repository and return its path."""
    return make_shop(tmp_path_factory.mktemp("agents") / "shop")
