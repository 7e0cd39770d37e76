"""Reproduction of the tables and figures of the TosLoc paper.

There is a function for each of them. It first makes missing runs, and resumes after an
interruption.
"""

from tosloc.core.errors import require

require("a table of the paper", "lab", "torch", "sklearn", "matplotlib")
