"""The command line: arguments, progress, printing and exit codes.

It imports every other package.

Modules for other packages: guard.
"""

from tosloc.cli.app import main

__all__ = ["main"]
