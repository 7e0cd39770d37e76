"""Which parts of a report a line of its description is in."""

from tosloc.reports.text.parts import split_report_text


def kind_of(line, description=None, template=()):
    """Return the names of the parts that contain a line of a description."""
    parts = split_report_text(line if description is None else description, template)
    return [name for name, text in parts._asdict().items() if line in text.splitlines()]
