"""Coverage: the phases of consensus in which faults hit validators, a run's coverage points, and the required points.

Phases are read only from the events of a run. Each kind declares its required points, and `cluster.campaign` checks
them.
"""
