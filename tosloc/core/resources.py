"""Time and memory of long work, in words."""

from __future__ import annotations

import resource
import sys
from typing import Final

_BYTES_PER_UNIT: Final = 1 if sys.platform == "darwin" else 1024
"""Unit of the system's numbers about memory, in bytes."""


def peak_gibibytes() -> float:
    """Return the most memory that this process has had at once, in GiB."""
    units = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return units * _BYTES_PER_UNIT / 2**30


def format_duration(seconds: float) -> str:
    """Return a time with its two largest units.

    >>> format_duration(3), format_duration(0.25), format_duration(249), format_duration(36_120)
    ('3.0 s', '0.2 s', '4 min 9 s', '10 h 2 min')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole_seconds = round(seconds)
    if whole_seconds < 60:
        return f"{whole_seconds} s"
    minutes = whole_seconds // 60
    if minutes < 60:
        return f"{minutes} min {whole_seconds % 60} s"
    return f"{minutes // 60} h {minutes % 60} min"
