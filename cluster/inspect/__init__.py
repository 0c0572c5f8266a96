"""The inspection of recorded runs: why a run failed, where two runs differ, and proofs of single values.

A driver here reads a run directory and, if necessary, runs the recorded scenario again. Explanations are in
checker/explain, commands and their output in cluster/cli.
"""
