"""Types, settings, errors, files, arrays and processes that every package may use.

It imports no other package.

Modules for other packages: answers, arrays, children, closing_cache, cluster, config, errors,
inputs, io, metrics, patterns, processes, progress, proxies, rankings, reports, resources,
versions.
"""
