"""The server of the Model Context Protocol that coding agents ask; see ``docs/guide.md``.

It imports localize and all packages below it, but not train.

Modules for other packages: install, server.
"""
