"""Injection: puts the faults of a plan to work on links, clocks, disks and machines, and counts their effects.

`context` holds everything that a fault may act on, `injector` schedules a plan, `links` has the conditions that several
kinds put on the bus. Shared effects belong here; an effect of a single kind stays in its file. This package knows no
kind by its type.
"""
