"""The lives of timers, from the call that schedules one to its one exit, read off the events of final blocks.

Records have no timer one by one: whoever wants them executes the recorded blocks again.
"""
