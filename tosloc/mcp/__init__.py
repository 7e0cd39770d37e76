"""The server of the Model Context Protocol for coding agents; see ``docs/guide.md``.

It imports localize and all packages below it, but not train.

Modules for other packages: install, server.
"""
