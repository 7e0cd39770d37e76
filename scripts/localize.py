"""Rank the files of a version for one report, as ``tosloc localize`` does.

``localize.py FILE --repo GIT``
"""

import sys

from tosloc.cli import main

if __name__ == "__main__":
    sys.exit(main(["localize", *sys.argv[1:]]))
