"""The running cluster: it is built from a scenario and a seed, and run to its end.

Machines and their power, disks in directories, clients, observers and adversaries stand here. Nothing here says
whether a run was right: that is `cluster.verdict`.
"""
