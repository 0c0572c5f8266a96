"""The live view of a run: the state of each replica, drawn on a terminal or written as a column log.

It reads the typed events that the run writes anyway, and does not change the run. `replicas` keeps the state, `screen`
draws it, and `columns` writes the log where there is no terminal. `progress` chooses between the two and decides when
to draw. Only `progress` reads the wall clock. docs/live.md has the legend. `interruptions` serves the page: the times
in which a replica was paused or cut off.
"""
