"""Checks over a run, the cold replay, and the run directory's one reader and writer."""
