"""Print how good a run is, as ``tosloc evaluate`` does: ``evaluate.py DIR --split test``."""

import sys

from tosloc.cli import main

if __name__ == "__main__":
    sys.exit(main(["evaluate", *sys.argv[1:]]))
