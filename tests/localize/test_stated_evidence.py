"""Commits and versions that a report states decide about suspect changes."""

from datetime import UTC, datetime

import pytest

from tests.conftest import FIRST_TIME, HOUR
from tests.rank.test_suspects import CART, DISCOUNT
from tosloc.cli.answers import print_answer
from tosloc.core.reports import BugReport
from tosloc.localize.localizer import Localizer
from tosloc.localize.question import Question
from tosloc.localize.scores import LOW_PRESENCE, NOT_HERE
from tosloc.mcp.answers import ToolAnswer
from tosloc.retrieval.history.history_index import MAX_FILES

WRONG = "The total of the cart is wrong: Cart.total subtracts the discount twice."
DAY = 24 * HOUR
DOOR = "def open_door(key):\n    return key.turn()\n"
NOTE = "The report blames"


def ask(project, report, version="HEAD", **options):
    """Return the answer to a report for a version of a project."""
    with Localizer.open(project.path, commit=version) as localizer:
        return localizer.localize(report, commit=version, **options)


def suspects(answer):
    """Return the commits of an answer's suspects."""
    return [change.commit for change in answer.suspects]


@pytest.fixture
def project(repository):
    """Return a repository of five commits, of which the last three changed the cart."""
    repository.commit({"shop/cart.py": CART, "shop/door.py": DOOR}, "Begin the shop")
    repository.commit({"shop/door.py": DOOR + "\nkey = 1\n"}, "Turn keys")
    for number in range(3):
        changed = DISCOUNT.replace("discount", f"discount{number}")
        repository.commit({"shop/cart.py": changed}, f"Discount of the cart: {number}")
    return repository


# Blamed commits


@pytest.mark.parametrize(
    "text",
    [
        "Issue started with {}.",
        "The first bad commit is {}.",
        "```\n{} is the first bad commit\ncommit {}\nAuthor: Ada\n```",
        "Reverting {} fixes it.",
    ],
)
@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_blamed_commit_is_the_first_suspect(project, text, position):
    commit = project.commits[position]
    answer = ask(project, f"{WRONG}\n\n{text.format(commit, commit)}")
    assert suspects(answer)[0] == commit
    assert answer.suspects[0].reasons[0] == "the report blames it"


def commit_with_digits(project):
    """Commit changes of the cart until an id begins with seven digits, and return these digits."""
    while True:
        number = len(project.commits)
        commit = project.commit({"shop/cart.py": f"total = {number}\n"}, f"Total: {number}")
        if commit[:7].isdigit():
            return commit[:7]


def test_digits_of_a_later_commit_name_nothing(project):
    digits = commit_with_digits(project)
    when = FIRST_TIME + (len(project.commits) - 1.5) * HOUR
    report = BugReport("1", WRONG, f"Fails since {digits}.", datetime.fromtimestamp(when, UTC))
    with Localizer.open(project.path) as localizer:
        version = localizer.prepare("HEAD")
        history = localizer.rank(Question(report), version).stage_one.context.named_history
    assert history._names.changes == ()


@pytest.mark.parametrize(
    ("text", "where"),
    [("Fails since {}.", "the report blames it"), ("The last good commit is {}.", "after {}")],
)
def test_digits_are_a_commit_if_the_repository_has_it(project, text, where):
    digits = commit_with_digits(project)
    last = project.commit({"shop/cart.py": CART}, "Sum up the cart")
    answer = ask(project, f"{WRONG}\n\n{text.format(digits)}")
    assert where.format(digits) in answer.suspects[0].sentence
    assert (answer.suspects[0].commit == last) == ("good" in text)


@pytest.mark.parametrize("text", ["Fails since {}.", "The last good commit is {}."])
def test_digits_are_no_commit_if_the_repository_lacks_it(project, text):
    digits = commit_with_digits(project)
    other = f"{digits[:6]}{(int(digits[6]) + 1) % 10}"
    project.git("tag", other)
    answer = ask(project, f"{WRONG}\n\n{text.format(other)}")
    assert answer.statements == ()
    assert not any("does not contain" in note for note in answer.notes)


def test_suspects_of_a_blaming_report_come_before_the_files(project):
    answer = ask(project, f"{WRONG}\n\nIssue started with {project.commits[1]}.")
    assert answer.leads_with_suspects


def test_suspects_of_a_narrow_range_come_before_the_files(project):
    answer = ask(project, f"{WRONG}\n\nIt works at {project.commits[1]}.")
    assert answer.leads_with_suspects


def test_suspects_come_after_the_files_without_a_range(project):
    answer = ask(project, WRONG, suspects=True)
    assert not answer.leads_with_suspects


def test_the_answer_begins_with_the_blamed_commit(project):
    commit = project.commits[1]
    answer = ask(project, f"{WRONG} It is caused by {commit[:9]}.")
    assert answer.statements == (f"{NOTE} {commit[:10]} (2001-09-09): Turn keys",)


def test_the_only_file_of_a_blamed_commit_comes_first(project):
    answer = ask(project, f"{WRONG}\n\nThe first bad commit is {project.commits[1]}.")
    assert answer.hits[0].path == "shop/door.py"


def test_the_files_of_a_blamed_commit_rise(project):
    text = "Wrong total\n\nThe total of the cart is wrong."
    changed = {"shop/door.py": DOOR, "shop/lock.py": "lock = 1\n"}
    commit = project.commit(changed, "Turn locks")
    scores = []
    for report in (text, f"{text}\nThe first bad commit is {commit}."):
        scores.append({hit.path: hit.score for hit in ask(project, report).hits})
    lead_of_lock = [by_path["shop/lock.py"] - by_path["shop/cart.py"] for by_path in scores]
    assert lead_of_lock[1] > lead_of_lock[0]


def test_a_blamed_commit_of_other_files_shows_its_file(project):
    answer = ask(project, f"{WRONG} It is caused by {project.commits[1][:9]}.", top=1)
    assert answer.suspects[0].path == "shop/door.py"


def first_reasons(answer):
    """Return the texts of the reasons of an answer's first file."""
    return [reason.text for reason in answer.hits[0].reasons]


def test_the_reason_of_a_file_says_that_the_report_blames_its_change(project):
    answer = ask(project, f"{WRONG} It is caused by {project.commits[4]}.")
    blamed = project.commits[4][:10]
    assert first_reasons(answer)[0].startswith(f"Changed by {blamed}, which the report blames")


def test_the_reason_of_a_file_says_that_the_report_names_its_change(project):
    answer = ask(project, f"{WRONG} See {project.commits[4]}.")
    named = project.commits[4][:10]
    assert first_reasons(answer)[0].startswith(f"Changed by {named}, which the report names")


def test_the_reasons_of_a_file_cite_a_commit_once(project):
    good = project.commits[3]
    bad = project.commits[4]
    answer = ask(project, f"{WRONG}\n\nIt works at {good}.\nThe first bad commit is {bad}.")
    cited = [reason.commit for reason in answer.hits[0].reasons]
    assert cited.count(bad) == 1


def test_a_blamed_commit_is_not_shown_through_a_hidden_test(project):
    text = project.git("show", "HEAD:shop/cart.py")
    files = {"shop/cart.py": f"{text}\nlimit = 1\n", "tests/test_cart.py": DISCOUNT}
    commit = project.commit(files, "Limit carts")
    answer = ask(project, f"{WRONG} It is caused by {commit[:9]}.", top=1)
    assert answer.suspects[0].path == "shop/cart.py"


def test_a_blamed_commit_of_a_hidden_test_alone_is_a_suspect(project):
    commit = project.commit({"tests/test_cart.py": DISCOUNT}, "Test the cart")
    answer = ask(project, f"{WRONG} It is caused by {commit[:9]}.")
    assert suspects(answer)[0] == commit


def test_a_blamed_commit_without_source_files_is_the_first_suspect(project):
    commit = project.commit({"README.md": "Shop\n"}, "Describe the shop")
    answer = ask(project, f"{WRONG} Regression from {commit}")
    assert suspects(answer)[0] == commit
    assert answer.suspects[0].path == "README.md"


def test_a_link_of_another_address_with_a_whole_id_counts(project):
    project.git("remote", "add", "origin", "git@github.com:ada/shop.git")
    commit = project.commits[2]
    answer = ask(project, f"{WRONG} Since https://github.com/old/store/commit/{commit}")
    assert suspects(answer)[0] == commit


def test_a_commit_after_the_opening_is_not_blamed(project):
    opened = datetime.fromtimestamp(FIRST_TIME + 3 * HOUR + 1, UTC)
    report = BugReport("1", WRONG, f"The first bad commit is {project.commits[4]}", opened)
    assert ask(project, report).statements == ()


def test_the_answer_says_if_the_version_lacks_a_blamed_commit(project):
    opened = datetime.fromtimestamp(FIRST_TIME + DAY, UTC)
    report = BugReport("1", WRONG, f"Since {project.commits[4]}", opened)
    [statement] = ask(project, report, version=project.commits[3]).statements
    assert statement.endswith("the searched version does not contain it")


def test_a_blamed_merge_stands_for_what_it_brought(project):
    side = project.commit(
        {"shop/cart.py": DISCOUNT.replace("price", "cost")}, "Cost", parents=[project.commits[1]]
    )
    merged = {"shop/cart.py": DISCOUNT.replace("price", "cost")}
    merge = project.commit(merged, "Merge branch 'cost'", parents=[project.commits[4], side])
    before = project.commits[4]
    text = f"git bisect ended at {merge}; with {before}, just before it, everything works."
    answer = ask(project, f"{WRONG}\n\n{text}")
    assert suspects(answer) == [side]
    assert answer.suspects[0].reasons[0].startswith("brought by merge")
    assert "a merge of 1 commit" in answer.statements[0]


def blamed_numbers(project, text):
    """Return which commits the report blames, as positions among the project's commits."""
    answer = ask(project, f"{WRONG}\n\n{text}")
    blamed = [change for change in answer.suspects if change.reasons[0] == "the report blames it"]
    assert len(answer.statements) == len(blamed)
    return [project.commits.index(change.commit) for change in blamed]


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("Since #2788 it fails.", 5),
        ("It is a regression from PR #2788.", 5),
        ("Broken by GH-2788.", 5),
        ("Since the fix of #2788 it fails.", 6),
        ("It broke after #2788 was fixed.", 6),
        ("Since issue 2788 was closed it fails.", 6),
    ],
)
def test_a_number_means_its_pull_request_unless_the_report_speaks_of_a_fix(project, text, position):
    project.commit({"shop/cart.py": CART}, "Sum up carts (#2788)")
    project.commit({"shop/cart.py": DISCOUNT}, "Fix #2788: carts were empty (#2801)")
    assert blamed_numbers(project, text) == [position]


@pytest.mark.parametrize("text", ["Since #2788 it fails.", "Caused by fixing #2788."])
def test_the_number_of_an_issue_means_its_fix(project, text):
    project.commit({"shop/cart.py": CART}, "Sum up carts\n\nFixes #2788")
    project.commit({"shop/cart.py": DISCOUNT}, "Round sums, as #2788 does")
    assert blamed_numbers(project, text) == [5]


def test_the_merge_of_a_pull_request_is_blamed_instead_of_its_commits(project):
    message = "Cost of carts, see #2788"
    changed = {"shop/cart.py": DISCOUNT.replace("price", "cost")}
    side = project.commit(changed, message, parents=[project.commits[1]])
    merge_message = "Merge pull request #2788 from a/cost\n\nCost of carts"
    parents = [project.commits[4], side]
    merge = project.commit(changed, merge_message, parents=parents)
    project.commit({"shop/cart.py": DISCOUNT}, "Repair #2788")
    answer = ask(project, f"{WRONG}\n\nIt fails since #2788.")
    [statement] = answer.statements
    assert statement.startswith(f"{NOTE} {merge[:10]}")
    assert answer.suspects[0].commit == side


def many_files(number):
    """Return more files, by path, than a commit whose words count as evidence touches."""
    return {f"shop/shelf{place}.py": f"x = {number}\n" for place in range(MAX_FILES + 1)}


def test_a_large_commit_is_blamed_by_its_number(project):
    project.commit({"shop/cart.py": DISCOUNT} | many_files(1), "Add shelves (#2788)")
    assert blamed_numbers(project, "It fails since #2788.") == [5]


def test_a_large_merge_is_blamed_by_its_number(project):
    files = {"shop/cart.py": DISCOUNT} | many_files(1)
    side = project.commit(files, "Add shelves", parents=[project.commits[4]])
    message = "Merge pull request #2788 from a/shelves"
    merge = project.commit(files, message, parents=[project.commits[4], side])
    answer = ask(project, f"{WRONG}\n\nIt fails since #2788.")
    assert answer.statements[0].startswith(f"{NOTE} {merge[:10]}")
    assert answer.suspects[0].commit == side


@pytest.mark.parametrize("text", ["See #2788.", "It fails since #2788."])
def test_a_large_merge_is_no_evidence_for_its_files(project, text):
    files = many_files(1)
    side = project.commit(files, "Add shelves", parents=[project.commits[4]])
    message = "Merge pull request #2788 from a/shelves"
    project.commit(files, message, parents=[project.commits[4], side])
    with Localizer.open(project.path) as localizer:
        version = localizer.prepare("HEAD")
        report = BugReport("1", WRONG, text, version.newest)
        context = localizer.rank(Question(report), version).stage_one.context
    assert context.named_history.changes == ()


def test_a_large_commit_after_the_report_has_fixed_it(project):
    opened = datetime.fromtimestamp(FIRST_TIME + 4.5 * HOUR, UTC)
    fix = project.commit({"shop/cart.py": CART} | many_files(1), "Fix #2788: sum up carts")
    answer = ask(project, BugReport("2788", WRONG, "", opened))
    assert answer.fixed_by.commit == fix


def test_a_file_cites_the_blamed_pull_request_not_its_later_fix(project):
    pull = project.commit({"shop/cart.py": CART}, "Sum up carts (#2788)")
    project.commit({"shop/cart.py": DISCOUNT}, "Fix #2788: carts were empty")
    answer = ask(project, f"{WRONG}\n\nIt fails since #2788.")
    [reason] = [reason for reason in answer.hits[0].reasons if reason.kind == "change"]
    assert reason.commit == pull
    assert reason.text.endswith("which the report blames (2001-09-09): Sum up carts (#2788)")


def blamed_paths(project, text, version="HEAD"):
    """Return the present paths of the files that blamed commits changed, by a report."""
    with Localizer.open(project.path, commit=version) as localizer:
        opened_version = localizer.prepare(version)
        opened = opened_version.newest
        report = BugReport("1", WRONG, text, opened)
        context = localizer.rank(Question(report), opened_version).stage_one.context
        table = context.version.table
        return [table.paths[row] for row in context.named_history.blamed_rows]


def test_blamed_rows_are_those_of_the_blamed_commit(project):
    assert blamed_paths(project, f"Since {project.commits[1]}") == ["shop/door.py"]


def test_blamed_rows_follow_renames(project):
    text = project.git("show", "HEAD:shop/door.py") + "\n"
    project.commit({"shop/door.py": None, "shop/gate.py": text}, "Rename the door")
    assert blamed_paths(project, f"Since {project.commits[1]}") == ["shop/gate.py"]


def test_blamed_rows_of_a_merge_are_those_that_it_brought(project):
    main = project.commits[-1]
    side = project.commit({"shop/door.py": DOOR + "b = 2\n"}, "Side", parents=[project.commits[1]])
    files = {"shop/door.py": DOOR + "b = 2\n"}
    merge = project.commit(files, "Merge branch 'side'", parents=[main, side])
    assert blamed_paths(project, f"git bisect ended at {merge}") == ["shop/door.py"]


@pytest.mark.parametrize("text", ["Works at {}", "Git commit: {}", "See {}"])
def test_other_commits_have_no_blamed_rows(project, text):
    assert blamed_paths(project, text.format(project.commits[1])) == []


def test_the_statements_are_printed_above_the_files(project, capsys):
    answer = ask(project, f"{WRONG} Since {project.commits[1]}")
    print_answer(answer)
    lines = capsys.readouterr().out.splitlines()
    assert len([line for line in lines if NOTE in line]) == 1
    statement = next(place for place, line in enumerate(lines) if line.startswith(NOTE))
    first_file = next(place for place, line in enumerate(lines) if answer.hits[0].path in line)
    assert statement < first_file


def test_the_statements_are_in_the_answer_for_agents(project):
    answer = ask(project, f"{WRONG} Since {project.commits[1]}")
    assert NOTE in ToolAnswer.from_answer(answer, {}).as_text().splitlines()[1]


def test_a_finished_bisect_is_stated_once(project):
    good = project.commits[2]
    bad = project.commits[3]
    log = f"git bisect good {good}\ngit bisect bad {bad}\n{bad} is the first bad commit"
    [statement] = ask(project, f"{WRONG}\n\n```\n{log}\n```").statements
    assert statement.startswith(NOTE)


def test_a_range_with_a_blamed_commit_is_not_stated(project):
    """By the report none of its other commits can be the cause."""
    text = f"It works at {project.commits[1]}. It is caused by {project.commits[3]}."
    [statement] = ask(project, f"{WRONG}\n\n{text}").statements
    assert statement.startswith(NOTE)


@pytest.mark.parametrize(
    "text",
    [
        "It works at {0} but it is caused by {0}.",
        "It is caused by {0}. It works at {0}.",
        "It works at {1}. It is caused by {0}.",
    ],
)
def test_an_answer_says_that_a_blamed_commit_is_also_called_good(project, text):
    commit = project.commits[3]
    answer = ask(project, f"{WRONG}\n\n{text.format(commit, commit[:8])}")
    note = f"the report says that it works in {commit[:10]} and also that it fails there"
    assert f"{note}; the failure counts" in answer.notes
    assert suspects(answer)[0] == commit


MISSING = "323f8ec6f205d98f3fadbecdc26bec587c40a25d"
NO_TAG = (
    "the report names {}, which no tag of this repository names; to get missing tags, run: git"
    " fetch --tags"
)


def notes_on_names(project, text):
    """Return the notes on commits and versions that a report names."""
    return [note for note in ask(project, text).notes if note.startswith("the report names")]


@pytest.mark.parametrize("text", ["Caused by {}.", "It works at {}.", "git bisect bad {}"])
@pytest.mark.parametrize("length", [10, 40])
def test_an_answer_says_that_a_stated_commit_is_missing(project, text, length):
    [note] = notes_on_names(project, f"{WRONG}\n\n{text.format(MISSING[:length])}")
    assert note == "the report names commit 323f8ec6f2, which this repository does not contain"


@pytest.mark.parametrize("text", ["See {}.", "Chrome 99.1 (rev {})", "Caused by ada/door@{}."])
def test_a_missing_commit_of_another_program_gets_no_note(project, text):
    project.git("remote", "add", "origin", "git@github.com:ada/shop.git")
    assert notes_on_names(project, f"{WRONG}\n\n{text.format(MISSING[:10])}") == []


def test_a_commit_after_the_opening_is_not_called_missing(project):
    opened = datetime.fromtimestamp(FIRST_TIME + 3 * HOUR + 1, UTC)
    report = BugReport("1", WRONG, f"The first bad commit is {project.commits[4]}", opened)
    assert notes_on_names(project, report) == []


def test_an_answer_says_that_stated_versions_have_no_tags(released):
    [note] = notes_on_names(released, f"{WRONG}\n\nWorks in 9.9.0, broken in 9.9.1.")
    assert note == NO_TAG.format("versions 9.9.0, 9.9.1")


@pytest.mark.parametrize(
    ("product", "is_own"),
    [
        ("Shop", True),
        ("the shop", True),
        ("door", True),  # packages/door
        ("Python", False),  # python
        ("redis", False),  # shop/backends/redis
    ],
)
def test_a_folder_means_a_package_but_no_language_or_backend(project, product, is_own):
    project.git("remote", "add", "origin", "git@github.com:ada/shop.git")
    folders = ("python", "shop/backends/redis", "packages/door")
    project.commit({f"{folder}/bell.py": DOOR for folder in folders}, "Add bells")
    notes = notes_on_names(project, f"{WRONG}\n\nIt fails with {product} 9.9.1.")
    assert notes == ([NO_TAG.format("version 9.9.1")] if is_own else [])


def test_a_folder_of_a_project_without_a_remote_means_the_project(project):
    notes = notes_on_names(project, f"{WRONG}\n\nIt fails with shop 9.9.1.")
    assert notes == [NO_TAG.format("version 9.9.1")]
    assert notes_on_names(project, f"{WRONG}\n\nIt fails with Python 3.8.") == []


def test_an_answer_says_that_a_clone_has_no_tags(project):
    [note] = notes_on_names(project, f"{WRONG}\n\nBroken in 9.9.1.")
    assert note == NO_TAG.format("version 9.9.1")


def test_a_note_lists_few_versions_without_tags(project):
    text = "\n".join(f"It fails in 9.9.{number}." for number in range(9))
    [note] = notes_on_names(project, f"{WRONG}\n\n{text}")
    assert note == NO_TAG.format("versions 9.9.0, 9.9.1, 9.9.2, 9.9.3, 9.9.4, ...")


def test_a_version_that_was_only_used_gets_no_note(released):
    assert notes_on_names(released, f"{WRONG}\n\nVersion: 9.9.0") == []


# Whether the report is about the project

FOREIGN = (
    "Kubernetes operator crashes while the webhook reconciles an ingress\n\n"
    "The cart of `AdmissionController` rejects every `VirtualService`, and `kubectl rollout` hangs."
)


def test_a_report_that_shares_few_words_gets_a_note(project):
    answer = ask(project, f"{FOREIGN} See 0123456789.")
    assert NOT_HERE in answer.notes
    assert sum(hit.confidence for hit in answer.hits) < LOW_PRESENCE


@pytest.mark.parametrize("text", ["Caused by {}.", "See {}.", "It worked in 1.0 and fails in 1.1."])
def test_a_report_that_refers_to_the_history_is_about_the_project(project, text):
    project.git("tag", "v1.0", project.commits[2])
    project.git("tag", "v1.1", project.commits[4])
    answer = ask(project, f"{FOREIGN} {text.format(project.commits[3][:10])}")
    assert NOT_HERE not in answer.notes
    assert sum(hit.confidence for hit in answer.hits) == pytest.approx(1, abs=0.001)


# The reporter's own build


@pytest.mark.parametrize(
    "text",
    ['`shop --version`: "0.65.2 ({})"', "shop (rev {})", "v1.2-5-g{}", "{} built 2025-08-01"],
)
def test_a_build_makes_no_suspects_appear(project, text):
    answer = ask(project, f"{WRONG}\n\n{text.format(project.commits[3][:8])}")
    assert answer.suspects == ()
    assert answer.statements == ()


def test_a_build_is_no_reason_for_files(project):
    answer = ask(project, f"{WRONG}\n\n0.65.2 ({project.commits[3][:8]})")
    kinds = [reason.kind for hit in answer.hits for reason in hit.reasons]
    assert "change" not in kinds


def test_nothing_later_than_a_build_is_suspect(project):
    text = f"{WRONG} It used to work.\n\n0.65.2 ({project.commits[2][:8]})"
    found = suspects(ask(project, text))
    assert found[0] == project.commits[2]
    assert set(found) <= set(project.commits[:3])


# Bounds


@pytest.fixture
def released(repository):
    """Return a project whose guilty commit is between v2.0.5 and v2.0.7.

    A large commit came before the first preview, and another one after all releases.
    """
    texts = [CART.replace("items", f"items{number}") for number in range(3)]
    changes = [
        ({"shop/cart.py": CART, "shop/door.py": DOOR}, "Begin", 0, None),
        ({"shop/cart.py": texts[0]}, "Total of the cart: discount (large)", 30, "v2.0.0-alpha.1"),
        ({"notes.md": "1\n"}, "Notes", 180, "v2.0.0"),
        ({"notes.md": "2\n"}, "Notes again", 210, "v2.0.5"),
        ({"shop/cart.py": texts[1]}, "Tidy", 214, None),
        ({"notes.md": "3\n"}, "Notes at last", 217, "v2.0.7"),
        ({"shop/cart.py": texts[2]}, "Total of the cart: discount", 280, "v2.1.0"),
    ]
    for files, message, day, tag in changes:
        repository.commit(files, message, when=FIRST_TIME + day * DAY)
        if tag:
            repository.git("tag", tag, repository.commits[-1])
    return repository


STATED = [
    "**Version:** 2.0.7\n**Last working version:** 2.0.5",
    "### Last working version\n\n2.0.5\n\n### Version\n\n2.0.7",
    "| Version | 2.0.7 |\n| Last working version | 2.0.5 |",
    "It is so in v2.0.7 but not in v2.0.5.",
    "In previous version 2.0.5, the discount was subtracted once.\nVersion: 2.0.7",
    "The latest release (2.0.7) does so. Earlier versions (at least 2.0.5) count once.",
    "Tested with 2.0.5 (OK) and 2.0.7 (fails).",
]


@pytest.mark.parametrize("stated", STATED)
def test_only_commits_between_a_good_and_an_affected_release_are_suspect(released, stated):
    answer = ask(released, f"{WRONG}\n\n{stated}\n")
    assert suspects(answer) == [released.commits[4]]
    expected = "By the report it works in v2.0.5 and fails in v2.0.7: 2 commits can be the cause"
    assert answer.statements == (expected,)


IMPLIED = ["It works fine before 2.0.7", "Fails since 2.0.7."]


@pytest.mark.parametrize("text", IMPLIED)
def test_only_commits_of_an_implied_range_are_suspect(released, text):
    assert suspects(ask(released, f"{WRONG}\n\n{text}")) == [released.commits[4]]


@pytest.mark.parametrize("text", IMPLIED)
def test_an_implied_range_is_stated_as_probable(released, text):
    answer = ask(released, f"{WRONG}\n\n{text}")
    expected = "By the report it fails in v2.0.7, so it probably broke after v2.0.5 (2 commits)"
    assert answer.statements == (expected,)


def test_an_implied_range_is_not_stated_beside_a_blamed_change(released):
    files = {"shop/cart.py": CART.replace("items", "goods")}
    released.commit(files, "Discount of goods (#468)", when=FIRST_TIME + 300 * DAY)
    released.commit({"notes.md": "4\n"}, "Notes on goods", when=FIRST_TIME + 310 * DAY)
    released.git("tag", "v2.2.0", released.commits[-1])
    released.commit({"notes.md": "5\n"}, "Notes on 2.3", when=FIRST_TIME + 320 * DAY)
    released.git("tag", "v2.3.0", released.commits[-1])
    text = f"{WRONG}\n\nA regression introduced by #468. Do you want a release? Fails since 2.3.0."
    [statement] = ask(released, text).statements
    assert statement.startswith("The report blames")


@pytest.mark.parametrize("opened", [None, datetime.fromtimestamp(FIRST_TIME + 219 * DAY, UTC)])
def test_tag_of_the_searched_version_may_be_later_than_its_commit(released, opened):
    """A report without a date is about the version that is searched, so its tag is known."""
    released.environment["GIT_COMMITTER_DATE"] = f"{FIRST_TIME + 218 * DAY} +0000"
    released.git("tag", "-f", "-a", "-m", "2.0.7", "v2.0.7", released.commits[5])
    report = BugReport("", WRONG, "Fails since 2.0.7.", opened)
    answer = ask(released, report, "v2.0.7")
    expected = "By the report it fails in v2.0.7, so it probably broke after v2.0.5 (2 commits)"
    assert answer.statements == (expected,)


def test_commit_that_sets_the_version_is_no_suspect(released):
    changed = CART.replace("items", "items1")
    for number in range(2):
        text = f"VERSION = '2.0.{number}'\n{changed}"
        released.commit(
            {"shop/cart.py": text},
            f"Release 2.0.{number}: cart, discount",
            when=FIRST_TIME + (300 + number) * DAY,
        )
    added, changed_version = released.commits[-2:]
    found = suspects(ask(released, f"{WRONG}\n\nIt worked in 2.1.0."))
    assert added in found
    assert changed_version not in found


def test_a_reason_of_an_implied_range_says_that_it_is_probable(released):
    answer = ask(released, f"{WRONG}\n\n{IMPLIED[0]}")
    beginning = "Changed between v2.0.5 and v2.0.7, when it probably broke"
    assert any(reason.startswith(beginning) for reason in first_reasons(answer))


def test_earlier_commits_are_suspect_if_none_is_in_an_implied_range(released):
    answer = ask(released, f"{WRONG}\n\nFails since 2.0.5.", suspects=True)
    assert set(suspects(answer)) == set(released.commits[:2])
    assert any(note.startswith("no commit between v2.0.0 and v2.0.5") for note in answer.notes)


def test_no_reason_claims_what_git_contradicts(released):
    answer = ask(released, f"{WRONG}\n\nIt worked in 2.0.5.")
    assert set(suspects(answer)) == {released.commits[4], released.commits[6]}


def test_commits_are_bounds_like_releases(released):
    good = released.commits[3]
    bad = released.commits[5]
    text = f"It does not reproduce with main @ {good}; it is reproducible starting with {bad}."
    assert suspects(ask(released, f"{WRONG}\n\n{text}")) == [released.commits[4]]


def test_an_answer_says_if_no_commit_in_the_range_touches_its_files(released):
    answer = ask(released, f"{WRONG}\n\nIt worked in 2.0.0, it is broken in 2.0.5.")
    assert answer.suspects == ()
    note = "no commit between v2.0.0 and v2.0.5 touches the first files of the answer"
    assert note in answer.notes


def test_contradicting_releases_are_told(released):
    answer = ask(released, f"{WRONG}\n\nIt works in 2.1.0, but fails in 2.0.7.", suspects=True)
    assert any("v2.1.0 is ignored" in note for note in answer.notes)
    assert released.commits[6] not in suspects(answer)


def test_tags_made_after_the_opening_are_no_bounds(released):
    opened = datetime.fromtimestamp(FIRST_TIME + 290 * DAY, UTC)
    released.environment["GIT_COMMITTER_DATE"] = f"@{FIRST_TIME + 300 * DAY} +0000"
    released.git("tag", "-a", "v2.0.6", "-m", "x", released.commits[4])
    report = BugReport("1", WRONG, "It worked in 2.0.6.", opened)
    assert ask(released, report).statements == ()


# Formatting commits


@pytest.mark.parametrize("listed", [True, False])
def test_a_formatting_commit_is_no_suspect(project, listed):
    guilty = project.commits[4]
    text = project.git("show", f"{guilty}:shop/cart.py") + "\n"
    formatted = text.replace("price - self", "price - (self").replace("* price", "* price)")
    subject = "Sort out the cart" if listed else "Re-enable ktlint indent rule"
    formatting = project.commit({"shop/cart.py": formatted}, subject)
    if listed:
        project.commit({".git-blame-ignore-revs": f"# form\n{formatting}\n"}, "Ignore it")
    answer = ask(project, WRONG, suspects=True)
    assert formatting not in suspects(answer)
    assert answer.suspects[0].commit == guilty
    assert answer.suspects[0].reasons[0] == "last changed 1 of the 3 lines of `Cart.total`"


def test_a_blamed_formatting_commit_is_a_suspect(project):
    commit = project.commit({"shop/cart.py": DISCOUNT + "x = 1\n"}, "Bump ktlint")
    assert suspects(ask(project, f"{WRONG} Since {commit}"))[0] == commit
