"""The run directory: its only writer, its only reader, and the cold replay that starts from it.

Also the fingerprint of the code that wrote a record, and the locks by which processes share a folder of runs.
"""
