"""What failed, as machines write it: test results, output of test runners, logs, error events.

``table.FORMATS`` lists the formats; each is recognized by its content. The other modules contain a
family of readers each, and what they share.

Modules for other packages: none; ``tosloc.reports.issues`` reads new reports.
"""
