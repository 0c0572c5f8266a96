"""Anchors: named moments of a run, from which a fault counts its times instead of from the run's beginning.

`moments` declares each moment once, `anchor` is the table `anchor` of a fault, `watch` sees the moments come. A moment
is read off typed events of the trace and off finalized blocks, never off a validator. A crash in the midst of a step is
none: it comes before anything is written, so `crash-at-boundary` asks the step itself (`Watch` of `injection/power.py`)
and its window may be anchored like any other.
"""
