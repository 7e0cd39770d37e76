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
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from string import Template
from typing import Any, Final

from tests.conftest import Files, GitRepository
from tests.toy import DAY, THEMES, Toy, record_of

ROOT: Final = Path(__file__).resolve().parents[1]
BEGIN: Final = 1_400_000_000
REPORTS: Final = 50
KINDS: Final = {"java": ("java",), "python": ("py",), "moved": ("java", "py"), "mixed": ()}
"""Name of a repository -> suffixes of its files; those of all languages below where none is named."""
TRAININGS: Final = {
    "default": 'extends = "default.toml"\n',
    "paper": 'extends = "paper.toml"\n[stage_one.evolution]\ngenerations = 5\npopulation = 5\n',
}
VERBS: Final = "open close load store flush resolve render validate merge split".split()
NOISE: Final = (
    "screen button window menu server login page user click error problem version strange wrong slow report always "
    "never sometimes after before restart upgrade value null empty large number"
).split()
LANGUAGES: Final = {
    "java": (
        "package org.app;\n\nimport java.util.List;\n\n/** $doc */\npublic class $Name extends Base {\n",
        "  /** $say. */\n  int $verb$Word(String $word) {\n    if ($word == null) return $n;\n"
        '    log("$say");\n    return size;\n  }\n',
        "}\n",
    ),
    "py": (
        'import os\n\n\nclass $Name(Base):\n    """$doc"""\n\n',
        "    def ${verb}_$word(self, $word):\n        # $say\n        if $word is None:\n            return $n\n"
        '        raise ValueError("$say")\n\n',
        "",
    ),
    "js": (
        "import { base } from './base';\n// $doc\nexport class $Name {\n",
        "  $verb$Word($word) { if (!$word) { return $n; } throw new Error('$say'); }\n",
        "}\n",
    ),
    "ts": (
        "// $doc\nexport class $Name {\n",
        "  $verb$Word($word: string): number { return $word ? $n : 0; } // $say\n",
        "}\n",
    ),
    "go": (
        "package app\n\n// $doc\ntype $Name struct { size int }\n\n",
        '// $say\nfunc (a *$Name) $verb$Word($word string) int {\n\tif $word == "" { return $n }\n\treturn 0\n}\n',
        "",
    ),
    "c": (
        "#include <stdio.h>\n/* $doc */\nstatic int ${theme}_size;\n",
        "int ${theme}_${verb}_$word(int $word) {\n    if ($word) return $n; /* $say */\n    return 0;\n}\n",
        "",
    ),
    "rb": ("# $doc\nclass $Name\n", "  def ${verb}_$word($word)\n    return $n if $word.nil? # $say\n  end\n", "end\n"),
    "rs": (
        "/// $doc\npub struct $Name { size: usize }\n",
        "fn ${verb}_$word($word: usize) -> usize {\n    if $word > 1 { return $n; }\n    0 // $say\n}\n",
        "",
    ),
    "vue": (
        "<template><p>$doc</p></template>\n<script>\nexport default { name: '$Name' };\n",
        "function $verb$Word($word) { return $word || $n; } // $say\n",
        "</script>\n",
    ),
}
"""Suffix -> what stands above its methods, a method, and what stands below them."""


def source(rng: random.Random, theme: str, suffix: str, added: int = 0) -> str:
    """A file of a theme; what was ``added`` stands at the end."""
    head, method, tail = LANGUAGES[suffix]
    names = {"Name": theme, "theme": theme.lower(), "doc": f"Serves a {theme}, with {rng.choice(THEMES)}"}
    text = Template(head).substitute(names)
    for _ in range(rng.randint(3, 25) + added):
        verb, word, say = rng.choice(VERBS), rng.choice(NOISE), " ".join([theme, *rng.sample(NOISE, 4)])
        values = {"verb": verb, "word": word, "Word": word.title(), "say": say, "n": rng.randint(0, 99)}
        text += Template(method).substitute(names, **values)
    return text + tail


def report(rng: random.Random, chosen: Sequence[str], path: str) -> tuple[str, str]:
    """Summary and description: words, now and then a name, a path or a stack trace of what will be fixed."""
    theme = chosen[0]
    words = [rng.choice([theme.lower(), theme, f"{rng.choice(VERBS)}{theme}"]), *rng.sample(NOISE, 4)]
    rng.shuffle(words)
    lines = [" ".join([*rng.sample(NOISE, 8), rng.choice(THEMES).lower(), rng.choice(VERBS)])]
    lines += [" ".join([*rng.sample(NOISE, 5), other]) for other in chosen[1:]]
    draw = rng.random()
    if draw < 0.2 and path.endswith(".java"):
        place = path.split("/", 1)[1].removesuffix(".java").replace("/", ".")
        lines += ["java.lang.NullPointerException: no cookie", f"\tat {place}.open({theme}.java:7)"]
    elif draw < 0.2:
        lines += ["Traceback (most recent call last):", f'  File "/home/a/{path}", line 4, in load', "ValueError: no"]
    elif draw < 0.3:
        lines += [f"See {path}, and also #{rng.randint(90, 140)}.", "```", f"{theme}.open(null)", "```"]
    return " ".join(words).capitalize(), "\n".join(lines)


def make(folder: Path, kind: str) -> tuple[Toy, Files]:
    """A repository of one of ``KINDS``, with labelled reports, and what one commit more changes: always the same."""
    rng, suffixes = random.Random(kind), KINDS[kind] or tuple(LANGUAGES)
    suffix_of = {theme: suffixes[place % len(suffixes)] for place, theme in enumerate(THEMES)}
    where = {theme: f"src/org/p{place % 5}/{theme}.{suffix_of[theme]}" for place, theme in enumerate(THEMES)}
    tests = [f"tests/test_{theme.lower()}.{suffix_of[theme]}" for theme in THEMES[::3]]
    texts = {where[theme]: source(rng, theme, suffix_of[theme]) for theme in THEMES}
    commits: list[tuple[Files, str, int]] = [
        ({**texts, **dict.fromkeys(tests, "int test;\n"), "README.md": "It has a parser.\n"}, "Import", BEGIN)
    ]
    records: list[dict[str, Any]] = []
    for number in range(REPORTS):
        opened = BEGIN + (2 * number + 1) * DAY
        chosen = rng.sample(THEMES, 1 if rng.random() < 0.7 else 3)
        summary, description = report(rng, chosen, where[chosen[0]])
        changed = {where[theme]: source(rng, theme, suffix_of[theme], 3) for theme in chosen}
        texts |= changed
        said = f"Fix #{100 + number}: {summary}" if number % 3 else f"{summary}\n\nChange-Id: I{number:08x}"
        records.append(record_of(str(100 + number), summary, description, opened, str(len(commits)), list(changed)))
        commits.append((changed, said, opened + DAY // 2))
        if kind == "moved" and number % 4 == 3:
            theme = rng.choice(THEMES)
            old, new = (
                where[theme],
                f"moved/{where[theme]}" if rng.random() < 0.5 else where[theme].replace("org", "com"),
            )
            where[theme], texts[new] = new, texts[old]
            commits.append(({old: None, new: texts[old]} if new != old else {}, f"Move {old}", opened + DAY))
            if len(tests) > 1:
                commits.append(({tests.pop(): None}, "Remove a test", opened + DAY + 60))
    made = Toy(folder, GitRepository.new(folder / f"{kind}.git", bare=True), records)
    made.commit_all(commits)
    more = {where["Widget"]: source(rng, "Widget", suffix_of["Widget"], 3), "new/fresh.py": "def fresh(): pass\n"}
    return made, {**more, tests[0]: None}


def digests(folder: Path, kind: str, package: Path = ROOT) -> dict[str, str]:
    """Kind and part -> digest, made by the package in ``package``; what is made stands in ``folder``."""
    made, more = make(folder, kind)
    where, reports = ("--repo", str(made.git.path)), str(made.reports())

    def run(cache: str, *arguments: str) -> str:
        environment = os.environ | {"TOSLOC_CACHE": str(folder / f"cache-{cache}"), "PYTHONPATH": str(package)}
        command = [sys.executable, "-m", "tosloc", *arguments]
        return subprocess.run(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, encoding="utf-8", check=True
        ).stdout

    def answers(cache: str) -> str:
        printed = run(cache, "localize", reports, "--jsonl", *where).splitlines()
        found = [json.loads(line) | dict.fromkeys(("seconds", "tosloc", "repository")) for line in printed]
        assert len(found) == REPORTS
        return digest(json.dumps(found).encode())

    def results(name: str, settings: str, split: str, *command: str) -> Iterator[tuple[str, str]]:
        """Of the rankings without the header, which names versions, and of the judgements."""
        config, out = folder / f"{name}.toml", folder / name
        config.write_text(settings, encoding="utf-8")
        run(name, *command, str(config), "--out", str(out), *where, "--reports", reports)
        yield (
            f"{kind}, {name}: run",
            digest(gzip.decompress((out / split / "run.jsonl.gz").read_bytes()).split(b"\n", 1)[1]),
        )
        yield f"{kind}, {name}: qrels", digest((out / split / "qrels.jsonl").read_bytes())

    found = {f"{kind}, answers, {when}": answers("first") for when in ("cold", "warm")}
    for jobs in (1, 2):
        found |= results(f"rank, {jobs} jobs", f"[run]\njobs = {jobs}\n", "all", "rank", "--split", "all", "--config")
    for name, settings in TRAININGS.items():
        found |= results(f"train, {name}", f"{settings}[run]\njobs = 1\n", "test", "train", "--no-stage-two")
    made.git.commit(more, "One commit more, fixes #7", when=BEGIN + 1000 * DAY)
    found[f"{kind}, answers, one commit later"] = answers("first")
    found[f"{kind}, answers, one commit later, cold"] = answers("second")
    return found


def digest(data: bytes) -> str:
    return sha256(data).hexdigest()[:16]


def main() -> int:
    """Exit code: 1 where two revisions differ."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__.split("\n", 1)[0])
    parser.add_argument("--against", metavar="REVISION", help="another revision, which is asked the same")
    parser.add_argument("--kind", action="append", choices=KINDS, help="of the repositories, by default all")
    options = parser.parse_args()
    worktree = ["git", "-C", str(ROOT), "worktree"]
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder, "checkout")
        if options.against:
            subprocess.run([*worktree, "add", "--quiet", "--detach", other, options.against], check=True)
        found, before = dict[str, str](), dict[str, str]()
        try:
            for kind in options.kind or KINDS:
                found |= digests(Path(folder, "here"), kind)
                before |= digests(Path(folder, "there"), kind, other) if options.against else {}
        finally:
            if options.against:
                subprocess.run([*worktree, "remove", "--force", other], check=True)
    for name, value in found.items():
        print(value, name, "" if before.get(name, value) == value else f"(was {before[name]})")
    return int(bool(before) and found != before)


if __name__ == "__main__":
    sys.exit(main())
