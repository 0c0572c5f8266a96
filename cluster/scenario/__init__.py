"""Scenarios: their sections as data, how a file is read and written, and what is said of a bad one.

A section of a scenario file enters here; what a run makes of it stands in `cluster.runtime`.
"""
