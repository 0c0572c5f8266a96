"""The running cluster: it is built from a scenario and a seed, and run to its end.

Machines and their power, disks in directories, clients, observers and adversaries are here. `cluster.verdict` judges
whether a run was right.
"""
