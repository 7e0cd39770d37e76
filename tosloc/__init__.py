"""TosLoc: here is a bug report, which files?"""
