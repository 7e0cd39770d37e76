"""A small project in a temporary folder: real commits, bugs with reports, and their fixes."""

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
from tosloc.core.versions import StringTable
from tosloc.evaluate.runs.run import Order, Run
from tosloc.localize.compose import compose
from tosloc.localize.question import Question
from tosloc.storage.repository import IndexedRepository

# Trees on tables this small gain nothing from a second thread, and wait for it on a busy machine.
os.environ.setdefault("OMP_THREAD_LIMIT", "1")

DAY = 86_400
START = 1_300_000_000
THEMES = (
    "Parser Socket Cookie Widget Ledger Planet Rocket Violin Garden Copper Magnet Pillow Turbine "
    "Canyon Marble Falcon Harbor Lantern Meadow Needle Oyster Pepper Quartz Ribbon"
).split()
WORDS = [
    word for theme in THEMES for word in (theme, theme.lower(), f"open{theme}", f"{theme}Service")
]
"""Every word by which a report can mention a class of the project."""
NOISE = (
    "screen button window menu server login page user click error problem version strange wrong "
    "slow report"
).split()
"""Words of reports that say nothing about the class with the bug."""

SETTINGS = """
[data]
train = 0.6
validation = 0.2
[stage_one]
ranker = false
[run]
jobs = 1
"""
"""The content of a settings file for a small training."""


def small_config(train=0.8, validation=0.1, **stage_one):
    """Return settings for a small training in one process; keywords are settings of stage one."""
    small = {"ranker": False, "shipped": False, "evolution": {"generations": 3, "population": 4}}
    data = {"train": train, "validation": validation, "suffixes": [".java"]}
    return Config.of({"data": data, "run": {"jobs": 1}, "stage_one": small | stage_one}, "toy")


def rank_at_revision(localizer, report, repo, revision="HEAD"):
    """Return the localization of a report over every file of a revision."""
    with closing(IndexedRepository.configured(repo, localizer.model.config)) as indexed:
        version = localizer.model.open_version(indexed, revision)
        return localizer.rank(Question(report), version)


def top_hits(localization, number):
    """Return the first ``number`` files of a localization with their reasons, including tests."""
    question = Question(localization.report, tests=True, top=number, functions=0)
    return list(compose(localization, question).hits)


def class_path(theme):
    """Return the path of a theme's class."""
    return f"src/org/app/p{THEMES.index(theme) % 4}/{theme}Service.java"


def class_source(theme, members=()):
    """Return the source of a theme's class, with further ``members`` at its end."""
    name = theme.lower()
    lines = [
        f"package org.app.p{THEMES.index(theme) % 4};",
        "",
        f"/** Serves the {name}. */",
        f"public class {theme}Service {{",
        f"    private int {name}Size;",
        f"    void open{theme}(int count) {{ if (count > 0) {{ {name}Size += count; }} }}",
        *members,
        "}",
    ]
    return "\n".join(lines) + "\n"


@dataclass
class ToyProject:
    """A repository with its labelled reports, which are also in the file reports.jsonl."""

    folder: Path
    git: GitRepository
    records: list[dict[str, Any]] = field(default_factory=list)

    def commit_all(self, commits):
        """Make all commits, and replace each record's ``fix_commit``, their index, by the id."""
        ids = self.git.commit_all(commits)
        self.records = [
            record | {"fix_commit": ids[int(record["fix_commit"])]} for record in self.records
        ]
        self.write_reports()

    def write_reports(self, name="reports.jsonl", records=None):
        """Write a file of labelled reports, by default the project's own; return its path."""
        path = self.folder / name
        chosen = self.records if records is None else records
        path.write_text("\n".join(map(json.dumps, chosen)) + "\n", encoding="utf-8")
        return path


def labelled_record(identity, summary, description, opened, fix, fixed):
    """Return one line of a file of labelled reports; ``opened`` is in seconds since 1970."""
    return {
        "id": identity,
        "summary": summary,
        "description": description,
        "fix_commit": fix,
        "fixed": list(fixed),
        "opened": datetime.fromtimestamp(opened, UTC).isoformat(),
    }


def make_project(folder, bugs=40, themes: int = len(THEMES), seed=5):
    """Make a project of ``themes`` classes and some tests, with a fixed bug every second day.

    Each report mentions its class in one of several ways, among words that say nothing and
    sometimes the name of another class. Every fifth description has stack frames.
    """
    rng = random.Random(seed)
    chosen = THEMES[:themes]
    project = ToyProject(folder, GitRepository.new(folder / "repo", bare=True))
    commits = first_commits(chosen)
    members = {theme: [] for theme in chosen}
    order = [chosen[number % themes] for number in range(bugs)]
    rng.shuffle(order)
    for number, theme in enumerate(order):
        identity = str(1000 + number)
        fixed_at = START + (number + 1) * 2 * DAY
        noise = rng.sample(NOISE, 4)
        summary, description = report_texts(rng, theme, chosen, noise)
        if number % 5 == 0:
            description += f" {stack_frames(theme)}"
        fix_index = str(len(commits))
        project.records.append(
            labelled_record(
                identity, summary, description, fixed_at - DAY, fix_index, [class_path(theme)]
            )
        )
        members[theme].append(f"    int fix{number}() {{ return {number}; }}")
        files = {class_path(theme): class_source(theme, members[theme])}
        commits.append((files, f"Fix bug {identity}: {theme.lower()} {noise[0]}", fixed_at))
    project.commit_all(commits)
    return project


def first_commits(themes):
    """Return the commits before the first bug: the classes, and a helper that is removed again."""
    helper = "src/org/app/old/ParserHelper.java"
    files = {class_path(theme): class_source(theme) for theme in themes}
    for theme in themes[::6]:
        test = f"class Test{theme}Service {{ int n; }}\n"
        files[f"test/org/app/Test{theme}Service.java"] = test
    files[helper] = "package org.app.old; class ParserHelper { }\n"
    return [
        (files, "Import", START),
        ({helper: "class ParserHelper { int crash; }\n"}, "Crash of helper", START + 9),
        ({helper: None}, "Remove old helper", START + 99),
    ]


def report_texts(rng, theme, themes, noise):
    """Return the summary and the description of a report about a theme's class."""
    name = theme.lower()
    summary = [rng.choice([name, f"open{theme}", f"{theme}Service"]), *noise[:2]]
    rng.shuffle(summary)
    description = [*noise[2:], rng.choice([name, "thing"]), rng.choice(themes).lower()]
    return " ".join(summary), " ".join(description)


def stack_frames(theme):
    """Return two stack frames in one line, the first of them in a theme's class."""
    qualified = class_path(theme).removeprefix("src/").removesuffix(".java").replace("/", ".")
    return (
        f"at {qualified}.open{theme}({theme}Service.java:6) at java.lang.Thread.run(Thread.java:1)"
    )


def make_run(rankings, header=None, where="run"):
    """Return the run of some rankings without writing it to a file."""
    names = StringTable()
    orders = {}
    for ranking in rankings:
        files = np.array([names.id(path) for path in ranking.paths], dtype=np.int32)
        orders[ranking.report] = Order(files, ranking.scores)
    return Run(header or {}, names.names, orders, where)


# What must not matter to a report: evidence that nobody could have when it was opened

PLANTED_PATH = "src/org/app/p0/ParserService.java"
INNER_PATH = "src/org/app/p0/ParserService/Inner.java"
PLANTED_TEXT = "parser cookie crash"
INSIDE_VERSION = "inside the version, with a later clock"
PLANT_KINDS = (
    "future commit",
    "future fix",
    "future report of an old fix",
    "side branch with an early clock",
    INSIDE_VERSION,
)
"""Kinds of evidence that ``plant_evidence`` can plant."""


def plant_evidence(project, kind, opened, description):
    """Plant commits that must not matter to a report, and return the project's labelled reports.

    The report has this description and was opened at ``opened``, in seconds since 1970. All kinds
    but the future commit add the report of a fix whose words and file match the asked report.
    """
    git = project.git
    files = {PLANTED_PATH: class_source("Parser", ["int planted;"]), INNER_PATH: "class Inner { }"}
    records = list(project.records)
    if kind == "future commit":
        git.commit(files, PLANTED_TEXT, when=opened + 190 * DAY)
        return records
    if kind == "future fix":
        reported = opened - 9
        fix = git.commit(files, PLANTED_TEXT, when=opened + 190 * DAY)
    elif kind == "future report of an old fix":
        # The fix was committed, by its clock, after the asked report was opened.
        reported = opened + 5
        fix = git.commit(files, PLANTED_TEXT, when=opened + 9)
    elif kind == "side branch with an early clock":
        main = git.commits[-1]
        reported = opened - 6 * DAY
        fix = git.commit(files, PLANTED_TEXT, when=opened - 5 * DAY, parents=[git.commits[2]])
        git.commit({}, "Merge", when=opened + 199 * DAY, parents=[main, fix])
    else:
        assert kind == INSIDE_VERSION
        reported = opened - 9
        fix, records = plant_inside_version(project, files, opened, description)
    record = labelled_record("9", PLANTED_TEXT, description, reported, fix, [PLANTED_PATH])
    return [*records, record]


def plant_inside_version(project, files, opened, description):
    """Commit and undo ``files`` between a report's opening and its fix.

    The new before-fix version contains both commits but has the same files as the old one, so that
    only clocks show that the report cannot know them. Return the planted commit and the records,
    in which the asked report has a new fix.
    """
    git = project.git
    [asked] = [record for record in project.records if record["description"] == description]
    version = git.git("rev-parse", f"{asked['fix_commit']}~1")
    before = git.git("show", f"{version}:{PLANTED_PATH}") + "\n"
    planted = git.commit(files, PLANTED_TEXT, when=opened + 100, parents=[version])
    undone = git.commit({PLANTED_PATH: before, INNER_PATH: None}, PLANTED_TEXT, when=opened + 200)
    tree = git.git("rev-parse", f"{version}^{{tree}}")
    assert git.git("rev-parse", f"{undone}^{{tree}}") == tree
    fixed = {asked["fixed"][0]: class_source("Parser", ["int again;"])}
    new_fix = git.commit(fixed, "Fix", when=opened + DAY)
    records = []
    for record in project.records:
        records.append(record | {"fix_commit": new_fix} if record is asked else record)
    return planted, records
