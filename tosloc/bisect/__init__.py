"""Bisection that tests the commits which most likely introduced the fault of a report.

It imports localize and all packages below it, but not evaluate.

Modules for other packages: steps.
"""
