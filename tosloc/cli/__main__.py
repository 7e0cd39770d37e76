"""``python -m tosloc.cli`` is the command ``tosloc``."""

import sys

from tosloc.cli.app import main

sys.exit(main())
