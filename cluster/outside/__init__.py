"""Outside applications: a foreign state machine, a process that answers requests on its standard streams.

This is the only room that waits by the wall clock. Frames and answers are untrusted, so they are read strictly.
"""
