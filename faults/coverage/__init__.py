"""Coverage: the phases of consensus in which faults hit validators, the cells of a run, and the sets of required ones.

Phases are read from the events of a run and from nothing else. A kind's own required cells are the kind's; what a
campaign makes of them is `cluster.campaign`'s.
"""
