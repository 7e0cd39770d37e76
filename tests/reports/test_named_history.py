"""Earlier changes and versions that reports name."""

import re

import pytest

from tosloc.reports.text.commit_roles import Role
from tosloc.reports.text.named_changes import MAX_NAMES, MAX_UNCERTAIN, find_named_changes
from tosloc.reports.text.named_releases import MAX_RELEASES, ReleaseClaim, find_release_claims
from tosloc.reports.text.report_names import find_claims
from tosloc.reports.text.version_fields import find_version_fields
from tosloc.reports.text.version_pairs import MAX_PAIRS, read_version_pairs

FULL_ID = "0123456789abcdef0123456789abcdef01234567"


def written(text):
    """Return the changes that a text names, but for versions in which something was seen."""
    roles = (Role.NAMED, Role.BLAMED)
    return [change.written for change in find_named_changes(text) if change.role in roles]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Broken since #6322.", ["#6322"]),
        ("(#6322), #6323; and #6322 again", ["#6322", "#6323"]),
        ("GH-123 and gh-124", ["GH-123", "gh-124"]),
        ("Introduced by !45", ["!45"]),
        ("commit 321d7e5 and pallets/flask@4b1f4a1", ["321d7e5", "4b1f4a1"]),
        (FULL_ID, [FULL_ID[:10]]),
        ("commit 1234567, changeset 7654321", ["1234567", "7654321"]),
        (
            "pull request 123, issue #124, bug 56663",
            ["pull request 123", "issue #124", "bug 56663"],
        ),
        ("like KAFKA-123", ["KAFKA-123"]),
        ("https://bz.apache.org/bugzilla/show_bug.cgi?id=56663", ["#56663"]),
        ("x\n#6322 broke it", ["#6322"]),
        ("First bad commit: 0934d77", ["0934d77"]),
    ],
)
def test_changes_that_a_report_names(text, names):
    assert written(text) == names


@pytest.mark.parametrize(
    "text",
    [
        "Fails since 9036171.",
        "It is a regression in `9036171`",
        "Bisected to [90361712]",
        "Reverting 9036171 fixes it",
        "9036171 broke it",
        "git bisect good 9036171",
        "# bad: [9036171] Round the total",
        "Version 1.2 (9036171)",
        "Version v1.2-5-g9036171",
        "It fails at beeffed",
    ],
)
def test_digits_beside_words_about_commits_may_be_a_commit(text):
    [change] = find_named_changes(text)
    assert change.commit in ("9036171", "90361712", "beeffed")
    assert not change.is_certain


@pytest.mark.parametrize(
    "text",
    [
        "It listens on port 12345678 and fails",
        "It took 1234567 ms",
        "[2024-05-06] 1234567 INFO started",
        "It reads 4194304 bytes",
        "defaced pages",
    ],
)
def test_other_numbers_are_no_commits(text):
    assert find_named_changes(text) == ()


def test_only_some_uncertain_commits_are_read():
    text = "\n".join(f"Fails since {number}." for number in range(1_000_000, 1_000_050))
    assert len(find_named_changes(text)) == MAX_UNCERTAIN


@pytest.mark.parametrize(
    "text",
    [
        "color: #333; background: #333333;",
        'color="#123456"',
        "bug #1, step #2",
        "#0 0x00007f in main ()\n#12 0x0000 in run\n",
        "deadbeef and 20240101 and 0xdeadbeef1",
        "550e8400-e29b-41d4-a716-446655440000",
        "if (!1) a!=5 !important !5.2",
        "/tmp/abcdef1/x.py x/abcdef12",
        "<!-- like #123 -->",
        "#0123 &#8217; http://x/#123",
        "SOME-WORD UTF-8-1",
        "the deadline of 1234567",
        "#1 0x12ab34c in f",
        "file 12ab34c.py",
        "LANG=en_US.UTF-8 with SHA-256, CVE-2020-1234 and CUDA-7.5",
        "x/y.py\n    Lines 3 to 5\n      in\n      59f5abf\n",
        "Python 3.7.1 (v3.7.1:260ec2c36a, Oct 20 2018)",
        "Git commit: 0934d77",
        "commit: 69c7e01e51",
        "it fails on master (0934d77)",
        "git checkout 8dea4cd",
        "version: master branch (52c9aa0)",
        "baseline (as of a21a63c)",
        "Build label: 0.3.0 (@ca36b06)",
        "index c46b00b905..4938347ea7 100644",
        "EditableInputConnection@2a3020f",
        "x1 0000007064ab24f0 x2",
        "frame #12: torch::jit::run",
    ],
)
def test_what_names_no_change(text):
    assert written(text) == []


@pytest.mark.parametrize(
    ("address", "name", "commit"),
    [
        ("https://github.com/x/y/pull/12", "#12", ""),
        ("https://github.com/x/y/pull/12/files#diff-1", "#12", ""),
        ("https://github.com/x/y/issues/12#issuecomment-99", "#12", ""),
        (f"https://github.com/x/y/commit/{FULL_ID}", "", FULL_ID),
        (f"https://github.com/x/y/pull/12/commits/{FULL_ID}", "", FULL_ID),
        ("https://gitlab.com/x/y/-/merge_requests/12", "!12", ""),
        ("https://gitlab.com/x/y/-/commit/abcdef1", "", "abcdef1"),
        ("https://bitbucket.org/x/y/pull-requests/12", "#12", ""),
        ("x/y#12", "#12", ""),
        ("x/y@12ab34c", "", "12ab34c"),
    ],
)
def test_links_name_a_change_of_a_project(address, name, commit):
    [change] = find_named_changes(f"See {address}.")
    assert change.name == name
    assert change.commit == commit
    assert change.project.startswith("x/y")


def test_names_of_a_long_list_are_bounded():
    assert len(find_named_changes(" ".join(f"#{n}" for n in range(10, 9_000)))) == MAX_NAMES


@pytest.mark.parametrize(
    ("text", "is_change"),
    [
        ("since commit 12ab34c", True),
        ("broken by #678", True),
        ("see PR #99", True),
        ("see https://github.com/a/b/pull/9", True),
        ("see https://github.com/a/b/issues/9", False),
        ("my #12 wish", False),
        ("like issue #123", False),
        ("KAFKA-12", False),
    ],
)
def test_names_of_changes_and_of_issues_differ(text, is_change):
    [change] = find_named_changes(text)
    assert change.is_change is is_change


# Roles of commits


def roles(text):
    """Return the role of each commit that a text names, by the first digit of its id."""
    return {change.written[0]: change.role.name for change in find_named_changes(text)}


@pytest.mark.parametrize(
    "text",
    [
        f"Issue started with {FULL_ID}",
        f"The first bad commit is {FULL_ID}",
        f"{FULL_ID} is the first bad commit\ncommit {FULL_ID}\nAuthor: Ada",
        f"# bad: [{FULL_ID}] Let\n# first bad commit: [{FULL_ID}] Let",
        f"Reverting {FULL_ID} fixes it",
        f"It works again after reverting commit {FULL_ID}",
        f"### First bad commit\n\n{FULL_ID}",
        f"I bisected it to `{FULL_ID}`.",
        f"I bisected this, with this result:\n```\ncommit {FULL_ID}\n```",
        f"The culprit seems to be {FULL_ID}",
        f"Regression from {FULL_ID}",
        f"{FULL_ID} appears to have caused a previous bug to resurface",
        f"Caused by [this change](https://github.com/x/y/commit/{FULL_ID})",
        f"It crashes since {FULL_ID}",
        f"It stopped working after {FULL_ID}",
        f"It worked before {FULL_ID}",
        f"Probably due to commit {FULL_ID}",
        f"Before {FULL_ID} it worked.",
        f"Prior to {FULL_ID} everything was fine",
        f"It did not happen before {FULL_ID}",
        f"{FULL_ID} has re-introduced it",
        f"{FULL_ID} reintroduced it",
        f"Reintroduced by {FULL_ID}",
        f"This started happening after {FULL_ID}",
        f"It no longer works since {FULL_ID}",
        f"It broke because {FULL_ID} forgot a check",
        f"That was {FULL_ID}'s fault",
        f"It is the fault of {FULL_ID}",
        f"It does not work, but reverting {FULL_ID} fixes it",
        f"Reverting {FULL_ID} in 10.0 allows my project to build again",
        f"More precisely, the error appeared with commit {FULL_ID} (Split words)",
        f"The menu is empty since the merge of {FULL_ID}",
        f"Commit {FULL_ID} introduced a crash when lists don't have rows",
        f"{FULL_ID} broke the menu, which isn't shown",
    ],
)
def test_commits_that_a_report_blames(text):
    assert set(roles(text).values()) == {"BLAMED"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "does not reproduce with main @ 1abcdef; it is reproducible starting with 2abcdef",
            {"1": "GOOD", "2": "BAD"},
        ),
        (
            "git bisect ended at 1abcdef; with 2abcdef, just before it, everything works",
            {"1": "BLAMED", "2": "GOOD"},
        ),
        (
            "git bisect start\n# bad: [1abcdef] x\ngit bisect bad 1abcdef\n"
            "# good: [2abcdef] See #99\ngit bisect good 2abcdef\n"
            "# skip: [4abcdef] x\n# first bad commit: [3abcdef] x",
            {"1": "BAD", "2": "GOOD", "3": "BLAMED"},
        ),
        ("git bisect start 1abcdef 2abcdef", {"1": "BAD", "2": "GOOD"}),
        (
            "I have found a culprit. It is this commit:\n\ncommit 1abcdef\n\n"
            "Commit before this (2abcdef) does not crash, at least.",
            {"1": "BLAMED", "2": "GOOD"},
        ),
        ("It worked at the commit right before it, 2abcdef.", {"2": "GOOD"}),
        ("The one before that (2abcdef) crashes, too", {"2": "BAD"}),
        ("Works as late as 1abcdef\nFails as early as 2abcdef", {"1": "GOOD", "2": "BAD"}),
        (
            "Commit 1abcdef reintroduced a regression that was fixed in commit 2abcdef.",
            {"1": "BLAMED", "2": "GOOD"},
        ),
        ("Last working commit: 1abcdef", {"1": "GOOD"}),
        ("It works with 1abcdef but fails with 2abcdef", {"1": "GOOD", "2": "BAD"}),
        ("Somewhere between 1abcdef and 2abcdef it broke", {"1": "GOOD", "2": "BAD"}),
        ("not caused by 1abcdef", {"1": "NAMED"}),
        ("See https://github.com/x/y/commit/1abcdef", {"1": "NAMED"}),
        ("This reverts commit 1abcdef", {"1": "NAMED"}),
        ("fixed by 1abcdef", {"1": "NAMED"}),
        ("Reverting 1abcdef does not help.", {"1": "NAMED"}),
        ("Reverting 1abcdef doesn't fix it", {"1": "NAMED"}),
        ("It does not work even after reverting 1abcdef", {"1": "NAMED"}),
        ("Still broken at 1abcdef.", {"1": "BAD"}),
        ("It also breaks with 1abcdef", {"1": "BAD"}),
        ("It is broken at 1abcdef", {"1": "BAD"}),
        ("Before 1abcdef it crashed, too", {"1": "NAMED"}),
        ("It did not work before 1abcdef", {"1": "NAMED"}),
        ("Until 1abcdef it worked", {"1": "NAMED"}),
        ("It works if I checkout 1abcdef, not on main.", {"1": "GOOD"}),
        ("It works when I check out 1abcdef", {"1": "GOOD"}),
        ("It does not work if I checkout 1abcdef", {"1": "BAD"}),
        ("Going back to 1abcdef fixes it", {"1": "GOOD"}),
        ("Going back to 1abcdef does not fix it", {"1": "BAD"}),
        ("Checking out 1abcdef solves the problem", {"1": "GOOD"}),
        ("1abcdef is the last good commit", {"1": "GOOD"}),
        ("1abcdef was the last commit that works", {"1": "GOOD"}),
        ("1abcdef is the last bad commit", {"1": "BAD"}),
        ("1abcdef is not the last good commit", {"1": "NAMED"}),
        ("It is not 1abcdef's fault", {"1": "NAMED"}),
        ("I am not sure 1abcdef broke it", {"1": "NAMED"}),
        ("It fails because 1abcdef was reverted", {"1": "NAMED"}),
        ("It works since 1abcdef", {"1": "NAMED"}),
        ("Segmentation fault at 1abcdef", {"1": "BUILD"}),
        ("I don't think it is caused by 1abcdef", {"1": "NAMED"}),
        ("If I revert 1abcdef it still fails", {"1": "NAMED"}),
        ("It works without 1abcdef", {"1": "BLAMED"}),
        ("With 1abcdef reverted it works", {"1": "BLAMED"}),
        ("Fails with 1abcdef, works without it", {"1": "BAD"}),
        ("Broken up to 1abcdef", {"1": "BAD"}),
        ("Works up to 1abcdef", {"1": "GOOD"}),
        (
            "The last known good commit was 1abcdef, the first bad one is 2abcdef",
            {"1": "GOOD", "2": "BLAMED"},
        ),
        ("An id of letters first, abc1234, broke it", {"a": "BLAMED"}),
        ("1abcdef broke nothing", {"1": "BAD"}),
        ("Works at abc1234, caused by bcd1234", {"a": "GOOD", "b": "BLAMED"}),
        ("Caused by 1abcdef (Fix #34: split words)", {"1": "BLAMED", "#": "NAMED"}),
        ("Caused by 1abcdef (#34)", {"1": "BLAMED", "#": "BLAMED"}),
    ],
)
def test_roles_of_commits(text, expected):
    assert roles(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        '`fzf --version`: "0.65.2 (760d1b7c)"',
        "Helix (rev 760d1b7c)",
        "v1.2-5-g760d1b7c",
        "1.2.3+g760d1b7c",
        "760d1b7c built 2025-08-01",
        "rustc 1.70.0-nightly (760d1b7c 2023-05-01)",
        "Git commit: 760d1b7c",
        "Broken since 2.0 (760d1b7c)",
        "Horovod version: Latest: 760d1b7c",
        "Ludwig version: Using ludwig from github repo up to commit 760d1b7c",
        "Ray version: master - 760d1b7c (0.7.0.dev0)",
        "I am using current master (commit 760d1b7c)",
        "commit 760d1b7c (HEAD -> develop, origin/develop)",
    ],
)
def test_a_commit_beside_a_version_is_a_build(text):
    assert roles(text) == {"7": "BUILD"}


@pytest.mark.parametrize(
    "text",
    [
        "Version with the fix: see 760d1b7c",
        "I read the build scripts, such as 760d1b7c",
        "Version: 1.2\n\nSee 760d1b7c",
        "In the latest version, they removed that flag: see 760d1b7c",
    ],
)
def test_a_commit_that_describes_no_version_is_only_named(text):
    assert roles(text) == {"7": "NAMED"}


def test_a_sentence_before_says_nothing_about_a_build():
    assert roles("It used to work.\n\n0.65.2 (760d1b7c)") == {"7": "BUILD"}


def test_the_surest_role_of_a_commit_counts():
    assert roles("Build: 760d1b7c\n\nThe first bad commit is 760d1b7c") == {"7": "BLAMED"}


@pytest.mark.parametrize(
    "text",
    [
        "Regression range: https://github.com/x/y/compare/1abcdef...2abcdef",
        "It broke somewhere in https://gitlab.com/a/b/c/-/compare/1abcdef...2abcdef",
        "Introduced in\nhttps://codeberg.org/x/y/compare/1abcdef..2abcdef",
        "It started in 1abcdef..2abcdef",
    ],
    ids=["github", "gitlab", "gitea", "git"],
)
def test_a_blamed_range_has_a_good_and_a_bad_end(text):
    assert roles(text) == {"1": "GOOD", "2": "BAD"}


@pytest.mark.parametrize(
    "text",
    [
        "Full changelog: https://github.com/x/y/compare/1abcdef...2abcdef",
        "It was not introduced in https://github.com/x/y/compare/1abcdef...2abcdef",
    ],
)
def test_a_range_that_is_not_blamed_has_no_ends(text):
    assert roles(text) == {}


@pytest.mark.parametrize(
    "text",
    [
        "It fails at 1abcdef but works with the commit before it",
        "1abcdef fails. It works with the parent commit.",
        "Fails with 1abcdef, worked with its parent",
        "git bisect: 1abcdef; works with the previous commit",
        "It works with the parent of 1abcdef",
        "It works at 1abcdef^",
        "It works at `1abcdef~1`",
        "At 1abcdef~1 it works",
        "With 1abcdef^ the menu works",
    ],
)
def test_a_commit_whose_parent_works_is_blamed(text):
    assert roles(text) == {"1": "BLAMED"}


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("It works at 1abcdef and works with the parent commit", "GOOD"),
        ("It fails at 1abcdef and does not work with the parent commit", "BAD"),
        ("It fails at 1abcdef^", "NAMED"),
        ("It appears with 1abcdef", "BAD"),
    ],
)
def test_a_commit_is_not_blamed_for_what_its_parent_shares(text, role):
    assert roles(text) == {"1": role}


@pytest.mark.parametrize(
    "text",
    [
        "Maybe 1abcdef broke it?",
        "Perhaps caused by 1abcdef",
        "Did 1abcdef break it?",
        "Is 1abcdef the culprit?",
        "Could this be caused by 1abcdef?",
        "1abcdef might have broken it",
        "1abcdef may have broken it",
    ],
)
def test_a_guess_blames_no_commit(text):
    assert roles(text) == {"1": "NAMED"}


@pytest.mark.parametrize(
    "text",
    [
        "It crashes since 1abcdef, any idea?",
        "I could bisect it to 1abcdef",
        "Has anybody seen this? It crashes since 1abcdef",
    ],
)
def test_a_question_about_something_else_is_no_guess(text):
    assert roles(text) == {"1": "BLAMED"}


# Versions


def claims(text):
    return [(claim.number, claim.state) for claim in find_release_claims(text)]


CHANGES = [
    ("Regression 1.7.0 to 1.7.1: no prices", [("1.7.0", "works"), ("1.7.1", "begins")]),
    ("Regression bug from 1.1.13 to 1.2.x", [("1.1.13", "works"), ("1.2", "begins")]),
    ("Types are lost (4.4 -> 4.4.1 regression)", [("4.4", "works"), ("4.4.1", "begins")]),
    ("Versions 1.0 to 1.5 crash", [("1.5", "fails")]),
    ("2.3 breaks backward-compatibility with 2.2", [("2.3", "begins"), ("2.2", "works")]),
    ("2.3 is not binary compatible with 2.2", [("2.3", "begins"), ("2.2", "works")]),
    ("2.3 is incompatible with 2.2", [("2.3", "begins"), ("2.2", "works")]),
    ("2.3 not backward compatible to 2.2", [("2.3", "begins"), ("2.2", "works")]),
    ("2.3 isn't backwards-compatible with 2.2", [("2.3", "begins"), ("2.2", "works")]),
    ("A breaking change in the 3.1 release", [("3.1", "begins")]),
    ("This behaviour is odd, and new to 8.0.", [("8.0", "begins")]),
    ("This warning is new in version 8.0.", [("8.0", "begins")]),
]
CONTRASTS = [
    ("It works as recently as 2.2 and fails as early as 2.3", [("2.2", "works"), ("2.3", "fails")]),
    ("It runs in 2.2 but causes errors in 2.3.", [("2.2", "works"), ("2.3", "fails")]),
    ("It runs in 2.2, but gives a wrong sum with 2.3", [("2.2", "works"), ("2.3", "fails")]),
    ("No rows in 2.3 but it gives an error in 2.2", [("2.2", "fails")]),
    ("It compiles with 2.2 but not with 2.3", [("2.2", "works"), ("2.3", "fails")]),
    ("The page loads in 2.2 but not in 2.3", [("2.2", "works"), ("2.3", "fails")]),
    ("The rows are missing in 2.3 but not in 2.2", [("2.3", "fails"), ("2.2", "works")]),
    ("Correct in 2.2 but blank in 2.3 and above", [("2.2", "works"), ("2.3", "fails")]),
    ("It worked in 2.2, but in 2.3 no row is shown", [("2.2", "works"), ("2.3", "fails")]),
    ("It worked in 2.2, but I have not tried it in 2.3", [("2.2", "works")]),
    ("It worked in 2.2, but was removed in 2.3", [("2.2", "works")]),
]
BRACKETS = [
    ("Empty menu with 2.4 (no problem with 2.3)", [("2.4", "fails"), ("2.3", "works")]),
    ("The menu is empty in 2.4 (fine in 2.3)", [("2.4", "fails"), ("2.3", "works")]),
    ("The menu is empty in 2.4 (2.3 is ok)", [("2.4", "fails"), ("2.3", "works")]),
    ("The menu is empty in 2.4 (2.3 works the same)", [("2.3", "works")]),
    ("It works in 2.3 (crashes in 2.4)", [("2.3", "works"), ("2.4", "fails")]),
]
HOLDS = [
    ("If I pin `shop` to `=3.0.7`, this works", [("3.0.7", "works")]),
    ("We pinned shop to 2.3 to avoid this", [("2.3", "works")]),
    ("Staying on 2.3 avoids the crash", [("2.3", "works")]),
    ("Pinning it to 2.3 should address the problem", []),
    ("I stay on 2.3 for now", []),
]
LIMITS = [
    ("It only happens with versions > 1.7", [("1.7", "works")]),
    ("It fails with >=2.0", [("2.0", "fails")]),
    ("It only works with <=2.0", [("2.0", "works")]),
    ("Versions prior to 2.3 are not affected", [("2.3", "begins")]),
]
ELLIPSES = [
    ("It works in 2.3 but in 2.4 not.", [("2.3", "works"), ("2.4", "fails")]),
    ("In 2.3 all behaves as expected, in 2.4 not.", [("2.3", "works"), ("2.4", "fails")]),
    ("In 2.4 it does not work as expected", [("2.4", "fails")]),
]


@pytest.mark.parametrize(
    ("text", "expected"), [*CHANGES, *CONTRASTS, *BRACKETS, *HOLDS, *LIMITS, *ELLIPSES]
)
def test_statement_of_a_short_form_is_read(text, expected):
    assert claims(text) == expected


CLAIMS = [
    ("Worked in 2.8.0, broken in 2.8.1.", [("2.8.0", "works"), ("2.8.1", "begins")]),
    ("works fine with v2.8.0 but fails with v2.8.1", [("2.8.0", "works"), ("2.8.1", "fails")]),
    ("after upgrading from 1.2 to 1.3", [("1.2", "works"), ("1.3", "begins")]),
    ("updated to 1.3 and it crashes", [("1.3", "begins")]),
    ("Downgrading to 1.2 helps", [("1.2", "works")]),
    (
        "since 4.1 / as of 4.2 / starting with 4.3",
        [("4.1", "begins"), ("4.2", "begins"), ("4.3", "begins")],
    ),
    ("no longer works in 3.0.0", [("3.0.0", "begins")]),
    ("does not work in 3.0.0", [("3.0.0", "fails")]),
    ("does not happen in 2.7.9", [("2.7.9", "works")]),
    ("regression in 3.2, introduced in 3.1", [("3.2", "begins"), ("3.1", "begins")]),
    ("fails with 2.8.1, not with 2.8.0", [("2.8.1", "fails"), ("2.8.0", "works")]),
    ("between 1.0 and 1.1", [("1.0", "works"), ("1.1", "begins")]),
    (
        "Rows are lost in the 2.1 version, works fine in 2.0",
        [("2.1", "fails"), ("2.0", "works")],
    ),
    ("No rows in 2.1, it worked in 2.0", [("2.1", "fails"), ("2.0", "works")]),
    ("Version 2.0 handles this case correctly. 2.1 does not handle it.", [("2.0", "works")]),
    ("2.0 rendered the table properly", [("2.0", "works")]),
    ("3x slower in 2.1 vs 2.0", [("2.1", "fails"), ("2.0", "works")]),
    ("Loading takes longer in 2.1 than in 2.0", [("2.0", "works")]),
    ("It takes minutes while it was nearly instantaneous in 2.0", [("2.0", "works")]),
    ("2.1 is much slower compared to 2.0", [("2.1", "fails"), ("2.0", "works")]),
    ("Code that compiled in 3.9.1 fails in 3.10.0", [("3.9.1", "works"), ("3.10.0", "fails")]),
    ("It built with 2.3 but now crashes with 2.4", [("2.3", "works"), ("2.4", "fails")]),
    (
        "A regression in 2.4.1 broke code that previously compiled with 2.4.0 when it is empty",
        [("2.4.1", "begins"), ("2.4.0", "works")],
    ),
    ("What fails in 1.2 crashes in 1.3", [("1.2", "fails"), ("1.3", "fails")]),
    ("The upload in 3.9.1 fails with 2.5 GB", [("3.9.1", "fails")]),
    ("Parsing fails in 3.10.x when it is empty", [("3.10", "fails")]),
    (
        "It broke in https://github.com/x/y/compare/1.0...1.1",
        [("1.0", "works"), ("1.1", "begins")],
    ),
    ("bumped 1.2.3 -> 1.2.4", [("1.2.3", "works"), ("1.2.4", "begins")]),
    ("last working version: 1.4.2", [("1.4.2", "works")]),
    ("first broken version is 1.4.3", [("1.4.3", "begins")]),
    ("1.1.0 was the last version that worked", [("1.1.0", "works")]),
    ("1.1.0 is the last version without the bug", [("1.1.0", "works")]),
    ("1.2.0 was the first version that failed", [("1.2.0", "begins")]),
    ("1.3.0 is the first version that works", []),
    ("After the new version 1.2.0 came out, rows are missing.", [("1.2.0", "begins")]),
    ("After version 2.0 was released, it broke", [("2.0", "begins")]),
    ("After the 2.0 update rows are missing", [("2.0", "begins")]),
    ("After installing 2.0 exports are empty", [("2.0", "begins")]),
    ("After 2.0 exports are empty", [("2.0", "begins")]),
    ("all versions after 1.9 fail", [("1.9", "works")]),
    ("It works fine before 1.2.0", [("1.2.0", "begins")]),
    ("(1.1.0 works fine 1.2.0 throws error)", [("1.1.0", "works"), ("1.2.0", "fails")]),
    ("Throws error (1.1.0 works, 1.2.0 fails)", [("1.1.0", "works"), ("1.2.0", "fails")]),
    ("works in 1.1.0 (1.2.0 fails)", [("1.1.0", "works"), ("1.2.0", "fails")]),
    ("1.1.0 works 1.2.0 fails", [("1.1.0", "works"), ("1.2.0", "fails")]),
    ("tried downgrading until 1.1.0, and it still does not work", [("1.1.0", "fails")]),
    ("I downgraded to 1.1.0 and it still fails", [("1.1.0", "fails")]),
    ("Downgrading to 1.1.0 does not help", [("1.1.0", "fails")]),
    ("it still crashes after downgrading to 1.1.0", [("1.1.0", "fails")]),
    ("Going back to 1.1.0 fixes it", [("1.1.0", "works")]),
    (
        "Broken in 2.0 - 2.3, works in 2.4",
        [("2.0", "begins"), ("2.3", "fails"), ("2.4", "works")],
    ),
    ("Broken in 2.0 to 2.3", [("2.0", "begins"), ("2.3", "fails")]),
    ("Works in 2.0 - 2.3", [("2.0", "works"), ("2.3", "works")]),
    ("Fails from 2.0 to 2.3", [("2.0", "fails"), ("2.3", "fails")]),
    (
        "worked in 1.1.0, in 1.2.0 I am not sure, 1.3.0 is broken",
        [("1.1.0", "works"), ("1.3.0", "begins")],
    ),
    (
        "works in 1.1.0, 1.2.0 untested, 1.3.0 fails",
        [("1.1.0", "works"), ("1.3.0", "fails")],
    ),
    ("works in 1.1.0, 1.2.0 and 1.3.0", [(f"1.{n}.0", "works") for n in (1, 2, 3)]),
    (
        "It is not present in 1.1.0, but present in 1.2.0",
        [("1.1.0", "works"), ("1.2.0", "fails")],
    ),
    (
        "1.1.0 does not have the issue, but 1.2.0 and 1.3.0 do",
        [("1.1.0", "works"), ("1.2.0", "fails"), ("1.3.0", "fails")],
    ),
    ("1.1.0 is fine, 1.2.0 is not", [("1.1.0", "works"), ("1.2.0", "fails")]),
    ("It worked up to and including 1.1.0", [("1.1.0", "works")]),
    ("It fails up to and including 1.1.0", [("1.1.0", "fails")]),
    ("in 1.1.0 it worked, in 1.2.0 it fails", [("1.1.0", "works")]),
    ("the bug is not fixed in 2.0", [("2.0", "fails")]),
    ("After downgrading to 1.2 the problem disappears", [("1.2", "works")]),
    ("It used to work fine, since 2.0 rows are missing", [("2.0", "begins")]),
    ("I updated to 1.3 and now my workflow crashes", [("1.3", "begins")]),
    ("Affects 2.3 and later", [("2.3", "begins")]),
    ("2.3 is not affected", [("2.3", "works")]),
    ("| 2.8.0 | works |\n| 2.8.1 | fails |", [("2.8.0", "works"), ("2.8.1", "fails")]),
    ("until 4.3.2 it worked", [("4.3.2", "works")]),
    ("broken since 2.0.0rc1", [("2.0.0rc1", "begins")]),
    ("Under 2.0.7 it starts up successfully", [("2.0.7", "works")]),
    ("it started in 2.0", [("2.0", "begins")]),
    ("works in 3.1.3, but when using 3.6 it fails", [("3.1.3", "works"), ("3.6", "fails")]),
    ("fails to work in 3.0", [("3.0", "fails")]),
    ("I don't have this problem using 0.3.11", [("0.3.11", "works")]),
    ("was working (2.2.5), now not working (3.2)", [("2.2.5", "works"), ("3.2", "fails")]),
    ("x<3.0: everything works", [("3.0", "begins")]),
    ("x>=3.0 is broken", [("3.0", "begins")]),
    ("the order is wrong starting from 4.3", [("4.3", "begins")]),
    ("from 4.4 on the order is wrong", [("4.4", "begins")]),
    ("it changed between 5.4.2 and 5.4.1", [("5.4.2", "begins"), ("5.4.1", "works")]),
    ("downgraded from 2.1 to 2.0", [("2.1", "fails"), ("2.0", "works")]),
    ("in versions older than 2.0 it worked", [("2.0", "begins")]),
    ("it is much slower in 10.0.0 than in 8.1.0", [("10.0.0", "fails"), ("8.1.0", "works")]),
    ("2.10.0 is slower then 2.6.0", [("2.10.0", "fails"), ("2.6.0", "works")]),
    (
        "Wide doors that have two handles are cut off in v2.4.1 but not in v2.3.0",
        [("2.4.1", "fails"), ("2.3.0", "works")],
    ),
    ("In previous version 2.3, doors were drawn", [("2.3", "works")]),
    ("In previous version 2.3 doors were wrong, too", [("2.3", "fails")]),
    ("In previous version 2.3 it is the same", []),
    (
        "The latest release (2.4.1) omits doors. Earlier versions (at least 2.3) preserve them",
        [("2.4.1", "used"), ("2.3", "works")],
    ),
    ("Tested with 2.3.0 (OK) and 2.4.1 (fails)", [("2.3.0", "works"), ("2.4.1", "fails")]),
    ("Tested with 2.3.0 (✅) and 2.4.1 (❌)", [("2.3.0", "works"), ("2.4.1", "fails")]),
    ("- 2.3.0 ✅\n- 2.4.1: ❌", [("2.3.0", "works"), ("2.4.1", "fails")]),
    ("| 2.3.0 | ✅ |\n| 2.4.1 | ❌ |", [("2.3.0", "works"), ("2.4.1", "fails")]),
    ("| 2.3.0 | ✅ | ❌ |", []),
]
"""Texts, and what they say about versions."""


@pytest.mark.parametrize(("text", "expected"), CLAIMS, ids=[text for text, _ in CLAIMS])
def test_what_a_report_says_about_versions(text, expected):
    assert claims(text) == expected


@pytest.mark.parametrize(("text", "expected"), CLAIMS, ids=[text for text, _ in CLAIMS])
def test_versions_with_a_v_are_read_alike(text, expected):
    assert claims(re.sub(r"(?<![\w.])(?=\d+\.\d)", "v", text)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Version: 2.8.1",
        "Full changelog: https://github.com/x/y/compare/v1.0.0...v1.1.0",
        "I use Flask 2.2.1 on 127.0.0.1",
        "it took 2.5 seconds in 1.2 tries",
        "pip install x==1.2.3",
        "see https://x.org/1.2/since/",
        "<!-- it worked in 1.2 -->",
        "This function is deprecated since 3.5",
        "users could call it since 3.5",
        "Changed in version 3.9: it works",
        "HTTP/1.0 200 OK",
        "Backport it to release-2019.10",
        "an empty project started with 4.1.1",
        "up to 10.99 GiB work",
        "comparing it to 3.3",
        "an accuracy less than 0.6",
        "it is slower than 2.5 seconds",
        "it is slower compared to 2.5 seconds",
        "it takes no longer in 2.1 than in 2.0",
        "2.0 renders the right panel, not the left one",
        "the result is 0.1 vs 0.2",
        "to make this work in 3.1 you have to convert it",
        "confirmed for versions going back to 1.11",
        "it requires a version newer than 1.3.8",
        "Lock tests detect changes in 3.2",
        "[Tue Jul 09 08:44:05.166158 2019] error",
        "It works again after 2.0",
        "It broke after 1.9",
        "All versions after 1.9 work",
        "Before 2.0 it failed, too",
        "Until 2.0 it failed",
        "Since 2.0 it works",
        "you made many refactorings since 1.6.1",
        "there are 20 commits since 1.6.1",
        "Upgrading to 2.0 fixes it",
        "2.0 fixes the crash",
        "The issue is fixed in 1.3",
        "The issue is gone with 1.2",
        "I cannot downgrade to 1.1.0",
        "I am not sure it works in 1.9",
        "I don't know whether it worked in 1.9",
        "Does it work in 1.9?",
        "It would work in 1.9",
        "Rolled back to 1.1.0, no change",
        "The column is not present in 1.2.0",
        "It works in 2.3 and later",
        "It throws errors 1.1.0 works fine",
        '"Roll": 0.0, "works": true',
    ],
)
def test_versions_that_say_nothing(text):
    assert claims(text) == []


@pytest.mark.parametrize(
    ("text", "products"),
    [
        ("It fails since Python 3.12", ("python",)),
        ("Ubuntu 16.04 fails", ("ubuntu",)),
        ("it works after downgrading scipy to 1.4.1", ("scipy",)),
        ("broken after upgrading our server to 2.0", ()),
        ("rolled back to 1.1.0", ()),
        ("it happens in the latest version (2.4)", ()),
        ("it fails after moving over to scipy 2.0", ("scipy",)),
        ("broken in the new 6.0 release", ()),
        ("broken since @types/node 20.1", ("@types/node",)),
        ("broken since `@types/node@20.1`", ("@types/node",)),
        ("it works after downgrading @types/node to 18.0", ("@types/node",)),
    ],
)
def test_the_product_of_a_version_is_told(text, products):
    [claim] = find_release_claims(text)
    assert claim.products == products


def test_the_second_version_of_a_pair_has_the_product_of_the_first():
    claims = find_release_claims("it changed between Python 3.7 and 3.8")
    assert [claim.products for claim in claims] == [("python",), ("python",)]


def test_versions_of_a_long_list_are_bounded():
    text = "\n".join(f"since {n}.1" for n in range(9_000))
    assert len(find_release_claims(text)) == MAX_RELEASES


def test_version_after_a_lone_quotation_mark_is_read():
    assert find_release_claims("It is ' version 1.2") == ()


def test_a_negation_of_another_verb_does_not_negate_worked():
    text = "The cart no longer counts items, worked in 2.1.0, broken in 2.2.0"
    states = [claim[:2] for claim in find_release_claims(text)]
    assert states == [("2.1.0", "works"), ("2.2.0", "begins")]


def test_a_negation_beside_worked_negates_it():
    [claim] = find_release_claims("It has not really worked in 2.1.0")
    assert claim.state == "fails"


# Fields


def fields(text):
    return [(claim.number, claim.state) for claim in find_version_fields(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**Version:** 2.0.7", [("2.0.7", "used")]),
        ("**Last working version:** 2.0.5", [("2.0.5", "works")]),
        ("### Last working version\n\n2.0.5\n", [("2.0.5", "works")]),
        ("### Version\n\n2.0.7\n\n### Python version\n\n3.9", [("2.0.7", "used"), ("3.9", "used")]),
        (
            "- Version: v2.0.7\n- Last known good version: 2.0.5",
            [("2.0.7", "used"), ("2.0.5", "works")],
        ),
        ("| Version | 2.0.7 |\n| Last working | 2.0.5 |", [("2.0.7", "used"), ("2.0.5", "works")]),
        (
            "| Last working | Affected |\n|---|---|\n| 2.0.5 | 2.0.7 |",
            [("2.0.5", "works"), ("2.0.7", "used")],
        ),
        ("First bad version: 2.0.7", [("2.0.7", "begins")]),
        ("### Version where it broke\n2.0.7", [("2.0.7", "fails")]),
        ("$ fzf --version\n0.65.2 (760d1b7c)", [("0.65.2", "used")]),
        ("### Did this work before?\n\nYes, 2.0.5", [("2.0.5", "works")]),
        ("Did this work before? Yes, in 2.0.5", [("2.0.5", "works")]),
        ("### Did this work before?\n\nNo, 2.0.5 failed", []),
        ("Did this work before?\nNot in 2.0.5", []),
        (
            "Yes, the previous version in which this bug was not present was: 1.1.0",
            [("1.1.0", "works")],
        ),
        ("Latest version in which this does not happen: 1.1.0", [("1.1.0", "works")]),
        ("Unaffected: 1.1.0\nNot affected: 1.0.0", [("1.1.0", "works"), ("1.0.0", "works")]),
        ("**Affected version(s)** 1.2.0", [("1.2.0", "used")]),
        ("Fix version: 2.0.8", []),
        ("Version: it is the one that was released as 2.0.7", []),
        ("2.3.1: the door opens", []),
        ("- Device: Pixel 6.1\n- Version: 2.0.7", [("2.0.7", "used")]),
        ("### Which hardware do you use?\n\nBoard 1.2", []),
        ("Phone model: 13.1", []),
        ("Device version: 2.3", []),
        # A sentence below a heading is read as a sentence.
        ("### Regression in the last release\n\n2.0.5 works, 2.0.7 does not", []),
        ("### Is this a regression?\n\nYes, it crashes since 2.0.7", []),
        ("### Introduced in\n\n2.0.7", [("2.0.7", "begins")]),
    ],
)
def test_versions_in_fields(text, expected):
    assert fields(text) == expected


def test_a_field_names_its_product():
    products = [claim.products for claim in find_version_fields("Flask: 2.0\nPython version: 3.9")]
    assert products == [("flask",), ("python",)]


def test_a_program_for_hardware_is_a_product():
    [claim] = find_version_fields("PyTorch version (GPU?): 1.6.0")
    assert claim.products == ("pytorch", "gpu")


def test_a_version_below_a_browser_is_the_browsers():
    [claim] = find_version_fields("- Browser: Firefox\n- Version: 98.0.1")
    assert claim.products == ("browser",)


def test_a_version_below_a_system_with_its_own_version_is_the_projects():
    [claim] = find_version_fields("- OS: Windows 10\n- Version: 2.0.7")
    assert claim == ("2.0.7", "used", ())


def test_a_scoped_package_is_a_product_of_a_field():
    text = "@types/node version: 18.0\nLast working version: @types/node@16.0"
    products = [claim.products for claim in find_version_fields(text)]
    assert products == [("@types/node",), ("@types/node",)]


# Pairs

PACKAGE = "@reduxjs/toolkit"


@pytest.mark.parametrize(
    "text",
    [
        "@reduxjs/toolkit\nBefore: 1.9.5\nAfter: 2.8.2",
        "**@reduxjs/toolkit**\n\n- Before: v1.9.5\n- After: v2.8.2",
        "- `@reduxjs/toolkit`: Before: 1.9.5, After: 2.8.2",
        "@reduxjs/toolkit (before: 1.9.5 / after: 2.8.2)",
        "Before: `@reduxjs/toolkit@1.9.5`\nAfter: `@reduxjs/toolkit@2.8.2`",
        "@reduxjs/toolkit:\nBefore the upgrade: 1.9.5\nAfter the upgrade: ^2.8.2",
        "@reduxjs/toolkit\nBefore (1.9.5): fast\nAfter (2.8.2): slow",
        "### @reduxjs/toolkit\n\n### Before\n\n1.9.5\n\n### After\n\n2.8.2",
        "* @reduxjs/toolkit\n  * Old version: 1.9.5\n  * New version: 2.8.2",
        "@reduxjs/toolkit\nFrom: 1.9.5\nTo: 2.8.2",
        "@reduxjs/toolkit\nWorking version: 1.9.5\nBroken version: 2.8.2",
        "@reduxjs/toolkit\nPrevious version: 1.9.5\nCurrent version: 2.8.2",
        "| | Before | After |\n|---|---|---|\n| @reduxjs/toolkit | 1.9.5 | 2.8.2 |",
        "| Package | Old version | New version |\n|-|-|-|\n| `@reduxjs/toolkit` | 1.9.5 | 2.8.2 |",
        "| | @reduxjs/toolkit |\n|--|--|\n| Before | 1.9.5 |\n| After | 2.8.2 |",
        "`@reduxjs/toolkit`: `1.9.5` → `2.8.2`",
        "- @reduxjs/toolkit 1.9.5 -> 2.8.2",
    ],
)
def test_a_pair_of_versions_is_a_range(text):
    assert find_claims(text) == [
        ReleaseClaim("1.9.5", "works", (PACKAGE,)),
        ReleaseClaim("2.8.2", "fails", (PACKAGE,)),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Before: 1.9.5\nAfter: 2.8.2",
        "### Version\n0.2.2->0.4.1",
        "## Regression\nOld version: 1.9.5\nNew version: 2.8.2",
        "The cart is slow since the update.\nBefore: 1.9.5\nAfter: 2.8.2",
    ],
)
def test_a_pair_without_a_product_is_the_projects(text):
    assert [(claim.state, claim.products) for claim in find_claims(text)] == [
        ("works", ()),
        ("fails", ()),
    ]


def test_each_row_of_a_table_names_its_product():
    rows = "| react | 18.2.0 | 19.0.0 |\n| @reduxjs/toolkit | 1.9.5 | 2.8.2 |"
    claims = find_claims(f"| Package | Before | After |\n|---|---|---|\n{rows}")
    assert [claim.products for claim in claims] == [("react",)] * 2 + [(PACKAGE,)] * 2


@pytest.mark.parametrize(
    "text",
    [
        "Before: 12.5 ms\nAfter: 20.3 ms",
        "| | Before | After |\n|---|---|---|\n| size | 1.95 MB | 2.82 MB |",
        "Before: 12.5%\nAfter: 20.3%",
        "After: 2.8.2",
        "After: 1.9.5\nBefore: 2.8.2",
        "Before: 1.9.5\nIt takes long.\nAfter: 2.8.2",
        "Before: 2.8.2\nAfter: 1.9.5",
        "It hangs before: 1.9.5. It hangs after: 2.8.2",
    ],
)
def test_other_lines_are_no_pairs(text):
    assert read_version_pairs(text).claims == ()


def test_lines_of_a_pair_are_read_once():
    claims = find_claims("Before upgrade: 1.9.5\nAfter upgrade: 2.8.2\nIt fails since 2.8.0")
    assert [claim[:2] for claim in claims] == [
        ("1.9.5", "works"),
        ("2.8.2", "fails"),
        ("2.8.0", "begins"),
    ]


def test_pairs_of_a_long_list_are_bounded():
    text = "\n".join(f"Before: 1.{n}\nAfter: 2.{n}" for n in range(1_000))
    assert len(read_version_pairs(text).claims) == 2 * MAX_PAIRS
