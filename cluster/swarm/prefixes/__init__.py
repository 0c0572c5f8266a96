"""Scripted prefixes: how some drawn runs come to a state that chance alone hardly reaches, before they go on at random.

One file a prefix: a script of workloads, faults and settings, and the moment by which its state is there. That is
what the run expects (`expect.arrival`), and what all of its drawn faults are anchored to. A file may draw the sizes of
its script; it may not judge a run.
"""
