"""Functions that take the place of TosLoc's own in a worker process.

A worker imports what it calls by name, so what a test patches in its own process is not patched
there. Tests therefore send a worker the functions of this module.
"""

import os
import re
import subprocess
import time
from pathlib import Path

from tosloc.mcp.answers import answer_call

BEGUN_FILE = "TOSLOC_TEST_BEGUN"
"""Environment variable with the path of the file that ``never_return`` creates when it begins.

The file is empty until the ten minutes of the call are over.
"""


def never_return(how):
    """Block for ten minutes: "seized" in C code that does not let Python run, else asleep."""
    begun = Path(os.environ[BEGUN_FILE])
    begun.touch()
    if how == "seized":
        re.match("(a+)+$", "a" * 60 + "b")
    time.sleep(600)
    begun.write_text("ended")


def read_forever(text, progress):
    """Read a report without ever coming to its end."""
    time.sleep(600)


def count_steps(number, progress):
    """Report the progress of each of ``number`` steps, and return the number."""
    for step in range(1, number + 1):
        progress("facts", step, number)
    return number


def list_workers():
    """Return the commands of this process's children that answer calls, busy or idle."""
    command = ["ps", "-A", "-o", "ppid=,args="]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    commands = []
    for line in result.stdout.splitlines():
        parent, *arguments = line.split(maxsplit=1)
        if parent == str(os.getpid()) and "perform_calls" in arguments[0]:
            commands.append(arguments[0])
    return commands


def misbehaving_answer(question, *arguments):
    """Answer an agent's question, but hang, exit or raise for some summaries of the report."""
    summary = question.report.summary
    if summary == "seized":
        never_return(summary)
    if summary == "dies":
        os._exit(9)
    if summary == "a mistake":
        raise KeyError("/secret/path")
    report_progress = arguments[-1]
    report_progress("facts", 3, 7)
    return answer_call(question, *arguments)
