"""Print how good a run is: ``python scripts/evaluate.py runs/tomcat --split test``, the same as ``tosloc evaluate``."""

import sys

from tosloc.cli import main

if __name__ == "__main__":
    sys.exit(main(["evaluate", *sys.argv[1:]]))
