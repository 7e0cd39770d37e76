"""Find places in code that a report names: stack frames, paths, modules, imports and links."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate

from tosloc.reports import traces
from tosloc.reports.text.project_names import project_name
from tosloc.reports.text.report_text import ReportText


class ReportPlaces:
    """The places in code that a report's text names."""

    def __init__(self, source: ReportText) -> None:
        self._text = source

    @cached_property
    def qualified_names(self) -> tuple[str, ...]:
        """Qualified class names in the stack traces, in order of first appearance.

        The paper's trace feature reads them.
        """
        return tuple(traces.qualified_names(self._text.description))

    @cached_property
    def _all_locations(self) -> traces.Locations:
        return traces.locations(self._text.condensed.text)

    @cached_property
    def foreign_projects(self) -> frozenset[str]:
        """Web paths of other projects whose files the report links to.

        A project with the name of this project is a fork of it, and not foreign. If this project's
        name is not known, no project is foreign.
        """
        own_names = {project_name(project) for project in self._text.projects}
        if not own_names:
            return frozenset()
        linked = {link.project for link in self._all_locations.links if link.project}
        return frozenset(project for project in linked if project_name(project) not in own_names)

    @cached_property
    def locations(self) -> traces.Locations:
        """Files that the report names: in stack frames, as paths, modules, imports and links.

        Links and paths in lines of the issue form or about the environment are left out, because
        they are not the reporter's words. So are links to other projects. Offsets are those in the
        summary followed by a line break and the description.
        """
        locations = self._all_locations
        if self.foreign_projects:
            links = [link for link in locations.links if link.project not in self.foreign_projects]
            locations = locations._replace(links=tuple(links))
        locations = locations._replace(
            links=self._told_places(locations.links), paths=self._told_places(locations.paths)
        )
        return locations.shift(self._text.condensed.original_offset)

    def _told_places(self, places: Sequence[traces.Place]) -> tuple[traces.Place, ...]:
        """Return the places outside lines of the issue form and lines about the environment."""
        lines = self._text.condensed.text.split("\n")
        starts = [0, *accumulate(len(line) + 1 for line in lines)]
        # A line may have thousands of places, so that it is looked at once.
        is_written: dict[int, bool] = {}
        kept = []
        for place in places:
            number = bisect_right(starts, place.offset) - 1
            if number not in is_written:
                is_written[number] = self._text.is_written(lines[number])
            if is_written[number]:
                kept.append(place)
        return tuple(kept)
