"""The run directory: its one writer, its one reader, and the cold replay that starts from it.

Also which code wrote a record, and how several processes share the folder of run directories.
"""
