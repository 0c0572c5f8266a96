"""The verdict of a run: checks observe the run and conclude at its end, and the record is written.

Also the comparison of a run with its repetition in a fresh process, or with its record.
"""
