"""The command ``tosloc``, also as ``python -m tosloc``: it listens to signals before it loads anything."""

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    sys.path.pop(0)  # the current folder, which may be a stranger's repository: so nothing is imported before this

import atexit
import os

try:
    from tosloc import interruption
except KeyboardInterrupt:
    print("tosloc: interrupted; run the same command again to go on", file=sys.stderr)
    sys.exit(130)


def main() -> int:
    """Exit code of the command that the arguments name."""
    interruption.end_at_signals()
    codes = [1]  # of a mistake of ours, which Python prints
    # called last: what Python would do after it takes a while, and a signal then would be answered in Python's way
    atexit.register(lambda: interruption.leave(codes[-1]))
    from tosloc.cli import main as run
    from tosloc.cli.guard import INTERRUPTED

    code = run()
    if code in INTERRUPTED:
        import multiprocessing

        if not multiprocessing.active_children():
            os._exit(code)
        interruption.end_soon(code)  # workers that wait for work close what they have open
    codes.append(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
