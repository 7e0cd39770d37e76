"""Answers as a page of HTML that needs nothing else, and the server of the same page on this machine."""

from tosloc.errors import require

require("a page of answers", "serve", "jinja2")
