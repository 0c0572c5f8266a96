"""The checks over one run: one file a check.

A check reads the run's events, the blocks that validators applied and what is read back at the end, and returns one
result. It never changes a run, and never asks the code that it checks how something should be.
"""
