"""Digests of what TosLoc says of four small repositories: ``python -m tests.golden [--against REVISION]``.

Java, Python, nine languages together, and one whose files are renamed, moved and deleted; 50 reports each. Digested are
the answers of ``localize --jsonl`` (cold, warm, one commit later from what was kept, the same cold), run and judgements
of ``rank`` with one and with two processes, and those of two trainings. Equal digests mean equal bytes, but for
seconds and versions. With ``--against`` the same is done by another revision's package on the same inputs, and what
differs is named (exit code 1): digests that are stored would tie the comparison to one processor.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Final, TypeAlias

ROOT: Final = Path(__file__).resolve().parents[1]
BEGIN: Final = 1_400_000_000
DAY: Final = 86_400
REPORTS: Final = 50
KINDS: Final = ("java", "python", "mixed", "moved")
_TRAININGS: Final = {
    "default": 'extends = "default.toml"\n',
    "paper": 'extends = "paper.toml"\n[stage_one.evolution]\ngenerations = 5\npopulation = 5\n',
}
"""Name of a training -> its settings."""
Files: TypeAlias = dict[str, str]

_THEMES: Final = (
    "parser socket cookie widget ledger planet rocket violin garden copper magnet pillow turbine canyon marble falcon "
    "harbor lantern meadow needle oyster pepper quartz ribbon saddle temple umbrella valley walnut yonder"
).split()
_ROLES: Final = "Reader Writer Cache Handler Factory View".split()
_VERBS: Final = "open close load store flush resolve render validate merge split".split()
_NOISE: Final = (
    "screen button window menu server login page user click error problem version strange wrong slow report always "
    "never sometimes after before restart upgrade value null empty large number"
).split()


@dataclass
class Repository:
    """A bare repository and its labelled reports."""

    path: Path
    reports: Path
    later: Callable[[], None]
    """Adds one more commit."""


@dataclass
class _History:
    """Commits for ``git fast-import``, one after the other."""

    files: Files = field(default_factory=dict)
    stream: bytearray = field(default_factory=bytearray)
    number: int = 0

    def commit(self, message: str, when: int, changes: Mapping[str, str | None], parent: str = "") -> int:
        """The mark of the next commit on the branch main, whose first one may have a parent that is there already."""
        self.number += 1
        who = f"Ada <ada@example.org> {when} +0000"
        text = message.encode()
        head = f"commit refs/heads/main\nmark :{self.number}\nauthor {who}\ncommitter {who}\ndata {len(text)}\n"
        self.stream += head.encode() + text + b"\n" + (f"from {parent}\n".encode() if parent else b"")
        for path, content in changes.items():
            if content is None:
                self.files.pop(path)
                self.stream += f"D {path}\n".encode()
                continue
            self.files[path] = content
            data = content.encode()
            self.stream += f"M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n"
        return self.number


def make(folder: Path, kind: str, seed: int = 11) -> Repository:
    """A repository of one of ``KINDS``: the same commits and reports for the same seed."""
    rng = random.Random(f"{kind} {seed}")
    suffixes = {"java": ("java",), "python": ("py",), "moved": ("java", "py")}.get(kind, tuple(_WRITTEN))
    themes = [(theme, role, suffixes[n % len(suffixes)]) for n, theme in enumerate(_THEMES) for role in _ROLES[:2]]
    history = _History()
    first: dict[str, str | None] = {}
    where: dict[tuple[str, str], str] = {}
    for theme, role, suffix in themes:
        where[theme, role] = _path(theme, role, suffix)
        first[where[theme, role]] = _source(rng, theme, role, suffix, [])
        if role == "Reader" and rng.random() < 0.4:
            test = f"Test{theme.title()}{role}.java" if suffix == "java" else f"test_{theme}_{role.lower()}.{suffix}"
            first[f"tests/{test}"] = _source(rng, theme, "Reader", suffix, [])
    first |= {"README.md": "# A project\n\nIt has a parser.\n", "build.xml": "<project name='a'/>\n"}
    history.commit("Import of the sources", BEGIN, first)
    records: list[dict[str, object]] = []
    fixes: dict[int, int] = {}
    for number in range(REPORTS):
        opened = BEGIN + (2 * number + 1) * DAY
        chosen = rng.sample(themes, 1 if rng.random() < 0.7 else 3)
        summary, description = _report(rng, chosen, where)
        fixed = []
        changes: dict[str, str | None] = {}
        for theme, role, suffix in chosen:
            fixed.append(where[theme, role])
            added = [f"{rng.choice(_VERBS)} {rng.choice(_NOISE)}" for _ in range(3)]
            changes[fixed[-1]] = _source(rng, theme, role, suffix, added)
        said = f"Fix #{100 + number}: {summary}" if number % 3 else f"{summary}\n\nChange-Id: I{number:08x}"
        fixes[number] = history.commit(said, opened + DAY // 2, changes)
        records.append({"id": str(100 + number), "summary": summary, "description": description, "opened": opened})
        records[-1]["fixed"] = fixed
        if kind == "moved" and number % 4 == 3:
            _move(rng, history, where, opened + DAY)
    folder.mkdir(parents=True)
    path = folder / f"{kind}.git"
    _git(folder, "init", "-q", "--bare", "-b", "main", str(path))
    marks = _import(path, history)
    reports = folder / f"{kind}.jsonl"
    with reports.open("w", encoding="utf-8") as file:
        for number, record in enumerate(records):
            when = datetime.fromtimestamp(float(str(record["opened"])), UTC).isoformat()
            file.write(json.dumps(record | {"opened": when, "fix_commit": marks[fixes[number]]}) + "\n")

    def later() -> None:
        theme, role, suffix = themes[3]
        old = where[theme, role]
        changed = {
            old: _source(rng, theme, role, suffix, ["resolve cookies"]),
            f"new/{theme}.py": "def fresh(): pass\n",
        }
        gone = {next(name for name in history.files if name.startswith("tests/")): None}
        more = _History(history.files)
        more.commit("One commit more, fixes #7", BEGIN + 1000 * DAY, {**changed, **gone}, "refs/heads/main^0")
        _import(path, more)

    return Repository(path, reports, later)


def _move(rng: random.Random, history: _History, where: dict[tuple[str, str], str], when: int) -> None:
    """Rename a file, or move its folder, or delete one that no report will name."""
    key = rng.choice(sorted(where))
    old = where[key]
    new = f"moved/{old}" if rng.random() < 0.5 else old.replace("src/", "source/")
    if new != old:
        where[key] = new
        history.commit(f"Move {old}", when, {old: None, new: history.files[old]})
    if tests := sorted(name for name in history.files if name.startswith("tests/"))[:-1]:
        history.commit("Remove a test", when + 60, {rng.choice(tests): None})


def _path(theme: str, role: str, suffix: str) -> str:
    package = f"p{_THEMES.index(theme) % 5}"
    if suffix == "java":
        return f"src/org/app/{package}/{theme.title()}{role}.java"
    return f"src/{package}/{theme}_{role.lower()}.{suffix}"


def _report(
    rng: random.Random, chosen: Sequence[tuple[str, str, str]], where: Mapping[tuple[str, str], str]
) -> tuple[str, str]:
    """Summary and description: words, now and then a name, a path or a stack trace of what will be fixed."""
    theme, role, suffix = chosen[0]
    name = f"{theme.title()}{role}"
    words = [rng.choice([theme, name, f"{rng.choice(_VERBS)}{theme.title()}"]), *rng.sample(_NOISE, 4)]
    rng.shuffle(words)
    lines = [" ".join(rng.sample(_NOISE, 8)) + f" {rng.choice(_THEMES)} {rng.choice(_VERBS)}."]
    lines += [" ".join([*rng.sample(_NOISE, 5), other]) for other, _, _ in chosen[1:]]
    draw, path = rng.random(), where[theme, role]
    if draw < 0.2 and suffix == "java":
        package = ".".join(path.split("/")[1:-1])
        lines += ["java.lang.NullPointerException: no cookie", f"\tat {package}.{name}.open({name}.java:7)"]
        lines += ["\tat java.lang.Thread.run(Thread.java:748)"]
    elif draw < 0.2:
        lines += ["Traceback (most recent call last):", f'  File "/home/a/{path}", line 4, in load', "ValueError: no"]
    elif draw < 0.3:
        lines += [f"See {path}, and also #{rng.randint(90, 140)}.", "```", f"{theme}.open(null)", "```"]
    return " ".join(words).capitalize(), "\n".join(lines)


_WRITTEN: Final[Mapping[str, str]] = {
    "java": "package org.app;\n\nimport java.util.List;\n\n/** {doc} */\npublic class {Name} extends Base {{\n"
    "    private int {theme}Size;\n{body}}}\n",
    "py": 'import os\n\n\nclass {Name}(Base):\n    """{doc}"""\n\n{body}',
    "js": "import {{ base }} from './base';\n// {doc}\nexport class {Name} {{\n{body}}}\n",
    "ts": "// {doc}\nexport class {Name} {{\n{body}}}\n",
    "go": "package app\n\n// {doc}\ntype {Name} struct {{ size int }}\n\n{body}",
    "c": "#include <stdio.h>\n/* {doc} */\nstatic int {theme}_size;\n{body}",
    "rb": "# {doc}\nclass {Name}\n{body}end\n",
    "rs": "/// {doc}\npub struct {Name} {{ size: usize }}\n{body}",
    "vue": "<template><p>{doc}</p></template>\n<script>\nexport default {{ name: '{Name}' }};\n{body}</script>\n",
}
_METHODS: Final[Mapping[str, str]] = {
    "java": "    /** {say}. */\n    int {verb}{Word}(String {word}) {{\n        if ({word} == null) return {n};\n"
    '        log("{say}");\n        return {theme}Size;\n    }}\n',
    "py": "    def {verb}_{word}(self, {word}):\n        # {say}\n        if {word} is None:\n            return {n}\n"
    '        raise ValueError("{say}")\n\n',
    "js": "  {verb}{Word}({word}) {{ if (!{word}) {{ return {n}; }} throw new Error('{say}'); }}\n",
    "ts": "  {verb}{Word}({word}: string): number {{ return {word} ? {n} : 0; }} // {say}\n",
    "go": "// {say}\nfunc (a *{Name}) {verb}{Word}({word} string) int {{\n"
    '\tif {word} == "" {{ return {n} }}\n\treturn 0\n}}\n',
    "c": "int {theme}_{verb}_{word}(int {word}) {{\n    if ({word}) return {n}; /* {say} */\n    return 0;\n}}\n",
    "rb": "  def {verb}_{word}({word})\n    return {n} if {word}.nil? # {say}\n  end\n",
    "rs": "fn {verb}_{word}({word}: usize) -> usize {{\n    if {word} > 1 {{ return {n}; }}\n    0 // {say}\n}}\n",
    "vue": "function {verb}{Word}({word}) {{ return {word} || {n}; }} // {say}\n",
}


def _source(rng: random.Random, theme: str, role: str, suffix: str, added: Sequence[str]) -> str:
    body = ""
    for said in [*(f"{rng.choice(_VERBS)} {rng.choice(_NOISE)}" for _ in range(rng.randint(3, 25))), *added]:
        verb, word = said.split()
        say, number, name = " ".join([theme, *rng.sample(_NOISE, 4)]), rng.randint(0, 99), f"{theme.title()}{role}"
        values = {
            "verb": verb,
            "word": word,
            "Word": word.title(),
            "say": say,
            "n": number,
            "theme": theme,
            "Name": name,
        }
        body += _METHODS[suffix].format(**values)
    doc = f"{role} of a {theme}, with {rng.choice(_THEMES)}"
    return _WRITTEN[suffix].format(doc=doc, Name=f"{theme.title()}{role}", theme=theme, body=body)


# ---- what is digested


def digests(
    repository: Repository, folder: Path, package: Path, later: Callable[[], None]
) -> Iterator[tuple[str, str]]:
    """Name and digest of each part, made by the package in ``package``; the repository gets its commit by ``later``."""
    say = _Commands(repository, folder, package)
    yield "answers, cold", say.answers("first")
    yield "answers, warm", say.answers("first")
    for jobs in (1, 2):
        config = folder / f"{jobs}.toml"
        config.write_text(f"[run]\njobs = {jobs}\n", encoding="utf-8")
        out = folder / f"rank-{jobs}"
        say.run(f"jobs-{jobs}", "rank", "--split", "all", "--config", str(config), "--out", str(out), *say.labelled)
        processes = "1 process" if jobs == 1 else f"{jobs} processes"
        yield from _of_run(f"rank, {processes}", out / "all")
    for name, settings in _TRAININGS.items():
        config = folder / f"{name}.toml"
        config.write_text(settings + "[run]\njobs = 1\n", encoding="utf-8")
        out = folder / f"train-{name}"
        say.run("train", "train", str(config), "--no-stage-two", "--out", str(out), *say.labelled)
        yield from _of_run(f"train, {name}", out / "test")
    later()
    yield "answers, one commit later", say.answers("first")
    yield "answers, one commit later, cold", say.answers("second")


@dataclass
class _Commands:
    repository: Repository
    folder: Path
    package: Path

    @property
    def labelled(self) -> tuple[str, ...]:
        return "--repo", str(self.repository.path), "--reports", str(self.repository.reports)

    def answers(self, cache: str) -> str:
        """Digest of all answers, without what they took."""
        printed = self.run(
            cache, "localize", str(self.repository.reports), "--jsonl", "--repo", str(self.repository.path)
        )
        answers = [json.loads(line) for line in printed.splitlines()]
        assert len(answers) == REPORTS
        for answer in answers:
            answer["seconds"] = answer["tosloc"] = answer["repository"] = None
        return _digest(json.dumps(answers).encode())

    def run(self, cache: str, *arguments: str) -> str:
        """Standard output of a command, with a cache of its own."""
        environment = os.environ | {
            "TOSLOC_CACHE": str(self.folder / f"cache-{cache}"),
            "PYTHONPATH": str(self.package),
        }
        done = subprocess.run(
            [sys.executable, "-m", "tosloc", *arguments],
            cwd=self.folder, env=environment, capture_output=True, encoding="utf-8", check=False,
        )  # fmt: skip
        if done.returncode:
            raise SystemExit(f"tosloc {' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}")
        return done.stdout


def _of_run(name: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Of the rankings without the header, which names versions, and of the judgements."""
    lines = gzip.decompress((folder / "run.jsonl.gz").read_bytes()).split(b"\n", 1)
    yield f"{name}: run", _digest(lines[1])
    yield f"{name}: qrels", _digest((folder / "qrels.jsonl").read_bytes())


def _digest(data: bytes) -> str:
    return sha256(data).hexdigest()[:16]


def all_digests(folder: Path, package: Path = ROOT, kinds: Sequence[str] = KINDS) -> dict[str, str]:
    """Kind and part -> digest; what is made stands in ``folder``."""
    found: dict[str, str] = {}
    for kind in kinds:
        repository = make(folder / kind, kind)
        work = folder / kind / "work"
        work.mkdir()
        found |= {f"{kind}, {part}": digest for part, digest in digests(repository, work, package, repository.later)}
    return found


# ---- git


def _git(folder: Path, *arguments: str, stdin: bytes = b"") -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    environment |= {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    command = ["git", "-C", str(folder), *arguments]
    done = subprocess.run(command, input=stdin, stdout=subprocess.PIPE, env=environment, check=True)
    return done.stdout.decode()


def _import(path: Path, history: _History) -> dict[int, str]:
    """Mark -> commit id of all that were imported."""
    marks = path / "marks"
    _git(path, "fast-import", "--quiet", f"--export-marks={marks}", stdin=bytes(history.stream) + b"done\n")
    pairs = (line.split() for line in marks.read_text(encoding="utf-8").splitlines())
    return {int(mark[1:]): commit for mark, commit in pairs}


@contextmanager
def checked_out(revision: str) -> Iterator[Path]:
    """The project's own files at a revision, in a folder that goes again."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder, "checkout")
        _git(ROOT, "worktree", "add", "--quiet", "--detach", str(place), revision)
        try:
            yield place
        finally:
            _git(ROOT, "worktree", "remove", "--force", str(place))


def main() -> int:
    """Exit code: 1 where two revisions differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--against", metavar="REVISION", help="another revision, which is asked the same")
    parser.add_argument("--kind", action="append", choices=KINDS, help="of the repositories, by default all")
    options = parser.parse_args()
    kinds = tuple(options.kind or KINDS)
    with tempfile.TemporaryDirectory() as folder:
        found = all_digests(Path(folder, "here"), ROOT, kinds)
        other = found
        if options.against:
            with checked_out(options.against) as package:
                other = all_digests(Path(folder, "there"), package, kinds)
    for name, digest in found.items():
        print(digest, name, "" if other[name] == digest else f"(was {other[name]})")
    return int(found != other)


if __name__ == "__main__":
    sys.exit(main())
