"""Typed settings, read from TOML. An unknown key is an error that suggests the nearest one."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    Strict,
    ValidationError,
    field_validator,
    model_validator,
)

from tosloc.core.errors import ConfigError
from tosloc.core.io import read_regular_file, truncate_text

Share = Annotated[float, Field(ge=0, le=1)]
Tokens = Annotated[int, Field(ge=8, le=1_000_000)]
Prefix = Annotated[str, Field(max_length=1000)]
Words = Annotated[tuple[str, ...], Strict(False)]  # a TOML array of strings

_MAX_BYTES: Final = 1_000_000  # of a TOML file


class Section(BaseModel):
    """Base of every section: immutable. Unknown keys, and values of another type, are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @classmethod
    def of(cls, values: Mapping[str, Any], where: str) -> Self:
        """Return the section with nested plain values.

        Raises ConfigError, which names ``where`` the values come from and the key.
        """
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            # An unknown key comes first: it may be the misspelling of a missing one.
            problem = min(error.errors(), key=lambda item: item["type"] != "extra_forbidden")
        key = ".".join(map(str, problem["loc"]))
        if problem["type"] == "extra_forbidden":
            message = f"unknown key{did_you_mean(key, list(cls.keys()))}"
        else:
            message = problem["msg"].removeprefix("Value error, ")
            message = message.replace("a valid tuple", 'a list, as ["one", "two"]')
        parts = (where, truncate_text(key, 100), truncate_text(message, 1000))
        raise ConfigError(": ".join(filter(None, parts)))

    @classmethod
    def keys(cls) -> Iterator[str]:
        """Yield every key with its section, such as run.jobs."""
        for name, field in cls.model_fields.items():
            kind = field.annotation
            if isinstance(kind, type) and issubclass(kind, Section):
                for key in kind.keys():
                    yield f"{name}.{key}"
            else:
                yield name


class DataSettings(Section):
    """``[data]``: which reports and files are read, and how reports are split by time."""

    zone: str = "UTC"
    suffixes: Words | Literal["auto"] = "auto"
    oldest: Annotated[float, Field(gt=0, le=1)] = 1.0
    train: Share = 0.8
    validation: Share = 0.1

    @field_validator("suffixes")
    @classmethod
    def _check_suffixes(cls, suffixes: tuple[str, ...] | str) -> tuple[str, ...] | str:
        if suffixes == "auto":
            return suffixes
        for suffix in suffixes:
            if not suffix.startswith(".") or len(suffix) < 2:
                raise ValueError(
                    f"a suffix must start with a dot, such as '.java'; {suffix!r} does not"
                )
        return suffixes

    @property
    def named_suffixes(self) -> tuple[str, ...]:
        """The chosen suffixes; empty for "auto", which means those of all source languages."""
        return () if self.suffixes == "auto" else self.suffixes

    @model_validator(mode="after")
    def _check_split(self) -> Self:
        if self.train + self.validation >= 1:
            raise ValueError(
                f"train {self.train:g} and validation {self.validation:g} leave no reports for the"
                " test"
            )
        return self


class EvolutionSettings(Section):
    """``[stage_one.evolution]``: differential evolution of the weights.

    It maximises MRR + MAP on the training reports.
    """

    generations: PositiveInt = 60
    population: PositiveInt = 15


class StageOneSettings(Section):
    """``[stage_one]``: the features of files and how their weights are fitted."""

    method: Literal["linear", "paper"] = "linear"
    features: Words = ()
    train_reports: NonNegativeInt = 0
    shipped: bool = True
    fit: Literal["listwise", "differential_evolution"] = "listwise"
    ranker: bool = True
    evolution: EvolutionSettings = EvolutionSettings()

    @property
    def lizard(self) -> bool:
        """Whether lizard measures complexity, as in the paper, instead of the syntax tree."""
        return self.method == "paper"


class TrainingSettings(Section):
    """``[stage_two.training]``: how the encoder reranker learns."""

    learns: Literal["head", "both"] = "head"
    learning_rate: PositiveFloat = 1e-3
    pairs: Annotated[int, Field(ge=2)] = 400
    chunks_at_once: NonNegativeInt = 0
    epochs: NonNegativeInt = 40
    precision: Literal["auto", "float32", "bfloat16", "float16"] = "auto"


class StageTwoSettings(Section):
    """``[stage_two]``: the reranker, which scores the first files again."""

    reranker: Literal["encoder", "terms"] = "encoder"
    code_encoder: str = ""
    report_encoder: str = ""
    token_pooling: Literal["mean", "first", "last"] = "mean"
    query_prefix: Prefix = ""
    code_prefix: Prefix = ""
    chunks: Annotated[int, Field(ge=1, le=10_000)] = 10
    chunk_tokens: Tokens = 256
    report_tokens: Tokens = 256
    scoring: Literal["cosine", "dot"] = "cosine"
    candidates: PositiveInt = 50
    training: TrainingSettings = TrainingSettings()

    @property
    def enabled(self) -> bool:
        """Whether there is a second stage: an encoder needs a name, term vectors need nothing."""
        return self.reranker == "terms" or bool(self.code_encoder)


class RunSettings(Section):
    """``[run]``: the number of processes and the seed."""

    jobs: Annotated[int, Field(ge=-1, le=1024)] = -1
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 7

    @field_validator("jobs")
    @classmethod
    def _check_jobs(cls, jobs: int) -> int:
        if jobs == 0:
            raise ValueError("must be a number of processes, or -1 for every core")
        return jobs


Globs = Annotated[
    tuple[Annotated[str, Field(max_length=200)], ...], Strict(False), Field(max_length=200)
]


class AnswerSettings(Section):
    """``[tool.tosloc]`` of a repository: the files that its answers show.

    ``Localizer.localize`` explains the settings.
    """

    include: Globs = ()
    exclude: Globs = ()
    tests: bool = False
    min_confidence: Share = 0.0


class Config(Section):
    """Every setting of an experiment.

    ``Config()`` has the defaults, which ``configs/default.toml`` explains.
    """

    data: DataSettings = DataSettings()
    stage_one: StageOneSettings = StageOneSettings()
    stage_two: StageTwoSettings = StageTwoSettings()
    run: RunSettings = RunSettings()

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as plain values for JSON; ``Config.of`` reads them back."""
        return self.model_dump(mode="json")


def load_config(path: str | Path) -> Config:
    """Return the settings of a TOML file, combined with the files that it extends.

    ``path`` may also be the name of a configuration that TosLoc ships. The file's own settings come
    first. Settings that no file contains keep their defaults. Raises ConfigError for a file that
    cannot be read, an unknown key or an impossible value.
    """
    file = find_config(path)
    return Config.of(_read_values(file, ()), str(file))


def shipped_configs_folder() -> Path:
    """Return the folder of the configurations that TosLoc ships.

    The folder is in the package or, in a checkout, beside the package.
    """
    package = Path(__file__).parents[1]
    installed = package / "configs"
    return installed if installed.is_dir() else package.parent / "configs"


def find_config(name: str | Path, folder: Path = Path(), other_than: Path | None = None) -> Path:
    """Return the file that a path means, relative to ``folder``, with or without ``.toml``.

    Otherwise return the shipped configuration of that name, or the path itself if there is none.
    ``other_than`` is the file that extends the configuration, and may have the same name.
    """
    for stem in (folder / name, shipped_configs_folder() / name):
        for file in (stem, Path(f"{stem}.toml")):
            if not os.path.isfile(file):
                continue
            if other_than is None or not os.path.samefile(file, other_than):
                return file
    return folder / name


def _read_values(path: Path, extended_by: tuple[Path, ...]) -> dict[str, Any]:
    """Return the values of a file, combined with the file that it extends.

    The file's own values come first. The values of the other file are checked here, so that an
    error names that file.
    """
    if path.resolve() in extended_by:
        raise ConfigError(f"{path}: the files extend each other in a circle")
    try:
        values = read_toml(path, "configuration")
    except ConfigError as error:
        if os.path.isfile(path):
            raise
        names = ", ".join(sorted(file.stem for file in shipped_configs_folder().glob("*.toml")))
        raise ConfigError(f"{error}; TosLoc ships the configurations {names}") from None
    extends = values.pop("extends", None)
    if extends is None:
        return values
    if not isinstance(extends, str):
        raise ConfigError(f"{path}: extends must be the name of another TOML file in quotes")
    base = find_config(extends, path.parent, other_than=path)
    base_values = _read_values(base, (*extended_by, path.resolve()))
    Config.of(base_values, str(base))
    return _merge(base_values, values)


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """Return the values of a TOML file that a person wrote.

    Raises ConfigError if it cannot be read or is not valid. The sentence says ``what`` the file is,
    such as "settings".
    """
    try:
        return tomllib.loads(read_regular_file(path, _MAX_BYTES).decode("utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot read the {what}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:  # also text that is not UTF-8, or nests too deep
        raise ConfigError(f"{path}: not valid TOML: {error}") from None


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of both; where a key is in both, the value in ``over``."""
    merged = dict(base)
    for key, value in over.items():
        base_value = merged.get(key)
        if isinstance(base_value, Mapping) and isinstance(value, Mapping):
            merged[key] = _merge(base_value, value)
        else:
            merged[key] = value
    return merged


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """Return the end of a sentence about an unknown name: the nearest known name, else all."""
    # Comparing takes long for long names.
    near = difflib.get_close_matches(name[:100], known, n=1)
    if near:
        return f", did you mean {near[0]!r}?"
    return f"; choose from {', '.join(known)}"
