"""Releases told by tags, and the range of releases that a report speaks of."""

import numpy as np
import pytest

from tosloc.core.arrays import to_arrays
from tosloc.git.repository import Repository, Tag, Tags
from tosloc.git.repository import tags as module
from tosloc.reports.text.named_releases import find_release_claims
from tosloc.reports.text.version_fields import find_version_fields
from tosloc.retrieval.history.releases import Releases, check_releases, parse_release_number

DAY = 86_400
TAGS = {
    "v1.0": 10,
    "v1.1": 20,
    "v1.1.1": 25,
    "v2.0rc1": 28,
    "v2.0": 30,
    "v1.1.2": 35,
    "v2.0.1": 40,
    "nightly": 41,
    "other-2.0": 5,
}
"""Tags with the day on which each was made."""


def make_releases(tags=TAGS, projects=()):
    return Releases.collect(
        [Tag(name, day * DAY, day * DAY) for name, day in tags.items()], projects
    )


def find(text, tags=TAGS, opened=50):
    """Return the names of the releases of which a text says that they work, and that they fail."""
    claims = (*find_release_claims(text), *find_version_fields(text))
    found = make_releases(tags).find(claims, opened * DAY)
    return [release.name for release in found.good], [release.name for release in found.bad]


@pytest.mark.parametrize(
    ("text", "good", "bad"),
    [
        ("It worked in 1.0 and is broken in 1.1", ["v1.0"], ["v1.1"]),
        ("It worked in 2.0", ["v2.0"], []),
        ("It fails since 2.0.1", [], ["v2.0.1"]),
        ("It worked in v2.0rc1, but fails in 2.0", ["v2.0rc1"], ["v2.0"]),
        ("It works in 1.0 and 1.1, but fails in 2.0", ["v1.0", "v1.1"], ["v2.0"]),
        ("It worked in 7.0, broken since 7.1", [], []),
    ],
)
def test_releases_that_a_report_states(text, good, bad):
    assert find(text) == (good, bad)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("It fails in 2.0", "v2.0"),
        ("It fails in door-lock 2.0", "door-lock-v2.0"),
        ("It fails in @shop/door 2.0", "@shop/door@2.0"),
        ("It fails in window 2.0", "v2.0"),
    ],
)
def test_a_package_has_tags_of_its_own(text, name):
    tags = {"v1.0": 10, "v2.0": 20, "door-lock-v2.0": 30, "@shop/door@2.0": 40}
    assert find(text, tags) == ([], [name])


@pytest.mark.parametrize(
    ("text", "implied"),
    [
        ("Since 1.1 it fails", "v1.0"),
        ("since 2.0", "v1.1.1"),
        ("since 1.0", None),
        ("in 2.0", None),
    ],
)
def test_the_release_before_the_first_that_fails_is_implied(text, implied):
    release = make_releases().find(find_release_claims(text), 50 * DAY).implied
    assert (release and release.name) == implied


def test_a_version_in_a_field_is_what_the_reporter_used():
    [release] = make_releases().find(find_version_fields("**Version:** 1.1"), 50 * DAY).used
    assert release.name == "v1.1"


def test_revision_of_a_package_means_the_release_in_it():
    assert find("It worked in 1.0.0.3, broken in 1.1.1.2") == (["v1.0"], ["v1.1.1"])


def test_version_of_four_numbers_is_exact_in_a_project_that_has_such_releases():
    tags = TAGS | {"v1.0.0.1": 12}
    assert find("It worked in 1.0.0.1, broken in 1.1", tags) == (["v1.0.0.1"], ["v1.1"])
    assert find("It worked in 1.0.0.3", tags) == ([], [])


@pytest.mark.parametrize("opened", [20, 15])
def test_tags_that_were_made_at_the_opening_or_later_are_not_known(opened):
    assert find("It worked in 1.0, broken in 1.1", opened=opened) == (["v1.0"], [])


@pytest.mark.parametrize(
    "tags",
    [
        {"release-1.0": 1, "release-1.1": 2},
        {"shop-1.0.0": 1, "shop-1.1.0": 2},
        {"REL_1_0": 1, "REL_1_1": 2},
        {"1.0.Final": 1, "1.1.Final": 2},
        {"rel/1.0": 1, "rel/1.1": 2, "other-1.0": 0, "other-1.1": 9, "rel/0.9": 0},
    ],
    ids=str,
)
def test_tags_of_many_forms_name_releases(tags):
    first, last, *_ = tags
    assert find("worked in 1.0, broken in 1.1", tags) == ([first], [last])


@pytest.mark.parametrize(
    ("text", "good", "bad"),
    [
        ("Worked in 0.3.0, broken in 0.4.0", "v0.3.0", "v0.4.0.post1"),
        ("Worked in 0.4.0.post1, broken in 0.4.1", "v0.4.0.post1", "v0.4.1"),
        ("Worked in 0.4.1.post2, broken in 1.1.1k", "v0.4.1", "v1.1.1k"),
        ("Worked in 1.1.1, broken in 1.1.1a", "v1.1.1", "v1.1.1a"),
        ("Worked in 1.1.1-p1, broken in 1.1.1k", "v1.1.1", "v1.1.1k"),
        ("Worked in 1.1.1b, broken in 1.1.1k", "v1.1.1", "v1.1.1k"),
    ],
)
def test_a_later_release_of_the_same_number_is_found(text, good, bad):
    names = ["v0.3.0", "v0.4.0.post1", "v0.4.1", "v1.1.1", "v1.1.1a", "v1.1.1k"]
    tags = {name: day for day, name in enumerate(names)}
    assert find(text, tags) == ([good], [bad])


def test_a_whole_number_without_a_tag_does_not_mean_the_next_release():
    assert find("Worked in 0.4.0, broken in 0.4.1", {"v0.3": 1, "v0.4.1": 2}) == ([], ["v0.4.1"])


def test_a_later_release_is_the_one_before_the_next():
    tags = {"v1.0": 1, "v1.1.post1": 2, "v1.2rc1": 3, "v1.2": 4}
    releases = make_releases(tags)
    found = releases.find(find_release_claims("It fails since 1.2"), 50 * DAY)
    assert found.implied is not None
    assert found.implied.name == "v1.1.post1"


def test_release_numbers_are_in_the_order_of_their_parts():
    texts = ["1.9", "1.10rc1", "1.10", "1.10.post1", "1.10.1", "2"]
    numbers = [parse_release_number(text) for text in texts]
    assert sorted(numbers) == numbers


# Names of the project


def test_a_project_with_a_remote_is_known_by_its_path():
    releases = make_releases(projects=["pallets/flask"])
    assert releases.is_own("Pallets/Flask", {"src"})
    assert releases.is_own("flask", {"src"})
    assert not releases.is_own("other/flask", {"src", "flask"})


@pytest.mark.parametrize("package", ["@reduxjs/toolkit", "@reduxjs/rtk-codegen"])
def test_a_scoped_package_of_the_owner_is_the_project_or_one_of_its_folders(package):
    releases = make_releases(projects=["reduxjs/redux-toolkit"])
    assert releases.is_own(package, {"packages", "rtkcodegen"})


@pytest.mark.parametrize("package", ["@types/node", "@reduxjs/reselect"])
def test_a_scoped_package_of_another_project_is_not_own(package):
    assert not make_releases(projects=["reduxjs/redux-toolkit"]).is_own(package, {"types", "node"})


def test_a_scoped_package_is_a_folder_of_a_project_without_a_remote():
    assert make_releases().is_own("@acme/cart", {"cart"})
    assert not make_releases().is_own("@types/node", {"types", "cart"})


def test_a_project_without_a_remote_is_known_by_its_folders():
    assert make_releases().is_own("pytest-dev/pytest", {"src", "pytest"})
    assert not make_releases().is_own("python", {"src", "pytest"})


def test_tags_and_remote_are_read_from_the_repository(repository):
    repository.commit({"a.py": "1"}, when=100)
    repository.git("tag", "v1.0")
    repository.environment["GIT_COMMITTER_DATE"] = "@300 +0000"
    repository.git("tag", "-a", "v1.1", "-m", "x")
    repository.git("tag", "tree", "HEAD^{tree}")
    repository.git("remote", "add", "origin", "git@github.com:me/shop.git")
    with Repository(repository.path) as opened:
        releases = Releases.read(opened)
    assert releases.tags == ["v1.0", "v1.1"]
    assert releases.times.tolist() == [100, 100]
    assert releases.known.tolist() == [100, 300]
    assert releases.projects == ["me/shop"]


def test_a_tag_without_an_object_hides_no_other(repository):
    repository.commit({"a.py": "1"}, when=100)
    repository.git("tag", "v1.0")
    repository.environment["GIT_COMMITTER_DATE"] = "@300 +0000"
    repository.git("tag", "-a", "v1.1", "-m", "x")
    repository.git("tag", "tree", "HEAD^{tree}")
    with Repository(repository.path) as opened:
        complete = Tags.read(opened)
        (repository.path / ".git/refs/tags/v2.0").write_text("1" * 40 + "\n")
        damaged = Tags.read(opened)
    assert damaged.newest == complete.newest
    assert (complete.broken, damaged.broken) == (0, 1)


def test_the_newest_tags_are_read(repository, monkeypatch):
    monkeypatch.setattr(module, "MAX_TAGS", 2)
    for number, tag in enumerate(["a", "v2.0", "b"]):
        repository.commit({"a.py": str(number)}, when=300 - 100 * (tag == "a"))
        repository.git("tag", tag)
    with Repository(repository.path) as opened:
        tags = Tags.read(opened)
    assert [tag.name for tag in tags.newest] == ["b", "v2.0"]
    assert tags.older == 1


# Untrusted arrays

GOOD = to_arrays({"r": make_releases({"v1.0": 1})})


def test_arrays_of_releases_are_accepted():
    check_releases(GOOD, "r")


@pytest.mark.parametrize(
    ("name", "values"),
    [("times", np.array([2**62])), ("known", np.array([1, 2])), ("times", np.array([0.5]))],
)
def test_damaged_arrays_of_releases_are_refused(name, values):
    with pytest.raises(ValueError, match=name):
        check_releases(GOOD | {f"r.{name}": values}, "r")
