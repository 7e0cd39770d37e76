import pytest

from conftest import repository as shop_at


@pytest.fixture(scope="package")
def shop(tmp_path_factory):
    """Create a small repository and return its path."""
    return shop_at(tmp_path_factory.mktemp("agents") / "shop")
