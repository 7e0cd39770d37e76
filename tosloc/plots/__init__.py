"""Results for the eye: figures and pages."""

from tosloc.errors import require

require("a figure or page", "report", "matplotlib", "jinja2")
