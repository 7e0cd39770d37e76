"""Stack traces, and other places in source code that a text names."""

from tosloc.reports.traces.mangled import demangle
from tosloc.reports.traces.parser import (
    Frame,
    Locations,
    frame_name,
    frames,
    locations,
    qualified_names,
    source_of_object,
    without_frames,
)

__all__ = [
    "Frame",
    "Locations",
    "demangle",
    "frame_name",
    "frames",
    "locations",
    "qualified_names",
    "source_of_object",
    "without_frames",
]
