"""Workloads: one file a kind, and the registry of all kinds.

A kind says which clients submit which transactions at which time; the clients themselves are in `cluster.runtime`.
"""
