"""Scenarios: their sections as data, reading and writing of files, and messages about invalid files.

A section of a scenario file is the input here; `cluster.runtime` builds a run from it.
"""
