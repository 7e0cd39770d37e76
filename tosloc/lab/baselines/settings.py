"""Settings of the published techniques: one TOML file each under ``configs/baselines``, every value with its source."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, TypeVar

from pydantic import model_validator

from tosloc.config import Section, read_toml
from tosloc.errors import ConfigError

Profile = Literal["clean", "upstream"]
"""``clean``: the published formulas, nothing later than the opening; ``upstream``: what the public code does."""

S = TypeVar("S", bound="Settings")


class Settings(Section):
    """What every technique has."""

    UPSTREAM: ClassVar[Mapping[str, Any]] = {}
    """Defaults that are others under ``profile = "upstream"``; a value that is given counts in either profile."""

    NO_UPSTREAM: ClassVar[str] = ""
    """Why there is no upstream profile, for a technique without one."""

    profile: Profile = "clean"

    @model_validator(mode="before")
    @classmethod
    def _defaults_of_profile(cls, values: Any) -> Any:
        if not isinstance(values, dict) or values.get("profile") != "upstream":
            return values
        if cls.NO_UPSTREAM:
            raise ConfigError(cls.NO_UPSTREAM)
        return {**cls.UPSTREAM, **values}

    def with_profile(self, profile: Profile) -> Self:
        """The same values that were given, with the defaults of another profile."""
        given = self.model_dump(exclude_unset=True)
        if self.profile == "upstream":
            given = {key: value for key, value in given.items() if self.UPSTREAM.get(key) != value}
        return type(self).model_validate({**given, "profile": profile})


def load_settings(model: type[S], path: Path | None) -> S:
    """Settings from a file; the defaults without one. Raises ConfigError that names the file and the key."""
    return model() if path is None else model.of(read_toml(path, "settings"), str(path))
