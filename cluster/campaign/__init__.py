"""Campaigns: many runs of one kind, in worker processes, with their results kept.

Sweeps over seeds, mutation testing and shrinking stand here, with the worker processes and the results file that they
share.
"""
