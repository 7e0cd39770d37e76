"""Repositories that somebody made to break a reader: each case is a function that spoils a small sound one.

``CASES`` names them all. ``build(name, folder)`` makes one; nothing is started from them but git, to write objects.
Every case is a function of its name alone: built twice it has the same objects.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.conftest import FIRST_TIME, HOUR, GitRepository, git_environment

PERSON: Final = b"Ada <ada@example.org>"
FILES: Final = {
    "src/org/app/Parser.java": "package org.app;\nclass Parser {\n  void parse(String cookie) { use(cookie); }\n}\n",
    "src/org/app/Cookie.java": "package org.app;\nclass Cookie {\n  int size;\n}\n",
    "README": "Read me.\n",
}
GIGABYTE: Final = 2**30
ENDLESS: Final = "/dev/zero"


@dataclass(frozen=True, slots=True)
class Case:
    """A way to spoil a repository."""

    name: str
    spoil: Callable[[GitRepository], None]
    slow: bool = False
    """Takes more than a second to build."""


# ---- objects as bytes


def raw_object(repository: GitRepository, kind: str, content: bytes) -> str:
    """Id of an object with this content, written loose whatever is wrong with it."""
    data = b"%s %d\0%s" % (kind.encode(), len(content), content)
    identity = hashlib.sha1(data).hexdigest()
    place = repository.objects / identity[:2] / identity[2:]
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(zlib.compress(data, 1))
    return identity


def raw_tree(repository: GitRepository, entries: Sequence[tuple[bytes, bytes, str]]) -> str:
    """Id of a tree of these (mode, name, id), in this order."""
    content = b"".join(b"%s %s\0%s" % (mode, name, bytes.fromhex(identity)) for mode, name, identity in entries)
    return raw_object(repository, "tree", content)


def raw_commit(
    repository: GitRepository,
    *,
    tree: bytes | None = None,
    parents: Sequence[bytes] | None = None,
    author: bytes = b"author %s %d +0000\n" % (PERSON, FIRST_TIME),
    committer: bytes = b"committer %s %d +0000\n" % (PERSON, FIRST_TIME + 9 * HOUR),
    extra: bytes = b"",
    body: bytes = b"\nFix bug 77: the cookie is lost\n",
) -> str:
    """Id of a commit of these lines: by default the last commit's tree, with the last commit as its parent."""
    last = repository.made[-1]
    named = tree_of(repository, last).encode() if tree is None else tree
    lines = [b"tree %s\n" % named] if named else []
    lines += [b"parent %s\n" % parent for parent in ([last.encode()] if parents is None else parents)]
    return raw_object(repository, "commit", b"".join([*lines, author, committer, extra, body]))


def tree_of(repository: GitRepository, commit: str) -> str:
    """Id of a commit's tree, read from its loose file."""
    data = zlib.decompress((repository.objects / commit[:2] / commit[2:]).read_bytes())
    return data.partition(b"tree ")[2][:40].decode()


def point(repository: GitRepository, content: str | bytes, ref: str = "refs/heads/main") -> None:
    """Write a ref's file as it is, without git's opinion."""
    place = repository.path / ref
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    place.write_bytes(content if isinstance(content, bytes) else content.encode() + b"\n")


def blob(repository: GitRepository, text: str = "class Added {}\n") -> str:
    """Id of a new blob."""
    return raw_object(repository, "blob", text.encode())


# ---- commits


def _tip(repository: GitRepository, **lines: bytes) -> None:
    point(repository, raw_commit(repository, **lines))  # type: ignore[arg-type]


def _behind(repository: GitRepository, **lines: bytes) -> None:
    """The bad commit is the tip's parent; the tip itself is sound."""
    bad = raw_commit(repository, **lines)  # type: ignore[arg-type]
    committer = b"committer %s %d +0000\n" % (PERSON, FIRST_TIME + 10 * HOUR)
    point(repository, raw_commit(repository, parents=[bad.encode()], committer=committer, body=b"\nlater\n"))


_NO_BODY = b""
_COMMITTERS: Mapping[str, bytes] = {
    "time of 2^63": b"committer %s 9223372036854775808 +0000\n" % PERSON,
    "time of 2^64": b"committer %s 18446744073709551616 +0000\n" % PERSON,
    "time of 30 digits": b"committer %s %s +0000\n" % (PERSON, b"9" * 30),
    "time of 5,000 digits": b"committer %s %s +0000\n" % (PERSON, b"9" * 5000),
    "time of 2^62": b"committer %s 4611686018427387904 +0000\n" % PERSON,
    "time in the year 10000": b"committer %s 253402300800 +0000\n" % PERSON,
    "negative time": b"committer %s -5 +0000\n" % PERSON,
    "very negative time": b"committer %s -%s +0000\n" % (PERSON, b"9" * 30),
    "no time": b"committer %s\n" % PERSON,
    "time in words": b"committer %s yesterday\n" % PERSON,
    "time with a point": b"committer %s 1.5e9 +0000\n" % PERSON,
    "zone of 5,000 digits": b"committer %s 1000000000 +%s\n" % (PERSON, b"9" * 5000),
    "no zone": b"committer %s 1000000000\n" % PERSON,
    "arabic digits": b"committer %s %s +0000\n" % (PERSON, "١٢٣".encode()),
    "committer without an end": b"committer Ada <ada@example.org 1000000000 +0000\n",
    "committer of ends": b"committer %s\n" % (b">" * 5000),
    "committer of blanks": b"committer >%s1\n" % (b" " * 20_000),
    "committer of digits": b"committer %s\n" % (b"> 1" * 20_000),
    "empty committer": b"committer\n",
    "no committer": b"",
    "two committers": b"committer %s 1 +0000\ncommitter %s %s +0000\n" % (PERSON, PERSON, b"8" * 40),
    "committer with NUL": b"committer A\0da <ada@example.org> 1000000000 +0000\n",
    "committer of a megabyte": b"committer %s <a@b> 1000000000 +0000\n" % (b"x" * 2**20),
}
_AUTHORS: Mapping[str, bytes] = {
    "no author": b"",
    "author without an end": b"author Ada <ada 1000000000 +0000\n",
    "author's time of 5,000 digits": b"author %s %s +0000\n" % (PERSON, b"9" * 5000),
    "author's time beyond 64 bits": b"author %s 99999999999999999999 +0000\n" % PERSON,
    "author beyond ASCII": b"author \xff\xfe\x80 <\xe9> 1000000000 +0000\n",
}
_ENCODINGS: Mapping[str, bytes] = {
    name.decode("ascii", "backslashreplace"): name
    for name in (
        *b"idna undefined punycode base64 hex rot13 zlib bz2 uu quopri unicode_escape raw_unicode_escape".split(),
        *b"utf-7 utf-16 utf-32 utf-8-sig cp932 iso2022_jp hz mbcs oem palmos charmap string_escape".split(),
        b"UTF-8\0",
        b"\0",
        b"",
        b" ",
        b"..",
        b"../../etc/passwd",
        b"\xff\xfe",
        b"x" * 100_000,
        b"encodings.aliases",
        b"aliases",
        b"none",
        b"a\rb",
        b"utf-8//IGNORE",
        b"UTF-8//TRANSLIT",
        b"IBM037",
        b"\xc3\xa9",
    )
}
_HEADS: Mapping[str, dict[str, object]] = {
    "tree line beyond ASCII": {"tree": b"\xff\xfe" + b"a" * 38},
    "tree line of words": {"tree": b"no such thing"},
    "tree line of a name": {"tree": b"HEAD"},
    "tree line of an option": {"tree": b"--batch-all-objects"},
    "tree line cut": {"tree": b"4b825dc642cb6eb9a060e54bf8"},
    "tree line of a megabyte": {"tree": b"a" * 2**20},
    "tree line in capitals": {"tree": b"4B825DC642CB6EB9A060E54BF8D69288FBEE4904"},
    "tree is missing": {"tree": b"1" * 40},
    "no tree line": {"tree": b""},
    "parent line beyond ASCII": {"parents": [b"\xe9" * 40]},
    "parent line of words": {"parents": [b"a b c"]},
    "parent line cut": {"parents": [b"4b825dc642cb6eb9a060e54bf8"]},
    "parent is missing": {"parents": [b"2" * 40]},
    "no body": {"body": _NO_BODY},
    "no end of line": {"body": b"", "committer": b"committer %s 1000000000 +0000" % PERSON},
    "empty message": {"body": b"\n"},
    "message of NUL": {"body": b"\n" + b"\0" * 1000 + b"fix bug 1\0:100644 100644 1 2 M\0A.java\0"},
    "message like a log": {"body": b"\nx\0" + b"3" * 40 + b" 1 \nfix\0:100644 100644 1 2 M\0Evil.java\0"},
    "message of ten megabytes": {"body": b"\nfix bug 1\n" + b"word " * 2_000_000},
    "message of line feeds": {"body": b"\n" + b"\n" * 1_000_000 + b"fix bug 1"},
    "header of a megabyte": {"extra": b"gpgsig %s\n" % (b"x" * 2**20)},
    "header of 100,000 lines": {"extra": b"x y\n" * 100_000},
    "header with CR": {"extra": b"encoding UTF-8\r\r\r\n\r\n"},
    "mergetag": {"extra": b"mergetag object " + b"1" * 40 + b"\n type commit\n tag x\n\n body\n"},
    "1,000 unknown parents": {"parents": [b"%040x" % number for number in range(1, 1001)]},
    "one parent 1,000 times": {"parents": [b"SELF"] * 1000},
}


def _head(repository: GitRepository, where: Callable[..., None], lines: Mapping[str, object]) -> None:
    changed = dict(lines)
    if isinstance(parents := changed.get("parents"), list):
        changed["parents"] = [repository.made[-1].encode() if name == b"SELF" else name for name in parents]
    where(repository, **changed)


def _commit_cases() -> Iterator[Case]:
    for place, where in (("tip", _tip), ("parent", _behind)):
        for name, line in _COMMITTERS.items():
            yield Case(f"commit/{place}: {name}", partial(where, committer=line))
        for name, line in _AUTHORS.items():
            yield Case(f"commit/{place}: {name}", partial(where, author=line))
        for name, value in _ENCODINGS.items():
            text = f"encoding {name[:30]!r}"
            body = b"\nFix bug 77: caf\xe9 +AGY- xn--caf-dma \\x \\N{x} \xff\n"
            yield Case(f"commit/{place}: {text}", partial(where, extra=b"encoding %s\n" % value, body=body))
        for name, lines in _HEADS.items():
            yield Case(f"commit/{place}: {name}", partial(_head, where=where, lines=lines))


def _empty_commit(repository: GitRepository) -> None:
    point(repository, raw_object(repository, "commit", b""))


def _random_commit(repository: GitRepository) -> None:
    point(repository, raw_object(repository, "commit", hashlib.shake_128(b"commit").digest(5000)))


def _parent_of_kind(repository: GitRepository, kind: str) -> None:
    other = {
        "blob": lambda: blob(repository),
        "tree": lambda: tree_of(repository, repository.made[-1]),
        "tag": lambda: _tag(repository, repository.made[-1], "commit", "x"),
    }[kind]()
    _tip(repository, parents=[other.encode()])  # type: ignore[arg-type]


def _tree_of_kind(repository: GitRepository, kind: str) -> None:
    other = blob(repository) if kind == "blob" else repository.made[-1]
    _tip(repository, tree=other.encode())


def _octopus(repository: GitRepository, parents: int) -> None:
    stream = b"".join(
        b"commit refs/heads/b%d\nmark :%d\ncommitter %s %d +0000\ndata 5\nsideN\nfrom %s\n"
        % (number, number + 1, PERSON, FIRST_TIME + number, repository.made[0].encode())
        for number in range(parents)
    )
    repository.git("fast-import", "--quiet", stdin=stream)
    sides = repository.git("for-each-ref", "--format=%(objectname)", "refs/heads/b*").split()
    _tip(repository, parents=[side.encode() for side in sides])  # type: ignore[arg-type]


def long_history(repository: GitRepository, commits: int) -> None:
    """A chain of so many commits, each of which changes a file."""
    last = repository.made[-1].encode()

    def stream() -> Iterator[bytes]:
        for number in range(commits):
            yield b"commit refs/heads/main\ncommitter %s %d +0000\n" % (PERSON, FIRST_TIME + 10 * HOUR + number)
            yield b"data 15\nFix bug %06d\n" % number + (b"from %s\n" % last if not number else b"")
            yield b"M 100644 inline src/org/app/P%d.java\ndata 7\n%07d\n" % (number % 50, number)

    repository.git("fast-import", "--quiet", stdin=b"".join(stream()))


# ---- trees


def _with_tree(repository: GitRepository, tree: str) -> None:
    point(repository, raw_commit(repository, tree=tree.encode()))


def _entries(repository: GitRepository, *added: tuple[bytes, bytes]) -> None:
    """A tree with a sound file and these (mode, name)."""
    identity = blob(repository)
    _with_tree(
        repository, raw_tree(repository, [(b"100644", b"Sound.java", identity), *((m, n, identity) for m, n in added)])
    )


_NAMES: Mapping[str, bytes] = {
    "..": b"..",
    ".": b".",
    ".git": b".git",
    ".GIT": b".GIT",
    "git~1": b"git~1",
    "absolute": b"/etc/passwd.java",
    "up": b"../../../up.java",
    "folder inside": b"a/b/c.java",
    "slash at the end": b"a.java/",
    "line feed": b"a\nb.java",
    "tab": b"a\tb.java",
    "escape": b"\x1b[2J\x1b]0;x\x07.java",
    "beyond ASCII": b"\xff\xfe\xe9.java",
    "surrogate": b"\xed\xa0\x80.java",
    "of a megabyte": b"x" * 2**20 + b".java",
    "of 5,000 letters": b"y" * 5000 + b".java",
    "bidirectional": "\u202eavaj.java".encode(),
    "like a log": b":100644 100644 1 2 M.java",
    "blank": b" .java",
    "colon": b"a:b.java",
    "backslash": b"a\\b.java",
    "suffix alone": b".java",
}
_MODES: Mapping[str, bytes] = {
    "in words": b"abc",
    "empty": b"",
    "zero": b"0",
    "long": b"1006440000000000000000000",
    "negative": b"-100644",
    "with blanks": b" 100644",
    "of a device": b"60644",
    "of a pipe": b"10644",
    "of a socket": b"140644",
    "all bits": b"777777",
    "padded": b"0000000100644",
    "100": b"100",
    "1": b"1",
    "decimal": b"100689",
    "4": b"4",
    "of a folder for a file": b"40000",
    "of a module": b"160000",
    "of a link": b"120000",
}


def _tree_with_name(repository: GitRepository, name: bytes) -> None:
    _entries(repository, (b"100644", name))


def _folder_with_name(repository: GitRepository, name: bytes) -> None:
    inner = raw_tree(repository, [(b"100644", b"Inner.java", blob(repository))])
    entries = [(b"100644", b"Sound.java", blob(repository)), (b"40000", name, inner)]
    _with_tree(repository, raw_tree(repository, entries))


def _tree_with_mode(repository: GitRepository, mode: bytes) -> None:
    _entries(repository, (mode, b"Strange.java"))


def _tree_of_bytes(repository: GitRepository, content: bytes) -> None:
    _with_tree(repository, raw_object(repository, "tree", content))


def _duplicates(repository: GitRepository) -> None:
    one, two = blob(repository, "class One {}\n"), blob(repository, "class Two {}\n")
    inner = raw_tree(repository, [(b"100644", b"In.java", one)])
    entries = [
        (b"100644", b"A.java", one),
        (b"100644", b"A.java", two),
        (b"40000", b"d", inner),
        (b"40000", b"d", inner),
    ]
    _with_tree(repository, raw_tree(repository, [*entries, (b"100644", b"d", one), (b"100644", b"A.java", one)]))


def _unsorted(repository: GitRepository) -> None:
    identity = blob(repository)
    names = (b"z.java", b"a.java", b"m.java", b"z.java.java", b"b.java")
    _with_tree(repository, raw_tree(repository, [(b"100644", name, identity) for name in names]))


def _folder_that_is_a_file(repository: GitRepository) -> None:
    tree = tree_of(repository, repository.made[-1])
    identity = blob(repository)
    entries = [(b"100644", b"Folder.java", tree), (b"40000", b"file.java", identity), (b"100644", b"Ok.java", identity)]
    _with_tree(repository, raw_tree(repository, entries))


def _missing_below(repository: GitRepository) -> None:
    entries = [
        (b"100644", b"Gone.java", "3" * 40),
        (b"100644", b"Ok.java", blob(repository)),
        (b"40000", b"gone", "4" * 40),
    ]
    _with_tree(repository, raw_tree(repository, entries))


def deep(repository: GitRepository, folders: int, name: bytes = b"d") -> None:
    """A file below so many folders."""
    tree = raw_tree(repository, [(b"100644", b"Deep.java", blob(repository))])
    for _ in range(folders):
        tree = raw_tree(repository, [(b"40000", name, tree)])
    _with_tree(repository, tree)


def bomb(repository: GitRepository, levels: int = 10, width: int = 10, name: bytes = b"Bomb.java") -> None:
    """Ten trees that stand for ten thousand million files: each level holds the next one ten times."""
    tree = raw_tree(repository, [(b"100644", b"%d%s" % (place, name), blob(repository)) for place in range(width)])
    for _ in range(levels - 1):
        tree = raw_tree(repository, [(b"40000", b"d%d" % place, tree) for place in range(width)])
    _with_tree(repository, tree)


def _wide(repository: GitRepository, entries: int) -> None:
    identity = blob(repository)
    names = sorted(b"F%d.txt" % number for number in range(entries))
    _with_tree(
        repository, raw_tree(repository, [(b"100644", b"A.java", identity), *((b"100644", n, identity) for n in names)])
    )


def _tree_cases() -> Iterator[Case]:
    for name, value in _NAMES.items():
        yield Case(f"tree: file name {name}", partial(_tree_with_name, name=value))
        yield Case(f"tree: folder name {name}", partial(_folder_with_name, name=value))
    yield Case("tree: empty name", partial(_tree_with_name, name=b""))
    for name, value in _MODES.items():
        yield Case(f"tree: mode {name}", partial(_tree_with_mode, mode=value))
    sound = b"100644 A.java\0" + bytes(range(20))
    for name, content in {
        "nothing": b"",
        "cut id": sound[:-3],
        "cut name": b"100644 A.ja",
        "cut mode": b"1006",
        "no blank": sound.replace(b" ", b""),
        "random": hashlib.shake_128(b"tree").digest(20_000),
        "blanks": b" " * 10_000,
        "NUL": b"\0" * 10_000,
        "sevens": b"7" * 1_000_000,
        "sound, then cut": sound + b"100644 B.java\0abc",
        "sound, then random": sound + hashlib.shake_128(b"x").digest(999),
    }.items():
        yield Case(f"tree: of {name}", partial(_tree_of_bytes, content=content))
    yield Case("tree: names twice", _duplicates)
    yield Case("tree: not sorted", _unsorted)
    yield Case("tree: folder that is a file", _folder_that_is_a_file)
    yield Case("tree: missing below", _missing_below)
    yield Case("tree: 500 folders deep", partial(deep, folders=500))
    yield Case("tree: 10,000 folders deep", partial(deep, folders=10_000), slow=True)
    yield Case("tree: 5,000 long folders deep", partial(deep, folders=5000, name=b"n" * 250), slow=True)
    yield Case("tree: bomb of sources", partial(bomb))
    yield Case("tree: bomb of other files", partial(bomb, name=b"bomb.bin"))
    yield Case("tree: bomb of empty folders", _bomb_of_folders)
    yield Case("tree: 200,000 files wide", partial(_wide, entries=200_000))


def _bomb_of_folders(repository: GitRepository) -> None:
    tree = raw_object(repository, "tree", b"")
    for _ in range(10):
        tree = raw_tree(repository, [(b"40000", b"d%d" % place, tree) for place in range(10)])
    entries = [(b"100644", b"Sound.java", blob(repository)), (b"40000", b"bomb", tree)]
    _with_tree(repository, raw_tree(repository, entries))


# ---- tags, refs and names


def _tag(repository: GitRepository, identity: str, kind: str, name: str) -> str:
    text = f"object {identity}\ntype {kind}\ntag {name}\ntagger Ada <a@b> 1000000000 +0000\n\nmessage\n"
    return raw_object(repository, "tag", text.encode())


def _tags(repository: GitRepository, depth: int) -> None:
    identity, kind = repository.made[-1], "commit"
    for number in range(depth):
        identity, kind = _tag(repository, identity, kind, f"t{number}"), "tag"
    point(repository, identity)
    point(repository, identity, "refs/tags/deep")


def _tag_to(repository: GitRepository, identity: str, kind: str) -> None:
    point(repository, _tag(repository, identity or blob(repository), kind, "lie"))


def _tag_of_bytes(repository: GitRepository, content: bytes) -> None:
    point(repository, raw_object(repository, "tag", content))


def _cycle(repository: GitRepository) -> None:
    point(repository, "ref: refs/heads/other")
    point(repository, "ref: refs/heads/main", "refs/heads/other")


def _head_as(repository: GitRepository, content: bytes) -> None:
    (repository.path / "HEAD").write_bytes(content)


def _packed_as(repository: GitRepository, content: bytes, keep: bool) -> None:
    repository.git("pack-refs", "--all")
    place = repository.path / "packed-refs"
    place.write_bytes(place.read_bytes() + content if keep else content)


def _ref_cases() -> Iterator[Case]:
    yield Case("tag: 1,000 deep", partial(_tags, depth=1000), slow=True)
    for name, (identity, kind) in {
        "to nothing": ("5" * 40, "commit"),
        "to a blob as a commit": ("", "commit"),
        "to a blob": ("", "blob"),
        "of no kind": ("", "nonsense"),
    }.items():
        yield Case(f"tag: {name}", partial(_tag_to, identity=identity, kind=kind))
    yield Case("tag: empty", partial(_tag_of_bytes, content=b""))
    yield Case("tag: random", partial(_tag_of_bytes, content=hashlib.shake_128(b"tag").digest(3000)))
    yield Case("ref: cycle", _cycle)
    for name, content in {
        "junk": b"\xff\xfe\0junk\n",
        "empty": b"",
        "blanks": b" \n\n ",
        "id cut": b"abc123\n",
        "to itself": b"ref: refs/heads/main\n",
        "out of the folder": b"ref: ../../../../etc/passwd\n",
        "endless name": b"ref: " + b"a/" * 50_000 + b"\n",
        "zero id": b"0" * 40 + b"\n",
        "id of nothing": b"6" * 40 + b"\n",
        "NUL": b"\0" * 4096,
        "a megabyte": b"a" * 2**20,
    }.items():
        yield Case(f"ref: {name}", partial(point, content=content))
        yield Case(f"HEAD: {name}", partial(_head_as, content=content))
    for name, content in {
        "junk": b"\xff\0junk\n" * 10,
        "random": hashlib.shake_128(b"refs").digest(100_000),
        "no end of line": b"7" * 40 + b" refs/heads/x",
        "long line": b"7" * 40 + b" refs/heads/" + b"x" * 2**20 + b"\n",
        "peeled twice": b"^" + b"7" * 40 + b"\n^" + b"8" * 40 + b"\n",
        "header that lies": b"# pack-refs with: peeled fully-peeled sorted \nzz\n",
    }.items():
        yield Case(f"packed-refs: {name}", partial(_packed_as, content=content, keep=False))
        yield Case(f"packed-refs: sound, then {name}", partial(_packed_as, content=content, keep=True))
    yield Case("refs: a main folder", _ref_is_a_folder)
    yield Case("refs: replaced by hostile ones", _replaced)
    yield Case("grafts", _grafts)
    yield Case("refs: many names of one object", _many_refs)


def _ref_is_a_folder(repository: GitRepository) -> None:
    (repository.path / "refs/heads/main").unlink()
    (repository.path / "refs/heads/main/x").mkdir(parents=True)


def _replaced(repository: GitRepository) -> None:
    last = repository.made[-1]
    bad = raw_commit(repository, committer=_COMMITTERS["time of 5,000 digits"], tree=b"\xff" * 40)
    point(repository, bad, f"refs/replace/{last}")
    tree = tree_of(repository, repository.made[0])
    point(repository, raw_object(repository, "tree", b"junk"), f"refs/replace/{tree}")


def _grafts(repository: GitRepository) -> None:
    (repository.path / "info").mkdir(exist_ok=True)
    first, last = repository.made[0], repository.made[-1]
    (repository.path / "info/grafts").write_bytes(f"{first} {last}\n{last} {first}\n".encode() + b"\xff\0 junk\n")


def _many_refs(repository: GitRepository) -> None:
    identity = repository.made[-1]
    lines = "".join(f"{identity} refs/heads/b{number:06}\n" for number in range(100_000))
    (repository.path / "packed-refs").write_text("# pack-refs with: peeled fully-peeled sorted \n" + lines)


# ---- files of the object store


def flip(path: Path, share: float = 0.5, with_byte: int = 0xFF) -> None:
    """Change a byte of a file at a share of its length."""
    data = bytearray(path.read_bytes() or b"\0")
    data[min(int(len(data) * share), len(data) - 1)] ^= with_byte
    _overwrite(path, bytes(data))


def _overwrite(path: Path, data: bytes) -> None:
    path.unlink()
    path.write_bytes(data)


def _packed(repository: GitRepository) -> None:
    repository.git("repack", "-q", "-a", "-d", "--write-bitmap-index")
    repository.git("commit-graph", "write", "--reachable", "--changed-paths")
    repository.git("multi-pack-index", "write")


_STORE: Mapping[str, str] = {
    "pack": "pack/*.pack",
    "pack index": "pack/*.idx",
    "bitmap": "pack/*.bitmap",
    "commit graph": "info/commit-graph",
    "multi-pack index": "pack/multi-pack-index",
    "reverse index": "pack/*.rev",
}


def _store_file(repository: GitRepository, pattern: str) -> Path | None:
    return next(iter(sorted(repository.objects.glob(pattern))), None)


def _damaged(repository: GitRepository, pattern: str, how: str) -> None:
    _packed(repository)
    path = _store_file(repository, pattern)
    if path is None:
        path = repository.objects / pattern.replace("*", "pack-" + "1" * 40)
        path.write_bytes(b"")
    if how == "cut":
        _overwrite(path, path.read_bytes()[: path.stat().st_size // 2])
    elif how == "empty":
        _overwrite(path, b"")
    elif how == "random":
        _overwrite(path, hashlib.shake_128(pattern.encode()).digest(5000))
    elif how == "numbers":
        data = path.read_bytes()
        _overwrite(path, data[:8] + b"\xff" * max(len(data) - 28, 0) + data[-20:])
    else:
        flip(path, float(how))


def _loose(repository: GitRepository, content: bytes) -> None:
    """The tip's tree, as a loose file of these bytes."""
    tree = tree_of(repository, repository.made[-1])
    place = repository.objects / tree[:2] / tree[2:]
    place.parent.mkdir(exist_ok=True)
    place.unlink(missing_ok=True)
    place.write_bytes(content)


def inflated(kind: str, size: int) -> tuple[str, bytes]:
    """Id and compressed bytes of an object of ``size`` blanks that takes a thousandth of that on the disk."""
    head = b"%s %d\0" % (kind.encode(), size)
    squeeze, digest = zlib.compressobj(9), hashlib.sha1(head)
    parts, block, left = [squeeze.compress(head)], b" " * 2**20, size
    while left:
        piece = block[: min(left, len(block))]
        digest.update(piece)
        parts.append(squeeze.compress(piece))
        left -= len(piece)
    return digest.hexdigest(), b"".join([*parts, squeeze.flush()])


def zip_bomb(repository: GitRepository, kind: str, size: int) -> None:
    """An object of ``size`` bytes that is small on the disk: the tip, its tree, or a source file of it."""
    identity, data = inflated(kind, size)
    place = repository.objects / identity[:2] / identity[2:]
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(data)
    if kind == "blob":
        entries = [(b"100644", b"Bomb.java", identity), (b"100644", b"Sound.java", blob(repository))]
        _with_tree(repository, raw_tree(repository, entries))
    elif kind == "tree":
        entries = [(b"100644", b"Sound.java", blob(repository)), (b"40000", b"bomb", identity)]
        _with_tree(repository, raw_tree(repository, entries))
    else:
        point(repository, identity)


def _message_bomb(repository: GitRepository, size: int) -> None:
    _tip(repository, body=b"\nFix bug 77\n" + b"cookie \n" * (size // 8))


def _store_cases() -> Iterator[Case]:
    for name, pattern in _STORE.items():
        for how in ("cut", "empty", "random", "numbers", "0.02", "0.2", "0.5", "0.9"):
            yield Case(f"store: {name} damaged, {how}", partial(_damaged, pattern=pattern, how=how))
    for name, content in {
        "empty": b"",
        "junk": b"junk" * 100,
        "no header": zlib.compress(b"no header"),
        "size too large": zlib.compress(b"tree 999999\0x"),
        "size beyond 64 bits": zlib.compress(b"tree 99999999999999999999999\0x"),
        "negative size": zlib.compress(b"tree -1\0x"),
        "unknown kind": zlib.compress(b"nonsense 1\0x"),
        "long kind": zlib.compress(b"x" * 100_000 + b" 1\0x"),
        "cut": zlib.compress(b"tree 0\0")[:5],
        "size of 100 GB": zlib.compress(b"tree 107374182400\0x"),
    }.items():
        yield Case(f"store: loose tree, {name}", partial(_loose, content=content))
    for kind in ("blob", "tree", "commit"):
        yield Case(f"store: {kind} of 2 GB in 2 MB", partial(zip_bomb, kind=kind, size=2 * GIGABYTE), slow=True)
    yield Case("store: message of 300 MB", partial(_message_bomb, size=300_000_000), slow=True)


# ---- special files


def make_special(path: Path, kind: str) -> None:
    """Put a thing that is no plain file of moderate size where one is expected."""
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "link to a pipe":
        os.mkfifo(path.with_name(path.name + ".pipe"))
        path.symlink_to(path.name + ".pipe")
    elif kind == "socket":
        _socket(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "endless":
        path.symlink_to(ENDLESS)
    elif kind == "terminal":
        path.symlink_to("/dev/tty")
    elif kind == "loop":
        path.symlink_to(path.name)
    elif kind == "nothing":
        path.symlink_to("no such file")
    elif kind == "1 GB":
        with path.open("wb") as file:
            file.truncate(GIGABYTE)
    elif kind == "bytes":
        path.write_bytes(bytes(range(256)) * 20)
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "unreadable":
        path.write_bytes(b"x")
        path.chmod(0)


def _socket(path: Path) -> None:
    """A socket's name, by a path that fits the 108 bytes it may have."""
    with socket.socket(socket.AF_UNIX) as server:
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            server.bind(f"/proc/self/fd/{folder}/{path.name}")
        finally:
            os.close(folder)


KINDS: Final = (
    *("pipe", "link to a pipe", "socket", "folder", "endless", "terminal", "loop", "nothing", "1 GB", "bytes", "empty"),
)
PLACES: Final = (
    *("HEAD", "config", "config.worktree", "shallow", "commondir", "packed-refs", "refs", "refs/heads/main"),
    *(
        "objects",
        "objects/info/alternates",
        "objects/info/commit-graph",
        "objects/pack",
        "objects/info",
        "gitdir",
        "index",
    ),
    *(
        "objects/info/commit-graphs/commit-graph-chain",
        "objects/pack/multi-pack-index",
        "info/grafts",
        "info/attributes",
    ),
    *(
        "objects/pack/pack-1111111111111111111111111111111111111111.idx",
        "objects/pack/pack-22.pack",
        "info",
        "logs/HEAD",
    ),
)


def _special(repository: GitRepository, place: str, kind: str) -> None:
    make_special(repository.path / place, kind)


def _special_object(repository: GitRepository, kind: str) -> None:
    tree = tree_of(repository, repository.made[-1])
    make_special(repository.objects / tree[:2] / tree[2:], kind)


def _special_cases() -> Iterator[Case]:
    for place in PLACES:
        for kind in KINDS:
            yield Case(f"file: {place} is {kind}", partial(_special, place=place, kind=kind))
    for kind in KINDS:
        yield Case(f"file: a loose object is {kind}", partial(_special_object, kind=kind))
        yield Case(f"file: .git is {kind}", partial(_git_file, kind=kind))
        yield Case(f"file: the alternate's alternates is {kind}", partial(_second_alternates, kind=kind))
        yield Case(f"file: the common folder's config is {kind}", partial(_common, place="config", kind=kind))
        yield Case(f"file: the common folder's shallow is {kind}", partial(_common, place="shallow", kind=kind))
        yield Case(f"file: an included configuration is {kind}", partial(_included, kind=kind))
    for name, content in {
        "nowhere": b"gitdir: nowhere\n",
        "itself": b"gitdir: .git\n",
        "an endless file": b"gitdir: /dev/zero\n",
        "words": b"hello\n",
        "NUL": b"gitdir: a\0b\n",
        "beyond ASCII": b"gitdir: \xff\xfe\n",
        "long": b"gitdir: " + b"a/" * 100_000 + b"\n",
        "none": b"gitdir: \n",
        "/proc/self": b"gitdir: /proc/self\n",
        "sound": b"gitdir: real\n",
    }.items():
        yield Case(f".git file to {name}", partial(_git_file_as, content=content))
    for name, content in {
        "nowhere": b"../nowhere\n",
        "itself": b".\n",
        "beyond ASCII": b"\xff\xfe\n",
        "NUL": b"a\0b\n",
        "long": b"a/" * 100_000,
        "an endless file": b"/dev\n",
        "blank": b"\n",
        "/proc/self": b"/proc/self\n",
    }.items():
        yield Case(f"commondir to {name}", partial(_file_as, place="commondir", content=content))
    for name, content in {
        "itself": b".\n",
        "nowhere": b"../nowhere/objects\n",
        "NUL": b"/a\0b\n",
        "beyond ASCII": b"/\xff\xfe\n",
        "an endless file": b"/dev/zero\n",
        "100,000 folders": b"".join(b"/nowhere/%d\n" % number for number in range(100_000)),
        "quoted": b'"/no\\where\\377"\n"cut\n',
        "a megabyte": b"/" + b"a" * 2**20,
        "/dev": b"/dev\n",
        "/": b"/\n",
        "comment": b"#" * 10_000 + b"\n",
        "/proc/self": b"/proc/self/fd\n",
    }.items():
        yield Case(f"alternates to {name}", partial(_file_as, place="objects/info/alternates", content=content))
    yield Case("alternates in a circle", _alternates_circle)
    yield Case("alternates ten deep", _alternates_deep)
    for name, content in {
        "beyond ASCII": b"\xff\xe9\n",
        "words": b"hello\n",
        "a short id": b"abcdef\n",
        "no such commit": b"9" * 40 + b"\n",
        "NUL": b"\0" * 100,
        "100,000 ids": b"".join(b"%040x\n" % number for number in range(100_000)),
        "a megabyte in a line": b"a" * 2**20,
        "blank lines": b"\n\n\n",
    }.items():
        yield Case(f"shallow: {name}", partial(_file_as, place="shallow", content=content))
    yield Case("shallow: the tip", _shallow_at_tip)
    for name, text in {
        "random": hashlib.shake_128(b"config").digest(50_000),
        "format 99": b"[core]\nrepositoryformatversion = 99\n",
        "unknown extension": b"[core]\nrepositoryformatversion = 1\n[extensions]\nnonsense = yes\n",
        "sha256 that is not": b"[core]\nrepositoryformatversion = 1\n[extensions]\nobjectformat = sha256\n",
        "objectformat of nonsense": b"[core]\nrepositoryformatversion = 1\n[extensions]\nobjectformat = md5\n",
        "reftable": b"[core]\nrepositoryformatversion = 1\n[extensions]\nrefstorage = reftable\n",
        "includes itself": b"[include]\npath = config\n",
        "no end": b"[core",
        "a long value": b"[a]\nb = " + b"x" * 5_000_000 + b"\n",
        "a long section": b"[" + b"x" * 5_000_000 + b"]\n",
        "100,000 sections": b"[a]\nb=c\n" * 100_000,
        "beyond UTF-8": b"[core]\nbare = \xff\xfe\n",
        "NUL": b"[core]\0\0bare = yes\n",
        "bare in words": b"[core]\nbare = perhaps\n",
        "worktree nowhere": b"[core]\nbare = false\nworktree = /nowhere\n",
        "numbers": b"[core]\nrepositoryformatversion = 99999999999999999999\ncompression = 99\nbigFileThreshold = -1\n",
        "object format in a loop": b"objectformat" * 100_000,
        "blank lines": b"\n" * 1_000_000,
        "blanks": b" " * 1_000_000,
        "worktree configuration": b"[core]\nrepositoryformatversion = 1\n[extensions]\nworktreeConfig = true\n",
    }.items():
        yield Case(f"config: {name}", partial(_file_as, place="config", content=text))


def _file_as(repository: GitRepository, place: str, content: bytes) -> None:
    path = repository.path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _moved(repository: GitRepository, place: str = "real") -> Path:
    """The repository's own files, one folder further down."""
    inside = repository.path / place
    names = sorted(repository.path.iterdir())
    inside.mkdir()
    for name in names:
        name.rename(inside / name.name)
    return inside


def _git_file(repository: GitRepository, kind: str) -> None:
    _moved(repository)
    make_special(repository.path / ".git", kind)


def _git_file_as(repository: GitRepository, content: bytes) -> None:
    _moved(repository)
    (repository.path / ".git").write_bytes(content)


def _common(repository: GitRepository, place: str, kind: str) -> None:
    """A work tree of its own whose common folder has the special file."""
    inside = _moved(repository)
    own = inside / "worktrees/own"
    own.mkdir(parents=True)
    (own / "HEAD").write_text("ref: refs/heads/main\n")
    (own / "commondir").write_text("../..\n")
    (own / "gitdir").write_text(f"{repository.path}/.git\n")
    (repository.path / ".git").write_text("gitdir: real/worktrees/own\n")
    make_special(inside / place, kind)


def _included(repository: GitRepository, kind: str) -> None:
    make_special(repository.path / "more", kind)
    with (repository.path / "config").open("a") as config:
        config.write("[include]\npath = more\n")


def _second_alternates(repository: GitRepository, kind: str) -> None:
    other = repository.path / "other/objects"
    make_special(other / "info/alternates", kind)
    _file_as(repository, "objects/info/alternates", b"../other/objects\n")


def _alternates_circle(repository: GitRepository) -> None:
    for here, there in (("one", "two"), ("two", "one")):
        _file_as(repository, f"{here}/info/alternates", f"../{there}\n".encode())
    _file_as(repository, "objects/info/alternates", b"../one\n")


def _alternates_deep(repository: GitRepository) -> None:
    for number in range(10):
        _file_as(repository, f"a{number}/info/alternates", f"../a{number + 1}\n".encode())
    _file_as(repository, "objects/info/alternates", b"../a0\n")


def _shallow_at_tip(repository: GitRepository) -> None:
    _file_as(repository, "shallow", repository.made[-1].encode() + b"\n")


# ---- all of them


def _cases() -> Iterator[Case]:
    yield from _commit_cases()
    yield Case("commit: empty", _empty_commit)
    yield Case("commit: random", _random_commit)
    for kind in ("blob", "tree", "tag"):
        yield Case(f"commit: a parent that is a {kind}", partial(_parent_of_kind, kind=kind))
    for kind in ("blob", "commit"):
        yield Case(f"commit: a tree that is a {kind}", partial(_tree_of_kind, kind=kind))
    yield Case("commit: 1,000 parents", partial(_octopus, parents=1000), slow=True)
    yield Case("history: 100,000 commits", partial(long_history, commits=100_000), slow=True)
    yield from _tree_cases()
    yield from _ref_cases()
    yield from _store_cases()
    yield from _special_cases()


CASES: Final[Mapping[str, Case]] = {case.name: case for case in _cases()}


@cache
def _files_of_a_sound_one() -> tuple[Mapping[str, bytes], tuple[str, ...]]:
    """Path -> content of all files of a small sound repository, and its commits."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "sound.git")
        path.mkdir()
        repository = GitRepository(path, True, git_environment(Path(folder)))
        repository.git("init", "-q", "-b", "main", "--bare", "--template=")
        repository.commit(FILES, "First version")
        repository.commit(
            {"src/org/app/Cookie.java": FILES["src/org/app/Cookie.java"] + "// size\n"}, "Fix bug 12: cookie"
        )
        repository.commit({"README": "Read me twice.\n"}, "Words")
        for pack in sorted(
            repository.objects.glob("pack/*.pack")
        ):  # every object loose: a case spoils the one it means
            data = pack.read_bytes()
            for part in repository.objects.glob(f"pack/{pack.stem}.*"):
                part.unlink()
            repository.git("unpack-objects", "-q", stdin=data)
        files = {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}
        return files, tuple(repository.made)


def sound(folder: Path) -> GitRepository:
    """A small sound repository, bare, in the new folder: three commits, two source files."""
    files, made = _files_of_a_sound_one()
    for place in ("objects/pack", "objects/info", "refs/heads", "refs/tags"):
        (folder / place).mkdir(parents=True)
    for name, data in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
    return GitRepository(folder, True, git_environment(folder.parent), list(made))


def build(name: str, folder: Path) -> GitRepository:
    """The case's repository in the new folder."""
    repository = sound(folder)
    CASES[name].spoil(repository)
    return repository


def remove(folder: Path) -> None:
    """Delete a case's folder, whatever stands in it."""
    with suppress(FileNotFoundError):
        shutil.rmtree(folder)
