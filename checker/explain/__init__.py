"""The failure report (docs/explain.md): from a differing root to key, timer, write and cause.

It reads the outcomes of each validator's executions, the log and the checks' results; running anything again is the
business of its driver (cluster/inspect). `divergence.py` finds the place, `writes.py` and `origins.py` the write,
`cause.py` the cause, `chain_of_events.py` the events before it; `same_states.py`, `evidence.py` and `stalls.py` have
the report where states do not differ. `answer.py` says it in two sentences.
"""
