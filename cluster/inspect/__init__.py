"""Recorded runs looked at afterwards: why one went wrong, where two differ, and proofs of single values.

A driver belongs here that reads a run directory and, where it must, runs the recorded scenario again. The reasoning
about what it finds does not (checker/explain), nor do commands and their printing (cluster/cli).
"""
