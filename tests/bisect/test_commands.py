"""``tosloc bisect`` on small repositories: git's state, marks, ends, output and refusals."""

import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.bisect.conftest import TEST, TEST_COMMAND, make_line
from tests.conftest import HOUR, GitRepository
from tosloc.bisect import steps
from tosloc.bisect.state import WEIGHTS_FILE, BisectionState
from tosloc.git.repository import Repository

REPORT = "The total of the shop is wrong"


def head(repository):
    """Return the full id of the checked out commit."""
    return repository.git("rev-parse", "HEAD")


def state(bisect, repository):
    """Return what ``status --json`` says."""
    return json.loads(bisect(repository, "status", "--json").out)


# ---- without a report


def test_without_a_report_commits_are_counted(bisect, line):
    bisect(line, "start", "--good", "good")
    ours = head(line)
    bisect(line, "reset")
    line.git("bisect", "start", "main", "good")
    assert ours == head(line)


def test_missing_report_is_said_in_one_sentence(bisect, line):
    notes = bisect(line, "start", "--good", "good").err.splitlines()
    sentence = "tosloc: there is no report, so every commit is equally likely, as in git bisect"
    assert notes[-1] == sentence


def test_run_finds_the_culprit(bisect, line):
    bisect(line, "start", "--good", "good")
    out = bisect(line, "run", *TEST_COMMAND).out
    assert f"The first bad commit:\n  {line.commits[7][:10]} (2001-09-09) Change 7\n" in out
    assert "    shop.py\n" in out


def test_reset_restores_branch_and_files(bisect, line):
    bisect(line, "start", "--good", "good")
    bisect(line, "run", *TEST_COMMAND)
    bisect(line, "reset")
    assert line.git("symbolic-ref", "HEAD") == "refs/heads/main"
    assert line.git("status", "--porcelain") == ""
    assert (line.path / "a.txt").read_text() == "11\n"


def test_reset_restores_a_detached_head(bisect, line):
    line.git("checkout", "-q", "--detach", line.commits[10])
    bisect(line, "start", "--good", "good")
    bisect(line, "reset")
    assert head(line) == line.commits[10]
    assert line.git("rev-parse", "--abbrev-ref", "HEAD") == "HEAD"


def test_reset_accepts_another_commit(bisect, line):
    bisect(line, "start", "--good", "good")
    bisect(line, "reset", line.commits[3])
    assert head(line) == line.commits[3]


def test_bad_end_can_be_named(bisect, line):
    bisect(line, "start", "--good", "good", "--bad", line.commits[9])
    assert state(bisect, line)["bad"] == line.commits[9]


# ---- git's own state


def test_git_understands_the_log(bisect, line):
    bisect(line, "start", "--good", "good")
    bisect(line, "good")
    log = bisect(line, "log").out
    assert line.git("bisect", "log") == log.strip()
    bisect(line, "reset")
    (line.path.parent / "log").write_text(log)
    line.git("bisect", "replay", str(line.path.parent / "log"))
    assert line.git("bisect", "log").count("\ngit bisect good") == 2


def test_marks_of_git_count(bisect, line):
    bisect(line, "start", "--good", "good")
    line.git("bisect", "good", line.commits[5])
    assert state(bisect, line)["left"] == 6


def test_bisection_that_git_started_is_continued(bisect, line):
    line.git("bisect", "start", "main", "good")
    out = bisect(line, "run", *TEST_COMMAND).out
    assert line.commits[7][:10] in out


def test_other_terms_of_git_count(bisect, line):
    line.git("bisect", "start", "--term-old", "fast", "--term-new", "slow", "main", "good")
    bisect(line, "run", *TEST_COMMAND)
    assert f"git bisect slow {line.commits[7]}" in line.git("bisect", "log")


def test_culprit_is_in_the_log_once(bisect, line):
    bisect(line, "start", "--good", "good")
    bisect(line, "run", *TEST_COMMAND)
    bisect(line, "next")
    log = line.git("bisect", "log")
    assert log.count(f"# first bad commit: [{line.commits[7]}] Change 7") == 1


def test_ends_can_be_marked_one_after_the_other(bisect, line):
    line.git("bisect", "start")
    notes = bisect(line, "bad").err
    assert notes == "tosloc: a bisection needs a good and a bad commit; mark the other one\n"
    bisect(line, "good", "good")
    assert state(bisect, line)["left"] == 11


def test_paths_of_git_are_refused(fails, line):
    line.git("bisect", "start", "main", "good", "--", "shop.py")
    assert fails(line, "next").startswith("this bisection is limited to some paths")


# ---- marks


def test_mark_of_a_revision(bisect, line):
    bisect(line, "start", "--good", "good")
    bisect(line, "bad", "HEAD~1")
    assert state(bisect, line)["left"] == 4


def test_skipped_commit_is_not_tested_again(bisect, line):
    bisect(line, "start", "--good", "good")
    skipped = head(line)
    bisect(line, "skip")
    assert state(bisect, line)["skipped"] == [skipped]
    assert head(line) != skipped


def test_several_good_commits_are_marked(bisect, line):
    bisect(line, "start", "--good", "good")
    bisect(line, "good", line.commits[3], line.commits[4])
    assert state(bisect, line)["left"] == 7


def test_empty_range_is_refused(fails, bisect, line):
    bisect(line, "start", "--good", "good")
    sentence = fails(line, "skip", f"{line.commits[5]}..{line.commits[2]}")
    assert "there is no commit in this range" in sentence


def test_range_of_commits_is_skipped(bisect, line):
    bisect(line, "start", "--good", "good")
    bisect(line, "skip", f"{line.commits[2]}..{line.commits[5]}")
    assert sorted(state(bisect, line)["skipped"]) == sorted(line.commits[3:6])


def test_commits_that_cannot_be_told_apart_are_listed(bisect, line):
    bisect(line, "start", "--good", line.commits[4], "--bad", line.commits[7])
    out = bisect(line, "skip", line.commits[5], line.commits[6], code=2).out
    assert out.startswith("Only skipped commits are left. One of these 3 introduced the fault:")
    assert all(commit[:10] in out for commit in line.commits[5:8])


def test_run_stops_when_only_skipped_commits_are_left(bisect, line):
    bisect(line, "start", "--good", "good")
    program = (
        "import sys, pathlib; n = int(pathlib.Path('a.txt').read_text());"
        " sys.exit(125 if 5 <= n < 9 else n >= 7)"
    )
    out = bisect(line, "run", sys.executable, "-c", program, code=2).out
    assert "One of these 5 introduced the fault" in out


def test_contradictory_mark_is_refused_and_not_kept(fails, bisect, line):
    bisect(line, "start", "--good", line.commits[5])
    sentence = fails(line, "bad", line.commits[3])
    assert sentence.startswith(f"the bad commit {line.commits[3][:10]} is contained in the good")
    assert state(bisect, line)["bad"] == line.commits[11]


def test_swapped_ends_are_refused(fails, line):
    sentence = fails(line, "start", "--good", "main", "--bad", "good")
    assert "check if the two were mixed up" in sentence
    assert not (line.path / ".git/BISECT_START").exists()


def test_same_commit_is_not_good_and_bad(fails, line):
    sentence = fails(line, "start", "--good", "main")
    assert sentence == (
        f"commit {line.commits[-1][:10]} cannot be good and bad at once; name a good commit that is"
        " older"
    )


# ---- exit codes


def test_exit_code_of_a_signal_stops_the_run(bisect, line):
    bisect(line, "start", "--good", "good")
    tested = head(line)
    err = bisect(line, "run", sys.executable, "-c", "import sys; sys.exit(200)", code=2).err
    assert "exit code 200" in err
    assert head(line) == tested
    assert line.git("bisect", "log").count("\ngit bisect") == 2


def test_command_that_does_not_exist_stops_the_run(bisect, line):
    bisect(line, "start", "--good", "good")
    tested = head(line)
    err = bisect(line, "run", "no-such-command", "two words", code=2).err
    assert err == (
        "tosloc: no-such-command 'two words': this command, or one that it calls, was not found"
        f" (exit code 127), also on the good commit {line.commits[0][:10]}; check names and paths\n"
    )
    assert head(line) == tested


def test_code_127_of_bad_commits_is_bad(bisect, line):
    bisect(line, "start", "--good", "good")
    program = TEST.replace("sys.exit(", "sys.exit(127 * (").replace("())", "()))")
    assert line.commits[7][:10] in bisect(line, "run", sys.executable, "-c", program).out


def test_command_that_changes_files_is_told_to_undo_it(bisect, line):
    bisect(line, "start", "--good", "good")
    program = f"open('a.txt', 'a').write('more'); {TEST}"
    err = bisect(line, "run", sys.executable, "-c", program, code=2).err
    assert "Your local changes to the following files would be overwritten by checkout" in err
    assert "undo that (git restore, git clean) and run the same command again" in err
    line.git("restore", "a.txt")
    assert line.commits[7][:10] in bisect(line, "run", *TEST_COMMAND).out


ALWAYS = (sys.executable, "-c", "import sys; sys.exit(int(sys.argv[1]))")
"""Command that gives the same exit code, its argument, on every commit."""


def test_command_that_always_fails_is_refused(bisect, line):
    bisect(line, "start", "--good", "good")
    tested = head(line)
    out, err = bisect(line, "run", *ALWAYS, 1, code=2)
    good = line.commits[0][:10]
    assert "The first bad commit" not in out
    assert f" 1: this command fails on every commit, on the good commit {good}, too" in err
    assert state(bisect, line)["bad"] == line.commits[-1]
    assert head(line) == tested
    out = bisect(line, "run", *TEST_COMMAND).out
    assert f"The first bad commit:\n  {line.commits[7][:10]}" in out


def test_command_that_always_fails_is_refused_after_three_runs(bisect, repository):
    make_line(repository, number=40)
    bisect(repository, "start", "--good", "good")
    out, err = bisect(repository, "run", *ALWAYS, 1, code=2)
    assert out.count("Run ") == 3
    assert f"on the good commit {repository.commits[0][:10]}, too (exit code 1)" in err


def test_command_that_passes_on_the_good_end_is_not_run_there_again(bisect, repository):
    make_line(repository, number=40, culprit=1)
    bisect(repository, "start", "--good", "good")
    out = bisect(repository, "run", *TEST_COMMAND).out
    assert out.count("Run ") > 4
    assert out.count("the good commit") == 1
    assert f"The first bad commit:\n  {repository.commits[1][:10]}" in out


def test_signal_on_the_good_end_does_not_end_the_bisection(bisect, line):
    bisect(line, "start", "--good", "good")
    program = "import sys, pathlib; sys.exit(1 if int(pathlib.Path('a.txt').read_text()) else 200)"
    err = bisect(line, "run", sys.executable, "-c", program, code=2).err
    assert "exit code 200" in err
    assert state(bisect, line)["bad"] == line.commits[-1]


def test_culprit_after_the_good_end_is_confirmed_by_one_more_run(bisect, repository):
    make_line(repository, culprit=1)
    bisect(repository, "start", "--good", "good")
    out, err = bisect(repository, "run", *TEST_COMMAND)
    assert out.count(" is bad\n") == out.count("Run ") - 1
    good = repository.commits[0][:10]
    assert f": the good commit {good} is good (tested because no other run was good)\n" in out
    assert f"The first bad commit:\n  {repository.commits[1][:10]}" in out
    assert "no test run" not in err
    assert repository.git("rev-parse", "HEAD") == repository.commits[1]


def test_good_end_that_cannot_be_tested_is_noted(bisect, repository):
    make_line(repository, culprit=1)
    bisect(repository, "start", "--good", "good")
    program = TEST.replace("sys.exit(", "sys.exit(125 - 124 * (").replace("())", "()))")
    out, err = bisect(repository, "run", sys.executable, "-c", program)
    found = repository.commits[1][:10]
    assert f"The first bad commit:\n  {found}" in out
    assert "no test run was good, so the command may fail on every commit" in err


def test_command_that_always_passes_is_noted(bisect, line):
    bisect(line, "start", "--good", "good")
    out, err = bisect(line, "run", *ALWAYS, 0)
    last = line.commits[-1][:10]
    assert f"The first bad commit:\n  {last}" in out
    assert (
        "no test run was bad, so the command may not test the fault; check that it fails on"
        f" {last}\n"
    ) in err


def test_options_of_the_command_are_its_own(bisect, line):
    bisect(line, "start", "--good", "good")
    program = f"import sys; assert sys.argv[1:] == ['--json', '-h']; {TEST}"
    out = bisect(line, "run", sys.executable, "-c", program, "--json", "-h").out
    assert line.commits[7][:10] in out


# ---- graphs


def make_branches(repository):
    """Return the fork and the ends of a maintenance branch and of the main branch."""
    fork = repository.commit({"shop.py": "1\n"}, "Fork")
    stable = repository.commit({"stable.txt": "1\n"}, "Stable", parents=[fork])
    first = repository.commit({"a.txt": "1\n"}, "One", parents=[fork])
    culprit = repository.commit({"shop.py": "fault\n"}, "Two", parents=[first])
    last = repository.commit({"a.txt": "3\n"}, "Three", parents=[culprit])
    return fork, stable, culprit, last


def test_merge_base_is_tested_first(bisect, repository):
    fork, stable, culprit, _ = make_branches(repository)
    out = bisect(repository, "start", "--good", stable).out
    assert "their merge base comes first" in out
    assert head(repository) == fork
    assert culprit[:10] in bisect(repository, "run", *TEST_COMMAND).out


def test_bad_merge_base_means_that_the_fault_was_fixed(fails, bisect, repository):
    fork, stable, _, _ = make_branches(repository)
    bisect(repository, "start", "--good", stable)
    sentence = fails(repository, "bad")
    assert sentence.startswith(
        f"the bad commit {fork[:10]} is contained in the good commit {stable[:10]}, so the fault"
        " was fixed in between"
    )


def test_command_that_fails_on_the_merge_base_is_tried_on_a_good_commit(bisect, repository):
    fork, stable, _, _ = make_branches(repository)
    bisect(repository, "start", "--good", stable)
    err = bisect(repository, "run", "false", code=2).err
    assert err.startswith(
        f"tosloc: false: this command fails on the merge base {fork[:10]} and on the good commit"
        f" {stable[:10]} (exit code 1), so it does not test the fault;"
    )
    assert head(repository) == fork
    assert repository.git("bisect", "log").count("git bisect bad") == 1


def test_fault_of_the_merge_base_that_a_good_commit_lacks_was_fixed(bisect, repository):
    _, stable, _, _ = make_branches(repository)
    bisect(repository, "start", "--good", stable)
    err = bisect(repository, "run", "test", "-e", "stable.txt", code=2).err
    assert "so the fault was fixed in between" in err


def test_skipped_merge_base_is_noted(bisect, repository):
    fork, stable, culprit, _ = make_branches(repository)
    bisect(repository, "start", "--good", stable)
    note = bisect(repository, "skip").err
    assert note.startswith(f"tosloc: the merge base {fork[:10]} was skipped")
    assert culprit[:10] in bisect(repository, "run", *TEST_COMMAND).out


def make_parallel_branches(repository, number=8):
    """Return the first commit of a history in which two long branches are merged.

    The last commit of the second branch introduces the fault.
    """
    base = repository.commit({"shop.py": "1\n"}, "Base")
    for position in range(number):
        first = repository.commit({"a.txt": f"{position}\n"}, f"First {position}")
    parents = [base]
    for position in range(number):
        files = {"b.txt": f"{position}\n"}
        if position == number - 1:
            files["shop.py"] = "fault\n"
        second = repository.commit(files, f"Second {position}", parents=parents)
        parents = [second]
    repository.commit({"shop.py": "fault\n", "b.txt": "7\n"}, "Merge", parents=[first, second])
    return base, second


def test_good_commits_of_another_branch_need_no_merge_base(bisect, repository):
    """Only ends that a user names may be on another branch."""
    base, culprit = make_parallel_branches(repository)
    bisect(repository, "start", "--good", base)
    out = bisect(repository, "run", *TEST_COMMAND).out
    assert culprit[:10] in out
    assert "their merge base comes first" not in out


def test_good_merge_base_is_not_tested(bisect, repository):
    fork, stable, _, _ = make_branches(repository)
    bisect(repository, "start", "--good", fork)
    bisect(repository, "good", stable)
    assert state(bisect, repository)["state"] == "test"


def test_new_good_end_on_another_branch_needs_its_merge_base(bisect, repository):
    first = repository.commit({"a.txt": "0\n"}, "First")
    fork, stable, _, _ = make_branches(repository)
    assert repository.git("rev-parse", f"{fork}~1") == first
    bisect(repository, "start", "--good", first)
    bisect(repository, "good", stable)
    assert head(repository) == fork


def test_unrelated_good_end_is_tested_by_range_alone(bisect, repository):
    _, _, culprit, _ = make_branches(repository)
    tip = repository.git("rev-parse", "main")
    unrelated = repository.commit({"shop.py": "1\n"}, "Unrelated", parents=[])
    bisect(repository, "start", "--good", unrelated, "--bad", tip)
    assert culprit[:10] in bisect(repository, "run", *TEST_COMMAND).out


def make_merge(repository):
    """Return a repository in which a merged branch brings the fault."""
    base = repository.commit({"shop.py": "1\n"}, "Base")
    main = repository.commit({"a.txt": "1\n"}, "Main")
    side = repository.commit({"b.txt": "1\n"}, "Side", parents=[base])
    culprit = repository.commit({"shop.py": "fault\n"}, "Fault", parents=[side])
    merge = repository.commit({"shop.py": "fault\n"}, "Merge", parents=[main, culprit])
    repository.commit({"a.txt": "2\n"}, "Later")
    return base, culprit, merge


def test_culprit_on_a_merged_branch_is_found(bisect, repository):
    base, culprit, _ = make_merge(repository)
    bisect(repository, "start", "--good", base)
    assert culprit[:10] in bisect(repository, "run", *TEST_COMMAND).out


def test_first_parents_end_at_the_merge(bisect, repository):
    base, _, merge = make_merge(repository)
    bisect(repository, "start", "--first-parent", "--good", base)
    assert state(bisect, repository)["left"] == 3
    assert f"  {merge[:10]}" in bisect(repository, "run", *TEST_COMMAND).out


# ---- places


def test_subfolder_is_kept(bisect, repository):
    for position in range(6):
        files = {"shop.py": "fault\n" if position >= 4 else "1\n", "x.txt": f"{position}\n"}
        if position == 0 or position == 5:
            files["inner/b.txt"] = f"{position}\n"
        repository.commit(files)
    folder = repository.path / "inner"
    bisect(folder, "start", "--good", repository.commits[0])
    program = TEST.replace("shop.py", "../shop.py")
    out = bisect(folder, "run", sys.executable, "-c", program).out
    assert repository.commits[4][:10] in out
    bisect(folder, "reset")
    assert (folder / "b.txt").read_text() == "5\n"


def test_linked_work_tree_is_bisected_alone(bisect, line):
    linked = line.path.parent / "linked"
    line.git("worktree", "add", "-q", "-b", "other", str(linked))
    bisect(linked, "start", "--good", "good")
    assert line.commits[7][:10] in bisect(linked, "run", *TEST_COMMAND).out
    assert head(line) == line.commits[11]
    bisect(linked, "reset")
    assert (linked / "a.txt").read_text() == "11\n"


def test_submodule_does_not_hinder(bisect, make_repository):
    inner = make_line(make_repository("inner"), 3, 5)
    outer = make_repository("outer")
    for position in range(6):
        content = "fault\n" if position >= 3 else "1\n"
        number = min(position, 2)
        modules = f'[submodule "lib"]\n\tpath = lib\n\turl = {inner.path}\n'
        outer.commit(
            {
                "shop.py": content,
                "x.txt": f"{position}\n",
                ".gitmodules": modules,
                "lib": ("160000", inner.commits[number].encode()),
            }
        )
    outer.git("-c", "protocol.file.allow=always", "submodule", "-q", "update", "--init")
    bisect(outer, "start", "--good", outer.commits[0])
    assert outer.commits[3][:10] in bisect(outer, "run", *TEST_COMMAND).out
    bisect(outer, "reset")
    assert outer.git("status", "--porcelain", "--ignore-submodules=none") == ""


READ_BISECT_HEAD = (
    "import subprocess, sys; sys.exit('fault' in subprocess.run(['git', 'show',"
    " 'BISECT_HEAD:shop.py'], capture_output=True, text=True, check=True).stdout)"
)


def test_nothing_is_checked_out_if_not_wanted(bisect, line):
    bisect(line, "start", "--no-checkout", "--good", "good")
    out = bisect(line, "run", sys.executable, "-c", READ_BISECT_HEAD).out
    assert line.commits[7][:10] in out
    assert head(line) == line.commits[11]


@pytest.fixture
def bare(line):
    """Return a bare clone of the line."""
    clone = GitRepository(line.path.parent / "bare.git", True, line.environment, line.commits)
    line.git("clone", "-q", "--bare", str(line.path), str(clone.path))
    return clone


def test_bare_repository_needs_no_checkout(fails, bare):
    assert "a bare repository has no files to test; add --no-checkout" in fails(
        bare, "start", "--good", "good"
    )


def test_bare_repository_is_bisected_without_checkout(bisect, bare):
    bisect(bare, "start", "--no-checkout", "--good", "good")
    out = bisect(bare, "run", sys.executable, "-c", READ_BISECT_HEAD).out
    assert bare.commits[7][:10] in out
    bisect(bare, "reset")
    assert not (bare.path / "BISECT_START").exists()


# ---- refusals


def test_dirty_tree_is_refused(fails, line):
    (line.path / "a.txt").write_text("mine\n")
    sentence = fails(line, "start", "--good", "good")
    assert sentence.startswith(f"{line.path}: a.txt has uncommitted changes; commit or stash")
    assert (line.path / "a.txt").read_text() == "mine\n"


def test_new_files_are_no_hindrance(bisect, line):
    (line.path / "notes.txt").write_text("mine\n")
    bisect(line, "start", "--good", "good")
    bisect(line, "reset")
    assert (line.path / "notes.txt").read_text() == "mine\n"


def test_start_that_cannot_check_out_changes_nothing(fails, line):
    line.commit({"a.txt": None})
    (line.path / "a.txt").write_text("mine\n")
    assert "would be overwritten by checkout" in fails(line, "start", "--good", "good")
    assert (line.path / "a.txt").read_text() == "mine\n"
    assert not (line.path / ".git/BISECT_START").exists()
    assert line.git("symbolic-ref", "HEAD") == "refs/heads/main"


def test_folder_outside_of_a_repository_is_refused(fails, tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert fails(tmp_path, "status") == f"{tmp_path}: not in a git repository; change to one"


def test_second_start_is_refused(fails, bisect, line):
    bisect(line, "start", "--good", "good")
    assert fails(line, "start", "--good", "good").startswith("a bisection is in progress")


@pytest.mark.parametrize("command", ["good", "bad", "skip", "next", "status", "log", "prior"])
def test_commands_need_a_started_bisection(fails, line, command):
    assert fails(line, command).startswith("no bisection is in progress; begin one")


def test_reset_without_a_bisection_changes_nothing(bisect, line):
    line.git("checkout", "-q", "--detach")
    assert "there is nothing to reset" in bisect(line, "reset").err
    assert line.git("rev-parse", "--abbrev-ref", "HEAD") == "HEAD"
    assert head(line) == line.commits[11]


def test_too_many_commits_are_refused(fails, line, monkeypatch):
    monkeypatch.setattr(steps, "MAX_COMMITS", 5)
    sentence = fails(line, "start", "--good", "good")
    assert sentence.startswith("more than 5 commits are between the good and the bad commit")
    assert not (line.path / ".git/BISECT_START").exists()


def test_unknown_revision_is_refused(fails, line):
    assert "no commit 'v9'" in fails(line, "start", "--good", "v9")


# ---- weights


def test_suspect_is_tested_early(bisect, line):
    bisect(line, "start", REPORT, "--good", "good")
    out = bisect(line, "run", *TEST_COMMAND).out
    assert out.endswith("\n2 test runs (git bisect: about 3.5)\n")


def test_weights_stay_when_git_marks(bisect, line):
    bisect(line, "start", REPORT, "--good", "good")
    line.git("bisect", "good", line.commits[2])
    candidates = state(bisect, line)["candidates"]
    assert candidates[0]["commit"] == line.commits[7]
    assert candidates[0]["probability"] > 0.5


def test_weights_of_an_earlier_bisection_do_not_count(bisect, line):
    bisect(line, "start", REPORT, "--good", "good")
    line.git("bisect", "reset")
    line.git("bisect", "start", "main", "good")
    assert state(bisect, line)["report"] is None


def test_weights_of_an_earlier_bisection_are_removed(bisect, line):
    bisect(line, "start", REPORT, "--good", "good")
    line.git("bisect", "reset")
    bisect(line, "start", "--good", "good")
    assert not (line.path / ".git" / WEIGHTS_FILE).exists()


def test_damaged_weights_do_not_count(bisect, line):
    bisect(line, "start", REPORT, "--good", "good")
    (line.path / ".git" / WEIGHTS_FILE).write_text("{")
    assert state(bisect, line)["report"] is None


def test_reset_removes_the_weights(bisect, line):
    bisect(line, "start", REPORT, "--good", "good")
    bisect(line, "reset")
    assert not (line.path / ".git" / WEIGHTS_FILE).exists()


def test_report_without_a_suspect_in_the_range_is_noted(bisect, line):
    err = bisect(line, "start", REPORT, "--good", line.commits[8]).err
    assert "no suspect is in the range, so every commit is equally likely" in err


def test_named_good_end_lets_changes_of_other_files_count(bisect, line):
    culprit = line.commit({"shop.cfg": "total = crowns\n"}, "Set the currency")
    line.commit({"a.txt": "later\n"})
    line.git("reset", "-q", "--hard")
    bisect(line, "start", REPORT, "--good", line.commits[8])
    assert state(bisect, line)["candidates"][0]["commit"] == culprit


def test_priors_are_commands_of_git_bayesect(bisect, line):
    bisect(line, "start", REPORT, "--good", "good")
    first, *priors = bisect(line, "prior").out.splitlines()
    assert first == f"git bayesect start --old {line.commits[0]} --new {line.commits[11]}"
    [heaviest] = [command for command in priors if line.commits[7] in command]
    assert heaviest.startswith(f"git bayesect prior --commit {line.commits[7]} --weight ")
    assert float(heaviest.split()[-1]) > 10


def test_merge_has_the_prior_of_what_it_brought(bisect, repository):
    base, _, merge = make_merge(repository)
    bisect(repository, "start", "--good", base)
    priors = bisect(repository, "prior").out.splitlines()
    assert priors[1:] == [f"git bayesect prior --commit {merge} --weight 3"]


# ---- ends that the report states


@pytest.fixture
def releases(line):
    """Return the line with the releases 1.0 (the first commit), 1.1 and 1.2 (the last commit)."""
    for name, position in (("v1.0", 0), ("v1.1", 9), ("v1.2", 11)):
        line.git("tag", name, line.commits[position])
    return line


def test_stated_releases_are_the_ends(bisect, releases):
    bisect(releases, "start", f"{REPORT}. It worked in 1.0, and fails in 1.1.")
    ends = state(bisect, releases)
    assert ends["good"] == [releases.commits[0]]
    assert ends["bad"] == releases.commits[9]


def test_words_of_stated_ends_are_quoted(bisect, releases):
    report = f"{REPORT}. It worked in 1.0.\n\n**Affected version**\n\n1.1\n"
    err = bisect(releases, "start", report).err.splitlines()
    assert 'tosloc: good: v1.0, by the report: "It worked in 1.0."' in err
    assert 'tosloc: bad: v1.1, by the report: "Affected version 1.1"' in err


def test_quoted_words_contain_the_end_however_long_the_sentence_is(bisect, releases):
    report = (
        f"{REPORT}.\n\nIt fails in 1.1{', also on other machines' * 4}, and works in 1.0 there."
    )
    err = bisect(releases, "start", report).err
    assert 'good: v1.0, by the report: "...also on other machines' in err
    assert 'and works in 1.0 there."' in err


def test_stated_commit_is_a_good_end(bisect, line):
    good = line.commits[2][:10]
    err = bisect(line, "start", f"{REPORT}. It works at {good}.").err
    assert state(bisect, line)["good"] == [line.commits[2]]
    assert f'good: {good}, by the report: "It works at {good}."' in err


def test_version_of_the_reporter_is_the_bad_end(bisect, releases):
    bisect(releases, "start", f"{REPORT}\n\nVersion: 1.1\n", "--good", "v1.0")
    assert state(bisect, releases)["bad"] == releases.commits[9]


def test_release_before_the_first_bad_one_is_a_good_end(bisect, releases):
    err = bisect(releases, "start", f"{REPORT}. It broke in 1.1.").err
    assert state(bisect, releases)["good"] == [releases.commits[0]]
    origin = 'the release before v1.1, by the report: "It broke in 1.1."; it may fail already'
    assert f"good: v1.0, {origin}" in err


def test_named_ends_come_before_stated_ones(bisect, releases):
    report = f"{REPORT}. It worked in 1.0, and fails in 1.1."
    err = bisect(releases, "start", report, "--good", releases.commits[3], "--bad", "main").err
    ends = state(bisect, releases)
    assert ends["good"] == [releases.commits[3]]
    assert ends["bad"] == releases.commits[11]
    assert "by the report" not in err


def test_missing_good_end_is_asked_for(fails, releases):
    sentence = fails(releases, "start", f"{REPORT}.")
    assert sentence == (
        "the report states no version of this project that works; name one: --good REV"
    )


@pytest.mark.parametrize("words", ["It fails in 1.1.", "Version: 1.1"])
def test_release_before_the_bad_end_is_proposed(fails, releases, words):
    sentence = fails(releases, "start", f"{REPORT}.\n\n{words}")
    assert sentence == (
        "the report states no version of this project that works; if the release before v1.1 does,"
        " name it: --good v1.0"
    )


def test_last_commit_of_a_day_when_it_worked_is_proposed(fails, repository):
    noon = datetime(2024, 5, 2, 12, tzinfo=UTC).timestamp()
    earlier = repository.commit({"shop.py": "0\n"}, "Zero", when=int(noon) - 24 * HOUR)
    repository.commit({"shop.py": "1\n"}, "One", when=int(noon) + 24 * HOUR)
    repository.git("reset", "-q", "--hard")
    sentence = fails(repository, "start", f"{REPORT}.\n\nIt worked on 2024-05-02.")
    assert sentence == (
        "the report states no version of this project that works; it worked until 2024-05-02 by the"
        f" report; if {earlier[:10]}, the last commit then, works, name it: --good {earlier[:10]}"
    )


def test_no_release_is_proposed_before_the_first_one(fails, releases):
    sentence = fails(releases, "start", f"{REPORT}.\n\nVersion: 1.0")
    assert sentence.endswith("; name one: --good REV")


def test_missing_tag_of_the_good_end_is_named(fails, line):
    sentence = fails(line, "start", f"{REPORT}. It worked in 1.0, and fails in 1.1.")
    assert sentence == (
        "the report says that 1.0 works, and no tag of this repository names this version; get"
        " missing tags (git fetch --tags), or name a commit that works: --good REV"
    )


def test_parent_of_a_blamed_commit_is_proposed(fails, line):
    culprit = line.commits[7][:10]
    sentence = fails(line, "start", f"{REPORT} since commit {culprit}")
    assert sentence.endswith(f"name one: --good {culprit}~1")


def test_good_end_is_needed_without_a_report(fails, line):
    sentence = fails(line, "start")
    assert sentence == "no commit is known to work; name one with --good, or name a report"


# ---- output


def test_status_shows_marks_and_candidates(bisect, line):
    bisect(line, "start", REPORT, "--good", "good")
    out = bisect(line, "status").out
    assert out.startswith(f"Report: {REPORT}\nBad:    {line.commits[11][:10]} (2001-09-09)")
    assert f"%  {line.commits[7][:10]} (2001-09-09) Change 7\n" in out


def test_status_changes_nothing(bisect, line):
    bisect(line, "start", "--good", "good")
    tested = head(line)
    line.git("bisect", "good", line.commits[2])
    checked_out = head(line)
    bisect(line, "status")
    assert head(line) == checked_out
    assert tested in line.commits


def test_next_as_json_names_the_commit_to_test(bisect, line):
    bisect(line, "start", "--good", "good")
    values = json.loads(bisect(line, "next", "--json").out)
    assert values["schema"] == "tosloc.bisect/1"
    assert values["state"] == "test"
    assert values["commit"]["id"] == head(line)
    assert values["expected_runs"] == pytest.approx(values["expected_runs_of_git_bisect"])


def test_found_commit_as_json(bisect, line):
    bisect(line, "start", "--good", "good")
    bisect(line, "run", *TEST_COMMAND)
    values = json.loads(bisect(line, "next", "--json").out)
    assert values["state"] == "found"
    assert values["commit"]["id"] == line.commits[7]
    assert values["commit"]["files"] == ["a.txt", "shop.py"]


def test_commits_have_the_date_of_the_committer_and_the_name_in_mailmap(bisect, line):
    line.commit({".mailmap": "Ada Lovelace <ada@example.org>\n"})
    line.git("reset", "-q", "--hard")
    line.git("commit", "-q", "--amend", "-m", "Late", "--date", "2000-01-01T12:00:00Z")
    late = line.git("rev-parse", "HEAD")
    bisect(line, "start", "--good", "HEAD~1")
    out = bisect(line, "status").out
    assert f"The first bad commit:\n  {late[:10]} (2001-09-09) Late\n  by Ada Lovelace\n" in out
    values = json.loads(bisect(line, "status", "--json").out)["commit"]
    assert values["committed"] == "2001-09-09T01:46:40+00:00"
    assert values["author"] == "Ada Lovelace"


def test_process_that_a_hook_leaves_behind_is_not_waited_for(bisect, line):
    hook = line.path / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nsleep 600 &\necho $! >> ../hook-processes\n")
    hook.chmod(0o755)
    bisect(line, "start", "--good", "good")
    [process] = (line.path.parent / "hook-processes").read_text().split()
    os.kill(int(process), signal.SIGKILL)  # it is still running, or this raises
    hook.unlink()


# ---- interruptions


def start_run(folder, program):
    """Start ``tosloc bisect run`` in a process group of its own."""
    tosloc = Path(sys.executable).with_name("tosloc")
    return subprocess.Popen(
        [tosloc, "bisect", "run", sys.executable, "-c", program],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ,
    )


@pytest.mark.parametrize(
    ("number", "send", "code"),
    [
        (signal.SIGINT, os.killpg, 130),
        pytest.param(signal.SIGTERM, os.kill, 143, marks=pytest.mark.slow),
        pytest.param(signal.SIGKILL, os.killpg, -9, marks=pytest.mark.slow),
    ],
    ids=["Ctrl-C", "SIGTERM to the command", "SIGKILL"],
)
def test_interrupted_run_is_continued(bisect, line, number, send, code):
    bisect(line, "start", "--good", "good")
    tested = head(line)
    program = "import time; print('testing', flush=True); time.sleep(60)"
    with start_run(line.path, program) as process:
        while process.stdout.readline() != "testing\n":
            pass
        send(process.pid, number)
        assert process.wait(60) == code
    assert head(line) == tested
    assert line.git("bisect", "log").count("\ngit bisect") == 2
    assert line.commits[7][:10] in bisect(line, "run", *TEST_COMMAND).out


def test_start_that_was_killed_before_the_marks_is_reset(fails, bisect, line):
    with Repository(line.path) as repository:
        BisectionState(repository)._git("bisect", "start")
    assert fails(line, "next").startswith("this bisection has no bad commit; mark one")
    bisect(line, "reset")
    assert line.git("symbolic-ref", "HEAD") == "refs/heads/main"
