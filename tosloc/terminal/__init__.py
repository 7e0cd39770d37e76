"""Options, tables, notes and progress that the commands of ``cli`` and ``lab`` share.

It imports core and git, and only types from evaluate.

Modules for other packages: options, printing.
"""
