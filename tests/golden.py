"""Digests of what TosLoc says of four small repositories: ``python -m tests.golden [--against REVISION]``.

Java, Python, both together and nine languages, 50 reports each, with files that are moved and deleted. Digested are
the answers of ``localize --jsonl`` (cold, warm, one commit later from what was kept, the same cold), run and judgements
of ``rank`` with one and with two processes, and those of two trainings. Equal digests mean equal bytes, but for
seconds, versions and what is said about the weights. With ``--against`` the same is done by another revision's package
on the same inputs, and what differs is named (exit code 1): digests that are stored would tie the comparison to one
processor.
"""

import argparse
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
from hashlib import sha256
from pathlib import Path
from string import Template

from tests.conftest import GitRepository
from tests.toy import DAY, THEMES, ToyProject, labelled_record

ROOT = Path(__file__).resolve().parents[1]
BEGIN = 1_400_000_000
REPORTS = 50
TRAININGS = {
    "default": 'extends = "default.toml"\n',
    "paper": 'extends = "paper.toml"\n[stage_one.evolution]\ngenerations = 5\npopulation = 5\n',
}
VERBS = "open close load store flush resolve render validate merge split".split()
NOISE = (
    "screen button window menu server login page user click error problem version strange wrong slow report always "
    "never sometimes after before restart upgrade value null empty large number"
).split()
LANGUAGES = {
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
    "rb": (
        "# $doc\nclass $Name\n",
        "  def ${verb}_$word($word)\n    return $n if $word.nil? # $say\n  end\n",
        "end\n",
    ),
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
KINDS = {"java": ["java"], "python": ["py"], "both": ["java", "py"], "mixed": [*LANGUAGES]}
"""Name of a repository -> suffixes of its files."""


def source(rng, theme, suffix):
    """A file of a theme."""
    head, method, tail = map(Template, LANGUAGES[suffix])
    names = {
        "Name": theme,
        "theme": theme.lower(),
        "doc": f"Serves a {theme}, with {rng.choice(THEMES)}",
    }
    text = head.substitute(names)
    for _ in range(rng.randint(3, 25)):
        verb, word, say = (
            rng.choice(VERBS),
            rng.choice(NOISE),
            " ".join([theme, *rng.sample(NOISE, 4)]),
        )
        values = {
            "verb": verb,
            "word": word,
            "Word": word.title(),
            "say": say,
            "n": rng.randint(0, 99),
        }
        text += method.substitute(names, **values)
    return text + tail.template


def report(rng, chosen, path):
    """Summary and description: words, now and then a name, a path or a stack trace of what will be fixed."""
    theme = chosen[0]
    summary = [
        rng.choice([theme.lower(), theme, f"{rng.choice(VERBS)}{theme}"]),
        *rng.sample(NOISE, 4),
    ]
    place = path.partition("/")[2].rpartition(".")[0].replace("/", ".")
    trace = f"\n\tat {place}.open({theme}.java:7)"
    if path.endswith(".py"):
        trace = f'\nTraceback (most recent call last):\n  File "/home/a/{path}", line 4, in load\nValueError: no'
    link = f"\nSee {path}, and also #{rng.randint(90, 140)}.\n```\n{theme}.open(null)\n```"
    words = [*rng.sample(NOISE, 12), *chosen[1:], rng.choice(THEMES).lower(), rng.choice(VERBS)]
    rng.shuffle(summary)
    return " ".join(summary).capitalize(), " ".join(words) + rng.choice([trace, link, *[""] * 6])


def make(folder, kind):
    """A repository of one of ``KINDS``, with labelled reports, and what one commit more changes: always the same."""
    rng, suffixes = random.Random(kind), KINDS[kind]
    suffix_of = {theme: suffixes[place % len(suffixes)] for place, theme in enumerate(THEMES)}
    where = {
        theme: f"src/org/p{place % 5}/{theme}.{suffix_of[theme]}"
        for place, theme in enumerate(THEMES)
    }

    def new(*themes):
        return {where[theme]: source(rng, theme, suffix_of[theme]) for theme in themes}

    tests = [f"tests/test_{theme.lower()}.{suffix_of[theme]}" for theme in THEMES[::3]]
    files = {
        **new(*THEMES),
        **dict.fromkeys(tests, "int test;\n"),
        "README.md": "It has a parser.\n",
    }
    commits = [(files, "Import", BEGIN)]
    made = ToyProject(folder, GitRepository.new(folder / f"{kind}.git", bare=True))
    for number in range(REPORTS):
        opened = BEGIN + (2 * number + 1) * DAY
        chosen = rng.sample(THEMES, 1 if rng.random() < 0.7 else 3)
        summary, description = report(rng, chosen, where[chosen[0]])
        said = (
            f"Fix #{100 + number}: {summary}"
            if number % 3
            else f"{summary}\n\nChange-Id: I{number:08x}"
        )
        labels = opened, str(len(commits)), [where[theme] for theme in chosen]
        made.records.append(labelled_record(str(100 + number), summary, description, *labels))
        commits.append((new(*chosen), said, opened + DAY // 2))
        if number % 8 == 3:
            theme = rng.choice(THEMES)
            old, where[theme] = where[theme], f"moved{number}/{where[theme]}"
            commits.append(
                ({old: None, **new(theme), tests.pop(): None}, f"Move {theme}", opened + DAY)
            )
    made.commit_all(commits)
    return made, {**new("Widget"), "new/fresh.py": "def fresh(): pass\n", tests[0]: None}


def digests(folder, kind, package=ROOT):
    """Kind and part -> digest, made by the package in ``package``; what is made stands in ``folder``."""
    made, more = make(folder, kind)
    where, reports, found = (
        ("--repo", str(made.git.path)),
        str(made.write_reports()),
        dict[str, str](),
    )

    def run(cache, *arguments):
        environment = os.environ | {
            "TOSLOC_CACHE": str(folder / f"cache-{cache}"),
            "PYTHONPATH": str(package),
        }
        command = [sys.executable, "-m", "tosloc", *arguments, *where]
        done = subprocess.run(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
        return done.stdout

    def keep(name, data):
        found[f"{kind}, {name}"] = sha256(data).hexdigest()[:16]

    def answers(when, cache="first"):
        printed = run(cache, "localize", reports, "--jsonl").splitlines()
        said = [
            json.loads(line) | dict.fromkeys(("seconds", "tosloc", "repository", "weights"))
            for line in printed
        ]
        assert len(said) == REPORTS
        keep(f"answers, {when}", json.dumps(said).encode())

    def results(name, settings, split, *command):
        """Of the rankings without the header, which names versions, and of the judgements."""
        config, out = folder / f"{name}.toml", folder / name
        config.write_text(settings, encoding="utf-8")
        run(name, *command, str(config), "--out", str(out), "--reports", reports)
        keep(
            f"{name}: run",
            gzip.decompress((out / split / "run.jsonl.gz").read_bytes()).partition(b"\n")[2],
        )
        keep(f"{name}: qrels", (out / split / "qrels.jsonl").read_bytes())

    answers("cold")
    answers("warm")
    for jobs in (1, 2):
        results(
            f"rank, {jobs} jobs",
            f"[run]\njobs = {jobs}\n",
            "all",
            "rank",
            "--split",
            "all",
            "--config",
        )
    for name, settings in TRAININGS.items():
        results(f"train, {name}", f"{settings}[run]\njobs = 1\n", "test", "train", "--no-stage-two")
    made.git.commit(more, "One commit more, fixes #7", when=BEGIN + 1000 * DAY)
    answers("one commit later")
    answers("one commit later, cold", "second")
    return found


def main():
    """Exit code: 1 where two revisions differ."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.golden", description=__doc__.split("\n", 1)[0]
    )
    parser.add_argument(
        "--against", metavar="REVISION", help="another revision, which is asked the same"
    )
    parser.add_argument(
        "--kind", action="append", choices=KINDS, help="of the repositories, by default all"
    )
    options = parser.parse_args()
    worktree = ["git", "-C", str(ROOT), "worktree"]
    with tempfile.TemporaryDirectory() as folder:
        other, found, before = Path(folder, "checkout"), dict[str, str](), dict[str, str]()
        try:
            if options.against:
                subprocess.run(
                    [*worktree, "add", "--quiet", "--detach", other, options.against], check=True
                )
            for kind in options.kind or KINDS:
                found |= digests(Path(folder, "here"), kind)
                before |= digests(Path(folder, "there"), kind, other) if options.against else {}
        finally:
            if other.exists():
                subprocess.run([*worktree, "remove", "--force", other], check=True)
    for name, value in found.items():
        print(value, name, "" if before.get(name, value) == value else f"(was {before[name]})")
    return int(bool(before) and found != before)


if __name__ == "__main__":
    sys.exit(main())
