"""Files that belong to the first ones of a ranking."""

import pytest

from tosloc import Localizer
from tosloc.localize.question import Question
from tosloc.rank.explain.related_files import relate_files

FILES = {
    "shop/cart.py": "def total():\n    return roundPrice(1)\n",
    "shop/bill.py": "def bill():\n    return 1\n",
    "core/rounding.py": "def roundPrice(price):\n    return price\n",
    "core/mail.py": "def send():\n    return 2\n",
}


@pytest.fixture
def related(repository, monkeypatch, tmp_path):
    """Return a function that yields the files related to the cart, the best first."""
    monkeypatch.setenv("TOSLOC_CACHE", str(tmp_path / "cache"))
    for path, text in FILES.items():
        repository.commit({path: text})
    repository.commit(
        {
            "shop/cart.py": FILES["shop/cart.py"] + "\nA = 1\n",
            "core/mail.py": FILES["core/mail.py"] + "\nA = 1\n",
        }
    )
    with Localizer.open(repository.path) as localizer:
        context = localizer.rank(Question("total is wrong")).stage_one.context
    names = list(context.version.snapshot.paths)

    def values(code=()):
        result = relate_files(context, [names.index("shop/cart.py")], code)
        return dict(zip(names, result.tolist(), strict=True))

    return values


def test_file_that_defines_a_called_name_is_related(related):
    assert related()["core/rounding.py"] == 0
    assert related(["return roundPrice(1)"])["core/rounding.py"] == 1


def test_file_that_changed_with_the_first_one_is_related(related):
    assert related()["core/mail.py"] == 1


def test_file_of_the_same_folder_is_related(related):
    assert related()["shop/bill.py"] == 1
