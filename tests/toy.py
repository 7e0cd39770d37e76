"""A small project that grows in a temporary folder: real commits, bugs with reports, fixes that can be learned."""

import json
import os
import random
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from tests.conftest import GitRepository
from tosloc.core.config import Config
from tosloc.core.records import StringTable
from tosloc.evaluate.runs import Order, Run
from tosloc.storage.repository import IndexedRepository

# trees on tables this small gain nothing from a second thread, and wait for it where others use the processor
os.environ.setdefault("OMP_THREAD_LIMIT", "1")

DAY = 86_400
START = 1_300_000_000
THEMES = (
    "Parser Socket Cookie Widget Ledger Planet Rocket Violin Garden Copper Magnet Pillow Turbine Canyon Marble Falcon "
    "Harbor Lantern Meadow Needle Oyster Pepper Quartz Ribbon"
).split()
WORDS = [
    word for theme in THEMES for word in (theme, theme.lower(), f"open{theme}", f"{theme}Service")
]
NOISE = "screen button window menu server login page user click error problem version strange wrong slow report".split()

SETTINGS = """
[data]
train = 0.6
validation = 0.2
[stage_one]
ranker = false
[run]
jobs = 1
"""
"""Settings as a file has them."""


def small_config(train=0.8, validation=0.1, **stage_one):
    """Small settings; one process."""
    small = {"ranker": False, "shipped": False, "evolution": {"generations": 3, "population": 4}}
    data = {"train": train, "validation": validation, "suffixes": [".java"]}
    return Config.of({"data": data, "run": {"jobs": 1}, "stage_one": small | stage_one}, "toy")


def rank_at_revision(localizer, report, repo, revision="HEAD"):
    """Every file of a version of a repository, ranked for a report."""
    with closing(IndexedRepository.configured(repo, localizer.model.config)) as indexed:
        version = localizer.open_version(indexed, revision)
        return localizer.localization(report, version)


def top_hits(answer, number):
    """The first files of an answer with their reasons, tests among them."""
    return list(answer.answer(number, answer.version.choose(tests=True)).hits)


def class_path(theme):
    """Where a theme's class stands."""
    return f"src/org/app/p{THEMES.index(theme) % 4}/{theme}Service.java"


def class_source(theme, changes=()):
    """Text of a theme's class with what its fixes added."""
    lines = [
        f"package org.app.p{THEMES.index(theme) % 4};",
        "",
        f"/** Serves the {theme.lower()}. */",
    ]
    lines += [f"public class {theme}Service {{", f"    private int {theme.lower()}Size;"]
    lines += [
        f"    void open{theme}(int count) {{ if (count > 0) {{ {theme.lower()}Size += count; }} }}"
    ]
    return "\n".join([*lines, *changes, "}"]) + "\n"


@dataclass
class ToyProject:
    """A repository with its labelled reports."""

    folder: Path
    git: GitRepository
    records: list[dict[str, Any]] = field(default_factory=list)

    def commit_all(self, commits):
        """Make all commits; a record's fix, its place among them until then, becomes its id."""
        made = self.git.commit_all(commits)
        self.records = [
            record | {"fix_commit": made[int(record["fix_commit"])]} for record in self.records
        ]
        self.write_reports()

    def write_reports(self, name="reports.jsonl", records=None):
        """A file of labelled reports: these, or the project's own."""
        path = self.folder / name
        lines = [json.dumps(record) for record in (self.records if records is None else records)]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path


def labelled_record(identity, summary, description, opened, fix, fixed):
    """One line of a file of labelled reports."""
    record = {
        "id": identity,
        "summary": summary,
        "description": description,
        "fix_commit": fix,
        "fixed": list(fixed),
    }
    return record | {"opened": datetime.fromtimestamp(opened, UTC).isoformat()}


def make_project(folder, bugs=40, themes: int = len(THEMES), seed=5):
    """A project of ``themes`` classes and some tests with ``bugs`` fixed bugs, one every second day.

    Each report names its theme in one of several ways, amid words of no use and now and then another theme.
    """
    rng, chosen = random.Random(seed), THEMES[:themes]
    toy, helper = (
        ToyProject(folder, GitRepository.new(folder / "repo", bare=True)),
        "src/org/app/old/ParserHelper.java",
    )
    first = {
        **{class_path(theme): class_source(theme) for theme in chosen},
        **{
            f"test/org/app/Test{theme}Service.java": f"class Test{theme}Service {{ int n; }}\n"
            for theme in chosen[::6]
        },
        helper: "package org.app.old; class ParserHelper { }\n",
    }
    commits = [(first, "Import", START)]
    commits.append(({helper: "class ParserHelper { int crash; }\n"}, "Crash of helper", START + 9))
    commits.append(({helper: None}, "Remove old helper", START + 99))
    changes = {theme: [] for theme in chosen}
    order = [chosen[number % themes] for number in range(bugs)]
    rng.shuffle(order)
    for number, theme in enumerate(order):
        fixed_at, noise, name = START + (number + 1) * 2 * DAY, rng.sample(NOISE, 4), theme.lower()
        words = [rng.choice([name, f"open{theme}", f"{theme}Service"]), *noise[:2]]
        rng.shuffle(words)
        description = " ".join(
            [*noise[2:], rng.choice([name, "thing"]), rng.choice(chosen).lower()]
        )
        if number % 5 == 0:
            place = class_path(theme).removeprefix("src/").removesuffix(".java").replace("/", ".")
            description += f" at {place}.open{theme}({theme}Service.java:6) at java.lang.Thread.run(Thread.java:1)"
        said = f"{1000 + number}", " ".join(words), description, fixed_at - DAY
        toy.records.append(labelled_record(*said, str(len(commits)), [class_path(theme)]))
        changes[theme].append(f"    int fix{number}() {{ return {number}; }}")
        files = {class_path(theme): class_source(theme, changes[theme])}
        commits.append((files, f"Fix bug {1000 + number}: {name} {noise[0]}", fixed_at))
    toy.commit_all(commits)
    return toy


def make_run(rankings, header=None, where="run"):
    """The run of some rankings, which was never written."""
    names = StringTable()
    files = {
        one.report: np.array([names.id(path) for path in one.paths], dtype=np.int32)
        for one in rankings
    }
    orders = {one.report: Order(files[one.report], one.scores) for one in rankings}
    return Run(header or {}, names.names, orders, where)


# What must not matter to a report: commits, fixes and reports that nobody could know when it was opened

PLANTED = "src/org/app/p0/ParserService.java"
INNER = "src/org/app/p0/ParserService/Inner.java"
SECRET = "parser cookie crash"
INSIDE = "inside the version, with a later clock"
KINDS = (
    "future commit",
    "future fix",
    "future report of an old fix",
    "side branch with an early clock",
    INSIDE,
)


def plant(made, kind, opened, description):
    """Something that must not matter to a report of that description; the records that go with it."""
    git, main = made.git, made.git.commits[-1]
    both = {PLANTED: class_source("Parser", ["int planted;"]), INNER: "class Inner { }"}
    own = list(made.records)
    if kind == "future commit":
        git.commit(both, SECRET, when=opened + 190 * DAY)
        return own
    if kind == "future fix":
        said, fix = opened - 9, git.commit(both, SECRET, when=opened + 190 * DAY)
    elif kind == "future report of an old fix":
        # its fix was committed, by its clock, after the asked report was opened
        said, fix = opened + 5, git.commit(both, SECRET, when=opened + 9)
    elif kind == "side branch with an early clock":
        said, fix = (
            opened - 6 * DAY,
            git.commit(both, SECRET, when=opened - 5 * DAY, parents=[git.commits[2]]),
        )
        git.commit({}, "Merge", when=opened + 199 * DAY, parents=[main, fix])
    else:
        assert kind == INSIDE
        # between opening and fix, and undone: the version holds both commits and the same files, only clocks tell
        [asked] = [record for record in own if record["description"] == description]
        version = git.git("rev-parse", f"{asked['fix_commit']}~1")
        before = git.git("show", f"{version}:{PLANTED}") + "\n"
        said, fix = opened - 9, git.commit(both, SECRET, when=opened + 100, parents=[version])
        undone = git.commit({PLANTED: before, INNER: None}, SECRET, when=opened + 200)
        assert git.git("rev-parse", f"{undone}^{{tree}}") == git.git(
            "rev-parse", f"{version}^{{tree}}"
        )
        again = git.commit(
            {asked["fixed"][0]: class_source("Parser", ["int again;"])}, "Fix", when=opened + DAY
        )
        own = [{**record, "fix_commit": again} if record is asked else record for record in own]
    return [*own, labelled_record("9", SECRET, description, said, fix, [PLANTED])]
