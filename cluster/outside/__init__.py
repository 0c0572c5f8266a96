"""Outside applications: somebody else's state machine, a process that answers questions on its standard streams.

The one room that waits by the wall clock. Frames and answers are read strictly, since a stranger wrote them.
"""
