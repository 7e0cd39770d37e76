"""The tables and figures of the TosLoc paper, made again: each by one function that makes what it lacks and resumes."""

from tosloc.core.errors import require

require("a table of the paper", "lab", "torch", "sklearn", "matplotlib")
