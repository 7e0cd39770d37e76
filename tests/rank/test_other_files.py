"""Files that are no sources: which a report names, and which share its words."""

import pytest

from tosloc import Localizer
from tosloc.index.repository import LARGEST_OTHER

FILES = {
    "shop/cart.py": "def add(item):\n    pass\n",
    "pyproject.toml": "[project]\nname = 'shop'\n",
    "README.md": "The shop and its checkout button.\n",
    "docs/README.md": "More of the shop.\n",
    "docs/logo.png": b"\x89PNG checkout voucher",
    ".github/workflows/tests.yml": "jobs: {tests: {}}\n",
    "shop/templates/checkout.html": "<button class='voucher'>Redeem voucher</button>\n",
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
            ("The logo docs/logo.png is blurred; ./docs/README.md says so", ["docs/logo.png", "docs/README.md"]),
            ("https://github.com/a/shop/blob/main/.github/workflows/tests.yml fails", [".github/workflows/tests.yml"]),
            ("messages.properties is not translated", []),  # one of four, and no word of it
            (words, ["shop/templates/checkout.html"]),
            ("cart.py adds an item twice; the title is wrong", []),
        ):
            others = opened.localize(said).others
            assert [hit.path for hit in others] == expected
            assert all(hit.why[0].kind in ("name", "words") for hit in others)
        (repository.path / "shop/templates/checkout.html").unlink()
        (repository.path / "shop/static/site.css").write_text(".voucher, .redeem, .checkout, .button {}\n")
        (repository.path / "new.toml").write_text("x = 1\n")
        answer = opened.localize(f"{words}; new.toml is ignored")
        assert [hit.path for hit in answer.others] == ["new.toml", "shop/static/site.css"]
        assert answer.searched.uncommitted == 3
        assert [hit.path for hit in opened.localize(words, commit="HEAD").others] == ["shop/templates/checkout.html"]
