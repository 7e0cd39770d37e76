"""Number formats for training: the format that a device computes in, and the needs of float16."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import torch
from torch.amp import GradScaler

Precision: TypeAlias = Literal["float32", "bfloat16", "float16"]
"""Format of the matrix products in training; weights and sums stay in float32."""

MIN_CAPABILITY_FOR_FLOAT16: Final = (7, 0)
"""CUDA capability (major, minor) from which devices have fast float16: Volta, such as V100."""
_MIXED: Final = {"bfloat16": torch.bfloat16, "float16": torch.float16}


def choose_precision(setting: Literal["auto"] | Precision, device: torch.device) -> Precision:
    """Return the precision that a setting means on a device.

    "auto" is float32 on a CPU. On a GPU it is bfloat16 if the hardware supports it (A100, H100),
    otherwise float16 if that is fast (V100, T4), otherwise float32.
    """
    if setting != "auto":
        return setting
    if device.type != "cuda":
        return "float32"
    # Older devices emulate bfloat16, which is slower than float32.
    if torch.cuda.is_bf16_supported(including_emulation=False):
        return "bfloat16"
    if torch.cuda.get_device_capability(device) >= MIN_CAPABILITY_FOR_FLOAT16:
        return "float16"
    return "float32"


def autocast(precision: Precision, device: torch.device) -> torch.autocast:
    """Return a context in which models compute in a precision; in float32 it changes nothing."""
    dtype = _MIXED.get(precision)
    return torch.autocast(device.type, dtype or torch.bfloat16, enabled=dtype is not None)


def make_gradient_scaler(precision: Precision, device: torch.device) -> GradScaler:
    """Return a scaler that keeps small gradients of float16 from becoming 0.

    It skips a step whose gradients overflow. With other precisions it changes nothing.
    """
    return GradScaler(device.type, enabled=precision == "float16")


def computes_in_float16(device: torch.device) -> bool:
    """Return whether the surrounding ``autocast`` computes in float16 on a device."""
    if not torch.is_autocast_enabled(device.type):
        return False
    return torch.get_autocast_dtype(device.type) == torch.float16
