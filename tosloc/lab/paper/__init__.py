"""Reproduction of the tables and figures of the TosLoc paper.

One function makes each of them. It first makes the runs that are missing, and resumes after an
interruption.
"""

from tosloc.core.errors import require

require("a table of the paper", "lab", "torch", "sklearn", "matplotlib")
