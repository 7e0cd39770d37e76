"""Hostile repositories: damaged files, impossible objects, sources that are hard to read, settings that would run."""

from __future__ import annotations

import hashlib
import random
import shutil
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.faults.cases import Case
from tests.faults.mutations import TEXTS, of_bytes
from tests.faults.processes import Place
from tests.faults.world import World

CANARY = "CANARY"
"""A file in the place of a case that exists once something of a repository has run."""


def _copied(world: World, place: Place) -> Path:
    repo = place.input / "repo.git"
    shutil.copytree(world.repo, repo)
    return repo


def _reading(rng: random.Random, world: World, place: Place, repo: Path) -> Case:
    """A command that reads a repository; its facts are new."""
    store = ["--repo", str(repo), "--store", str(place.folder / "facts.sqlite")]
    commands: Sequence[list[str]] = (
        ["localize", "--report", str(world.bug), "--checkpoint", str(world.one_stage), *store],
        ["localize", "--report", str(world.bug), *store],
        ["index", *store],
        ["data", "--repo", str(repo), "--reports", str(world.reports)],
        [
            "rank",
            *store,
            "--reports",
            str(world.reports),
            "--checkpoint",
            str(world.one_stage),
            "--out",
            str(place.out),
        ],
    )
    return Case(rng.choice(commands))


def damaged(rng: random.Random, world: World, place: Place) -> Case:
    """A git directory with a file damaged, lost, or put where none belongs."""
    repo = _copied(world, place)
    files = sorted(path for path in repo.rglob("*") if path.is_file() and "hooks" not in path.parts)
    small = [repo / name for name in ("HEAD", "config", "packed-refs", "refs/heads/main") if (repo / name).exists()]
    path = rng.choice((*files, *small, *small))
    which = rng.randrange(10)
    if which < 4:
        data = of_bytes(rng, path.read_bytes())
        path.unlink()
        path.write_bytes(data)
    elif which == 4:
        path.unlink()
    elif which < 8:
        names = (
            "HEAD config shallow commondir objects/info/alternates packed-refs refs/heads/main info/grafts gitdir"
            " refs/heads/x objects/info/commit-graph objects/pack/multi-pack-index info/attributes index MERGE_HEAD"
        ).split()
        path = repo / rng.choice(names)
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            path.unlink()
        _put_odd(rng, path)
    elif which == 8:
        (repo / "objects/info").mkdir(exist_ok=True)
        odd = (
            str(repo / "objects"),
            "/nowhere",
            "../" * 500,
            "/dev/zero",
            "a\0b",
            "\n" * 1000,
            "#" * 100_000,
            '"\\000"',
        )
        (repo / "objects/info/alternates").write_text(f"{rng.choice(odd)}\n")
    else:
        shutil.rmtree(repo / rng.choice(("objects", "refs", "objects/pack")), ignore_errors=True)
    return _reading(rng, world, place, repo)


def _put_odd(rng: random.Random, path: Path) -> None:
    which = rng.randrange(5)
    if which == 0:
        path.symlink_to(rng.choice(("/dev/null", path.name, "/etc/passwd")))
    elif which == 1:
        path.mkdir()
    elif which == 2:
        path.write_bytes(b"f" * rng.choice((1, 40, 41, 64, 1_000_000)) + b"\n")
    elif which == 3:
        path.write_bytes(b"ref: " + rng.choice((b"refs/heads/main", b"HEAD", b"../../x", b"a" * 5_000, b"\xff\n", b"")))
    else:
        path.write_text(rng.choice(TEXTS), "utf-8", "surrogatepass")


# Objects written by hand


def put(repo: Path, kind: str, content: bytes) -> str:
    """Write a loose object, whatever it holds; its id."""
    data = f"{kind} {len(content)}\0".encode() + content
    name = hashlib.sha1(data).hexdigest()
    path = repo / "objects" / name[:2] / name[2:]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.write_bytes(zlib.compress(data, 1))
    return name


def tree(entries: Sequence[tuple[str, bytes, str]]) -> bytes:
    """Content of a tree of (mode, name, id)."""
    return b"".join(mode.encode() + b" " + name + b"\0" + bytes.fromhex(blob) for mode, name, blob in entries)


def _set_head(repo: Path, commit: str) -> None:
    (repo / "refs/heads/main").parent.mkdir(parents=True, exist_ok=True)
    (repo / "refs/heads/main").write_text(commit + "\n")


_NAMES: Sequence[bytes] = (
    b"A.java", b"-x.java", b"a\nb.java", b"caf\xe9.java", b"\xff\xfe.java", b".java", b"..", b".", b".git",
    b"a/b.java", b"",
    b" .java", b"\x1b[31m.java", b"a" * 3_000 + b".java", b"A.JAVA", b"\xe2\x80\xae.java", b"con.java",
    b"%20.java", b'"q".java',
    b"a\tb.java", b"a\\b.java", b"$(touch CANARY).java", b"\xed\xa0\x80.java",
)  # fmt: skip
_DATES: Sequence[bytes] = (
    b"0 +0000", b"-1 +0000", b"99999999999999999999 +0000", b"9" * 5_000 + b" +0000", b"1300000000 +9999",
    b"1300000000 -99999999",
    b"", b"x", b"1300000000", b"1300000000 +", b"9223372036854775807 +0000", b"253402300800 +0000", b"1e9 +0000",
    b" ",
    b"1300000000 +0000\0", b"4102444800 +0000", b"\xd9\xa1\xd9\xa2 +0000",
)  # fmt: skip


def objects(rng: random.Random, world: World, place: Place) -> Case:
    """Commits, trees and tags that no git writes."""
    repo = _copied(world, place)
    head = (world.toy.git.made[-1]).encode()
    blob = put(repo, "blob", b"class A { int cookie; }\n")
    mode = rng.choice(
        ("100644", "100644", "100644", "100755", "120000", "160000", "40000", "0", "777777777777", "-1", "x")
    )
    count = rng.choice((1, 1, 3, 30))
    names = [rng.choice(_NAMES) for _ in range(count)]
    identity = rng.choice((blob, blob, blob, "0" * 40, world.toy.git.made[0]))
    content = tree([(mode, name, identity) for name in names])
    if rng.randrange(5) == 0:
        content = of_bytes(rng, content)
    of_tree = put(repo, "tree", content).encode()
    if rng.randrange(10) == 0:  # folders in folders
        inner = of_tree.decode()
        for _ in range(rng.choice((50, 2_000))):
            inner = put(repo, "tree", tree([("40000", b"d", inner)]))
        of_tree = inner.encode()
    lines = [
        b"tree " + of_tree,
        b"parent " + head,
        b"author Ada <ada@example.org> 1500000000 +0000",
        b"committer Ada <ada@example.org> 1500000000 +0000",
    ]
    message: bytes = b"Fix bug 1001: cookie\n"
    for _ in range(rng.randrange(3)):
        edit = rng.randrange(11)
        if edit in (0, 1):
            lines[-1] = b"committer Ada <ada@example.org> " + rng.choice(_DATES)
        elif edit == 2:
            lines.append(
                b"encoding "
                + rng.choice((b"idna", b"undefined", b"utf-16", b"a\0b", b"x" * 10_000, b"hex", b"mbcs", b""))
            )
        elif edit == 3:
            lines[1] = b"parent " + rng.choice(
                (b"\xff" * 40, b"0" * 40, b"", head[:10], head.upper(), b"x" * 40, of_tree)
            )
        elif edit == 4:
            lines[0] = b"tree " + rng.choice((b"\xff" * 40, b"0" * 40, b"", head, of_tree[:20], b"-" * 40))
        elif edit == 5:
            lines += [b"parent " + head] * rng.choice((1, 2_000))
        elif edit == 6:
            message = rng.choice(
                (b"\n" * 10_000, b"", b"\0" * 1_000, b"\xff" * 1_000, b"bug " * 30_000, b"1" * 50_000, b"#1" * 20_000)
            )
        elif edit == 7:
            message = rng.choice(TEXTS).encode("utf-8", "surrogatepass")
        elif edit == 8:
            del lines[rng.randrange(len(lines))]
        elif edit == 9:
            lines.append(b"gpgsig " + b"\n ".join([b"x"] * rng.choice((1, 5_000))))
        else:
            rng.shuffle(lines)
    data = b"\n".join(lines) + b"\n\n" + message
    if rng.randrange(6) == 0:
        data = of_bytes(rng, data)
    commit = put(repo, rng.choice(("commit",) * 9 + ("tag", "blob", "tree")), data)
    if rng.randrange(12) == 0:
        commit = put(repo, "tag", b"object " + commit.encode() + b"\ntype commit\ntag v1\ntagger x\n\nx")
    _set_head(repo, commit)
    return _reading(rng, world, place, repo)


# Sources


_SUFFIXES = ".java .py .js .ts .c .cpp .go .cs .rb .php .rs .kt .sql .swift .scala .tsx .h".split()
_UNITS: Sequence[str] = (
    '\\"', "<%", "/[", "/*", "//", "'", '"', "`", "{", "}", "(", ")", "[", "<", ">", "#", "@", "\n", "\t", " ",
    "\r", ";", "a.", "a,",
    "using ", "using a", "import a.", "def f():\n", "if(a)", "class A{", "a?b:", "&&", "${", "<<", "'''", '"""',
    "r#\"", "\\u0041", "\0",
    "\x0c", "\u2028", "aB", "a_", "9", "0x", "->", "::", "=>", "#if a\n", "#define a(b) \\\n", "<a>", "</a>",
    "<?php ", "?>", "<<<A\n",
    "template<", "public ", "case 1:", "lambda x:", "async ", "((a)", "[[", "/**", "*/", "--", "$", "%q(",
    "=begin\n", "f\"{", "|",
)  # fmt: skip


def sources(rng: random.Random, world: World, place: Place) -> Case:
    """Files of several languages made of one thing over and over, nested, unended."""
    repo = _copied(world, place)
    entries = []
    for number in range(rng.choice((1, 1, 2, 4))):
        units = [rng.choice(_UNITS) for _ in range(rng.choice((1, 1, 1, 2, 3)))]
        length = rng.choice((1_000, 10_000, 80_000))
        text = "".join(units) * (length // max(1, len("".join(units))))
        which = rng.randrange(8)
        if which == 0:  # an indented nest
            text = "".join(f"{' ' * n}def f{n}():\n" for n in range(rng.choice((90, 600))))
        elif which == 1:
            text = rng.choice(('class A { String s = "', "using ", "package ", "/*", "")) + text
        elif which == 2:
            text = "class A { void f() { " + text + " } }"
        data = (
            of_bytes(rng, text.encode("utf-8", "surrogatepass"))
            if rng.randrange(6) == 0
            else text.encode("utf-8", "replace")
        )
        if rng.randrange(15) == 0:
            data = data.decode("utf-8", "replace").encode(rng.choice(("utf-16", "utf-32", "cp1252")), "replace")
        entries.append(("100644", f"F{number}{rng.choice(_SUFFIXES)}".encode(), put(repo, "blob", data)))
    of_tree = put(repo, "tree", tree(entries))
    who = b"Ada <ada@example.org> 1500000000 +0000"
    lines = [
        b"tree " + of_tree.encode(),
        b"parent " + world.toy.git.made[-1].encode(),
        b"author " + who,
        b"committer " + who,
    ]
    _set_head(repo, put(repo, "commit", b"\n".join(lines) + b"\n\nnew files\n"))
    store = ["--repo", str(repo), "--store", str(place.folder / "facts.sqlite")]
    if rng.randrange(3):
        return Case(["index", *store])
    return Case(["localize", "--report", str(world.bug), *store])


# What git would run


def running(canary: Path) -> Mapping[str, str]:
    """Settings of a repository that make git run a command, by name."""
    touch = f"touch {canary}; cat"
    return {
        "core.fsmonitor": touch,
        "core.sshCommand": touch,
        "core.pager": touch,
        "core.editor": touch,
        "core.askPass": touch,
        "core.gitProxy": touch,
        "core.hooksPath": str(canary.parent / "hooks"),
        "core.alternateRefsCommand": touch,
        "core.attributesFile": str(canary.parent / "attributes"),
        "diff.external": touch,
        "diff.evil.textconv": touch,
        "diff.evil.command": touch,
        "filter.evil.clean": touch,
        "filter.evil.smudge": touch,
        "filter.evil.process": touch,
        "merge.evil.driver": touch,
        "alias.cat-file": f"!{touch}",
        "alias.rev-list": f"!{touch}",
        "alias.rev-parse": f"!{touch}",
        "alias.log": f"!{touch}",
        "alias.ls-tree": f"!{touch}",
        "pager.log": touch,
        "pager.rev-list": touch,
        "gpg.program": str(canary.parent / "run"),
        "log.showSignature": "true",
        "credential.helper": f"!{touch}",
        "uploadpack.packObjectsHook": touch,
        "interactive.diffFilter": touch,
        "remote.origin.url": f"ext::sh -c touch% {canary}",
        "remote.origin.uploadpack": touch,
        "remote.origin.promisor": "true",
        "remote.origin.partialclonefilter": "blob:none",
        "extensions.partialClone": "origin",
        "protocol.ext.allow": "always",
        "include.path": str(canary.parent / "more"),
        "trace2.eventTarget": str(canary),
        "core.worktree": "/",
    }


def set_traps(repo: Path, canary: Path, names: Sequence[str]) -> None:
    """Make a repository run something on every occasion: the named settings, all hooks, attributes."""
    settings = running(canary)
    for folder in (repo / "hooks", canary.parent / "hooks"):
        folder.mkdir(exist_ok=True)
        for hook in ("post-checkout", "pre-commit", "post-index-change", "reference-transaction", "fsmonitor-watchman"):
            (folder / hook).write_text(f"#!/bin/sh\ntouch {canary}\n")
            (folder / hook).chmod(0o755)
    (canary.parent / "run").write_text(f"#!/bin/sh\ntouch {canary}\n")
    (canary.parent / "run").chmod(0o755)
    (repo / "info").mkdir(exist_ok=True)
    for path in (repo / "info/attributes", canary.parent / "attributes"):
        path.write_text("* diff=evil filter=evil merge=evil\n")
    lines = [] if "extensions.partialClone" not in names else ["[core]\n\trepositoryformatversion = 1"]
    for name in names:
        section, _, key = name.rpartition(".")
        head, _, part = section.partition(".")
        value = settings[name].replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'[{head}{f" {chr(34)}{part}{chr(34)}" if part else ""}]\n\t{key} = "{value}"')
    (canary.parent / "more").write_text(f'[core]\n\tfsmonitor = "touch {canary}; cat"\n')
    with (repo / "config").open("a") as file:
        file.write("\n".join(["", *lines, ""]))


def would_run(rng: random.Random, world: World, place: Place) -> Case:
    """A repository whose settings, hooks, filters and attributes run something, if they are heard."""
    repo = _copied(world, place)
    canary = place.input / CANARY
    names = list(running(canary))
    set_traps(repo, canary, names if rng.randrange(2) else rng.sample(names, rng.randint(1, 6)))
    if rng.randrange(3) == 0:  # an object is missing: a partial clone would fetch it
        victims = sorted(path for path in (repo / "objects").rglob("*") if path.is_file() and len(path.name) == 38)
        for path in rng.sample(victims, min(len(victims), 3)):
            path.unlink()
    return _reading(rng, world, place, repo)
