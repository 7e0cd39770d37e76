"""Good and bad ends: which commits of a version can be the cause, by git's ancestry."""

import pytest

from tests.conftest import FIRST_TIME, HOUR
from tosloc.core.errors import ToslocError, UnknownCommit
from tosloc.git.process import Git
from tosloc.git.repository import Repository
from tosloc.rank.features.stated_ends import Ends
from tosloc.retrieval.history.bounds import Bounds, End, find_first_release, list_brought
from tosloc.retrieval.history.releases import Releases


@pytest.fixture
def commits(repository):
    """Return the ids of five commits in a row, of which the second and fourth are releases."""
    for number in range(5):
        repository.commit({"a.py": f"x = {number}\n"}, f"Change {number}")
    repository.git("tag", "v1.0", repository.commits[1])
    repository.git("tag", "v1.1", repository.commits[3])
    return repository.commits[:5]


@pytest.fixture
def resolve(repository, commits):
    """Return a function (good, bad, version) -> bounds of revisions in HEAD."""

    def resolve_bounds(good=(), bad=(), version="HEAD"):
        with Repository(repository.path) as opened:
            good_ends = [End(name, opened.resolve(name)) for name in good]
            bad_ends = [End(name, opened.resolve(name)) for name in bad]
            return Bounds.between(opened, opened.resolve(version), good_ends, bad_ends)

    return resolve_bounds


def test_commits_between_two_ends_are_possible(resolve, commits):
    assert resolve(["v1.0"], ["v1.1"]).commits == set(commits[2:4])


def test_without_a_bad_end_all_commits_after_the_good_one_are_possible(resolve, commits):
    assert resolve(["v1.0"]).commits == set(commits[2:])


def test_without_a_good_end_only_later_commits_are_impossible(resolve, commits):
    bounds = resolve(bad=["v1.1"])
    assert bounds.commits is None
    assert [bounds.allow(commit) for commit in commits] == [True, True, True, True, False]


def test_commits_are_ends_like_releases(resolve, commits):
    assert resolve([commits[0][:10]], [commits[2]]).commits == set(commits[1:3])


def test_an_unknown_end_is_an_error(repository, commits):
    with (
        Repository(repository.path) as opened,
        pytest.raises(UnknownCommit, match=r"no commit 'v7\.0'"),
    ):
        Ends.resolve(opened, ["v7.0"], None)


def test_a_given_good_end_that_contains_the_given_bad_one_is_an_error(repository, commits):
    with Repository(repository.path) as opened, pytest.raises(ToslocError, match="mixed up"):
        Ends.resolve(opened, ["v1.1"], "v1.0")


def test_a_given_good_end_excludes_stated_bad_ones_that_it_contains(repository, commits):
    with Repository(repository.path) as opened:
        given = Ends.resolve(opened, ["v1.1"], None)
        bounds = Bounds.between(opened, commits[4], given.good, [End("v1.0", commits[1])])
    assert bounds.commits == {commits[4]}
    assert bounds.notes == (
        "by the report it fails in v1.0, which the good commit v1.1 contains; v1.0 is ignored",
    )


def test_a_given_bad_end_excludes_stated_good_ones_that_contain_it(repository, commits):
    with Repository(repository.path) as opened:
        given = Ends.resolve(opened, [], "v1.0")
        bounds = Bounds.between(opened, commits[4], [End("v1.1", commits[3])], given.bad)
    assert bounds.commits is None
    assert bounds.later == set(commits[2:])
    assert bounds.notes == (
        "the report says that it works in v1.1, which contains the bad commit v1.0; v1.1 is"
        " ignored",
    )


@pytest.mark.parametrize(
    ("good", "bad", "sentence"),
    [
        (["v1.0"], "v1.1", "between v1.0, which worked, and v1.1: 2 commits"),
        (["v1.0"], None, "after v1.0, which worked: 3 commits"),
        ([], "v1.1", "no later than v1.1"),
    ],
)
def test_given_ends_are_told_with_the_number_of_commits(repository, commits, good, bad, sentence):
    with Repository(repository.path) as opened:
        given = Ends.resolve(opened, good, bad)
        bounds = Bounds.between(opened, commits[4], given.good, given.bad)
    assert bounds.sentence == f"The cause is {sentence}"


def test_dates_do_not_count(repository, commits, resolve):
    """A branch that began before the good release was merged after it."""
    side = repository.commit(
        {"b.py": "b\n"}, "Side", parents=[commits[0]], when=FIRST_TIME + HOUR // 2
    )
    merge = repository.commit({"b.py": "b\n"}, "Merge", parents=[commits[4], side])
    assert resolve(["v1.1"]).commits == {commits[4], side, merge}


def test_a_release_of_a_branch_excludes_what_it_contains(repository, commits, resolve):
    repository.commit({"b.py": "b\n"}, "Patch", parents=[commits[1]])
    repository.git("tag", "v1.0.1", repository.commits[-1])
    repository.git("reset", "-q", "--hard", commits[4])
    assert resolve(["v1.0.1"], version=commits[4]).commits == set(commits[2:])


def test_a_commit_that_was_picked_for_a_branch_counts_as_contained(repository, commits, resolve):
    repository.git("checkout", "-q", "-b", "maintained", commits[1])
    repository.environment["GIT_COMMITTER_DATE"] = f"@{FIRST_TIME + 9 * HOUR} +0000"
    repository.git("cherry-pick", commits[2])
    repository.git("tag", "v1.0.1")
    bounds = resolve(["v1.0"], ["v1.0.1"], version=commits[4])
    assert bounds.commits == {commits[2]}


def test_a_good_end_that_contains_a_bad_one_is_ignored(resolve, commits):
    bounds = resolve(["v1.1"], ["v1.0"])
    assert bounds.commits is None
    assert not bounds.allow(commits[3])
    assert "works in v1.1 and fails in v1.0" in bounds.notes[0]


def test_two_ranges_are_one_around_both(resolve, commits):
    bounds = resolve([commits[0], commits[2]], [commits[1], commits[3]])
    assert bounds.commits == set(commits[1:4])
    assert bounds.later == {commits[4]}
    assert bounds.words == f"between {commits[0]} and {commits[3]}"


def test_two_ranges_are_told(resolve, commits):
    [note] = resolve([commits[0], commits[2]], ["v1.0", "v1.1"]).notes
    assert note == (
        f"the report says that it fails in v1.0, works in {commits[2]} and fails in v1.1, as if it"
        " were about several faults; the range of versions is around all of them"
    )


def test_a_second_range_reaches_to_its_end_if_the_first_has_no_start(resolve, commits):
    bounds = resolve([commits[2]], ["v1.0", "v1.1"])
    assert bounds.commits is None
    assert bounds.later == {commits[4]}


def test_a_given_end_is_not_left_out_for_a_second_range(repository, commits):
    with Repository(repository.path) as opened:
        given = Ends.resolve(opened, [], commits[1])
        good = [End("first", commits[0]), End("second", commits[2])]
        bounds = Bounds.between(opened, commits[4], good, [*given.bad, End("v1.1", commits[3])])
    assert bounds.commits == {commits[1]}


def test_what_the_reporter_ran_is_no_end_of_a_second_range(repository, commits):
    with Repository(repository.path) as opened:
        good = [End("first", commits[0]), End("second", commits[2])]
        bad = [End("v1.0", commits[1]), End("v1.1", commits[3], is_own=True)]
        bounds = Bounds.between(opened, commits[4], good, bad)
    assert bounds.commits == {commits[1]}
    assert "second is ignored" in bounds.notes[0]


def test_a_statement_counts_more_than_what_the_reporter_ran(repository, commits):
    with Repository(repository.path) as opened:
        good = End("v1.1", commits[3])
        own = End("v1.0", commits[1], is_own=True)
        bounds = Bounds.between(opened, commits[4], [good], [own])
    assert bounds.commits == {commits[4]}
    assert bounds.bad == ()
    assert "v1.0 is ignored" in bounds.notes[0]


def test_only_ends_that_bound_are_named(resolve, commits):
    bounds = resolve([commits[0], "v1.0"], ["v1.1", commits[4]])
    assert bounds.words == "between v1.0 and v1.1"


def test_what_the_reporter_ran_is_not_named_beside_an_earlier_bad_end(repository, commits):
    with Repository(repository.path) as opened:
        good = [End("first", commits[0])]
        bad = [End("v1.0", commits[1]), End("v1.1", commits[3], is_own=True)]
        bounds = Bounds.between(opened, commits[4], good, bad)
    assert bounds.words == "between first and v1.0"


def test_of_several_builds_nothing_is_later_than_the_newest(repository, commits):
    with Repository(repository.path) as opened:
        builds = [End(commit[:10], commit, is_own=True) for commit in (commits[0], commits[3])]
        bounds = Bounds.between(opened, commits[4], [], builds)
    assert bounds.later == {commits[4]}


def test_an_empty_range_is_told(resolve, commits):
    bounds = resolve(["v1.1"], version=commits[2])
    assert bounds.commits == frozenset()
    assert bounds.notes == (
        "no commit of the searched version is after v1.1; search another version",
    )


def test_an_implied_end_makes_commits_likely_and_none_impossible(repository, commits):
    with Repository(repository.path) as opened:
        bounds = Bounds.between(
            opened, commits[4], [], [End("v1.1", commits[3])], End("v1.0", commits[1])
        )
    assert bounds.range == set(commits[2:4])
    assert bounds.allow(commits[0])


def test_words_name_the_ends(resolve):
    bounds = resolve(["v1.0"], ["v1.1"])
    assert bounds.words == "between v1.0 and v1.1"
    expected = "By the report it works in v1.0 and fails in v1.1: 2 commits can be the cause"
    assert bounds.sentence == expected


def test_a_merge_brings_the_commits_of_its_branch(repository, commits):
    side = repository.commit({"b.py": "b\n"}, "Side", parents=[commits[0]])
    merge = repository.commit({"b.py": "b\n"}, "Merge", parents=[commits[4], side])
    with Repository(repository.path) as opened:
        assert list_brought(opened, merge, commits[4]) == {side}


# The first release that contains a commit


@pytest.fixture
def walks(monkeypatch):
    """Return the list to which each reading of commits by git adds its arguments."""
    walks = []
    stream = Git.stream

    def record_walk(git, arguments, *others, **environment):
        if arguments[0] in ("log", "rev-list") and "--no-walk" not in arguments:
            walks.append(arguments)
        return stream(git, arguments, *others, **environment)

    monkeypatch.setattr(Git, "stream", record_walk)
    return walks


@pytest.fixture
def first_release(repository, commits):
    """Return a function (number of the commit) -> tag of the first release that contains it."""

    def find(number):
        with Repository(repository.path) as opened:
            [info] = opened.commits([commits[number]])
            releases = Releases.read(opened).releases
            return find_first_release(opened, releases, info.id, info.committed_at)

    return find


@pytest.mark.parametrize(("number", "tag"), [(0, "v1.0"), (1, "v1.0"), (2, "v1.1"), (4, "")])
def test_first_release_contains_the_commit(first_release, number, tag):
    assert first_release(number) == tag


def test_release_of_another_branch_does_not_contain_a_commit(repository, commits, first_release):
    repository.git("checkout", "-q", "-b", "maintained", commits[1])
    repository.commit({"b.py": "y = 1\n"}, "Maintain")
    repository.git("tag", "v1.0.1")
    assert first_release(2) == "v1.1"


def test_commits_are_read_once_for_all_releases(repository, commits, first_release, walks):
    for number in range(4):
        repository.git("tag", f"v2.{number}", commits[number])
    assert first_release(4) == ""
    assert len(walks) <= 1
    walks.clear()
    assert first_release(2) == "v2.2"
    assert len(walks) == 1
