"""Nothing that a repository or the environment configures is ever run; plain git shows that each trap works."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tosloc.data.git import Repository
from tosloc.data.history import read_history
from tosloc.errors import RepositoryError

JAVA = frozenset({".java"})
HOOKS = (
    *("post-checkout", "post-index-change", "reference-transaction", "pre-commit", "post-commit", "commit-msg"),
    *("prepare-commit-msg", "post-rewrite", "pre-rebase", "fsmonitor-watchman", "pre-auto-gc"),
)


def trap(folder: Path, name: str) -> Path:
    """A program that leaves a trace with its name."""
    program = folder / f"trap-{name}"
    program.write_text(f'#!/bin/sh\ntouch "{folder}/ran-{name}"\nexit 1\n')
    program.chmod(0o755)
    return program


def ran(folder: Path) -> set[str]:
    """Names of the traps that left a trace."""
    return {path.name.removeprefix("ran-") for path in folder.glob("ran-*")}


CONFIGURED = {
    "fsmonitor": ("[core]\nfsmonitor = {0}\n", ["status"]),
    "editor": ("[core]\neditor = {0}\n", ["commit", "--allow-empty"]),
    "askpass": ("[core]\naskPass = {0}\n", ["credential", "fill"]),
    "credential": ("[credential]\nhelper = {0}\n", ["credential", "fill"]),
    "external-diff": ("[diff]\nexternal = {0}\n", ["diff", "HEAD~1", "HEAD"]),
    "diff-driver": ('[diff "spy"]\ncommand = {0}\n', ["diff", "HEAD~1", "HEAD"]),
    "textconv": ('[diff "spy"]\ntextconv = {0}\n', ["log", "-p"]),
    "smudge": ('[filter "spy"]\nsmudge = {0}\n', ["checkout", "-f", "HEAD~1"]),
    "clean": ('[filter "spy"]\nclean = {0}\n', ["add", "A.java"]),
    "process": ('[filter "spy"]\nprocess = {0}\n', ["add", "A.java"]),
    "alias": ("[alias]\nspy = !{0}\n", ["spy"]),
    "gpg": ("[log]\nshowSignature = true\n[gpg]\nprogram = {0}\n", ["log", "-1", "signed"]),
    "sequence-editor": ("[sequence]\neditor = {0}\n", ["rebase", "-i", "HEAD~1"]),
    "alternate-refs": ("[core]\nalternateRefsCommand = {0}\n", ["rev-list", "--alternate-refs"]),
    "hooks-path": ("[core]\nhooksPath = {1}/hooks\n", ["commit", "--allow-empty", "-m", "x"]),
    "included": ("[include]\npath = {1}/more\n", ["status"]),
    "included-if": ('[includeIf "gitdir:**"]\npath = {1}/more-if\n', ["status"]),
    "upload-pack": (
        '[extensions]\npartialClone = origin\n[remote "origin"]\npromisor = true\nurl = .\nuploadpack = {0}\n',
        ["cat-file", "-p", "MISSING"],
    ),
    "ssh": (
        "[core]\nsshCommand = {0}\n"
        '[extensions]\npartialClone = origin\n[remote "origin"]\npromisor = true\nurl = ssh://x/y\n',
        ["cat-file", "-p", "MISSING"],
    ),
    "git-proxy": (
        "[core]\ngitProxy = {0}\n"
        '[extensions]\npartialClone = origin\n[remote "origin"]\npromisor = true\nurl = git://x/y\n',
        ["cat-file", "-p", "MISSING"],
    ),
    "ext": (
        '[protocol "ext"]\nallow = always\n'
        '[extensions]\npartialClone = origin\n[remote "origin"]\npromisor = true\nurl = ext::{0} x\n',
        ["cat-file", "-p", "MISSING"],
    ),
}
"""Name -> configuration ({0}: the trap's program, {1}: the folder), and the command of git that walks into the trap."""

STATED = {
    "env-external-diff": ("GIT_EXTERNAL_DIFF", "{0}", ["diff", "HEAD~1", "HEAD"]),
    "env-editor": ("GIT_EDITOR", "{0}", ["commit", "--allow-empty"]),
    "env-askpass": ("GIT_ASKPASS", "{0}", ["credential", "fill"]),
    "env-ssh": ("GIT_SSH_COMMAND", "{0}", ["ls-remote", "ssh://x/y"]),
    "env-proxy": ("GIT_PROXY_COMMAND", "{0}", ["ls-remote", "git://x/y"]),
    "env-config": ("GIT_CONFIG_PARAMETERS", "'core.fsmonitor={0}'", ["status"]),
    "env-trace": ("GIT_TRACE", "{1}/ran-env-trace", ["version"]),
    "env-global": ("GIT_CONFIG_GLOBAL", "{1}/global", ["status"]),
}


@pytest.fixture
def spied(repository, tmp_path):
    """A repository whose attributes ask for drivers, with a signed commit, and one object that is gone."""
    repository.commit({"A.java": "1", ".gitattributes": "*.java diff=spy filter=spy"})
    repository.commit({"A.java": "2", "gone/Gone.java": "gone"})
    tree, last = repository.git("rev-parse", "HEAD^{tree}"), repository.made[-1]
    person = "Ada <ada@example.org> 1000000000 +0000"
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n"
    text = f"tree {tree}\nparent {last}\nauthor {person}\ncommitter {person}\n{signature}\nsigned\n"
    signed = repository.git("hash-object", "-t", "commit", "-w", "--stdin", stdin=text.encode())
    repository.git("branch", "signed", signed)
    (tmp_path / "hooks").mkdir()
    (repository.path / ".git/objects/info/alternates").write_text(f"{tmp_path}/other/objects\n")
    (tmp_path / "other/objects").mkdir(parents=True)
    (tmp_path / "other/refs").mkdir()
    return repository


def plain(repository, arguments, **environment):
    """Git as anybody runs it; what it answers does not matter."""
    missing = "1" * 40
    command = ["git", "-C", str(repository.path), *(missing if one == "MISSING" else one for one in arguments)]
    subprocess.run(
        command,
        env=repository.environment | environment,
        input=b"protocol=https\nhost=x\n\n",
        capture_output=True,
        timeout=60,
    )


def read_all(path):
    """Everything that the commands read, also what is not there."""
    with Repository(path) as opened:
        for name in (
            "HEAD",
            "main",
            "signed",
            "HEAD~1",
            "HEAD@{1}",
            ":/signed",
            ":A.java",
            "nothing",
            "1" * 40,
            "1111111",
        ):
            opened.resolve_many([name])
        for name in ("HEAD", "signed"):
            snapshot = opened.snapshot(name, JAVA)
            assert len(list(opened.texts([*snapshot.blobs, "1" * 40]))) == len(snapshot) + 1
            assert len(opened.commits(read_history(opened, name, JAVA).ids)) > 1
        with pytest.raises(RepositoryError), opened.stream(["log", "-p", "1" * 40]) as output:
            output.read()
        assert opened.candidates("1111") == []


@pytest.mark.slow
@pytest.mark.parametrize("name", CONFIGURED)
def test_what_a_repository_configures_is_not_run(spied, tmp_path, name):
    text, command = CONFIGURED[name]
    program = trap(tmp_path, name)
    for hook in HOOKS:
        (tmp_path / "hooks" / hook).write_bytes(program.read_bytes())
        (tmp_path / "hooks" / hook).chmod(0o755)
    (tmp_path / "more").write_text(f"[core]\nfsmonitor = {program}\n")
    (tmp_path / "more-if").write_text(f"[core]\nfsmonitor = {program}\n")
    config = spied.path / ".git/config"
    config.write_text(
        config.read_text().replace("repositoryformatversion = 0", "repositoryformatversion = 1")
        + text.format(program, tmp_path)
    )
    read_all(spied.path)
    assert ran(tmp_path) == set()
    if name == "clean" or name == "process":
        (spied.path / "A.java").write_text("edited")
    if name == "hooks-path":
        subprocess.run(
            ["git", "-C", str(spied.path), *command],
            env=spied.environment,
            capture_output=True,
            timeout=60,
            check=False,
        )
    else:
        plain(spied, command)
    assert ran(tmp_path) == {name}  # the trap works: git left to itself walks into it


@pytest.mark.slow
def test_hooks_are_not_run(spied, tmp_path):
    program = trap(tmp_path, "hook")
    (spied.path / ".git/hooks").mkdir(exist_ok=True)
    for hook in HOOKS:
        (spied.path / ".git/hooks" / hook).write_bytes(program.read_bytes())
        (spied.path / ".git/hooks" / hook).chmod(0o755)
    read_all(spied.path)
    assert ran(tmp_path) == set()
    plain(spied, ["checkout", "-q", "signed"])
    assert ran(tmp_path) == {"hook"}


@pytest.mark.slow
@pytest.mark.parametrize("name", STATED)
def test_what_the_environment_states_is_not_run(spied, tmp_path, monkeypatch, name):
    variable, value, command = STATED[name]
    program = trap(tmp_path, name)
    (tmp_path / "global").write_text(f"[core]\nfsmonitor = {program}\n")
    stated = value.format(program, tmp_path)
    monkeypatch.setenv(variable, stated)
    read_all(spied.path)
    assert ran(tmp_path) == set()
    plain(spied, command, **{variable: stated})
    assert ran(tmp_path) == {name}


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no terminals")
def test_pagers_are_not_run_even_at_a_terminal(spied, tmp_path):
    program = trap(tmp_path, "pager")
    with (spied.path / ".git/config").open("a") as config:
        config.write(
            f"[core]\npager = {program}\n[pager]\nlog = {program}\nrev-parse = {program}\nls-tree = {program}\n"
        )
    terminal, end = os.openpty()
    try:
        read_all(spied.path)
        assert ran(tmp_path) == set()
        subprocess.run(
            ["git", "-C", str(spied.path), "log"], env=spied.environment, stdin=end, stdout=end, stderr=end, timeout=60
        )
        assert ran(tmp_path) == {"pager"}
    finally:
        os.close(terminal)
        os.close(end)
