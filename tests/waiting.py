"""Wait for events instead of some time, so that tests also pass on a busy machine."""

import subprocess
import time

TIMEOUT_SECONDS = 60
"""Limit for each event that a test waits for; a machine that does nothing else needs a second."""


def wait_until(condition):
    """Wait until ``condition()`` is true. Raise TimeoutError after a minute."""
    end = time.monotonic() + TIMEOUT_SECONDS
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.02)


def has_ended(process_id):
    """Return whether a process has ended; a zombie has."""
    command = ["ps", "-o", "stat=", "-p", str(process_id)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.stdout.strip()[:1] in ("", "Z")
