"""Correlated fault sequences of drawn scenarios by what they are about, and the data of one.

A file has sequences of one subject and lists them; `cluster.swarm.fault_sequences` has the rest, and draws one of all.
"""
