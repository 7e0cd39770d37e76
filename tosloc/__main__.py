"""The command ``tosloc``, also as ``python -m tosloc``."""

import sys

if __name__ == "__main__" and not sys.flags.safe_path:
    # The current folder may be a stranger's repository, so nothing may be imported from it.
    sys.path.pop(0)

import atexit
import gc
import os
import signal
from typing import Final

GARBAGE_THRESHOLDS: Final = (200_000, 20, 20)
"""Thresholds of ``gc.set_threshold``.

Python's own are so low that searching garbage takes 4 to 7 % of a first question, which makes many
objects and hardly any garbage. A second question makes 90,000 to 120,000 objects, so that it never
searches.
"""


def main() -> int:
    """Run the command that the arguments name; return its exit code."""
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    # Python would search all objects for garbage once more when it ends, which took 7 % of a
    # question about a small repository.
    atexit.register(gc.freeze)
    # Progress bars of loading an encoder would appear between our own.
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Until a command runs, there is nothing to say or to close at Ctrl-C.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from tosloc.cli import main as run

    return run()


if __name__ == "__main__":
    sys.exit(main())
