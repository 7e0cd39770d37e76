"""Rank the files of a version for one report: ``python scripts/localize.py --repo tomcat --report bug.md``, the same as ``tosloc localize``."""

import sys

from tosloc.cli import main

if __name__ == "__main__":
    sys.exit(main(["localize", *sys.argv[1:]]))
