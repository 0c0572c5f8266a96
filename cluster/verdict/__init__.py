"""The verdict over one run: checks watch it while it goes on and settle it at the end, and the record is written.

Also what holds a run against another one: its repetition in a fresh process, and the record that it left.
"""
