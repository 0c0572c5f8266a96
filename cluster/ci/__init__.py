"""A sweep's reports for other tools: JUnit files, annotations of a code host, and plans that failed before.

All reports are made from the results of seeds, which are only read. They contain no network address: formats are text,
and the user of the sweep passes them on.
"""
