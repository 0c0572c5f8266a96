"""The cause of one failed run: from which turn on other chance no longer saves it.

`continuations` runs a failed run up to a turn and on with other chance, in worker processes. `rise` looks for the turn
at which the failure became likely. `intervals` bounds a share, `later_faults` draws the faults after a turn again, and
`told` says the result in words and as a table.
"""
