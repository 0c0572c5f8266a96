"""Injection: puts the faults of a plan to work on links, clocks, disks and machines, and counts their effects.

`context` is everything that a fault may act on, `injector` schedules a plan, `links` has the conditions that several
kinds put on the bus. A way to act that several kinds share may enter; an act of one kind stays in its file, and no kind
is known here by its type.
"""
