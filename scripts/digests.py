"""Write the digests of checkpoints anew once a file was changed on purpose, nothing else: ``digests.py FOLDER ...``."""

import sys

from tosloc.checkpoint import checkpoint_folder, write_digests
from tosloc.cli.guard import guarded


def main() -> int:
    """Exit code; 2 where a folder is no checkpoint."""
    for folder in sys.argv[1:]:
        write_digests(checkpoint_folder(folder))
    return 0


if __name__ == "__main__":
    sys.exit(guarded(main))
