"""No program that a repository or the environment configures is ever run.

Plain git runs each of them, which shows that the traps work.
"""

import subprocess

import pytest

from tosloc.core.errors import RepositoryError
from tosloc.git.history import History
from tosloc.git.repository import Repository, WorkTreeState

JAVA = frozenset({".java"})
PARTIAL = '[extensions]\npartialClone = origin\n[remote "origin"]\npromisor = true\nurl = '
GONE = ["cat-file", "-p", "1" * 40]
HOOKS = (
    "post-checkout",
    "post-index-change",
    "reference-transaction",
    "pre-commit",
    "fsmonitor-watchman",
)
CONFIGURED = {
    "fsmonitor": ("[core]\nfsmonitor = {0}\n", ["status"]),
    "external-diff": ("[diff]\nexternal = {0}\n", ["diff", "HEAD~1", "HEAD"]),
    "textconv": ('[diff "spy"]\ntextconv = {0}\n', ["log", "-p"]),
    "hooks": ("[core]\nhooksPath = {1}/hooks\n", ["commit", "--allow-empty", "-m", "x"]),
    "included": ('[includeIf "gitdir:**"]\npath = {1}/more\n', ["status"]),
    "upload-pack": (PARTIAL + ".\nuploadpack = {0}\n", GONE),
    "ext": ('[protocol "ext"]\nallow = always\n' + PARTIAL + "ext::{0} x\n", GONE),
}
"""Name -> text of the configuration, git command that runs the trap.

{0} stands for the trap's program, {1} for its folder.
"""
ENVIRONMENT = {
    "env-config": ("GIT_CONFIG_PARAMETERS", "'core.fsmonitor={0}'", ["status"]),
    "env-trace": ("GIT_TRACE", "{1}/ran", ["version"]),
    "env-global": ("GIT_CONFIG_GLOBAL", "{1}/more", ["status"]),
}
"""Name -> variable, its value, git command that runs the trap."""


def set_trap(folder):
    """Make a program that leaves a file behind when it runs; return both paths."""
    program = folder / "trap"
    evidence = folder / "ran"
    program.write_text(f'#!/bin/sh\ntouch "{evidence}"\nexit 1\n')
    program.chmod(0o755)
    (folder / "more").write_text(f"[core]\nfsmonitor = {program}\n")
    (folder / "hooks").mkdir()
    for hook in HOOKS:
        (folder / "hooks" / hook).symlink_to(program)
    return program, evidence


def read_everything(path):
    """Read all that commands read of a repository."""
    with Repository(path) as opened:
        opened.resolve_many(
            ["HEAD", "HEAD@{1}", ":/signed", ":A.java", "nothing", "1111111", "--all", "1" * 40]
        )
        snapshot = opened.snapshot("HEAD", JAVA)
        assert len(list(opened.texts([*snapshot.blobs, "1" * 40]))) == 2
        assert len(opened.commits(History.read(opened, "HEAD", JAVA).ids)) == 2
        assert opened.on_disk.state(snapshot.commit, JAVA) == WorkTreeState()
        with pytest.raises(RepositoryError), opened.git.stream(["log", "-p", "1" * 40]) as output:
            output.read()


def assert_trap_works(repository, command, environment, evidence):
    """Check that git itself runs the trap."""
    subprocess.run(
        ["git", "-C", str(repository.path), *command],
        env=environment,
        capture_output=True,
        timeout=60,
    )
    assert evidence.exists()


@pytest.fixture
def two_commits(repository):
    """Commit two versions of a file whose changes git would show with a program."""
    repository.commit({"A.java": "1", ".gitattributes": "*.java diff=spy"})
    repository.commit({"A.java": "2"})
    return repository


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFIGURED)
def test_a_program_of_the_configuration_is_not_run(two_commits, tmp_path, name):
    program, evidence = set_trap(tmp_path)
    text, command = CONFIGURED[name]
    file = two_commits.path / ".git/config"
    config = file.read_text().replace("version = 0", "version = 1")
    file.write_text(config + text.format(program, tmp_path))
    read_everything(two_commits.path)
    assert not evidence.exists()
    assert_trap_works(two_commits, command, two_commits.environment, evidence)


@pytest.mark.slow
@pytest.mark.parametrize("name", ENVIRONMENT)
def test_a_program_of_the_environment_is_not_run(two_commits, tmp_path, monkeypatch, name):
    program, evidence = set_trap(tmp_path)
    variable, template, command = ENVIRONMENT[name]
    value = template.format(program, tmp_path)
    monkeypatch.setenv(variable, value)
    read_everything(two_commits.path)
    assert not evidence.exists()
    environment = two_commits.environment | {variable: value}
    assert_trap_works(two_commits, command, environment, evidence)
