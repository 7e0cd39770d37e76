"""Train on fixed reports, as ``tosloc train`` does.

``train.py CONFIG --repo GIT --reports FILE --out DIR``
"""

import sys

from tosloc.cli import main

if __name__ == "__main__":
    sys.exit(main(["train", *sys.argv[1:]]))
