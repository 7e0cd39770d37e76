"""Types, settings, errors, files, arrays and processes that every package may use.

It imports no other package.

Modules for other packages: arrays, children, closing_cache, cluster, config, errors, io, memo,
metrics, processes, proxies, records, resources, settings.
"""
