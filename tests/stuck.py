"""What stands in another process for an answer: named by tests, since what they replace is not replaced there."""

import os
import re
import subprocess
import time
from pathlib import Path

from tosloc.mcp.answers import answer_call

BEGUN = "TOSLOC_TEST_BEGUN"  # environment variable: the file that is made when a question begins that does not end


def hold(how):
    """Never end: in C code that keeps all of Python waiting, or asleep."""
    Path(os.environ[BEGUN]).touch()
    if how == "seized":
        re.match("(a+)+$", "a" * 60 + "b")
    time.sleep(600)


def read_for_ever(text, progress):
    """Read a report, and never come to its end."""
    time.sleep(600)


def tell(number, progress):
    """Say how far it is, and answer."""
    for done in range(1, number + 1):
        progress("facts", done, number)
    return number


def workers():
    """Return the commands of this process's own processes that answer, or could."""
    command = ["ps", "-A", "-o", "ppid=,args="]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split(maxsplit=1) for line in listed.splitlines()]
    return [row[1] for row in rows if row[0] == str(os.getpid()) and "perform_calls" in row[1]]


def agents_answer(*question):
    """An answer, or for some reports what may become of one."""
    report = question[0].summary
    if report == "seized":
        hold(report)
    if report == "dies":
        os._exit(9)
    if report == "a mistake":
        raise KeyError("/secret/path")
    question[-1]("facts", 3, 7)
    return answer_call(*question)
