"""Campaigns: many runs of the same kind in worker processes, with their results kept.

A sweep over seeds, mutation testing and shrinking belong here, with the tasks, workers and results files that they
share. A single run and its checks do not (cluster/runtime, cluster/verdict), nor does the wording of a report (report).
"""
