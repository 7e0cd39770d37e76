"""TosLoc ranks the source files of a git version for a bug report."""

# Nothing is imported here, not even typing. A command can answer Ctrl-C once this module is loaded,
# and ``python -m`` would look for imported modules in the current folder first.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from tosloc.core.answers import Hit as Hit
    from tosloc.core.rankings import Ranking as Ranking
    from tosloc.core.reports import BugReport as BugReport
    from tosloc.core.reports import Case as Case
    from tosloc.core.versions import Snapshot as Snapshot
    from tosloc.git.repository import Repository as Repository
    from tosloc.localize.answer import Answer as Answer
    from tosloc.localize.localizer import Localizer as Localizer
    from tosloc.reports.formats import read_reports as read_reports
    from tosloc.reports.issues import read_report as read_report

__version__ = "0.1.0"

_HOMES = {
    "BugReport": "tosloc.core.reports",
    "Case": "tosloc.core.reports",
    "Hit": "tosloc.core.answers",
    "Ranking": "tosloc.core.rankings",
    "Snapshot": "tosloc.core.versions",
    "Answer": "tosloc.localize.answer",
    "Localizer": "tosloc.localize.localizer",
    "Repository": "tosloc.git.repository",
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
