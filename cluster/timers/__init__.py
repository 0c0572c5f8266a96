"""The lives of timers, from the scheduling call to the exit, read from the events of final blocks.

Records do not list timers: a reader executes the recorded blocks again.
"""
