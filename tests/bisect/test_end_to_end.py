"""A bisection of 200 commits with merges, beside git's own."""

import random
import sys

import pytest

from tests.conftest import FIRST_TIME, HOUR, commit_stream

COMMITS = 200
CULPRIT = 125
"""The second commit of a side branch."""
MODULES = "cart checkout delivery invoice rebate search stock tax".split()
REPORT = """\
Delivery charges are doubled for express orders

Since the last release `express_charge` in shop/delivery.py returns twice the expected charge. An
express order of 10 should cost 15, but it costs 20. It worked in v1.
"""
PROGRAM = """\
import pathlib, sys
with open(sys.argv[1], "a") as runs:
    print("run", file=runs)
scope = {}
exec(pathlib.Path("shop/delivery.py").read_text(), scope)
sys.exit(scope["express_charge"](10) != 15)
"""


def delivery_source(position, has_fault):
    """Return the module in which the fault is, or is not, as it is in a commit."""
    charge = "order + order" if has_fault else "order + 5"
    return (
        f"def express_charge(order):\n    return {charge}\n\n\n"
        f"def days(order):\n    return {position // 40}\n"
    )


def parents_of(position):
    """Return the positions of a commit's parents: two of ten commits are on a side branch."""
    if position == 0:
        return []
    last_digit = position % 10
    if last_digit in (4, 6):  # the side branch starts, and the main branch goes on
        return [position - 3]
    return [position - 1, position - 2] if last_digit == 7 else [position - 1]


def make_history(repository):
    """Make 200 commits with a merge in every ten; the fault comes from a side branch."""
    rng = random.Random(11)
    stream = b""
    faulty = {CULPRIT}
    for position in range(COMMITS):
        parents = parents_of(position)
        if faulty.intersection(parents):
            faulty.add(position)
        name = rng.choice(MODULES)
        files = {f"shop/{name}.py": f"def {name}(order):\n    return order + {position}\n"}
        files["shop/delivery.py"] = delivery_source(position, position in faulty)
        message = f"Change {name} {position}"
        if position == CULPRIT:
            message = "Compute express charge by order"
        marks = [f":{parent + 1}" for parent in parents]
        when = FIRST_TIME + HOUR * position
        stream += commit_stream(files, message, when, marks, mark=position + 1)
    queries = b"".join(b"get-mark :%d\n" % (position + 1) for position in range(COMMITS))
    output = repository.git("fast-import", "--quiet", stdin=stream + b"\n" + queries + b"done\n")
    repository.commits += output.splitlines()
    repository.git("reset", "-q", "--hard")
    repository.git("tag", "v1", repository.commits[0])


@pytest.mark.slow
def test_culprit_among_200_commits_takes_fewer_runs_than_git(bisect, repository, tmp_path):
    make_history(repository)
    assert len(repository.git("rev-list", "main").split()) == COMMITS
    assert len(repository.git("rev-list", "--merges", "main").split()) == COMMITS // 10
    (tmp_path / "report.md").write_text(REPORT)
    (tmp_path / "test.py").write_text(PROGRAM)
    command = [sys.executable, str(tmp_path / "test.py")]
    files = repository.git("ls-tree", "-r", "HEAD")

    repository.git("bisect", "start", "main", "v1")
    repository.git("bisect", "run", *command, str(tmp_path / "git"))
    by_git = repository.git("rev-parse", "refs/bisect/bad")
    repository.git("bisect", "reset")

    bisect(repository, "start", tmp_path / "report.md", "--good", "v1")
    out = bisect(repository, "run", *command, tmp_path / "tosloc").out
    by_tosloc = repository.git("rev-parse", "refs/bisect/bad")
    bisect(repository, "reset")

    assert by_git == repository.commits[CULPRIT]
    assert by_tosloc == repository.commits[CULPRIT]
    assert f"  {by_tosloc[:10]} (2001-09-14) Compute express charge by order\n" in out
    runs_of_git = (tmp_path / "git").read_text().count("run")
    assert (tmp_path / "tosloc").read_text().count("run") < runs_of_git
    assert repository.git("symbolic-ref", "HEAD") == "refs/heads/main"
    assert repository.git("status", "--porcelain") == ""
    assert repository.git("ls-tree", "-r", "HEAD") == files
