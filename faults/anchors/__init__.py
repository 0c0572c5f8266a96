"""Anchors: named moments of a run, from which a fault counts its times instead of from the run's beginning.

`catalogue` declares each moment, `anchor` is the table `anchor` of a fault, `watch` detects the moments. A moment is
read from typed events of the trace and from finalized blocks, never from a validator. A crash within a step is not a
moment, because it comes before any event is written. `crash-at-boundary` asks the step itself (`Watch` of
`injection/power.py`); its window may have an anchor.
"""
