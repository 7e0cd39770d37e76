"""The command line: arguments, progress, printing and exit codes."""

from tosloc.cli.app import main

__all__ = ["main"]
