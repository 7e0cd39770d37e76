"""The tables and figures of the TosLoc paper, made again: each by one function that makes what it lacks and resumes."""
