"""What the commands of ``cli`` and ``lab`` share: options, tables, notes and progress.

It imports core and git, and of evaluate only types.

Modules for other packages: options, printing.
"""
