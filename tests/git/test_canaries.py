"""Nothing that a repository or the environment configures is ever run; plain git shows that each trap works."""

import subprocess

import pytest

from tosloc.core.errors import RepositoryError
from tosloc.git.history import read_history
from tosloc.git.repository import Repository

JAVA = frozenset({".java"})
PARTIAL = '[extensions]\npartialClone = origin\n[remote "origin"]\npromisor = true\nurl = '
GONE = ["cat-file", "-p", "1" * 40]
CONFIGURED = {
    "fsmonitor": ("[core]\nfsmonitor = {0}\n", ["status"]),
    "external-diff": ("[diff]\nexternal = {0}\n", ["diff", "HEAD~1", "HEAD"]),
    "textconv": ('[diff "spy"]\ntextconv = {0}\n', ["log", "-p"]),
    "hooks": ("[core]\nhooksPath = {1}/hooks\n", ["commit", "--allow-empty", "-m", "x"]),
    "included": ('[includeIf "gitdir:**"]\npath = {1}/more\n', ["status"]),
    "upload-pack": (PARTIAL + ".\nuploadpack = {0}\n", GONE),
    "ext": ('[protocol "ext"]\nallow = always\n' + PARTIAL + "ext::{0} x\n", GONE),
}
"""Name -> configuration ({0}: the trap's program, {1}: the folder), and the command of git that walks into the trap."""
STATED = {
    "env-config": ("GIT_CONFIG_PARAMETERS", "'core.fsmonitor={0}'", ["status"]),
    "env-trace": ("GIT_TRACE", "{1}/ran", ["version"]),
    "env-global": ("GIT_CONFIG_GLOBAL", "{1}/more", ["status"]),
}
"""Name -> variable, its value, and the command."""


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CONFIGURED, *STATED])
def test_what_is_configured_is_not_run(repository, tmp_path, monkeypatch, name):
    repository.commit({"A.java": "1", ".gitattributes": "*.java diff=spy"})
    repository.commit({"A.java": "2"})
    program, ran = tmp_path / "trap", tmp_path / "ran"
    program.write_text(f'#!/bin/sh\ntouch "{ran}"\nexit 1\n')
    program.chmod(0o755)
    (tmp_path / "more").write_text(f"[core]\nfsmonitor = {program}\n")
    environment = dict(repository.environment)
    if name in CONFIGURED:
        text, command = CONFIGURED[name]
        file = repository.path / ".git/config"
        file.write_text(
            file.read_text().replace("version = 0", "version = 1") + text.format(program, tmp_path)
        )
    else:
        variable, value, command = STATED[name]
        environment[variable] = value.format(program, tmp_path)
        monkeypatch.setenv(variable, environment[variable])
    (tmp_path / "hooks").mkdir()
    for hook in (
        "post-checkout",
        "post-index-change",
        "reference-transaction",
        "pre-commit",
        "fsmonitor-watchman",
    ):
        (tmp_path / "hooks" / hook).symlink_to(program)
    with Repository(repository.path) as opened:
        opened.resolve_many(
            ["HEAD", "HEAD@{1}", ":/signed", ":A.java", "nothing", "1111111", "--all", "1" * 40]
        )
        snapshot = opened.snapshot("HEAD", JAVA)
        assert len(list(opened.texts([*snapshot.blobs, "1" * 40]))) == 2
        assert len(opened.commits(read_history(opened, "HEAD", JAVA).ids)) == 2
        assert opened.uncommitted(snapshot.commit, JAVA) == frozenset()
        with pytest.raises(RepositoryError), opened.stream(["log", "-p", "1" * 40]) as output:
            output.read()
    assert not ran.exists()
    subprocess.run(
        ["git", "-C", str(repository.path), *command],
        env=environment,
        capture_output=True,
        timeout=60,
    )
    assert ran.exists()  # the trap works: git left to itself walks into it
