"""Scripted prefixes: they lead some drawn runs to a state that chance alone hardly reaches; then the run is random.

One file a prefix: a script of workloads, faults and settings, and the moment by which its state is reached. All drawn
faults of the run are anchored to that moment, and a test asserts of each script that it gets there. A file may draw the
sizes of its script; it may not judge a run.
"""
