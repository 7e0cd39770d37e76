"""TosLoc ranks the source files of a git version for a bug report."""

# Nothing is imported here, not even typing. A command can answer Ctrl-C once this module is loaded,
# and ``python -m`` would look for imported modules in the current folder first.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tosloc.core.answers import Function as Function
    from tosloc.core.answers import Hit as Hit
    from tosloc.core.answers import Reason as Reason
    from tosloc.core.answers import SuspectChange as SuspectChange
    from tosloc.core.errors import CheckpointError as CheckpointError
    from tosloc.core.errors import ConfigError as ConfigError
    from tosloc.core.errors import MissingExtra as MissingExtra
    from tosloc.core.errors import ReportError as ReportError
    from tosloc.core.errors import RepositoryError as RepositoryError
    from tosloc.core.errors import RunError as RunError
    from tosloc.core.errors import StoreError as StoreError
    from tosloc.core.errors import ToslocError as ToslocError
    from tosloc.core.errors import UnknownCommit as UnknownCommit
    from tosloc.core.reports import BugReport as BugReport
    from tosloc.git.repository import Repository as Repository
    from tosloc.localize.answer import Answer as Answer
    from tosloc.localize.localizer import Localizer as Localizer
    from tosloc.localize.model import Model as Model
    from tosloc.localize.question import Question as Question
    from tosloc.reports.formats import read_reports as read_reports
    from tosloc.reports.issues import read_report as read_report

__version__ = "0.1.0"

_HOMES = {
    "Answer": "tosloc.localize.answer",
    "BugReport": "tosloc.core.reports",
    "CheckpointError": "tosloc.core.errors",
    "ConfigError": "tosloc.core.errors",
    "Function": "tosloc.core.answers",
    "Hit": "tosloc.core.answers",
    "Localizer": "tosloc.localize.localizer",
    "MissingExtra": "tosloc.core.errors",
    "Model": "tosloc.localize.model",
    "Question": "tosloc.localize.question",
    "Reason": "tosloc.core.answers",
    "ReportError": "tosloc.core.errors",
    "Repository": "tosloc.git.repository",
    "RepositoryError": "tosloc.core.errors",
    "RunError": "tosloc.core.errors",
    "StoreError": "tosloc.core.errors",
    "SuspectChange": "tosloc.core.answers",
    "ToslocError": "tosloc.core.errors",
    "UnknownCommit": "tosloc.core.errors",
    "read_report": "tosloc.reports.issues",
    "read_reports": "tosloc.reports.formats",
}
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> "Any":
    # Names are loaded when they are first used, so that importing tosloc stays quick.
    if name in _HOMES:
        import importlib

        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'tosloc' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
