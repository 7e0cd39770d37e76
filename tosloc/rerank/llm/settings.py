"""Settings of the language model: the user's own, never a repository's or a checkpoint's.

Code is sent to another machine if the model runs there, so only the user may choose it.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from tosloc.core.errors import ConfigError
from tosloc.core.io import read_regular_file
from tosloc.core.proxies import find_proxy

SETTINGS_VARIABLE: Final = "TOSLOC_LLM"
"""Name of the environment variable with the path of the settings file."""
_MAX_BYTES: Final = 100_000
_EXAMPLE: Final = 'url = "http://127.0.0.1:11434/v1" and model = "qwen2.5-coder:7b"'


class LanguageModelSettings(BaseModel):
    """The server, the model and the limits of a question."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str
    """Base address of a server that speaks the OpenAI-compatible protocol, ending in /v1."""
    model: str = Field(min_length=1)
    """Name of the model at the server."""
    key_variable: str = ""
    """Environment variable that contains the key of the server; "" if it needs none."""
    files: int = Field(default=80, ge=2, le=100)
    """Number of files that the model chooses from."""
    rounds: int = Field(default=1, ge=1, le=2)
    """Number of questions for each report; with 2, the first question is about paths alone."""
    prompt_tokens: int = Field(default=8_000, ge=1_000, le=10_000_000)
    """Largest estimated number of tokens of the prompt."""
    seconds: float = Field(default=120.0, gt=0, le=3_600)
    """Time limit in seconds for each question, including its retry."""

    @field_validator("url")
    @classmethod
    def _check_url(cls, value: str) -> str:
        address = urlsplit(value)
        if address.scheme not in ("http", "https") or not address.hostname:
            raise ValueError("must be an address that starts with http:// or https://")
        # This raises ValueError for a wrong port.
        _ = address.port
        return value

    @property
    def host(self) -> str:
        """Host to which the report and the code are sent."""
        return _host_and_port(self.url)

    @property
    def proxy(self) -> str | None:
        """Address of the proxy for questions to the host; None if there is none."""
        return find_proxy(self.url)

    @property
    def destination(self) -> str:
        """The host, and the proxy if there is one, as text."""
        if self.proxy is None:
            return self.host
        return f"{self.host} through the proxy {_host_and_port(self.proxy)}"

    @property
    def key(self) -> str:
        """The key of the server; "" if it needs none.

        Raises ConfigError if the environment variable that should contain it is not set.
        """
        if not self.key_variable:
            return ""
        key = os.environ.get(self.key_variable, "").strip()
        if not key:
            raise ConfigError(
                f"the environment variable {self.key_variable} is not set",
                hint=f"put the key of {self.host} into it",
            )
        return key


def _host_and_port(url: str) -> str:
    """Return the host and port of an address, without the user's name and password."""
    return urlsplit(url).netloc.rpartition("@")[2]


def settings_file() -> Path:
    """Return the path of the user's settings: $TOSLOC_LLM, or llm.toml in their configuration."""
    named = os.environ.get(SETTINGS_VARIABLE)
    if named:
        return Path(named).expanduser()
    folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(folder) / "tosloc" / "llm.toml"


def read_settings(file: Path | None = None) -> LanguageModelSettings:
    """Return the user's settings. Raises ConfigError if they are missing or invalid."""
    path = settings_file() if file is None else file
    try:
        values = tomllib.loads(read_regular_file(path, _MAX_BYTES).decode("utf-8"))
    except FileNotFoundError:
        raise ConfigError(
            f"{path}: no such file, so no language model is set up",
            hint=f"create it with two lines, such as {_EXAMPLE}",
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from None
    try:
        return LanguageModelSettings.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = ".".join(map(str, first["loc"]))
        raise ConfigError(f"{path}: {key}: {first['msg']}") from None
