"""Answers as a self-contained HTML page, and a local server of that page.

It imports localize and all packages below it, but not train.

Modules for other packages: render, server.
"""

from tosloc.core.errors import require

require("a page of answers", "serve", "jinja2")
