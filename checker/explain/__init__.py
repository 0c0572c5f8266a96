"""The failure report (docs/explain.md): from a differing root to key, timer, write and cause.

The report reads each validator's execution outcomes, the log and the check results. Its driver in cluster/inspect
repeats runs. `divergence.py` finds the block, `writes.py` and `origins.py` the write, `cause.py` the cause.
`chain_of_events.py` lists the earlier events. `same_states.py`, `evidence.py` and `stalls.py` report failures without
differing states. `answer.py` sums up the report in two sentences.
"""
