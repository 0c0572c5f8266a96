"""The cause of one failed run: from which turn on other chance no longer saves it.

`continuations` runs a failed run up to a turn and on with other chance, in worker processes. `rise` looks for the turn
at which the failure became likely, and `draws` for the draw of that turn which decided. `asking` keeps and counts the
results. `intervals` bounds a share, `later_faults` draws the faults after a turn again. `told` and `told_draws` put the
result into words and a table, `page` onto a page.
"""
