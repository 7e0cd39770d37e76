"""What stands beside an answer: the project's past, and files that are no sources."""

from datetime import UTC, datetime

import pytest

from tests.conftest import FIRST_TIME, HOUR
from tosloc import Localizer
from tosloc.core.records import Background, BugReport, Person
from tosloc.storage.repository import LARGEST_OTHER

CART = "def add_item(cart, item):\n    cart.append(item)\n"
REPORT = "The cart forgets an item\n\nadd_item forgets an item that is equal to another."
TITLE = "Fix #7: the cart forgets an item that comes twice"


@pytest.fixture
def shop(repository):
    """Ids of the commits; the last one is a day later than the others."""
    files = {
        f"shop/{name}.py": f"def {name}(value):\n    return value\n"
        for name in "bill door clock shelf".split()
    }
    files |= {
        "tests/test_cart.py": "import cart\n",
        "tests/test_shop.py": "import shop\n",
        "shop/cart.py": CART,
    }
    files[".mailmap"] = "Grace Hopper <grace@x.org> <g@y.org>\n"
    files[".github/CODEOWNERS"] = "* @all\nshop/cart.py @carts\n"
    grace, made = "G <g@y.org>", []
    for author, hours, changed, message in (
        ("Old <o@x.org>", 0, files, "Begin"),
        (
            grace,
            1,
            {"shop/cart.py": CART + "# twice\n", "tests/test_shop.py": "import shop, cart\n"},
            TITLE,
        ),
        ("Ada <ada@x.org>", 2, {"shop/cart.py": CART + "# of any kind\n"}, "Items of any kind"),
        ("robot[bot] <r@z.org>", 3, {"shop/cart.py": CART + "# formatted\n"}, "Format"),
        (grace, 27, {"shop/cart.py": CART + "# equal\n"}, "Fix #9: equal item forgotten by cart"),
    ):
        for path, text in changed.items():
            (repository.path / path).parent.mkdir(exist_ok=True)
            (repository.path / path).write_text(text)
        repository.environment["GIT_COMMITTER_DATE"] = f"{FIRST_TIME + HOUR * hours} +0000"
        repository.git("add", "-A")
        repository.git("commit", "-q", f"--author={author}", "-m", message)
        made.append(repository.git("rev-parse", "HEAD"))
    return made


def test_earlier_changes_people_owners_and_tests(repository, shop):
    with Localizer.open(repository.path) as localizer:
        answer = localizer.localize(REPORT)
        without = localizer.localize(REPORT, background=False)
        nothing = localizer.localize(REPORT, min_share=1.0).background
    assert answer.hits[0].path == "shop/cart.py"
    found = answer.background
    assert found is not None
    told = {one.commit: (one.issue, one.title, one.files, one.date) for one in found.earlier}
    assert told[shop[1]] == ("#7", TITLE, ("shop/cart.py", "tests/test_shop.py"), "2001-09-09")
    assert shop[4] in told
    assert found.people == (Person("Grace Hopper", "2001-09-10"), Person("Ada", "2001-09-09"))
    assert found.owners == ("@carts",)
    assert found.tests == ("tests/test_cart.py", "tests/test_shop.py")
    # not where it is not wanted, and no people of nothing
    assert (without.background, "background" in without.as_dict(), without.hits) == (
        None,
        False,
        answer.hits,
    )
    assert nothing == Background(found.earlier)


def test_nothing_later_than_the_opening_is_told(repository, shop):
    opened = datetime.fromtimestamp(FIRST_TIME + 2 * HOUR - 1, UTC)
    with Localizer.open(repository.path) as localizer:
        found = localizer.localize(BugReport("1", *REPORT.split("\n\n"), opened)).background
    assert found is not None
    assert [one.commit for one in found.earlier] == [shop[1]]
    assert [person.name for person in found.people] == ["Grace Hopper", "Old"]


# Files that are no sources: which a report names, and which share its words


FILES = {
    "shop/cart.py": "def add(item):\n    pass\n",
    "pyproject.toml": "[project]\nname = 'shop'\n",
    "README.md": "The shop and its checkout button.\n",
    "docs/README.md": "More of the shop.\n",
    "docs/logo.png": b"\x89PNG checkout voucher",
    ".github/workflows/tests.yml": "jobs: {tests: {}}\n",
    "shop/templates/checkout.html": "<button class='voucher'>Redeem voucher</button> or an error\n",
    "shop/static/site.css": "nav { colour: red }\n",
    "tests/data/voucher.json": '{"checkout": "voucher redeem button"}\n',
    "shop/prices.json": '{"voucher": "redeem checkout button"}' + " " * LARGEST_OTHER,
    **{f"locale/{number}/messages.properties": "title=Hello\n" for number in range(4)},
}


@pytest.mark.usefixtures("plain_folder")
def test_what_is_named_comes_first_then_what_shares_words_also_of_the_work_tree(repository):
    repository.commit(FILES)
    words = "No voucher can be redeemed by the checkout button"
    with Localizer.open(repository.path) as opened:
        for said, expected in (
            ("pyproject.toml lacks a licence, see README.", ["pyproject.toml", "README.md"]),
            (
                "The logo docs/logo.png is blurred; ./docs/README.md says so",
                ["docs/logo.png", "docs/README.md"],
            ),
            (
                "https://github.com/a/shop/blob/main/.github/workflows/tests.yml fails",
                [".github/workflows/tests.yml"],
            ),
            ("messages.properties is not translated", []),  # one of four, and no word of it
            (words, ["shop/templates/checkout.html"]),
            ("cart.py adds an item twice: a voucher error", []),
        ):
            others = opened.localize(said).others
            assert [hit.path for hit in others] == expected
            assert all(hit.why[0].kind in ("name", "words") for hit in others)
        (repository.path / "shop/templates/checkout.html").unlink()
        (repository.path / "shop/static/site.css").write_text(
            ".voucher, .redeem, .checkout, .button {}\n"
        )
        (repository.path / "new.toml").write_text("x = 1\n")
        answer = opened.localize(f"{words}; new.toml is ignored")
        assert [hit.path for hit in answer.others] == ["new.toml", "shop/static/site.css"]
        assert answer.searched.uncommitted == 3
        assert [hit.path for hit in opened.localize(words, commit="HEAD").others] == [
            "shop/templates/checkout.html"
        ]
        assert not opened.localize(words, include=["*.py"]).others
