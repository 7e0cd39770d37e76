"""Read failures that machines report: test results, output of test runners, logs, error events.

``table.FORMATS`` lists the formats; each is recognized by its content. The other modules contain
the readers, one module for each family of formats, and the code that they share.

Modules for other packages: none; ``tosloc.reports.issues`` reads new reports.
"""
