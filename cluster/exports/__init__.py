"""A recorded run in the forms of other tools: Perfetto, ShiViz, Parquet.

Each export reads a run directory and writes a file or folder. It runs nothing and invents nothing: data missing in the
record is missing in the export.
"""
