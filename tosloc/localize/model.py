"""The learned or shipped weights that a Localizer ranks by, and facts about their training."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tosloc.core.arrays import save_arrays
from tosloc.core.errors import ToslocError, require
from tosloc.core.progress import Progress, ignore_progress
from tosloc.git.repository import Change
from tosloc.localize import checkpoint
from tosloc.localize.answer import Weights
from tosloc.localize.searchable_version import SearchableVersion
from tosloc.rank.model import DEFAULT_TEMPERATURE, StageOne
from tosloc.rerank.base import Reranker, reranker_class
from tosloc.retrieval.version_index import KnownReports, VersionIndex

if TYPE_CHECKING:
    from tosloc.core.config import Config
    from tosloc.rank.model.fitting import Choice
    from tosloc.rerank.llm.reranker import LanguageModelReranker
    from tosloc.storage.repository import IndexedRepository

NO_CHECKPOINT: Final = "none"
"""Value for a checkpoint's folder that selects the shipped weights, even if others were trained."""


@dataclass(frozen=True)
class Model:
    """The weights of both stages and their origin. ``Model()`` has the shipped weights."""

    stage_one: StageOne | None = None
    """Weights of stage one; None if each version selects its own from the shipped weights."""
    temperature: float = DEFAULT_TEMPERATURE
    """Temperature of the softmax that turns scores into confidence, from validation reports."""
    reranker: Reranker | None = None
    known_reports: KnownReports | None = None
    """The labelled reports that training read; None if there are none."""
    version: VersionIndex | None = None
    """The version that the checkpoint contains, to localize without a repository; else None."""
    weights: Weights = field(default_factory=lambda: Weights("shipped"))
    """Facts about the weights that answers contain."""
    choice: Choice | None = None
    """What training compared and chose for stage one; None if nothing was trained."""
    provenance: Mapping[str, Any] = field(default_factory=lambda: {"shipped": True})
    configuration: Config | None = None
    """The settings of the training; None for the defaults."""

    @cached_property
    def config(self) -> Config:
        """The settings. Defaults are built only when they are used, because this takes long."""
        from tosloc.core.config import Config

        return Config() if self.configuration is None else self.configuration

    def stage_one_for(self, paths: Sequence[str]) -> tuple[StageOne, float]:
        """Return the weights that rank a version with these files, and their temperature."""
        if self.stage_one is None:
            return checkpoint.shipped(paths)
        return self.stage_one, self.temperature

    def open_version(
        self,
        repository: IndexedRepository,
        commit: str = "HEAD",
        progress: Progress = ignore_progress,
        changes: frozenset[Change] = frozenset(),
    ) -> SearchableVersion:
        """Prepare a commit's version with ``changes`` on disk.

        The version reads ``repository`` later, so do not close it before the last question.
        """
        index = repository.index_version(commit, progress, changes)
        version = SearchableVersion(repository, index, self.known_reports, self.reranker)
        version.uncommitted = len(changes)
        return version

    def with_version(self, version: VersionIndex) -> Model:
        """Return a copy that contains ``version``, with the history that this model uses for it."""
        history = version.history
        if self.known_reports is not None:
            history = version.with_reports(self.known_reports)
        carried = VersionIndex(
            version.corpus,
            version.snapshot,
            version.table,
            history=history,
            template=version.template,
        )
        return replace(self, version=carried)

    def with_encoder(self, name: str) -> Model:
        """Return a copy in which a pretrained encoder reranks (see docs/guide.md).

        ``name`` is the encoder's folder, its name on the hub, or a configuration with [stage_two].
        Raises MissingExtra without torch, and the errors of ``pretrained_reranker``.
        """
        reranker_class("encoder")
        from tosloc.rerank.encoder.pretrained import pretrained_reranker

        return replace(self, reranker=pretrained_reranker(name))

    def with_reranker(self, name: str) -> Model:
        """Return a copy in which an untrained reranker that the user wrote is stage two.

        ``name`` is MODULE:CLASS or FILE.py:CLASS. Raises the errors of ``reranker_class``, and
        ToslocError for a class that cannot be made, and for a reranker without a depth or with the
        weight 0, which would never be called.
        """
        kind = reranker_class(name)
        try:
            reranker = kind.from_config(self.config)
        except ToslocError:
            raise
        except Exception as error:  # the user's code can raise anything
            raise ToslocError(
                f"{name}: from_config raised {type(error).__name__}: {error}", about="reranker"
            ) from error
        depth = getattr(reranker, "depth", None)
        if not isinstance(depth, int) or depth < 1:
            raise ToslocError(
                f"{name} has no depth, the number of first files that it scores",
                hint="add depth = 50 to the class",
                about="reranker",
            )
        if not reranker.weight:
            raise ToslocError(
                f"{name} has the weight 0, so it changes no ranking",
                hint="add weight = 1.0 to the class",
                about="reranker",
            )
        return replace(self, reranker=reranker)

    def save(self, folder: Path) -> None:
        """Write a checkpoint: configuration, weights, known reports and the version, if any."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in checkpoint.FILES:
            (folder / name).unlink(missing_ok=True)  # an earlier checkpoint's
        checkpoint.write_record(folder / "config.json", self.config.as_dict())
        if self.known_reports is not None:
            checkpoint.write_known_reports(folder, self.known_reports)
        if self.version is not None:
            save_arrays(folder / checkpoint.VERSION_FILE, self.version.to_arrays())
        more: dict[str, Any] = {checkpoint.TRAINING: self.weights.as_dict()}
        if self.reranker is not None:
            self.reranker.save(folder / self.reranker.name)
            more["stage_two"] = self.reranker.name
        checkpoint.write_record(folder / "provenance.json", self.provenance)
        stage_one, temperature = self.stage_one_for(())
        # The weights come last, because a folder without them is no checkpoint.
        checkpoint.write_stage_one(
            folder,
            stage_one,
            temperature,
            more,
            self.choice,
            lizard=self.config.stage_one.lizard,
        )

    @classmethod
    def load(cls, folder: str | Path) -> Model:
        """Return the model in a checkpoint folder, or in a training folder that contains one.

        "none" stands for the shipped weights. Raises CheckpointError if the checkpoint is missing,
        incomplete, damaged or from a newer version of TosLoc.
        """
        if str(folder) == NO_CHECKPOINT:
            return cls()
        path = checkpoint.checkpoint_folder(folder)
        from tosloc.core.config import Config

        config = Config.of(checkpoint.read_record(path / "config.json"), str(path / "config.json"))
        if config.run.jobs > (os.cpu_count() or 1):  # trained on a machine with more cores
            config = config.model_copy(update={"run": config.run.model_copy(update={"jobs": -1})})
        stage_one, temperature, record = checkpoint.read_stage_one(path)
        provenance = checkpoint.read_record(path / "provenance.json")
        return cls(
            stage_one,
            temperature,
            reranker=checkpoint.read_reranker(record, path),
            known_reports=checkpoint.read_known_reports(path),
            version=checkpoint.read_version(path),
            weights=checkpoint.read_weights(record, provenance, path),
            provenance=provenance,
            configuration=config,
        )


def user_language_model(
    announce: Callable[[str], None] = lambda note: None, *, only_prompts: bool = False
) -> LanguageModelReranker:
    """Return the language model in the user's settings.

    ``announce`` is called with a note before the first question is sent. Raises ConfigError without
    settings, and MissingExtra without the client library. With ``only_prompts`` nothing can be
    sent, and neither is needed.
    """
    if not only_prompts:
        require("a language model", "llm", "httpx2")
    from tosloc.rerank.llm.reranker import LanguageModelReranker

    if only_prompts:
        return LanguageModelReranker.for_prompts()
    return LanguageModelReranker.from_user_settings(announce)
