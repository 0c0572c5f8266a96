"""The live view of a run: what each replica is at, drawn on a terminal or written as a column log.

It reads the events that the run writes anyway, by their types, and decides nothing: with it and without it a run is the
same. `replicas` keeps the state, `screen` draws it, `columns` is the log off a terminal, and `progress` says which of
the two there is and when it is drawn. Only `progress` reads the wall clock. docs/live.md has the legend. `apart` is
the page's: when a replica was paused or cut off.
"""
