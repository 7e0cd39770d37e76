"""Print how good runs are, as ``tosloc evaluate`` does: ``evaluate.py RUN... --split test``."""

import sys

from tosloc.cli import main

if __name__ == "__main__":
    sys.exit(main(["evaluate", *sys.argv[1:]]))
