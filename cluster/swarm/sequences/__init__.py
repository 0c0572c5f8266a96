"""Correlated fault sequences of drawn scenarios by subject, and the data of a sequence.

A file lists the sequences of one subject; `cluster.swarm.fault_sequences` has the rest, and draws one of all.
"""
