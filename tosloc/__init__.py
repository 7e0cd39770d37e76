"""TosLoc: here is a bug report, which files?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tosloc.records import BugReport, Case, Hit, Ranking, Snapshot

if TYPE_CHECKING:
    from tosloc.data.git import Repository
    from tosloc.data.reports import read_report, read_reports
    from tosloc.localizer import Localizer

__version__ = "0.1.0"

__all__ = [
    "BugReport",
    "Case",
    "Hit",
    "Localizer",
    "Ranking",
    "Repository",
    "Snapshot",
    "__version__",
    "read_report",
    "read_reports",
]

_HOMES = {
    "Localizer": "tosloc.localizer",
    "Repository": "tosloc.data.git",
    "read_report": "tosloc.data.reports",
    "read_reports": "tosloc.data.reports",
}


def __getattr__(name: str) -> Any:
    # loaded when first used: importing tosloc stays quick
    if name in _HOMES:
        import importlib

        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'tosloc' has no attribute {name!r}")
