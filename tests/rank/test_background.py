"""What an answer shows beside its ranking: the project's past, and files that are no source."""

from datetime import UTC, date, datetime

import pytest

from tests.conftest import FIRST_TIME, HOUR
from tosloc import Localizer
from tosloc.core.answers import Background
from tosloc.core.reports import BugReport
from tosloc.storage.repository import MAX_OTHER_BYTES

CART = "def add_item(cart, item):\n    cart.append(item)\n"
REPORT = "The cart forgets an item\n\nadd_item forgets an item that is equal to another."
TITLE = "Fix #7: the cart forgets an item that comes twice"


@pytest.fixture
def shop_commits(repository):
    """Return the ids of five commits; the last one is a day later than the others."""
    files = {}
    for name in ("bill", "door", "clock", "shelf"):
        files[f"shop/{name}.py"] = f"def {name}(value):\n    return value\n"
    files["tests/test_cart.py"] = "import cart\n"
    files["tests/test_shop.py"] = "import shop\n"
    files["shop/cart.py"] = CART
    files[".mailmap"] = "Grace Hopper <grace@x.org> <g@y.org>\n"
    files[".github/CODEOWNERS"] = "* @all\nshop/cart.py @carts\n"
    kinds = {"shop/cart.py": CART + "# of any kind\n", "tests/__init__.py": "# kinds\n"}
    twice = {"shop/cart.py": CART + "# twice\n", "tests/test_shop.py": "import shop, cart\n"}
    grace = "G <g@y.org>"
    history = [
        ("Old <o@x.org>", 0, files, "Begin"),
        (grace, 1, twice, TITLE),
        ("Ada <ada@x.org>", 2, kinds, "Items of any kind"),
        ("robot[bot] <r@z.org>", 3, {"shop/cart.py": CART + "# formatted\n"}, "Format"),
        (grace, 27, {"shop/cart.py": CART + "# equal\n"}, "Fix #9: equal item forgotten by cart"),
    ]
    commits = []
    for author, hours, changed, message in history:
        for path, text in changed.items():
            (repository.path / path).parent.mkdir(exist_ok=True)
            (repository.path / path).write_text(text)
        repository.environment["GIT_COMMITTER_DATE"] = f"{FIRST_TIME + HOUR * hours} +0000"
        repository.git("add", "-A")
        repository.git("commit", "-q", f"--author={author}", "-m", message)
        commits.append(repository.git("rev-parse", "HEAD"))
    return commits


@pytest.fixture
def localizer(repository, shop_commits):
    """Yield a localizer of the shop's newest commit."""
    with Localizer.open(repository.path) as opened:
        yield opened


@pytest.fixture
def background(localizer):
    """Return the background of the answer to the report; shop/cart.py is its first file."""
    answer = localizer.localize(REPORT)
    assert answer.hits[0].path == "shop/cart.py"
    assert answer.background is not None
    return answer.background


def test_earlier_changes_have_their_issue_subject_files_and_date(background, shop_commits):
    by_commit = {change.commit: change for change in background.earlier}
    change = by_commit[shop_commits[1]]
    assert change.issue == "#7"
    assert change.subject == TITLE
    assert change.files == ("shop/cart.py", "tests/test_shop.py")
    assert change.committed.date() == date(2001, 9, 9)
    assert shop_commits[4] in by_commit


def test_people_are_the_last_who_changed_the_file_without_bots(background):
    people = [(person.name, person.committed.date()) for person in background.people]
    assert people == [("Grace Hopper", date(2001, 9, 10)), ("Ada", date(2001, 9, 9))]


def test_owners_are_those_of_codeowners(background):
    assert background.owners == ("@carts",)


def test_tests_named_like_the_file_come_before_those_changed_with_it(background):
    assert background.tests == ("tests/test_cart.py", "tests/test_shop.py")


def test_an_answer_has_no_background_if_none_is_wanted(localizer):
    answer = localizer.localize(REPORT)
    without = localizer.localize(REPORT, background=False)
    assert without.background is None
    assert "background" not in without.as_dict()
    assert without.hits == answer.hits


def test_an_answer_without_files_has_earlier_changes_alone(localizer, background):
    assert localizer.localize(REPORT, min_confidence=1.0).background == Background(
        background.earlier
    )


def test_background_has_nothing_later_than_the_opening(localizer, shop_commits):
    opened = datetime.fromtimestamp(FIRST_TIME + 2 * HOUR - 1, UTC)
    summary, description = REPORT.split("\n\n")
    found = localizer.localize(BugReport("1", summary, description, opened)).background
    assert found is not None
    assert [change.commit for change in found.earlier] == [shop_commits[1]]
    assert [person.name for person in found.people] == ["Grace Hopper", "Old"]


# Files that are no source: those that a report names, then those that share its words

FILES = {
    "shop/cart.py": "def add(item):\n    pass\n",
    "pyproject.toml": "[project]\nname = 'shop'\n",
    "README.md": "The shop and its checkout button.\n",
    "docs/README.md": "More of the shop.\n",
    "docs/logo.png": b"\x89PNG checkout voucher",
    ".github/workflows/tests.yml": "jobs: {tests: {}}\n",
    "shop/templates/checkout.html": "<button class='voucher'>Redeem voucher</button> or an error\n",
    "shop/static/site.ini": "[nav]\ncolour = red\n",
    "tests/data/voucher.json": '{"checkout": "voucher redeem button"}\n',
    "shop/prices.json": '{"voucher": "redeem checkout button"}' + " " * MAX_OTHER_BYTES,
    **{f"locale/{number}/messages.properties": "title=Hello\n" for number in range(4)},
}
WORDS = "No voucher can be redeemed by the checkout button"


@pytest.fixture
def committed_files(repository, plain_folder):
    """Return a repository with the committed ``FILES`` in a plain folder."""
    repository.commit(FILES)
    return repository


@pytest.mark.parametrize(
    ("report", "paths"),
    [
        ("pyproject.toml lacks a licence, see README.", ["pyproject.toml", "README.md"]),
        (
            "The logo docs/logo.png is blurred; ./docs/README.md says so",
            ["docs/logo.png", "docs/README.md"],
        ),
        (
            "https://github.com/a/shop/blob/main/.github/workflows/tests.yml fails",
            [".github/workflows/tests.yml"],
        ),
        ("messages.properties is not translated", []),
        (WORDS, ["shop/templates/checkout.html"]),
        ("cart.py adds an item twice: a voucher error", []),
    ],
    ids=["names", "paths", "address", "name of four files", "words", "one word"],
)
def test_other_files_are_named_by_the_report_or_share_its_words(committed_files, report, paths):
    with Localizer.open(committed_files.path) as localizer:
        others = localizer.localize(report).others
    assert [hit.path for hit in others] == paths
    assert all(hit.reasons[0].kind in ("name", "words") for hit in others)


def test_a_file_that_only_the_form_names_is_no_other_file(committed_files):
    box = "- [ ] I have read docs/README.md"
    committed_files.commit({".github/ISSUE_TEMPLATE.md": f"{box}\n"})
    report = f"The cart adds an item twice\n\n{box.replace('[ ]', '[x]')}\n"
    with Localizer.open(committed_files.path) as localizer:
        assert localizer.localize(report, commit="HEAD").others == ()


@pytest.fixture
def localizer_of_changed_files(committed_files):
    """Yield a localizer that has answered before files changed in the work tree.

    The template is removed, the settings now contain its words, and a file is new.
    """
    folder = committed_files.path
    with Localizer.open(folder) as localizer:
        localizer.localize(WORDS)
        (folder / "shop/templates/checkout.html").unlink()
        (folder / "shop/static/site.ini").write_text("[voucher]\nredeem = checkout button\n")
        (folder / "new.toml").write_text("x = 1\n")
        yield localizer


def test_other_files_are_those_of_the_work_tree(localizer_of_changed_files):
    answer = localizer_of_changed_files.localize(f"{WORDS}; new.toml is ignored")
    assert [hit.path for hit in answer.others] == ["new.toml", "shop/static/site.ini"]
    assert answer.searched.uncommitted == 3


def test_other_files_of_a_commit_are_as_committed(localizer_of_changed_files):
    others = localizer_of_changed_files.localize(WORDS, commit="HEAD").others
    assert [hit.path for hit in others] == ["shop/templates/checkout.html"]


def test_other_files_match_the_globs_of_the_question(localizer_of_changed_files):
    assert not localizer_of_changed_files.localize(WORDS, include=["*.py"]).others
