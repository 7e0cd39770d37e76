"""Every ranker there is, ready to be asked: stage one, both stages with each reranker, and the published techniques.

A ``World`` is a small project with its reports; the same ranker can be opened on another one, where something was
planted, or whose paths were numbered in another order. What learns has learned on the first world's training part.
"""

from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import torch

from tests import toy
from tests.lab.baselines.techniques import KINDS
from tests.rerank.encoder.tiny import write_encoder
from tests.toy import WORDS
from tosloc.core.config import Config
from tosloc.core.records import BugReport
from tosloc.git.repository import Repository
from tosloc.lab.baseline_runs import SYSTEMS, context_for
from tosloc.lab.baselines.context import Baseline
from tosloc.localize.localizer import Localizer
from tosloc.localize.model import Model
from tosloc.rank import features
from tosloc.rank.stage_one import StageOne
from tosloc.rank.tables import FeatureTable, read_blocks
from tosloc.rerank.base import RERANKERS, reranker_class
from tosloc.retrieval.history_index import report_documents
from tosloc.train.experiment import ExperimentContext

WEIGHTED = StageOne(features.NAMES, np.linspace(0.2, 1.5, len(features.NAMES)))
STAGES = {
    "weighted sum": WEIGHTED,
    "paper": StageOne(features.PAPER_NAMES, np.array([0.9, 0.4, 0.3, 0.1])),
    "constant": StageOne(("test",), np.array([0.0])),
}
BOTH = {f"both stages, {name}": name for name in RERANKERS}
NAMES = (*STAGES, *BOTH, *SYSTEMS)
RERANKED_FILES = 6  # files that a reranker scores anew
ODD_FILES = {
    b"src/\xe9t\xe9.java": "class X { int parser; }",
    "src/a b/ü.java": "class Y { int parser; }",
    "Twin1.java": "class T { }",
    "Twin2.java": "class T { }",
    "empty.java": "",
    "binary.java": bytes(range(256)),
    "notes.txt": "parser",
}
OLD = 13  # number of the bug that is asked about in the past: it was fixed after all that anybody learned from


@dataclass(eq=False)
class World:
    """A project with its reports, and the folder in which those that learn have learned."""

    project: toy.ToyProject
    experiment: ExperimentContext
    learned: Path
    baselines: dict[str, Baseline] = field(default_factory=dict)

    @property
    def newest(self):
        """The version with odd files, which is the newest report's."""
        return self.experiment.dataset.cases[-1].version

    @property
    def old(self):
        """A report of the past, and its version."""
        case = next(
            case for case in self.experiment.dataset.cases if case.report.id == str(1000 + OLD)
        )
        return case.report, case.version


def make_project(folder):
    """The project of a world."""
    project = toy.make_project(folder, bugs=16, themes=16)
    project.git.commit(ODD_FILES, "Odd files", when=toy.START + 100 * toy.DAY)
    path, fixed_at = toy.class_path("Parser"), toy.START + 102 * toy.DAY
    fix = project.git.commit(
        {path: toy.class_source("Parser", ["int last;"])}, "Fix bug 9000: parser", when=fixed_at
    )
    project.records.append(
        toy.labelled_record("9000", "Parser late", "", fixed_at - toy.DAY, fix, [path])
    )
    # words and frames that planted evidence could act upon
    project.records[OLD]["description"] += (
        " at org.app.p0.ParserService.Inner.x(ParserService.java:1) parser crash"
    )
    return project


@contextmanager
def open_world(project, learned, *, records=None, name="world", known=()):
    """A world of a project; ``known`` are paths whose numbers come first."""
    with Repository(project.git.path) as repo:
        for path in known:
            repo.path_names.id(path)
        reports = project.write_reports(f"{name}.jsonl", records)
        with ExperimentContext(config_of(learned), repo, reports) as experiment:
            yield World(project, experiment, learned)


def config_of(learned):
    """Small settings of everything that learns; the tiny encoder lies in the folder."""
    encoder = learned / "tiny"
    if not encoder.exists():
        write_encoder(encoder, words=WORDS)
    two = {
        "code_encoder": str(encoder),
        "chunks": 2,
        "chunk_tokens": 16,
        "report_tokens": 16,
        "candidates": RERANKED_FILES,
    }
    two |= {"training": {"epochs": 2, "pairs": 16}}
    return Config.of(
        toy.small_config(0.6, 0.2, ranker=False).as_dict() | {"stage_two": two}, "worlds"
    )


def make_training_set(world):
    """What rerankers learn from in a world: feature tables of all files of a part's reports."""
    experiment, tables = world.experiment, dict[str, list[FeatureTable]]()
    for part in ("train", "validation"):
        extraction = experiment.extraction(world.learned / f"tables {part}", WEIGHTED.features)
        tables[part] = list(read_blocks(extraction.run(experiment.parts[part], jobs=1)))
    return experiment.candidates(WEIGHTED, lambda part: iter(tables[part]))


def fit_reranker(world, name, training_set):
    """A reranker that has learned in a world, and is believed whatever validation says of it."""
    torch.set_num_threads(1)
    reranker = reranker_class(name).from_config(world.experiment.config)
    reranker.fit(
        training_set, world.experiment.for_reranking(), world.learned / f"{name} work", seed=7
    )
    reranker.weight = 1.0
    return reranker


def save_fitted_rerankers(world):
    """Have both rerankers learn, for ``opened`` to find."""
    training_set = make_training_set(world)
    for name in RERANKERS:
        fit_reranker(world, name, training_set).save(world.learned / name)


def opened(world, name, version):
    """A ranker by its name, on a version of a world."""
    snapshot = world.experiment.indexed.snapshot(version)
    if name in SYSTEMS:
        return lambda report: baseline(world, name).rank(report, snapshot)
    ranker = localizer(world, name)
    opened_version = ranker.open_version(world.experiment.indexed, version)
    return lambda report: ranker.localization(report, opened_version).ranking


def localizer(world, name):
    """Stage one, or both stages, with the reports of a world."""
    reranker = None
    if name in BOTH:
        reranker = reranker_class(BOTH[name]).load(world.learned / BOTH[name])
    paths = world.experiment.repo.path_names
    documents = report_documents(world.experiment.dataset.cases, world.experiment.history, paths)
    model = Model(
        STAGES.get(name, WEIGHTED),
        reranker=reranker,
        known_reports=(documents, tuple(paths.names)),
        configuration=world.experiment.config,
    )
    return Localizer(model)


def baseline(world, name):
    """A published technique that has learned, if it does."""
    if name not in world.baselines:
        experiment = world.experiment
        context = context_for(experiment, [KINDS[name]], ("validation", "test"))
        system = KINDS[name](context, experiment.config.run.seed)
        system.fit(experiment.parts["train"], experiment.parts["validation"])
        world.baselines[name] = system
    return world.baselines[name]


def new_report(name, summary, description):
    """A report opened after all commits."""
    return BugReport(
        name, summary, description, datetime.fromtimestamp(toy.START + 200 * toy.DAY, UTC)
    )
