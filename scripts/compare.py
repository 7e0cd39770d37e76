"""Compare finished runs, as ``tosloc compare`` does: ``compare.py RUN_A RUN_B --split test``."""

import sys

from tosloc.cli import main

if __name__ == "__main__":
    sys.exit(main(["compare", *sys.argv[1:]]))
