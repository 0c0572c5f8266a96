"""A recorded run in the forms of other tools: Perfetto, ShiViz, Parquet.

Each reads a run directory and writes one file or folder; nothing here runs anything, and nothing is made up: what the
record does not have, an export does not have either.
"""
