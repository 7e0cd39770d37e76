"""What the project's past says beside an answer, on a small repository with several authors."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.conftest import FIRST_TIME, HOUR, GitRepository
from tosloc import Localizer
from tosloc.records import Background, BugReport, Person

CART = "def add_item(cart, item):\n    cart.append(item)\n"
REPORT = "The cart forgets an item\n\nadd_item forgets an item that is equal to another."


def commit_as(repository: GitRepository, author: str, number: int, files: dict[str, str], message: str) -> str:
    for path, text in files.items():
        (repository.path / path).parent.mkdir(parents=True, exist_ok=True)
        (repository.path / path).write_text(text)
    repository.environment["GIT_COMMITTER_DATE"] = f"{FIRST_TIME + HOUR * number} +0000"
    repository.git("add", "-A")
    repository.git("commit", "-q", f"--author={author}", "-m", message)
    return repository.git("rev-parse", "HEAD")


@pytest.fixture
def shop(repository: GitRepository) -> list[str]:
    """Ids of the commits; the last one is a day later than the others."""
    others = {
        f"shop/{name}.py": f"def {name}(value):\n    return value\n" for name in ("bill", "door", "clock", "shelf")
    }
    owners = {
        ".mailmap": "Grace Hopper <grace@x.org> <g@y.org>\n",
        ".github/CODEOWNERS": "* @all\nshop/cart.py @carts\n",
    }
    tests = {"tests/test_cart.py": "import cart\n", "tests/test_shop.py": "import shop\n"}
    ada, grace, robot = "Ada <ada@x.org>", "G <g@y.org>", "robot[bot] <r@z.org>"
    fixed = {"shop/cart.py": CART + "# twice\n", "tests/test_shop.py": "import shop, cart\n"}
    made = [commit_as(repository, "Old <o@x.org>", 0, {"shop/cart.py": CART, **others, **owners, **tests}, "Begin")]
    made.append(commit_as(repository, grace, 1, fixed, "Fix #7: the cart forgets an item that comes twice"))
    made.append(commit_as(repository, ada, 2, {"shop/cart.py": CART + "# of any kind\n"}, "Items of any kind"))
    made.append(commit_as(repository, robot, 3, {"shop/cart.py": CART + "# formatted\n"}, "Format"))
    made.append(
        commit_as(repository, grace, 27, {"shop/cart.py": CART + "# equal\n"}, "Fix #9: equal item forgotten by cart")
    )
    return made


def test_earlier_changes_people_owners_and_tests(repository: GitRepository, shop: list[str]) -> None:
    with Localizer.open(repository.path) as localizer:
        answer = localizer.localize(REPORT)
    assert answer.hits[0].path == "shop/cart.py"
    found = answer.background
    assert found is not None
    told = {one.commit: (one.issue, one.title, one.files, one.date) for one in found.earlier}
    title = "Fix #7: the cart forgets an item that comes twice"
    assert told[shop[1]] == ("#7", title, ("shop/cart.py", "tests/test_shop.py"), "2001-09-09")
    assert shop[4] in told
    assert found.people == (Person("Grace Hopper", "2001-09-10"), Person("Ada", "2001-09-09"))
    assert found.owners == ("@carts",)
    assert found.tests == ("tests/test_cart.py", "tests/test_shop.py")


def test_nothing_later_than_the_opening_is_told(repository: GitRepository, shop: list[str]) -> None:
    opened = datetime.fromtimestamp(FIRST_TIME + 2 * HOUR - 1, UTC)
    with Localizer.open(repository.path) as localizer:
        found = localizer.localize(BugReport("1", *REPORT.split("\n\n"), opened)).background
    assert found is not None
    assert [one.commit for one in found.earlier] == [shop[1]]
    assert [person.name for person in found.people] == ["Grace Hopper", "Old"]


def test_none_where_it_is_not_wanted_and_no_people_of_nothing(repository: GitRepository, shop: list[str]) -> None:
    with Localizer.open(repository.path) as localizer:
        without = localizer.localize(REPORT, background=False)
        nothing = localizer.localize(REPORT, min_share=1.0).background
        whole = localizer.localize(REPORT)
    assert without.background is None
    assert "background" not in without.as_dict()
    assert without.hits == whole.hits
    assert nothing is not None
    assert nothing == Background(nothing.earlier)
    assert nothing.earlier
