"""Runs of rankings, which were never written."""

import numpy as np

from tosloc.evaluate.runs import Order, Run
from tosloc.records import Names


def run_of(rankings, header=None, where="run"):
    """The run of some rankings."""
    names = Names()
    files = {one.report: np.array([names.id(path) for path in one.paths], dtype=np.int32) for one in rankings}
    orders = {one.report: Order(files[one.report], one.scores) for one in rankings}
    return Run(header or {}, names.names, orders, where)
