"""The command ``tosloc``, also as ``python -m tosloc``: Ctrl-C while it is still loading is answered like any other."""

from __future__ import annotations

import sys


def main() -> int:
    """Exit code of the command that the arguments name."""
    try:
        from tosloc.cli import main as run
    except KeyboardInterrupt:
        print("tosloc: interrupted; nothing was begun", file=sys.stderr)
        return 130
    return run()


if __name__ == "__main__":
    sys.exit(main())
