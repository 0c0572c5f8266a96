"""Workloads: one file a kind, and the registry of all kinds.

A kind says which clients submit which transactions at which time: its data, a sentence for each parameter, and its
transactions (docs/extend/workload.md). Nothing outside its own file may ask which kind a workload is of. The clients
that submit are in `cluster.runtime`.
"""
