"""Nothing that a repository or the environment configures is ever run; plain git shows that each trap works."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tosloc.errors import RepositoryError
from tosloc.git.history import read_history
from tosloc.git.repository import Repository

JAVA = frozenset({".java"})
PARTIAL = '[extensions]\npartialClone = origin\n[remote "origin"]\npromisor = true\nurl = '
DIFF, GONE = ["diff", "HEAD~1", "HEAD"], ["cat-file", "-p", "1" * 40]
CONFIGURED = {
    "fsmonitor": ("[core]\nfsmonitor = {0}\n", ["status"]),
    "external-diff": ("[diff]\nexternal = {0}\n", DIFF),
    "diff-driver": ('[diff "spy"]\ncommand = {0}\n', DIFF),
    "textconv": ('[diff "spy"]\ntextconv = {0}\n', ["log", "-p"]),
    "smudge": ('[filter "spy"]\nsmudge = {0}\n', ["checkout", "-f", "HEAD~1"]),
    "process": ('[filter "spy"]\nprocess = {0}\n', ["add", "A.java"]),
    "alias": ("[alias]\nspy = !{0}\n", ["spy"]),
    "gpg": ("[log]\nshowSignature = true\n[gpg]\nprogram = {0}\n", ["log", "-1", "signed"]),
    "hooks": ("[core]\nhooksPath = {1}/hooks\n", ["commit", "--allow-empty", "-m", "x"]),
    "included": ('[includeIf "gitdir:**"]\npath = {1}/more\n', ["status"]),
    "upload-pack": (PARTIAL + ".\nuploadpack = {0}\n", GONE),
    "ssh": ("[core]\nsshCommand = {0}\n" + PARTIAL + "ssh://x/y\n", GONE),
    "ext": ('[protocol "ext"]\nallow = always\n' + PARTIAL + "ext::{0} x\n", GONE),
}
"""Name -> configuration ({0}: the trap's program, {1}: the folder), and the command of git that walks into the trap."""
STATED = {
    "env-external-diff": ("GIT_EXTERNAL_DIFF", "{0}", DIFF),
    "env-config": ("GIT_CONFIG_PARAMETERS", "'core.fsmonitor={0}'", ["status"]),
    "env-trace": ("GIT_TRACE", "{1}/ran-env-trace", ["version"]),
    "env-global": ("GIT_CONFIG_GLOBAL", "{1}/more", ["status"]),
}
"""Name -> variable, its value, and the command."""


def ran(folder: Path) -> set[str]:
    """Names of the traps that left a trace."""
    return {path.name.removeprefix("ran-") for path in folder.glob("ran-*")}


@pytest.fixture
def spied(repository):
    """A repository whose attributes ask for drivers, with a signed commit."""
    repository.commit({"A.java": "1", ".gitattributes": "*.java diff=spy filter=spy"})
    last = repository.commit({"A.java": "2"})
    tree, person = repository.git("rev-parse", "HEAD^{tree}"), "Ada <ada@example.org> 1000000000 +0000"
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n"
    text = f"tree {tree}\nparent {last}\nauthor {person}\ncommitter {person}\n{signature}\nsigned\n"
    signed = repository.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=text.encode())
    repository.git("branch", "signed", signed)
    return repository


def read_all(path):
    """Everything that the commands read, also what is not there."""
    with Repository(path) as opened:
        names = "HEAD main signed HEAD~1 HEAD@{1} :/signed :A.java nothing 1111111 --all".split()
        opened.resolve_many([*names, "1" * 40])
        for name in ("HEAD", "signed"):
            snapshot = opened.snapshot(name, JAVA)
            assert len(list(opened.texts([*snapshot.blobs, "1" * 40]))) == len(snapshot) + 1
            assert len(opened.commits(read_history(opened, name, JAVA).ids)) > 1
        with pytest.raises(RepositoryError), opened.stream(["log", "-p", "1" * 40]) as output:
            output.read()


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CONFIGURED, *STATED])
def test_what_is_configured_is_not_run(spied, tmp_path, monkeypatch, name):
    program = tmp_path / "trap"
    program.write_text(f'#!/bin/sh\ntouch "{tmp_path}/ran-{name}"\nexit 1\n')
    program.chmod(0o755)
    (tmp_path / "more").write_text(f"[core]\nfsmonitor = {program}\n")
    hooks = [tmp_path / "hooks"]
    environment = dict(spied.environment)
    if name in CONFIGURED:
        text, command = CONFIGURED[name]
        file = spied.path / ".git/config"
        text = file.read_text().replace("version = 0", "version = 1") + text.format(program, tmp_path)
        file.write_text(text)
    else:
        variable, value, command = STATED[name]
        monkeypatch.setenv(variable, value.format(program, tmp_path))
        environment[variable] = value.format(program, tmp_path)
    if name == "hooks":
        hooks.append(spied.path / ".git/hooks")
    for folder in hooks:
        folder.mkdir(exist_ok=True)
        for hook in ("post-checkout", "post-index-change", "reference-transaction", "pre-commit", "fsmonitor-watchman"):
            (folder / hook).symlink_to(program)
    read_all(spied.path)
    assert ran(tmp_path) == set()
    if name == "process":
        (spied.path / "A.java").write_text("edited")
    subprocess.run(
        ["git", "-C", str(spied.path), *command], env=environment, capture_output=True, timeout=60, check=False
    )
    assert ran(tmp_path) == {name}  # the trap works: git left to itself walks into it
