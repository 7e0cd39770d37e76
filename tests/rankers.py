"""Every ranker, ready to rank: stage one, both stages with each reranker, published techniques.

A ``World`` is a small project with its reports. The same ranker can be opened on another world, in
which evidence was planted or paths were numbered in another order. Whatever learns has learned
from the first world's training part.
"""

from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import torch

from tests import toy
from tests.lab.baselines.techniques import SMALL_TECHNIQUES
from tests.rerank.encoder.tiny import write_encoder
from tosloc.core.config import Config
from tosloc.core.reports import BugReport
from tosloc.git.repository import Repository
from tosloc.lab.baseline_runs import SYSTEMS, context_for
from tosloc.lab.baselines.context import Baseline
from tosloc.localize.localizer import Localizer
from tosloc.localize.model import Model
from tosloc.localize.question import Question
from tosloc.rank.features import registry
from tosloc.rank.features.tables import FeatureTable
from tosloc.rank.model.stage_one import StageOne
from tosloc.rerank.base import RERANKERS, reranker_class
from tosloc.train.experiment import ExperimentContext
from tosloc.train.training import known_reports

WEIGHTED_SUM = StageOne(registry.NAMES, np.linspace(0.2, 1.5, len(registry.NAMES)))
STAGES_ONE = {
    "weighted sum": WEIGHTED_SUM,
    "paper": StageOne(registry.PAPER_NAMES, np.array([0.9, 0.4, 0.3, 0.1])),
    "constant": StageOne(registry.PAPER_NAMES[:1], np.array([0.0])),  # it knows no statements
}
BOTH_STAGES = {f"both stages, {name}": name for name in RERANKERS}
"""Name of a ranker of two stages -> name of its reranker."""
RANKERS = (*STAGES_ONE, *BOTH_STAGES, *SYSTEMS)
RERANKED_FILES = 6
"""Number of files that a reranker scores."""
ODD_FILES = {
    b"src/\xe9t\xe9.java": "class X { int parser; }",
    "src/a b/ü.java": "class Y { int parser; }",
    "Twin1.java": "class T { }",
    "Twin2.java": "class T { }",
    "empty.java": "",
    "binary.java": bytes(range(256)),
    "notes.txt": "parser",
}
PAST_BUG = 13
"""Index of the bug that is asked about in its past version; it was fixed after all training."""


@dataclass(eq=False)
class World:
    """A project with its reports, and the folder of what was trained in the first world."""

    project: toy.ToyProject
    experiment: ExperimentContext
    model_folder: Path
    baselines: dict[str, Baseline] = field(default_factory=dict)

    @property
    def newest_version(self):
        """The before-fix version of the newest report, which has the odd files."""
        return self.experiment.dataset.cases[-1].before_commit

    @property
    def past_case(self):
        """The case of the bug ``PAST_BUG``."""
        identity = str(1000 + PAST_BUG)
        [case] = [case for case in self.experiment.dataset.cases if case.report.id == identity]
        return case


def make_project(folder):
    """Make the project of a world."""
    project = toy.make_project(folder, bugs=16, themes=16)
    project.git.commit(ODD_FILES, "Odd files", when=toy.START + 100 * toy.DAY)
    path = toy.class_path("Parser")
    fixed_at = toy.START + 102 * toy.DAY
    files = {path: toy.class_source("Parser", ["int last;"])}
    fix = project.git.commit(files, "Fix bug 9000: parser", when=fixed_at)
    project.records.append(
        toy.labelled_record("9000", "Parser late", "", fixed_at - toy.DAY, fix, [path])
    )
    # Planted evidence can only act upon a report that has its words and a frame in its file.
    project.records[PAST_BUG]["description"] += (
        " at org.app.p0.ParserService.Inner.x(ParserService.java:1) parser crash"
    )
    return project


@contextmanager
def open_world(project, model_folder, *, records=None, name="world", first_paths=()):
    """Open the world of a project, with ``first_paths`` numbered before all other paths."""
    with Repository(project.git.path) as repo:
        for path in first_paths:
            repo.path_names.id(path)
        reports = project.write_reports(f"{name}.jsonl", records)
        with ExperimentContext(world_config(model_folder), repo, reports) as experiment:
            yield World(project, experiment, model_folder)


def world_config(model_folder):
    """Return small settings for everything that learns; a tiny encoder is made in the folder."""
    encoder = model_folder / "tiny"
    if not encoder.exists():
        write_encoder(encoder, words=toy.WORDS)
    stage_two = {
        "code_encoder": str(encoder),
        "chunks": 2,
        "chunk_tokens": 16,
        "report_tokens": 16,
        "candidates": RERANKED_FILES,
        "training": {"epochs": 2, "pairs": 16},
    }
    values = toy.small_config(0.6, 0.2, ranker=False).as_dict()
    return Config.of(values | {"stage_two": stage_two}, "worlds")


def make_training_set(world):
    """Return what rerankers learn from in a world: feature tables of all files of each part."""
    experiment = world.experiment
    tables: dict[str, list[FeatureTable]] = {}
    for part in ("train", "validation"):
        folder = world.model_folder / f"tables {part}"
        extraction = experiment.extraction(folder, WEIGHTED_SUM.features)
        tables[part] = list(
            FeatureTable.read_blocks(extraction.run(experiment.parts[part], jobs=1))
        )
    return experiment.candidates(WEIGHTED_SUM, lambda part: iter(tables[part]))


def fit_reranker(world, name, training_set):
    """Return a reranker fitted in a world, with weight 1 whatever validation chose."""
    torch.set_num_threads(1)
    reranker = reranker_class(name).from_config(world.experiment.config)
    context = world.experiment.for_reranking()
    reranker.fit(training_set, context, world.model_folder / f"{name} work", seed=7)
    reranker.weight = 1.0
    return reranker


def save_fitted_rerankers(world):
    """Fit both rerankers, and save them where ``open_ranker`` loads them."""
    training_set = make_training_set(world)
    for name in RERANKERS:
        fit_reranker(world, name, training_set).save(world.model_folder / name)


def open_ranker(world, name, version):
    """Return a function from a report to the ranking of the files of a version."""
    if name in SYSTEMS:
        snapshot = world.experiment.indexed.snapshot(version)
        return lambda report: fitted_baseline(world, name).rank(report, snapshot)
    localizer = make_localizer(world, name)
    opened_version = localizer.model.open_version(world.experiment.indexed, version)
    return lambda report: localizer.rank(Question(report), opened_version).ranking


def make_localizer(world, name):
    """Return a localizer of stage one, or of both stages, that knows the reports of a world."""
    reranker = None
    if name in BOTH_STAGES:
        reranker_name = BOTH_STAGES[name]
        reranker = reranker_class(reranker_name).load(world.model_folder / reranker_name)
    model = Model(
        STAGES_ONE.get(name, WEIGHTED_SUM),
        reranker=reranker,
        known_reports=known_reports(world.experiment),
        configuration=world.experiment.config,
    )
    return Localizer(model)


def fitted_baseline(world, name):
    """Return a published technique, fitted once for a world if it learns."""
    if name not in world.baselines:
        experiment = world.experiment
        context = context_for(experiment, [SMALL_TECHNIQUES[name]], ("validation", "test"))
        baseline = SMALL_TECHNIQUES[name](context, experiment.config.run.seed)
        baseline.fit(experiment.parts["train"], experiment.parts["validation"])
        world.baselines[name] = baseline
    return world.baselines[name]


def new_report(identity, summary, description):
    """Return a report opened after all commits."""
    opened = datetime.fromtimestamp(toy.START + 200 * toy.DAY, UTC)
    return BugReport(identity, summary, description, opened)
