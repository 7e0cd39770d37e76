"""Suspect changes: past commits that may have introduced the fault of a report."""

from datetime import UTC, datetime

import pytest

from tests.conftest import FIRST_TIME, HOUR
from tosloc import Localizer
from tosloc.core.answers import Hit
from tosloc.core.reports import BugReport
from tosloc.localize.compose import compose
from tosloc.localize.question import Question
from tosloc.rank.suspects import search as suspect_search
from tosloc.rank.suspects.candidates import MAX_FILES, collect_candidates, file_shares
from tosloc.rank.suspects.descriptions import DIFF_LINES
from tosloc.rank.suspects.search import MAX_SUSPECTS, MISSING_BLOBS, find_suspects
from tosloc.retrieval.history.history_index import MAX_FILES as MAX_COMMIT_FILES

CART = '''\
class Cart:
    def add(self, item):
        """Put an item into the cart."""
        self.items.append(item)

    def total(self):
        """Return the price of all items."""
        return sum(item.price for item in self.items)
'''
DISCOUNT = CART.replace(
    "return sum(item.price for item in self.items)",
    "price = sum(item.price for item in self.items)\n        return price - self.discount * price",
)
FUTURE = DISCOUNT.replace("self.discount * price", "self.discount * price * self.discount_rate")
REPORT = "The total of the cart is wrong: Cart.total subtracts the discount from the price twice"


@pytest.fixture
def commits(repository):
    """Return the ids of four commits: the shop, a bill, the discount and a planted later one."""
    shop = {"shop/cart.py": CART, "shop/door.py": "def open_door(key):\n    return key.turn()\n"}
    repository.commit(shop, "Begin the shop")
    bill = {"shop/bill.py": "def print_bill(cart):\n    print(cart.total())\n"}
    repository.commit(bill, "Print a bill")
    repository.commit({"shop/cart.py": DISCOUNT}, "Let carts have a rebate")
    repository.commit({"shop/cart.py": FUTURE}, "Total of the cart: discount twice")
    return repository.commits


def search(path, commit, opened=None, text=REPORT, **options):
    """Return the suspects of a report for a version."""
    report = BugReport("1", text, "", opened)
    with Localizer.open(path, commit=commit) as localizer:
        answer = localizer.localize(report, commit=commit, **options)
        version = localizer.prepare(commit)
        localization = localizer.rank(Question(answer.report), version)
        reasons = localization.stage_one.reasons
        return find_suspects(localizer.repository, reasons, answer.hits, version.sources)


@pytest.fixture
def suspects(repository, commits):
    """Return the suspects of the report for the version with the discount."""
    return search(repository.path, commits[2])


def test_first_suspect_last_wrote_the_faulty_function(suspects, commits):
    first = suspects.changes[0]
    assert first.commit == commits[2]
    assert first.path == "shop/cart.py"
    assert first.function == "Cart.total"
    assert first.subject == "Let carts have a rebate"
    assert first.committed == datetime.fromtimestamp(FIRST_TIME + 2 * HOUR, UTC)


def test_diff_is_the_hunk_of_the_function(suspects):
    diff = suspects.changes[0].diff
    assert len(diff) <= DIFF_LINES
    assert "+        return price - self.discount * price" in diff


def test_reason_names_the_function(suspects):
    assert suspects.changes[0].reasons[0] == "last changed 2 of the 3 lines of `Cart.total`"


def test_suspect_has_author_and_lines_that_still_stand(suspects):
    first = suspects.changes[0]
    assert first.author == "Ada"
    assert first.lines == ((8, 9),)


def test_suspect_has_the_first_release_that_contains_it(repository, commits):
    repository.git("tag", "v1.0", commits[1])
    repository.git("tag", "v1.1", commits[2])
    repository.git("tag", "v1.2", commits[3])
    opened = datetime.fromtimestamp(FIRST_TIME + 9 * HOUR, UTC)
    assert search(repository.path, commits[2], opened).changes[0].release == "v1.1"


def test_release_after_the_report_is_not_named(repository, commits):
    repository.git("tag", "v1.2", commits[3])
    opened = datetime.fromtimestamp(FIRST_TIME + 3 * HOUR, UTC)
    assert search(repository.path, commits[2], opened).changes[0].release == ""


def test_suspect_has_its_pull_request(repository, commits):
    repository.commit({"shop/cart.py": FUTURE + "    # again\n"}, "Round totals (#12)")
    changed = FUTURE.replace("- self", "- 2 * self")
    last = repository.commit({"shop/cart.py": changed}, "Discount Cart.total twice (#13)")
    first = search(repository.path, last).changes[0]
    assert first.commit == last
    assert first.pull_request == "#13"


def test_number_of_suspects_is_bounded(suspects):
    assert 0 < len(suspects.changes) <= MAX_SUSPECTS


def test_no_suspect_is_later_than_the_version(suspects, commits):
    assert commits[3] not in {change.commit for change in suspects.changes}


def test_no_suspect_is_later_than_the_report(repository, commits):
    opened = datetime.fromtimestamp(FIRST_TIME + 2 * HOUR + 1, UTC)
    suspects = search(repository.path, commits[3], opened)
    assert commits[2] in {change.commit for change in suspects.changes}
    assert commits[3] not in {change.commit for change in suspects.changes}


def test_later_commits_change_no_suspect(repository, commits, suspects):
    opened = datetime.fromtimestamp(FIRST_TIME + 2 * HOUR + 1, UTC)
    repository.commit({"shop/cart.py": None}, "Remove the cart")
    assert search(repository.path, commits[2], opened) == suspects


def test_suspects_need_no_listed_functions(repository, commits):
    first = search(repository.path, commits[2], functions=0).changes[0]
    assert first.commit == commits[2]
    assert first.function == "Cart.total"


def test_function_of_a_change_encloses_its_lines(repository, commits):
    turned = "def open_door(key):\n    assert key\n    return key.turn()\n"
    added = repository.commit({"shop/door.py": turned, "shop/cart.py": CART}, "Check keys")
    suspects = search(repository.path, added, text=f"{REPORT}, see shop/door.py", functions=0)
    [change] = [change for change in suspects.changes if change.commit == added]
    assert (change.path, change.function) == ("shop/cart.py", "Cart.total")


def test_lines_of_a_diff_have_the_numbers_of_the_searched_version(repository, commits):
    """Later commits have moved one of the lines and changed another one."""
    repository.git("reset", "-q", "--hard", commits[2])
    text = (repository.path / "shop/cart.py").read_text()
    later = f"# The cart\n\n{text}"
    repository.commit({"shop/cart.py": later}, "Describe the cart", parents=[commits[2]])
    change = search(repository.path, repository.commits[-1]).changes[0]
    assert change.commit == commits[2]
    lines = later.splitlines()
    for line, number in zip(change.diff, change.diff_lines, strict=True):
        assert number == (0 if line.startswith("-") else lines.index(line[1:]) + 1)
    last_written = {number for first, last in change.lines for number in range(first, last + 1)}
    added = zip(change.diff, change.diff_lines, strict=True)
    assert {number for line, number in added if line.startswith("+")} <= last_written


def test_lines_of_the_shown_function_are_named_before_longer_parts(repository, commits):
    before = CART
    after = DISCOUNT
    for number in range(9):
        door = f"\n\n\n\ndef door_{number}():\n    return open_door(key)\n"
        before += door
        after += f"{door}\n\n\n    key.turn({number})\n    key.pull({number})\n    key.push()\n"
    repository.commit({"shop/cart.py": before}, "Add doors", parents=[commits[1]])
    version = repository.commit({"shop/cart.py": after}, "Turn keys and have a rebate")
    changes = search(repository.path, version).changes
    [change] = [change for change in changes if change.commit == version]
    assert change.function == "Cart.total"
    assert len(change.lines) == 5
    assert any(first <= 8 <= last for first, last in change.lines)


def test_a_diff_has_no_blank_line_at_its_ends(repository, commits):
    door = "def open_door(key):\n\n    return key.turn()\n"
    repository.commit({"shop/door.py": door}, "Turn keys", parents=[commits[2]])
    turned = door.replace("turn()", "turn_twice()")
    version = repository.commit({"shop/door.py": turned}, "Turn keys twice")
    changes = search(repository.path, version, text="open_door: the key turns twice").changes
    [diff] = [change.diff for change in changes if change.commit == version]
    assert diff == ("-    return key.turn()", "+    return key.turn_twice()")


def range_suspects(repository, commit, text):
    """Return the suspects of a report for the last version, between a good commit and HEAD."""
    report = f"{text} It works at {commit}."
    with Localizer.open(repository.path) as localizer:
        return localizer.localize(report, suspects=True).suspects


def test_commit_of_a_stated_range_is_suspect_by_its_text(repository, commits):
    repository.commit({"settings.ini": "[cart]\ndiscount = twice\n"}, "Set up")
    repository.commit({"README.md": "# The shop\n"}, "Describe the shop")
    suspects = range_suspects(repository, commits[3], REPORT)
    assert [change.commit for change in suspects] == [repository.commits[4]]
    assert suspects[0].path == "settings.ini"
    assert suspects[0].diff == ("+[cart]", "+discount = twice")
    assert suspects[0].reasons[1] == "its changed lines share most words with the report"


def test_commit_of_a_stated_range_without_words_is_not_suspect(repository, commits):
    repository.commit({"README.md": "# Opening hours\n"}, "Describe opening")
    assert range_suspects(repository, commits[3], REPORT) == ()


def test_commit_of_an_implied_range_is_suspect_by_its_text(repository, commits):
    repository.git("tag", "v1.0", commits[3])
    repository.commit({"settings.ini": "[cart]\ndiscount = twice\n"}, "Set up")
    repository.git("tag", "v1.1", repository.commits[-1])
    with Localizer.open(repository.path) as localizer:
        answer = localizer.localize(f"{REPORT}. It broke in 1.1.", suspects=True)
    assert [change.commit for change in answer.suspects] == [repository.commits[-1]]
    assert answer.suspects[0].path == "settings.ini"


def test_text_decides_within_a_stated_range(repository, commits):
    door = "def open_door(key):\n    return key.turn()\n"
    repository.commit({"shop/door.py": door + "DISCOUNT = 'twice'\n"}, "Set up")
    repository.commit({"shop/door.py": door + "CLOSED = 1\n"}, "Close")
    suspects = range_suspects(repository, commits[3], f"{REPORT}, see shop/door.py.")
    assert {change.commit for change in suspects} == set(repository.commits[4:])


def test_unlikely_commits_are_not_suspect(repository, commits, monkeypatch):
    monkeypatch.setattr(suspect_search, "MIN_LIKELIHOOD", 0.99)
    assert search(repository.path, commits[2]).changes == ()


def test_named_commits_are_suspect_however_unlikely(repository, commits, monkeypatch):
    monkeypatch.setattr(suspect_search, "MIN_LIKELIHOOD", 0.99)
    text = f"{REPORT}. See {commits[0][:10]}"
    changes = search(repository.path, commits[2], text=text).changes
    assert [change.commit for change in changes] == [commits[0]]


def test_removed_guard_is_shown(repository, commits, monkeypatch):
    monkeypatch.setattr(suspect_search, "MIN_LIKELIHOOD", 0.0)
    before = [f"        self.count(item{number})" for number in range(12)]
    after = [f"        self.sum_up(item{number})" for number in range(12)]
    head = ["class Till:", "    def run(self):"]
    guard = ["        self.lock()", "        item = self.next"]
    repository.commit({"shop/till.py": "\n".join([*head, *guard, *before])}, "Add a till")
    last = repository.commit({"shop/till.py": "\n".join([*head, guard[1], *after])}, "Sum up")
    changes = search(repository.path, last, text="Till.run mixes customers up").changes
    [diff] = [change.diff for change in changes if change.commit == last]
    assert "-        self.lock()" in diff


def test_a_moved_line_is_not_written_by_its_mover(repository, commits):
    methods = CART.split("    def ")
    moved = methods[0] + "    def ".join(["", methods[2] + "\n", methods[1]])
    version = repository.commit({"shop/cart.py": moved}, "Move the total", parents=[commits[0]])
    first = search(repository.path, version, text="Cart.total: total of price is wrong").changes[0]
    assert first.commit == commits[0]


TILL = ["class Till:", "    def run(self):", "        self.lock()"]
TILL += [f"        self.count(item{number})" for number in range(12)]
OTHER = ["class Door:", "    def open(self):", "        return self.key.turn()"]


def split_till(repository, *left_out, large=""):
    """Commit a till, and its move to a new file without some lines; return their ids.

    The second commit also adds a file with the text ``large``.
    """
    others = "\n".join(OTHER) + "\n"
    writer = repository.commit({"shop/all.py": others + "\n".join(TILL)}, "Add a till")
    moved = [line for line in TILL if line not in left_out]
    split = {"a.txt": large, "shop/all.py": others, "shop/till.py": "\n".join(moved)}
    return writer, repository.commit(split, "Split the shop")


def test_who_only_moved_lines_from_another_file_did_not_write_them(repository, commits):
    writer, version = split_till(repository)
    first = search(repository.path, version, text="Till.run counts item7 twice", top=1).changes[0]
    assert first.commit == writer
    assert first.path == "shop/till.py"


def test_lines_keep_their_writer_if_they_move_between_files_of_the_answer(repository, commits):
    writer, version = split_till(repository)
    report = BugReport("1", "Till.run of shop/all.py counts item7 twice", "", None)
    with Localizer.open(repository.path, commit=version) as localizer:
        files = localizer.find_suspects(Question(report, commit=version)).files
    [till] = [file for file in files if file.path == "shop/till.py"]
    assert "shop/all.py" in [file.path for file in files]
    assert set(till.writers.values()) == {writer}


def test_former_file_is_found_in_a_large_commit(repository, commits):
    writer, version = split_till(repository, large="word = 1\n" * 60_000)
    first = search(repository.path, version, text="Till.run counts item7 twice", top=1).changes[0]
    assert first.commit == writer


def test_line_that_was_lost_in_a_move_is_shown(repository, commits, monkeypatch):
    monkeypatch.setattr(suspect_search, "MIN_LIKELIHOOD", 0.0)
    _, version = split_till(repository, "        self.lock()")
    changes = search(repository.path, version, text="Till.run mixes customers up", top=1).changes
    [split] = [change for change in changes if change.commit == version]
    assert "-        self.lock()" in split.diff
    assert split.path == "shop/till.py"
    assert split.reasons[-1] == "its most relevant change is in shop/all.py"


def test_missing_blobs_give_a_note(repository, commits):
    repository.commit({"shop/cart.py": DISCOUNT + "# lost\n"}, "Lost")
    version = repository.commit({"shop/cart.py": DISCOUNT}, "Restored")
    repository.lose(f"{version}~1:shop/cart.py")
    suspects = search(repository.path, version)
    assert suspects.notes == (MISSING_BLOBS,)
    assert suspects.changes


def test_renamed_file_keeps_its_suspects(repository, commits):
    moved = {"shop/cart.py": None, "store/basket.py": DISCOUNT}
    version = repository.commit(moved, "Move the cart", parents=[commits[2]])
    first = search(repository.path, version).changes[0]
    assert first.commit == commits[2]
    assert first.path == "store/basket.py"
    assert "+        return price - self.discount * price" in first.diff


def test_commit_of_many_files_is_a_candidate(repository, commits):
    files = {f"shop/part{number}.py": "x = 1\n" for number in range(MAX_COMMIT_FILES + 1)}
    large = repository.commit(
        files | {"shop/cart.py": DISCOUNT}, "Many files", parents=[commits[0]]
    )
    assert search(repository.path, large).changes[0].commit == large


def test_named_commit_is_a_reason(repository, commits):
    text = f"{REPORT} See {commits[2][:10]}"
    first = search(repository.path, commits[2], text=text).changes[0]
    assert first.reasons[0] == f"the report names {commits[2][:10]}"


def test_no_suspect_is_later_than_a_release_that_fails(repository, commits):
    repository.git("tag", "v1.0", commits[2])
    suspects = search(repository.path, commits[3], text=f"{REPORT}. It is broken in 1.0")
    assert commits[2] in {change.commit for change in suspects.changes}
    assert commits[3] not in {change.commit for change in suspects.changes}


def test_release_range_is_a_reason(repository, commits):
    repository.git("tag", "v1.0", commits[1])
    repository.git("tag", "v1.1", commits[2])
    version = repository.commit({"shop/door.py": "key = 1\n"}, "Door", parents=[commits[2]])
    text = f"{REPORT}\n\nIt worked in 1.0 and fails in 1.1."
    first = search(repository.path, version, text=text).changes[0]
    assert first.commit == commits[2]
    assert first.reasons[-1] == "between v1.0 and v1.1"


def test_open_release_range_is_a_reason(repository, commits):
    repository.git("tag", "v1.0", commits[1])
    first = search(repository.path, commits[2], text=f"{REPORT} It worked in 1.0.").changes[0]
    assert first.commit == commits[2]
    assert first.reasons[-1] == "after v1.0, which worked"


def test_only_the_first_files_have_candidates(repository, commits):
    with Localizer.open(repository.path, commit=commits[2]) as localizer:
        version = localizer.prepare(commits[2])
        question = Question(BugReport("1", REPORT, "", None))
        scores = localizer.rank(question, version)
        context = scores.stage_one.context
        hits = compose(scores, question).hits
        candidates = collect_candidates(localizer.repository, context, hits[:1])
    assert candidates.commits == [commits[0], commits[2]]
    assert len(candidates.files) == 1 <= MAX_FILES


def test_shares_of_files_follow_ranks_if_the_answer_has_none():
    hits = [Hit(rank, "a.py", 1.0, 0.0) for rank in (1, 2)]
    assert file_shares(hits).tolist() == pytest.approx([2 / 3, 1 / 3])


def test_no_file_has_a_share_of_zero():
    hits = [Hit(1, "a.py", 1.0, 0.9), Hit(2, "b.py", 1.0, 0.0)]
    assert file_shares(hits)[1] > 0


def test_diff_is_from_the_function_that_is_named(repository, commits):
    words = "".join(f"        # the total of the cart, discount {n}\n" for n in range(5))
    notes = f"class Note:\n    def text(self):\n{words}        return self.discount_text\n\n\n"
    version = repository.commit({"shop/cart.py": notes + DISCOUNT}, "Both", parents=[commits[0]])
    first = search(repository.path, version).changes[0]
    assert first.commit == version
    assert first.function == "Cart.total"
    assert "+        return price - self.discount * price" in first.diff


def test_commits_since_a_date_when_it_worked_are_in_range_and_others_stay(repository, commits):
    when = FIRST_TIME + 30 * 24 * HOUR
    version = repository.commit({"shop/cart.py": FUTURE}, "Rate", parents=[commits[2]], when=when)
    opened = datetime.fromtimestamp(when + 24 * HOUR, UTC)
    text = f"{REPORT}. It worked three days ago."
    changes = search(repository.path, version, opened, text=text).changes
    assert changes[0].commit == version
    day = datetime.fromtimestamp(when - 2 * 24 * HOUR, UTC).date()
    reason = f"committed since {day}, when it worked by the report"
    assert reason in changes[0].reasons
    [older] = [change for change in changes if change.commit == commits[2]]
    assert reason not in older.reasons


def test_newer_commits_are_more_suspect_if_something_worked_before(repository, commits):
    year = 365 * 24 * HOUR
    rounded = DISCOUNT.replace("self.discount * price", "round(self.discount * price)")
    when = FIRST_TIME + year
    version = repository.commit({"shop/cart.py": rounded}, "Round", parents=[commits[2]], when=when)
    opened = datetime.fromtimestamp(when + HOUR, UTC)
    ages = []
    for text in (REPORT, f"{REPORT}\n\nThis used to work."):
        report = BugReport("1", REPORT, text, opened)
        with Localizer.open(repository.path, commit=version) as localizer:
            question = Question(report, commit=version, top=1)
            scores = localizer.rank(question)
            context = scores.stage_one.context
            hits = compose(scores, question).hits
            candidates = collect_candidates(localizer.repository, context, hits)
        ages.append(candidates.feature(0, "age_of_break"))
    assert ages[0] == 0
    assert ages[1] > candidates.feature(len(candidates.commits) - 1, "age_of_break") > 0


CHECK = "        self.check(self.price_of_items)\n"
SHELF = f"class Shelf:\n    def sort(self):\n{CHECK}        self.turn_over()\n"
SHELF_WITH_TOTAL = f"{SHELF}\n    def total(self):\n{CHECK}        return self.price_of_shelf\n"


def named_suspect(repository, version, commit, words, **options):
    """Return the suspect for a commit that a report names beside some words."""
    text = f"{words}. See {commit[:10]}"
    changes = search(repository.path, version, text=text, **options).changes
    [suspect] = [change for change in changes if change.commit == commit]
    return suspect


def test_function_of_a_later_commit_is_not_named_for_a_line_with_the_same_text(repository, commits):
    writer = repository.commit({"shop/shelf.py": SHELF}, "Add shelves")
    version = repository.commit({"shop/shelf.py": SHELF_WITH_TOTAL}, "Sum shelves up")
    suspect = named_suspect(repository, version, writer, "Shelf.total: the total is wrong")
    assert suspect.function == "Shelf.sort"
    assert not any("Shelf.total" in reason for reason in suspect.reasons)


def test_function_beside_a_change_is_not_named(repository, commits):
    close = SHELF_WITH_TOTAL.replace("\n\n", "\n")
    repository.commit({"shop/shelf.py": close}, "Add shelves")
    changed = close.replace("turn_over()\n", "turn_over()\n        self.fill_up()\n")
    version = repository.commit({"shop/shelf.py": changed}, "Fill shelves up")
    suspect = named_suspect(repository, version, version, "Shelf.total is wrong", functions=1)
    assert suspect.function == "Shelf.sort"


def test_function_with_a_removed_line_is_named(repository, commits):
    repository.commit({"shop/shelf.py": SHELF_WITH_TOTAL}, "Add shelves")
    without = SHELF.replace(CHECK, "") + SHELF_WITH_TOTAL.removeprefix(SHELF)
    version = repository.commit({"shop/shelf.py": without}, "Check less")
    suspect = named_suspect(repository, version, version, "Shelf: the sorting is wrong")
    assert "changed `Shelf.sort`" in suspect.reasons


def test_function_that_was_renamed_has_its_present_name(repository, commits):
    writer = repository.commit({"shop/shelf.py": SHELF}, "Add shelves")
    renamed = SHELF.replace("def sort", "def arrange")
    version = repository.commit({"shop/shelf.py": renamed}, "Rename")
    suspect = named_suspect(repository, version, writer, "Shelf.arrange turns over")
    assert suspect.function == "Shelf.arrange"


def test_newest_change_of_a_file_is_a_reason(repository, commits):
    assert "newest change of cart.py" in search(repository.path, commits[3]).changes[0].reasons


def test_blamed_commit_is_not_the_newest_change_if_others_followed(repository, commits):
    text = f"{REPORT}. It is broken since {commits[2][:10]}."
    first = search(repository.path, commits[3], text=text).changes[0]
    assert first.commit == commits[2]
    assert first.reasons[0] == first.BLAMED
    assert "newest change of cart.py" not in first.reasons
