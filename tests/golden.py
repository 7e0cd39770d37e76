"""Digests of TosLoc's answers for four repositories.

Run it as ``python -m tests.golden [--against REVISION]``. The repositories contain Java, Python,
both, and nine languages, with 50 reports each, and some of their files are moved and deleted. The
digests are those of

- the answers of ``localize --jsonl``: cold, warm, after one more commit with the kept store, and
  after it with an empty one;
- the run and the judgements of ``rank`` with one and with two processes;
- the run and the judgements of two trainings.

Equal digests mean equal bytes, except for seconds, versions and the description of the weights.
``--against`` computes the digests of another revision's package for the same inputs, prints what
differs, and exits with code 1 if anything does. Digests are not stored, because they would tie the
comparison to one processor.
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
FIRST_COMMIT_TIME = 1_400_000_000
NUMBER_OF_REPORTS = 50
TRAININGS = {
    "default": 'extends = "default.toml"\n',
    "paper": (
        'extends = "paper.toml"\n[data]\nsuffixes = []\n'
        "[stage_one.evolution]\ngenerations = 5\npopulation = 5\n"
    ),
}
"""Name of a training -> its settings."""
VERBS = "open close load store flush resolve render validate merge split".split()
NOISE = (
    "screen button window menu server login page user click error problem version strange wrong "
    "slow report always never sometimes after before restart upgrade value null empty large number"
).split()
LANGUAGES = {
    "java": (
        "package org.app;\n\nimport java.util.List;\n\n/** $doc */\n"
        "public class $Name extends Base {\n",
        "  /** $say. */\n  int $verb$Word(String $word) {\n    if ($word == null) return $n;\n"
        '    log("$say");\n    return size;\n  }\n',
        "}\n",
    ),
    "py": (
        'import os\n\n\nclass $Name(Base):\n    """$doc"""\n\n',
        "    def ${verb}_$word(self, $word):\n        # $say\n"
        "        if $word is None:\n            return $n\n"
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
        "// $say\nfunc (a *$Name) $verb$Word($word string) int {\n"
        '\tif $word == "" { return $n }\n\treturn 0\n}\n',
        "",
    ),
    "c": (
        "#include <stdio.h>\n/* $doc */\nstatic int ${theme}_size;\n",
        "int ${theme}_${verb}_$word(int $word) {\n"
        "    if ($word) return $n; /* $say */\n    return 0;\n}\n",
        "",
    ),
    "rb": (
        "# $doc\nclass $Name\n",
        "  def ${verb}_$word($word)\n    return $n if $word.nil? # $say\n  end\n",
        "end\n",
    ),
    "rs": (
        "/// $doc\npub struct $Name { size: usize }\n",
        "fn ${verb}_$word($word: usize) -> usize {\n"
        "    if $word > 1 { return $n; }\n    0 // $say\n}\n",
        "",
    ),
    "vue": (
        "<template><p>$doc</p></template>\n<script>\nexport default { name: '$Name' };\n",
        "function $verb$Word($word) { return $word || $n; } // $say\n",
        "</script>\n",
    ),
}
"""Suffix -> templates of what precedes the methods of a file, of a method, and of what follows."""
REPOSITORY_KINDS = {
    "java": ["java"],
    "python": ["py"],
    "both": ["java", "py"],
    "mixed": [*LANGUAGES],
}
"""Kind of a repository -> suffixes of its files."""


# Every function below draws from ``rng`` in a fixed order: a draw more or less changes all inputs.


def make_source(rng, theme, suffix):
    """Return the source of a file about a theme, with 3 to 25 methods."""
    head, method, tail = map(Template, LANGUAGES[suffix])
    names = {
        "Name": theme,
        "theme": theme.lower(),
        "doc": f"Serves a {theme}, with {rng.choice(THEMES)}",
    }
    text = head.substitute(names)
    for _ in range(rng.randint(3, 25)):
        verb = rng.choice(VERBS)
        word = rng.choice(NOISE)
        sentence = " ".join([theme, *rng.sample(NOISE, 4)])
        number = rng.randint(0, 99)
        text += method.substitute(
            names, verb=verb, word=word, Word=word.title(), say=sentence, n=number
        )
    return text + tail.template


def make_report(rng, themes, path):
    """Return the summary and the description of a report about some themes.

    The summary contains a name of the first theme, whose file is ``path``. One of four descriptions
    ends with a stack trace, or with a link and a piece of code.
    """
    theme = themes[0]
    compound = f"{rng.choice(VERBS)}{theme}"
    name = rng.choice([theme.lower(), theme, compound])
    summary = [name, *rng.sample(NOISE, 4)]
    if path.endswith(".py"):
        trace = (
            f'\nTraceback (most recent call last):\n  File "/home/a/{path}", line 4, in load'
            "\nValueError: no"
        )
    else:
        qualified = path.partition("/")[2].rpartition(".")[0].replace("/", ".")
        trace = f"\n\tat {qualified}.open({theme}.java:7)"
    issue = rng.randint(90, 140)
    link = f"\nSee {path}, and also #{issue}.\n```\n{theme}.open(null)\n```"
    words = [*rng.sample(NOISE, 12), *themes[1:], rng.choice(THEMES).lower(), rng.choice(VERBS)]
    rng.shuffle(summary)
    ending = rng.choice([trace, link, "", "", "", "", "", ""])
    return " ".join(summary).capitalize(), " ".join(words) + ending


def make_repository(folder, kind):
    """Make the repository of a kind, always the same, with its labelled reports.

    Return the project, and the files of one commit more.
    """
    rng = random.Random(kind)
    suffixes = REPOSITORY_KINDS[kind]
    suffix_by_theme = {}
    path_by_theme = {}
    for index, theme in enumerate(THEMES):
        suffix = suffixes[index % len(suffixes)]
        suffix_by_theme[theme] = suffix
        path_by_theme[theme] = f"src/org/p{index % 5}/{theme}.{suffix}"

    def write(themes):
        """Return new sources of some themes by their current paths."""
        sources = {}
        for theme in themes:
            sources[path_by_theme[theme]] = make_source(rng, theme, suffix_by_theme[theme])
        return sources

    tests = [f"tests/test_{theme.lower()}.{suffix_by_theme[theme]}" for theme in THEMES[::3]]
    files = write(THEMES) | dict.fromkeys(tests, "int test;\n")
    files["README.md"] = "It has a parser.\n"
    commits = [(files, "Import", FIRST_COMMIT_TIME)]
    project = ToyProject(folder, GitRepository.new(folder / f"{kind}.git", bare=True))
    for number in range(NUMBER_OF_REPORTS):
        identity = str(100 + number)
        opened = FIRST_COMMIT_TIME + (2 * number + 1) * DAY
        fixed_themes = rng.sample(THEMES, 1 if rng.random() < 0.7 else 3)
        fixed_paths = [path_by_theme[theme] for theme in fixed_themes]
        summary, description = make_report(rng, fixed_themes, fixed_paths[0])
        message = f"Fix #{identity}: {summary}"
        if number % 3 == 0:
            message = f"{summary}\n\nChange-Id: I{number:08x}"
        project.records.append(
            labelled_record(identity, summary, description, opened, str(len(commits)), fixed_paths)
        )
        commits.append((write(fixed_themes), message, opened + DAY // 2))
        if number % 8 == 3:
            theme = rng.choice(THEMES)
            old_path = path_by_theme[theme]
            path_by_theme[theme] = f"moved{number}/{old_path}"
            files = {old_path: None, **write([theme]), tests.pop(): None}
            commits.append((files, f"Move {theme}", opened + DAY))
    project.commit_all(commits)
    later = write(["Widget"])
    later |= {"new/fresh.py": "def fresh(): pass\n", tests[0]: None}
    return project, later


def compute_digests(folder, kind, package=ROOT):
    """Return the digests, by kind and part, of what the package in ``package`` computes.

    The repository, the caches and the results are made in ``folder``.
    """
    project, later = make_repository(folder, kind)
    reports = str(project.write_reports())
    digests: dict[str, str] = {}

    def run(cache, *arguments):
        """Run a command of the package on the repository; return its standard output."""
        environment = os.environ | {
            "TOSLOC_CACHE": str(folder / f"cache-{cache}"),
            "PYTHONPATH": str(package),
        }
        command = [sys.executable, "-m", "tosloc", *arguments, "--repo", str(project.git.path)]
        result = subprocess.run(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=True
        )
        return result.stdout

    def add(name, data):
        digests[f"{kind}, {name}"] = sha256(data).hexdigest()[:16]

    def add_answers(when, cache="first"):
        """Add the digest of the answers to all reports."""
        volatile = dict.fromkeys(("seconds", "tosloc", "repository", "weights"))
        lines = run(cache, "localize", reports, "--jsonl").splitlines()
        answers = [json.loads(line) | volatile for line in lines]
        assert len(answers) == NUMBER_OF_REPORTS
        add(f"answers, {when}", json.dumps(answers).encode())

    def add_results(name, settings, split, *command):
        """Add the digests of the rankings, without the header with its versions, and judgements."""
        config = folder / f"{name}.toml"
        config.write_text(settings, encoding="utf-8")
        out = folder / name
        run(name, *command, str(config), "--out", str(out), "--reports", reports)
        lines = gzip.decompress((out / split / "run.jsonl.gz").read_bytes())
        _, _, rankings = lines.partition(b"\n")
        add(f"{name}: run", rankings)
        add(f"{name}: qrels", (out / split / "qrels.jsonl").read_bytes())

    add_answers("cold")
    add_answers("warm")
    rank = ("rank", "--split", "all", "--config")
    for jobs in (1, 2):
        add_results(f"rank, {jobs} jobs", f"[run]\njobs = {jobs}\n", "all", *rank)
    train = ("train", "--no-stage-two")
    for name, settings in TRAININGS.items():
        add_results(f"train, {name}", f"{settings}[run]\njobs = 1\n", "test", *train)
    commit_time = FIRST_COMMIT_TIME + 1000 * DAY
    project.git.commit(later, "One commit more, fixes #7", when=commit_time)
    add_answers("one commit later")
    add_answers("one commit later, cold", "second")
    return digests


def main():
    """Print the digests, and those of another revision where they differ; return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.golden", description=__doc__.split("\n", 1)[0]
    )
    parser.add_argument(
        "--against", metavar="REVISION", help="also compute the digests of another revision"
    )
    parser.add_argument(
        "--kind",
        action="append",
        choices=REPOSITORY_KINDS,
        help="kind of repository (repeatable; default: all)",
    )
    options = parser.parse_args()
    worktree = ["git", "-C", str(ROOT), "worktree"]
    digests: dict[str, str] = {}
    others: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        checkout = Path(folder, "checkout")
        try:
            if options.against:
                add = [*worktree, "add", "--quiet", "--detach", checkout, options.against]
                subprocess.run(add, check=True)
            for kind in options.kind or REPOSITORY_KINDS:
                digests |= compute_digests(Path(folder, "here"), kind)
                if options.against:
                    others |= compute_digests(Path(folder, "there"), kind, checkout)
        finally:
            if checkout.exists():
                subprocess.run([*worktree, "remove", "--force", checkout], check=True)
    for name, digest in digests.items():
        other = others.get(name, digest)
        print(digest, name, "" if other == digest else f"(was {other})")
    return int(bool(others) and digests != others)


if __name__ == "__main__":
    sys.exit(main())
