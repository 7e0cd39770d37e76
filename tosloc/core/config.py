"""Typed settings, read from TOML: a key that does not exist is an error that names the nearest one."""

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
Words = Annotated[tuple[str, ...], Strict(False)]  # A TOML array of strings

_LARGEST: Final = 1_000_000  # bytes of a TOML file


class Section(BaseModel):
    """Base of every section: immutable, nothing unknown, no conversion of types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    @classmethod
    def of(cls, values: Mapping[str, Any], where: str) -> Self:
        """The section of nested plain values. Raises ConfigError naming ``where``, and the key with its section."""
        try:
            return cls.model_validate(values)
        except ValidationError as error:
            # what is not known first: it may be what is missing, misspelt
            wrong = min(error.errors(), key=lambda wrong: wrong["type"] != "extra_forbidden")
        key, said = ".".join(map(str, wrong["loc"])), wrong["msg"].removeprefix("Value error, ")
        said = said.replace("a valid tuple", 'a list, as ["one", "two"]')
        if wrong["type"] == "extra_forbidden":
            said = f"unknown key{did_you_mean(key, list(cls.keys()))}"
        raise ConfigError(
            ": ".join(filter(None, (where, truncate_text(key, 100), truncate_text(said, 1000))))
        )

    @classmethod
    def keys(cls) -> Iterator[str]:
        """Every key with its section, such as run.jobs."""
        for key, field in cls.model_fields.items():
            kind = field.annotation
            inner = kind.keys() if isinstance(kind, type) and issubclass(kind, Section) else ()
            yield from [f"{key}.{name}" for name in inner] or [key]


class DataSettings(Section):
    """``[data]``: what is read and how it is split by time."""

    zone: str = "UTC"
    suffixes: Words | Literal["auto"] = "auto"
    oldest: Annotated[float, Field(gt=0, le=1)] = 1.0
    train: Share = 0.8
    validation: Share = 0.1

    @field_validator("suffixes")
    @classmethod
    def _dotted(cls, suffixes: tuple[str, ...] | str) -> tuple[str, ...] | str:
        for suffix in () if suffixes == "auto" else suffixes:
            if not suffix.startswith(".") or len(suffix) < 2:
                raise ValueError(f"a suffix starts with a dot, such as '.java', not {suffix!r}")
        return suffixes

    @property
    def named_suffixes(self) -> tuple[str, ...]:
        """The suffixes that are named; empty where none is, which means every source language."""
        return () if self.suffixes == "auto" else self.suffixes

    @model_validator(mode="after")
    def _room_for_test(self) -> Self:
        if self.train + self.validation >= 1:
            raise ValueError(
                f"train {self.train:g} and validation {self.validation:g} leave nothing for test"
            )
        return self


class EvolutionSettings(Section):
    """``[stage_one.evolution]``: differential evolution of the weights, maximising MRR + MAP on train."""

    generations: PositiveInt = 60
    population: PositiveInt = 15


class StageOneSettings(Section):
    """``[stage_one]``: the features of every file and how their weights are fitted."""

    method: Literal["linear", "paper"] = "linear"
    features: Words = ()
    train_reports: NonNegativeInt = 0
    shipped: bool = True
    fit: Literal["listwise", "differential_evolution"] = "listwise"
    ranker: bool = True
    evolution: EvolutionSettings = EvolutionSettings()

    @property
    def lizard(self) -> bool:
        """Whether complexity is lizard's number, as in the paper, and not that of the syntax tree."""
        return self.method == "paper"


class TrainingSettings(Section):
    """``[stage_two.training]``: how the encoder reranker learns."""

    learns: Literal["head", "both"] = "head"
    learning_rate: PositiveFloat = 1e-3
    pairs: Annotated[int, Field(ge=2)] = 400
    chunks_at_once: NonNegativeInt = 0
    epochs: NonNegativeInt = 40
    precision: Literal["float32", "bfloat16"] = "float32"


class StageTwoSettings(Section):
    """``[stage_two]``: the reranker, which scores the first files anew."""

    reranker: Literal["encoder", "terms"] = "encoder"
    code_encoder: str = ""
    report_encoder: str = ""
    token_pooling: Literal["mean", "first"] = "mean"
    chunks: Annotated[int, Field(ge=1, le=10_000)] = 10
    chunk_tokens: Tokens = 256
    report_tokens: Tokens = 256
    scoring: Literal["cosine", "dot"] = "cosine"
    candidates: PositiveInt = 50
    training: TrainingSettings = TrainingSettings()

    @property
    def enabled(self) -> bool:
        """Whether there is a second stage at all: term vectors need nothing more, an encoder has to be named."""
        return self.reranker == "terms" or bool(self.code_encoder)


class RunSettings(Section):
    """``[run]``: how the work is done."""

    jobs: Annotated[int, Field(ge=-1, le=1024)] = -1
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 7

    @field_validator("jobs")
    @classmethod
    def _some(cls, jobs: int) -> int:
        if jobs == 0:
            raise ValueError("a number of processes, or -1 for every core")
        return jobs


Globs = Annotated[
    tuple[Annotated[str, Field(max_length=200)], ...], Strict(False), Field(max_length=200)
]


class AnswerSettings(Section):
    """``[tool.tosloc]`` of a repository: which files its answers show, see ``Localizer.localize``."""

    include: Globs = ()
    exclude: Globs = ()
    tests: bool = False
    min_share: Share = 0.0


class Config(Section):
    """Every setting of an experiment. ``Config()`` holds the defaults, which ``configs/default.toml`` explains."""

    data: DataSettings = DataSettings()
    stage_one: StageOneSettings = StageOneSettings()
    stage_two: StageTwoSettings = StageTwoSettings()
    run: RunSettings = RunSettings()

    def as_dict(self) -> dict[str, Any]:
        """Settings as plain values, ready for JSON; ``Config.of`` reads them back."""
        return self.model_dump(mode="json")


def load_config(path: str | Path) -> Config:
    """Config of a TOML file, or of one that TosLoc ships by its name, and of those it extends; what a file leaves out
    keeps its default. Raises ConfigError for what cannot be read, an unknown key or an impossible value.
    """
    file = find_config(path)
    return Config.of(_values(file, ()), str(file))


def shipped_configs_folder() -> Path:
    """The folder of the configurations that TosLoc ships: in the package, or beside it in a checkout."""
    package = Path(__file__).parents[1]
    installed = package / "configs"
    return installed if installed.is_dir() else package.parent / "configs"


def find_config(name: str | Path, folder: Path = Path(), other_than: Path | None = None) -> Path:
    """The file that a path (seen from ``folder``) means, with or without ``.toml``, else the shipped one of that name;
    without either the path. ``other_than`` extends it, and may have the same name.
    """
    for place in (folder / name, shipped_configs_folder() / name):
        for file in (place, Path(f"{place}.toml")):
            if os.path.isfile(file) and (
                other_than is None or not os.path.samefile(file, other_than)
            ):
                return file
    return folder / name


def _values(path: Path, extended_by: tuple[Path, ...]) -> dict[str, Any]:
    """Values of a file, over those of the one that it extends, which are checked: an error names the file of them."""
    if path.resolve() in extended_by:
        raise ConfigError(f"{path}: the files extend each other in a circle")
    try:
        values = read_toml(path, "configuration")
    except ConfigError as error:
        if os.path.isfile(path):
            raise
        names = ", ".join(sorted(file.stem for file in shipped_configs_folder().glob("*.toml")))
        raise ConfigError(f"{error}; the configurations that TosLoc ships are {names}") from None
    extends = values.pop("extends", None)
    if extends is None:
        return values
    if not isinstance(extends, str):
        raise ConfigError(f"{path}: extends is the name of another TOML file in quotes")
    base = find_config(extends, path.parent, other_than=path)
    below = _values(base, (*extended_by, path.resolve()))
    Config.of(below, str(base))
    return _merge(below, values)


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """Values of a TOML file that a person wrote; ``what`` it is, such as "settings", stands in the error. Raises
    ConfigError when it cannot be read or is not TOML.
    """
    try:
        return tomllib.loads(read_regular_file(path, _LARGEST).decode("utf-8"))
    except OSError as error:
        raise ConfigError(f"{path}: cannot read the {what}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:  # also what is no UTF-8, and nests without end
        raise ConfigError(f"{path}: not valid TOML: {error}") from None


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        merged[key] = (
            _merge(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
        )
    return merged


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """The end of a sentence about an unknown name: the nearest one, else all."""
    near = difflib.get_close_matches(name[:100], known, n=1)  # comparing takes long for long ones
    return f", did you mean {near[0]!r}?" if near else f"; known are {', '.join(known)}"
