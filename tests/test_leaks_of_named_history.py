"""Nothing of the future counts in renames, and in changes that a report names."""

import math
from dataclasses import replace

import pytest

from tests import toy
from tests.test_leaks import ASKED, FIXED_AT, changed_features, check_same, extract_features
from tosloc.retrieval.history.history_index import HistoryIndex

OPENED = FIXED_AT - toy.DAY
"""When the asked report was opened, in seconds since 1970."""
PARSER = toy.class_path("Parser")
SOCKET = toy.class_path("Socket")
MIDDLE = "src/org/app/Middle.java"
NAMES = " Broken since #4242 and !77."


@pytest.fixture
def project(tmp_path):
    """Return a project whose asked report names a change."""
    project = toy.make_project(tmp_path, bugs=14, themes=7)
    project.records[ASKED]["description"] += NAMES
    return project


def plant_before_fix(project, plant, clock):
    """Plant commits between the asked report's version and its fix, and return the records.

    ``plant`` makes commits, the last of which restores all files. ``clock`` is the committer time
    of the first of them, in seconds since 1970.
    """
    git = project.git
    asked = project.records[ASKED]
    version = git.git("rev-parse", f"{asked['fix_commit']}~1")
    head = plant(git, version, clock)
    assert git.git("rev-parse", f"{head}^{{tree}}") == git.git("rev-parse", f"{version}^{{tree}}")
    fixed = {asked["fixed"][0]: toy.class_source("Parser", ["int again;"])}
    fix = git.commit(fixed, "Fix", when=OPENED + toy.DAY, parents=[head])
    records = list(project.records)
    records[ASKED] = asked | {"fix_commit": fix}
    return records


def swap_paths(git, version, clock):
    """Move two files to each other's path, then give both their old contents again."""
    parser = git.git("show", f"{version}:{PARSER}") + "\n"
    socket = git.git("show", f"{version}:{SOCKET}") + "\n"
    first = {PARSER: None, MIDDLE: parser}
    git.commit(first, "Move", when=clock, parents=[version])
    git.commit({SOCKET: None, PARSER: socket}, "Move", when=clock + 1)
    git.commit({MIDDLE: None, SOCKET: parser}, "Move", when=clock + 2)
    return git.commit({PARSER: parser, SOCKET: socket}, "Restore", when=clock + 3)


def commit_named_change(git, version, clock):
    """Commit a change and a merge that the asked report names."""
    parser = git.git("show", f"{version}:{PARSER}") + "\n"
    changed = {PARSER: toy.class_source("Parser", ["int planted;"])}
    first = git.commit(changed, "Plant (#4242)", when=clock, parents=[version])
    restored = git.commit({PARSER: parser}, "Restore !77", when=clock + 1)
    message = "Merge pull request #4242 from x/y"
    return git.commit({PARSER: parser}, message, when=clock + 2, parents=[first, restored])


PLANTS = [swap_paths, commit_named_change]


@pytest.mark.parametrize("plant", PLANTS)
def test_what_is_planted_after_the_opening_changes_no_feature(project, plant):
    before = extract_features(project, project.records)
    records = plant_before_fix(project, plant, OPENED + 100)
    check_same(before, extract_features(project, records))


@pytest.mark.parametrize(
    ("plant", "names"),
    [
        (swap_paths, {"history", "near_reports"}),
        (commit_named_change, {"named_change"}),
    ],
)
def test_what_is_planted_before_the_opening_changes_features(project, plant, names):
    """The test above can fail."""
    before = extract_features(project, project.records)
    after = extract_features(project, plant_before_fix(project, plant, OPENED - 100))
    assert names <= changed_features(before, after)


@pytest.mark.parametrize(
    ("plant", "name"), [(swap_paths, "history"), (commit_named_change, "named_change")]
)
def test_without_the_rule_of_time_plants_are_seen(project, monkeypatch, plant, name):
    as_of = HistoryIndex.as_of

    def ignore_time(self, opened, contained=None):
        return replace(as_of(self, math.inf, contained), opened=opened)

    monkeypatch.setattr(HistoryIndex, "as_of", ignore_time)
    before = extract_features(project, project.records)
    after = extract_features(project, plant_before_fix(project, plant, OPENED + 100))
    assert name in changed_features(before, after)


def test_a_tag_that_was_made_after_the_opening_is_not_looked_at(project):
    """Even if its commit is older than the report."""
    before = extract_features(project, project.records)
    commit = project.git.git("rev-parse", f"{project.records[2]['fix_commit']}")
    project.git.environment["GIT_COMMITTER_DATE"] = f"@{OPENED + 5} +0000"
    project.git.git("tag", "-a", "v1.0", "-m", "1.0", commit)
    check_same(before, extract_features(project, project.records))


def test_changes_beside_the_version_are_not_named(project):
    """A commit of another branch with an early clock is not among those of the version."""
    before = extract_features(project, project.records)
    git = project.git
    main = git.commits[-1]
    changed = {PARSER: toy.class_source("Parser", ["int planted;"])}
    side = git.commit(changed, "Plant (#4242)", when=OPENED - 100, parents=[git.commits[2]])
    git.commit({}, "Merge", when=OPENED + 199 * toy.DAY, parents=[main, side])
    later = toy.labelled_record("9", "x", "y", OPENED, git.commits[-1], [PARSER])
    check_same(before, extract_features(project, [*project.records, later]))
