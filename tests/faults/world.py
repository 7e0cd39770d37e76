"""What all trials work on: a small project with reports, a store of facts, checkpoints and runs, made once."""

from __future__ import annotations

import functools
import shutil
import warnings
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests import toy
from tests.faults.processes import Outcome, Place, run

BUGS, THEMES = 14, 6
LEARNING = """
[data]
train = 0.6
validation = 0.2
[run]
jobs = 1
[stage_one]
features = ["bm25f", "path", "popularity", "near_reports"]
ranker = {ranker}
"""
TERMS = """
[stage_two]
reranker = "terms"
"""


def warm_up() -> None:
    """Import everything, so that no command has to."""
    import importlib

    warnings.simplefilter("default")
    warnings.simplefilter("ignore", ResourceWarning)  # as in a user's process: the command's end closes all
    for name in (
        "tosloc.cli.app tosloc.cli.lab tosloc.cli.printing tosloc.cli.tables tosloc.cli.progress tosloc.localizer"
        " tosloc.training tosloc.experiment tosloc.reports.issues tosloc.evaluation.trec tosloc.evaluation.tables"
        " tosloc.lab.baseline_runs tosloc.lab.restricted tosloc.lab.truncation_table"
        " tosloc.lab.multi_project tosloc.lab.pool tosloc.reranking.terms.reranker tosloc.reranking.terms.training"
        " tosloc.plots.page tosloc.plots.figures lightgbm torch safetensors matplotlib.pyplot openpyxl jinja2 git"
    ).split():
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:  # an extra that is not installed; what needs it says so
            continue
    import torch
    import typer

    from tosloc.cli import app

    torch.set_num_threads(1)
    # the table of options is the same for all
    typer.main.get_command = functools.cache(typer.main.get_command)
    typer.main.get_command(app.app)


@dataclass(frozen=True)
class World:
    """The project and what was made of it; nothing here is ever changed by a trial."""

    folder: Path
    toy: toy.Toy

    @property
    def repo(self) -> Path:
        """The repository, bare."""
        return self.toy.git.path

    @property
    def reports(self) -> Path:
        """Labelled reports, as JSON lines."""
        return self.folder / "reports.jsonl"

    @property
    def projects(self) -> Path:
        """A list of projects: the project twice."""
        return self.folder / "projects.toml"

    @property
    def bug(self) -> Path:
        """One new report, which says when it was opened."""
        return self.folder / "bug.md"

    @property
    def store(self) -> Path:
        """Facts of all versions."""
        return self.folder / "facts.sqlite"

    @property
    def one_stage(self) -> Path:
        """Folder of a training of stage one, with its feature tables kept."""
        return self.folder / "one"

    @property
    def two_stages(self) -> Path:
        """Folder of a training with the term reranker."""
        return self.folder / "two"

    @property
    def full(self) -> Path:
        """Folder of a training of stage one with every feature, its feature tables kept."""
        return self.folder / "full"

    @property
    def boosted(self) -> Path:
        """A checkpoint that carries a version and the shipped weights, learned ranker included."""
        return self.folder / "boosted"

    @property
    def trec(self) -> Path:
        """Folder with run.trec and qrels.trec."""
        return self.folder / "trec"

    def checkpoint(self, name: str) -> Path:
        """A checkpoint folder: ``one``, ``two`` or ``boosted``."""
        return {"one": self.one_stage / "checkpoint", "two": self.two_stages / "checkpoint", "boosted": self.boosted}[
            name
        ]

    def answer(self, name: str, repo: bool) -> str:
        """What localizing prints with a whole checkpoint, and whole facts if a repository is named."""
        return (self.folder / f"answer-{name}-{repo}").read_text("utf-8")

    def settings(self, name: str) -> Path:
        """A configuration: ``one`` (stage one), ``two`` (both), ``plain`` (no ranker), ``workers`` or ``full``."""
        return self.folder / f"{name}.toml"

    def store_for(self, place: Place) -> Path:
        """A copy of the facts for one trial."""
        return Path(shutil.copy(self.store, place.folder / "facts.sqlite"))


def build(folder: Path) -> World:
    """Grow the project and run every command once."""
    project = toy.grow(folder, bugs=BUGS, themes=THEMES)
    world = World(folder, project)
    when = datetime.fromtimestamp(toy.START + 100 * toy.DAY, UTC).isoformat()
    world.bug.write_text(
        f"---\nopened: {when}\n---\nCookie screen wrong\n\nopenCookie loses a click\n  at org.app.p2.CookieService.open"
        "Cookie(CookieService.java:6)\n",
        encoding="utf-8",
    )
    entry = f'[%s]\nrepo = "{world.repo}"\nreports = "{world.reports}"\n'
    world.projects.write_text(entry % "first" + entry % "second" + 'part = "train"\n', encoding="utf-8")
    world.settings("plain").write_text(LEARNING.format(ranker="false"), encoding="utf-8")
    world.settings("one").write_text(LEARNING.format(ranker="true"), encoding="utf-8")
    world.settings("two").write_text(LEARNING.format(ranker="false") + TERMS, encoding="utf-8")
    workers = LEARNING.format(ranker="false").replace("jobs = 1", "jobs = 2")
    world.settings("workers").write_text(workers, encoding="utf-8")
    full = [line for line in LEARNING.format(ranker="false").splitlines() if not line.startswith("features")]
    world.settings("full").write_text("\n".join(full), encoding="utf-8")
    common = ["--repo", str(world.repo), "--reports", str(world.reports), "--store", str(world.store)]
    commands = (
        ["train", str(world.settings("one")), *common, "--out", str(world.one_stage), "--keep-features"],
        ["train", str(world.settings("two")), *common, "--out", str(world.two_stages)],
        ["train", str(world.settings("full")), *common, "--out", str(world.full), "--keep-features"],
        ["data", *common[:4], "--ever-fixed", str(folder / "fixed.txt")],
        ["export-run", str(world.one_stage), "--out", str(world.trec)],
        ["index", "--repo", str(world.repo), "--store", str(world.store)],
    )
    for number, command in enumerate(commands):
        check(run(Place(folder / f"made-{number}").make(), command), command)
    _write_boosted(world)
    for name in ("one", "two", "boosted"):
        for repo in (False, True):
            place = Place(folder / f"answered-{name}-{repo}").make()
            command = ["localize", "--report", str(world.bug), "--checkpoint", str(world.checkpoint(name))]
            command += ["--repo", str(world.repo), "--store", str(world.store_for(place))] if repo else []
            outcome = run(place, command)
            check(outcome, command)
            (folder / f"answer-{name}-{repo}").write_text(outcome.out, "utf-8")
    return world


def _write_boosted(world: World) -> None:
    from tosloc.checkpoint import shipped_stage_one
    from tosloc.localizer import Localizer

    localizer = Localizer.load(world.one_stage)
    localizer.stage_one_ = shipped_stage_one()
    localizer.save(world.boosted)


def check(outcome: Outcome, command: list[str]) -> None:
    """Raise RuntimeError unless a command of the set-up went well."""
    if outcome.code != 0:
        raise RuntimeError(f"tosloc {' '.join(command)}: {outcome.code} {outcome.signal}\n{outcome.err}")
