"""Find stack traces, and other places in source code that a text names."""

from tosloc.reports.traces.frame import Frame
from tosloc.reports.traces.mangled import demangle
from tosloc.reports.traces.parser import frames, is_traced, qualified_names, without_frames
from tosloc.reports.traces.places import Locations, Place, locations, source_of_object

__all__ = [
    "Frame",
    "Locations",
    "Place",
    "demangle",
    "frames",
    "is_traced",
    "locations",
    "qualified_names",
    "source_of_object",
    "without_frames",
]
