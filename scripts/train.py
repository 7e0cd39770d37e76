"""Learn from fixed reports: ``python scripts/train.py configs/tomcat.toml --repo tomcat --reports Tomcat.xlsx --out runs/tomcat``, the same as ``tosloc train``."""

import sys

from tosloc.cli import main

if __name__ == "__main__":
    sys.exit(main(["train", *sys.argv[1:]]))
