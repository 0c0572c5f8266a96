"""Coverage-guided campaigns: the corpus of plans with new coverage, and the estimate of unreached coverage.

The input is plain data of results and plans; this package runs and judges no scenario.
"""
